/*
 * Calls: a transaction with an arena and a book of its own, kept until it is known what
 * became of it, so that it can be sent again byte for byte.
 */
#include "shardsched/shard/commit/calls.h"

#include "shardsched/shard/inner.h"
#include "store/keys/partition.h"

enum {
	EXTRAS = 16, /* at once */
	LEAN_AFTER = 8,
};

uint8_t call_number(const struct sched *sched, const struct call *call)
{
	return (uint8_t)(call - sched->call + 1);
}

static struct call *free_of(struct sched *sched, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		if (sched->call[i].state == CALL_FREE)
			return &sched->call[i];
	return NULL;
}

struct call *call_begin(struct sched *sched, enum call_kind kind)
{
	struct call *call = NULL;

	switch (kind) {
	case CALL_COMMIT:
		call = free_of(sched, 0, sched->opts.inflight);
		break;
	case CALL_TELL:
		call = free_of(sched, SCHED_INFLIGHT_MAX, SCHED_TELLS);
		break;
	case CALL_READ:
		call = free_of(sched, SCHED_INFLIGHT_MAX + SCHED_TELLS, SCHED_READS);
		break;
	case CALL_ABROAD:
		call = free_of(sched, SCHED_CALLS - SCHED_ABROAD_MAX - 1,
		               SCHED_ABROAD_MAX);
		break;
	case CALL_DIGEST:
		call = free_of(sched, SCHED_CALLS - 1, 1);
		break;
	case CALL_GANG:
		call = free_of(sched, SCHED_GANGS_AT, SCHED_GANGS_MAX);
		break;
	case CALL_REGISTER:
		call = free_of(sched, SCHED_REGISTER_AT, 1);
		break;
	}
	if (call == NULL)
		return NULL;
	call->kind = kind;
	call->serial = ++sched->calls;
	call->doubt = call->lean = call->reading = call->rewound = false;
	call->bundle = call->stood = call->full = false;
	call->attempts = 0;
	call->items = call->placements = call->nodes = call->echoed = 0;
	call->extras = call->extras_room = call->item_cap = 0;
	call->held = NULL;
	call->held_end = &call->held;
	call->beside = 0;
	call->failed_rev = 0;
	call->doubted = INT64_MAX;
	pl_arena_reset(&call->arena);
	book_begin(&call->book, &call->arena, sched->limits);
	return call;
}

struct book_decided call_decided(const struct sched *sched, const struct sched_pod *pod)
{
	return (struct book_decided){
		.pod = {.partition = pod->key[0],
	                .space = sched_text(sched, pod->key[1]),
	                .name = sched_text(sched, pod->key[2])},
		.spec_rev = pod->rev[FACT_SPEC],
		.state_rev = pod->rev[FACT_STATE],
		.crowded = (pod->flags & POD_CROWDED) != 0,
	};
}

/* What an entry compares last is the key that it is about, or what begins the keys of its
 * pod, whose state it puts. */
struct call_item *call_item_add(struct call *call, const struct call_item *item)
{
	const struct book *book = &call->book;
	struct call_item *at = &call->item[call->items];
	const struct kv_compare *compare = &book->compare[book->compares - 1];
	struct pl_span key = compare->keys.kind == KV_ONE
	                             ? compare->keys.from
	                             : book->then[book->thens - 1].put.key;
	struct keys_id id;
	enum pl_code code = keys_parse(key, &id, NULL);

	PL_ASSERT(call->items < call->item_cap + call->extras);
	call->items++;
	PL_ASSERT(code == PL_OK && call->items == book->entries);
	*at = *item;
	at->id = id;
	if (id.kind == KEYS_SPEC)
		at->id.kind = KEYS_STATE;
	return at;
}

/* What comes besides the items that were counted takes none of their room. */
static bool extra_room(struct call *call)
{
	uint32_t more = call->extras_room + EXTRAS, room = call->item_cap + more;
	struct call_item *item;

	if (call->extras < call->extras_room)
		return true;
	item = pl_arena_zalloc(&call->arena, room, sizeof *item);
	if (item == NULL)
		return false;
	if (call->items > 0)
		memcpy(item, call->item, call->items * sizeof *item);
	call->item = item;
	call->extras_room = more;
	return true;
}

enum pl_code call_item_of(struct call *call, const struct call_item *item,
                          struct pl_span key)
{
	struct pl_span kept = pl_arena_dup(&call->arena, key);
	struct call_item *at;

	if (kept.at == NULL || !extra_room(call))
		return PL_NOMEM;
	at = &call->item[call->items++];
	*at = *item;
	if (keys_parse(kept, &at->id, NULL) != PL_OK)
		PL_UNREACHABLE("a key that is none");
	call->extras++;
	PL_ASSERT(call->items == call->book.entries);
	return PL_OK;
}

enum pl_code call_item_for(struct call *call, const struct call_item *item)
{
	if (!extra_room(call))
		return PL_NOMEM;
	call->item[call->items++] = *item;
	call->extras++;
	PL_ASSERT(call->items == call->book.entries);
	return PL_OK;
}

enum pl_code call_room(struct call *call, uint32_t items)
{
	call->item = pl_arena_zalloc(&call->arena, items, sizeof *call->item);
	call->item_cap = items;
	return call->item == NULL ? PL_NOMEM : PL_OK;
}

/*
 * What is read in case that a commit fails is some twentieth of what the commit costs the
 * store. Where none has failed for a while it is left out, and asked for by itself when
 * one does.
 */
static void make_lean(const struct sched *sched, struct call *call)
{
	if (call->kind != CALL_COMMIT || call->bundle || sched->smooth < LEAN_AFTER)
		return;
	call->lean = true;
	call->req.txn.otherwise = NULL;
	call->req.txn.otherwise_count = 0;
}

/* As things are when it is made. */
static void set_epoch(const struct sched *sched, struct call_item *item)
{
	struct keys_id *id = &item->id;
	const struct partition_group group = {.namespace = id->scope, .gang = id->name};

	if (id->kind == KEYS_GANG && partition_of_group(&group, sched->opts.partitions,
	                                                &id->partition, NULL) != PL_OK)
		PL_UNREACHABLE("a record of no gang");
	item->epoch = call_epoch(sched, id->partition);
}

void call_post(struct sched *sched, struct call *call)
{
	if (call->kind != CALL_READ)
		book_req(&call->book, &call->req);
	make_lean(sched, call);
	for (uint32_t i = 0; i < call->items; i++)
		set_epoch(sched, &call->item[i]);
	call->groups_epoch = sched->groups.epoch;
	call->view_epoch = sched->groups.view_epoch;
	call->state = CALL_NEW;
	sched->commits += call->kind == CALL_COMMIT;
	sched->abroad.out += call->kind == CALL_ABROAD;
}

void call_end(struct sched *sched, struct call *call)
{
	sched->commits -= call->kind == CALL_COMMIT && call->state != CALL_FREE;
	sched->abroad.out -= call->kind == CALL_ABROAD && call->state != CALL_FREE;
	call->state = CALL_FREE;
	call->items = 0;
	pl_arena_reset(&call->arena);
}

/* The same bytes as were sent need not be kept twice. A watch shows them in the order in
 * which they were sent, so it is looked for from where the last one was found. */
static struct pl_span keep_value(struct call *call, const struct kv_record *record)
{
	for (uint32_t n = 0; n < call->items; n++) {
		uint32_t i = (call->echoed + n) % call->items;

		if (pl_span_eq(call->item[i].value, record->value)) {
			call->echoed = i + 1;
			return call->item[i].value;
		}
	}
	return pl_arena_dup(&call->arena, record->value);
}

bool call_hold(struct sched *sched, uint8_t number, const struct kv_record *record,
               int64_t since, bool gone)
{
	struct call *call = &sched->call[number - 1];
	struct held *held = pl_arena_zalloc(&call->arena, 1, sizeof *held);

	if (held == NULL)
		return false;
	held->gone = gone;
	held->since = since;
	held->viewed = sched->viewing;
	held->generation = sched->whole.generation;
	held->record = *record;
	held->record.key = pl_arena_dup(&call->arena, record->key);
	held->record.value = gone ? (struct pl_span){0} : keep_value(call, record);
	if (held->record.key.at == NULL ||
	    (held->record.value.at == NULL && !gone && record->value.len > 0))
		return false;
	*call->held_end = held;
	call->held_end = &held->next;
	return true;
}

static bool is_forgotten(const struct sched *sched, const struct held *held,
                         const struct sched_partition *of, bool nodes)
{
	struct keys_id id;

	return keys_parse(held->record.key, &id, NULL) == PL_OK &&
	       &sched->partition[id.partition] == of &&
	       (nodes || id.kind == KEYS_SPEC || id.kind == KEYS_STATE);
}

void call_unhold(struct sched *sched, const struct sched_partition *of, bool nodes)
{
	for (unsigned i = 0; i < SCHED_CALLS; i++) {
		struct call *call = &sched->call[i];
		struct held **at = &call->held;

		if (call->state == CALL_FREE)
			continue;
		while (*at != NULL)
			if (is_forgotten(sched, *at, of, nodes))
				*at = (*at)->next;
			else
				at = &(*at)->next;
		call->held_end = at;
	}
}
