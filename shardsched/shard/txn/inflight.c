/*
 * Filling and posting txns. A txn has an arena and a builder of its own and is kept until
 * its outcome is known, so that it can be sent again byte for byte.
 */
#include "shardsched/shard/txn/inflight.h"

#include "shardsched/shard/inner.h"
#include "store/keys/partition.h"

enum {
	EXTRA_ENTRIES = 16, /* at a time */
	WITHOUT_READS_AFTER = 8,
};

uint8_t txn_number(const struct sched *sched, const struct shard_txn *txn)
{
	return (uint8_t)(txn - sched->txn + 1);
}

static struct shard_txn *find_free(struct sched *sched, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		if (sched->txn[i].state == TXN_FREE)
			return &sched->txn[i];
	return NULL;
}

struct shard_txn *txn_begin(struct sched *sched, enum txn_kind kind)
{
	struct shard_txn *txn = NULL;

	switch (kind) {
	case TXN_COMMIT:
		txn = find_free(sched, 0, sched->opts.inflight);
		break;
	case TXN_STATUS:
		txn = find_free(sched, SCHED_INFLIGHT_MAX, SCHED_STATUS_TXNS);
		break;
	case TXN_READ:
		txn = find_free(sched, SCHED_INFLIGHT_MAX + SCHED_STATUS_TXNS,
		                SCHED_READ_TXNS);
		break;
	case TXN_REMOTE:
		txn = find_free(sched, SCHED_TXNS - SCHED_REMOTE_MAX - 1,
		                SCHED_REMOTE_MAX);
		break;
	case TXN_DIGEST:
		txn = find_free(sched, SCHED_TXNS - 1, 1);
		break;
	case TXN_GANG:
		txn = find_free(sched, SCHED_GANGS_AT, SCHED_GANGS_MAX);
		break;
	case TXN_REGISTER:
		txn = find_free(sched, SCHED_REGISTER_AT, 1);
		break;
	}
	if (txn == NULL)
		return NULL;
	txn->kind = kind;
	txn->serial = ++sched->txn_serial;
	txn_set_state(txn, TXN_FILLING);
	txn->outcome = TXN_PENDING;
	txn->without_reads = txn->rewound = txn->batch = txn->full = false;
	txn->attempts = 0;
	txn->entries = txn->placements = txn->nodes = txn->echo_at = 0;
	txn->extra_entries = txn->extra_entry_cap = txn->entry_cap = 0;
	txn->deferred = NULL;
	txn->deferred_end = &txn->deferred;
	txn->spare_bytes = 0;
	txn->failed_rev = 0;
	txn->unconfirmed = INT64_MAX;
	pl_arena_reset(&txn->arena);
	builder_begin(&txn->builder, &txn->arena, sched->limits);
	return txn;
}

struct builder_decision txn_decided(const struct sched *sched,
                                    const struct sched_pod *pod)
{
	return (struct builder_decision){
		.pod = {.partition = pod->key[0],
	                .namespace = sched_text(sched, pod->key[1]),
	                .name = sched_text(sched, pod->key[2])},
		.spec_rev = pod->rev[FACT_SPEC],
		.state_rev = pod->rev[FACT_STATE],
		.has_other_keys = (pod->flags & POD_NAME_CLASH) != 0,
	};
}

/* Which members a kind sets (txn.h). */
static void assert_members(const struct txn_entry *entry)
{
	bool pod = entry->pod != NULL, node = entry->node != NULL;

	switch (entry->kind) {
	case ENTRY_CONDITION:
		PL_ASSERT(!pod && !node);
		break;
	case ENTRY_READ:
	case ENTRY_STATUS:
		PL_ASSERT(pod && !node);
		break;
	case ENTRY_PLACEMENT:
		PL_ASSERT(pod && node);
		break;
	case ENTRY_TERMINATION:
		PL_ASSERT(pod && entry->end != STATE_TRANSITION_NONE);
		return;
	case ENTRY_ALLOC:
	case ENTRY_NODE:
		PL_ASSERT(!pod && node);
		break;
	}
	PL_ASSERT(entry->end == STATE_TRANSITION_NONE);
}

/* The key that an entry is about is the one that the builder compared last, or, if it
 * compared all keys of a pod, the state that it puts. */
struct txn_entry *txn_add(struct shard_txn *txn, const struct txn_entry *entry)
{
	const struct txn_builder *builder = &txn->builder;
	struct txn_entry *at = &txn->entry[txn->entries];
	const struct kv_compare *compare = &builder->compare[builder->compares - 1];
	struct pl_span key = compare->keys.kind == KV_ONE
	                             ? compare->keys.from
	                             : builder->then[builder->thens - 1].put.key;
	struct keys_id id;
	enum pl_code code = keys_parse(key, &id, NULL);

	PL_ASSERT(txn->entries < txn->entry_cap + txn->extra_entries);
	assert_members(entry);
	txn->entries++;
	PL_ASSERT(code == PL_OK && txn->entries == builder->entries);
	*at = *entry;
	at->id = id;
	if (id.kind == KEYS_SPEC)
		at->id.kind = KEYS_STATE;
	return at;
}

/* Entries that txn_reserve did not count take none of its room. */
static bool reserve_extra(struct shard_txn *txn)
{
	uint32_t more = txn->extra_entry_cap + EXTRA_ENTRIES,
		 room = txn->entry_cap + more;
	struct txn_entry *entry;

	if (txn->extra_entries < txn->extra_entry_cap)
		return true;
	entry = pl_arena_zalloc(&txn->arena, room, sizeof *entry);
	if (entry == NULL)
		return false;
	if (txn->entries > 0)
		memcpy(entry, txn->entry, txn->entries * sizeof *entry);
	txn->entry = entry;
	txn->extra_entry_cap = more;
	return true;
}

enum pl_code txn_add_key(struct shard_txn *txn, const struct txn_entry *entry,
                         struct pl_span key)
{
	struct pl_span kept = pl_arena_dup(&txn->arena, key);
	struct txn_entry *at;

	assert_members(entry);
	if (kept.at == NULL || !reserve_extra(txn))
		return PL_NOMEM;
	at = &txn->entry[txn->entries++];
	*at = *entry;
	if (keys_parse(kept, &at->id, NULL) != PL_OK)
		PL_UNREACHABLE("a key that is none");
	txn->extra_entries++;
	PL_ASSERT(txn->entries == txn->builder.entries);
	return PL_OK;
}

enum pl_code txn_add_id(struct shard_txn *txn, const struct txn_entry *entry)
{
	if (!reserve_extra(txn))
		return PL_NOMEM;
	txn->entry[txn->entries++] = *entry;
	txn->extra_entries++;
	PL_ASSERT(txn->entries == txn->builder.entries);
	return PL_OK;
}

enum pl_code txn_reserve(struct shard_txn *txn, uint32_t entries)
{
	txn->entry = pl_arena_zalloc(&txn->arena, entries, sizeof *txn->entry);
	txn->entry_cap = entries;
	return txn->entry == NULL ? PL_NOMEM : PL_OK;
}

/*
 * The reads for the case that a commit fails are some twentieth of its cost in the store.
 * When no commit has failed for a while they are left out, and made by themselves if this
 * one fails.
 */
static void drop_reads(const struct sched *sched, struct shard_txn *txn)
{
	if (txn->kind != TXN_COMMIT || txn->batch ||
	    sched->clean_streak < WITHOUT_READS_AFTER)
		return;
	txn->without_reads = true;
	txn->req.txn.otherwise = NULL;
	txn->req.txn.otherwise_count = 0;
}

/* The epoch of the key's partition at the time of posting. */
static void set_epoch(const struct sched *sched, struct txn_entry *entry)
{
	struct keys_id *id = &entry->id;
	const struct partition_group group = {.namespace = id->scope, .gang = id->name};

	if (id->kind == KEYS_GANG && partition_of_group(&group, sched->opts.partitions,
	                                                &id->partition, NULL) != PL_OK)
		PL_UNREACHABLE("a record of no gang");
	entry->epoch = txn_epoch(sched, id->partition);
}

void txn_post(struct sched *sched, struct shard_txn *txn)
{
	if (txn->kind != TXN_READ)
		builder_req(&txn->builder, &txn->req);
	drop_reads(sched, txn);
	for (uint32_t i = 0; i < txn->entries; i++)
		set_epoch(sched, &txn->entry[i]);
	txn->rules_epoch = sched->rules.epoch;
	txn->view_epoch = sched->rules.view_epoch;
	txn_set_state(txn, TXN_NEW);
	sched->commits += txn->kind == TXN_COMMIT;
	sched->remote.out += txn->kind == TXN_REMOTE;
}

void txn_end(struct sched *sched, struct shard_txn *txn)
{
	sched->commits -= txn->kind == TXN_COMMIT && txn_is_posted(txn);
	sched->remote.out -= txn->kind == TXN_REMOTE && txn_is_posted(txn);
	txn_set_state(txn, TXN_FREE);
	txn->entries = 0;
	pl_arena_reset(&txn->arena);
}

/* The value of an echo is kept as the entry's own bytes, not copied. A watch shows echoes
 * in the order of the entries, so the search begins after the last one that was found. */
static struct pl_span keep_value(struct shard_txn *txn, const struct kv_record *record)
{
	for (uint32_t n = 0; n < txn->entries; n++) {
		uint32_t i = (txn->echo_at + n) % txn->entries;

		if (pl_span_eq(txn->entry[i].value, record->value)) {
			txn->echo_at = i + 1;
			return txn->entry[i].value;
		}
	}
	return pl_arena_dup(&txn->arena, record->value);
}

bool txn_defer(struct sched *sched, uint8_t number, const struct kv_record *record,
               int64_t since, bool gone)
{
	struct shard_txn *txn = &sched->txn[number - 1];
	struct deferred_event *deferred =
		pl_arena_zalloc(&txn->arena, 1, sizeof *deferred);

	if (deferred == NULL)
		return false;
	deferred->gone = gone;
	deferred->since = since;
	deferred->viewed = sched->applying_view;
	deferred->generation = sched->fleet_view.generation;
	deferred->record = *record;
	deferred->record.key = pl_arena_dup(&txn->arena, record->key);
	deferred->record.value = gone ? (struct pl_span){0} : keep_value(txn, record);
	if (deferred->record.key.at == NULL ||
	    (deferred->record.value.at == NULL && !gone && record->value.len > 0))
		return false;
	*txn->deferred_end = deferred;
	txn->deferred_end = &deferred->next;
	return true;
}

static bool is_deferred_forgotten(const struct sched *sched,
                                  const struct deferred_event *deferred,
                                  const struct sched_partition *of, bool nodes)
{
	struct keys_id id;

	return keys_parse(deferred->record.key, &id, NULL) == PL_OK &&
	       &sched->partition[id.partition] == of &&
	       (nodes || id.kind == KEYS_SPEC || id.kind == KEYS_STATE);
}

void txn_drop_deferred(struct sched *sched, const struct sched_partition *of, bool nodes)
{
	for (unsigned i = 0; i < SCHED_TXNS; i++) {
		struct shard_txn *txn = &sched->txn[i];
		struct deferred_event **at = &txn->deferred;

		if (!txn_is_posted(txn))
			continue;
		while (*at != NULL)
			if (is_deferred_forgotten(sched, *at, of, nodes))
				*at = (*at)->next;
			else
				at = &(*at)->next;
		txn->deferred_end = at;
	}
}
