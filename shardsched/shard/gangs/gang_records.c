#include "shardsched/shard/gangs/gang_records.h"

#include <stdlib.h>

#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/report.h"
#include "store/base/alloc.h"
#include "store/keys/partition.h"

/* Each shard has a few records at a time, and up to a thousand a second are deleted. */
enum { KEPT_MAX = 65536, GONE_MAX = 65536, GONE_MS = 60000 };

#define BYTES_MAX ((size_t)256 << 20)

void gang_records_init(struct sched *sched)
{
	pl_map_init(&sched->gang_records.by_name);
	pl_list_init(&sched->gang_records.standing);
	pl_list_init(&sched->gang_records.gone);
}

/* -- the table --------------------------------------------------------------- */

static struct pl_span name_key(const uint32_t key[2])
{
	return pl_span(key, 2 * sizeof key[0]);
}

struct gang_record_entry *gang_records_find(const struct sched *sched,
                                            const uint32_t key[2])
{
	struct pl_map_node *at = pl_map_get(&sched->gang_records.by_name, name_key(key));

	return at == NULL ? NULL : PL_CONTAINER_OF(at, struct gang_record_entry, by_name);
}

struct pl_span gang_records_key(const struct sched *sched, const uint32_t key[2],
                                struct keys_text *text)
{
	const struct keys_id id = {.kind = KEYS_GANG,
	                           .scope = sched_text(sched, key[0]),
	                           .name = sched_text(sched, key[1])};

	if (keys_build(&id, text, NULL) != PL_OK)
		PL_UNREACHABLE("a gang that no key can have");
	return keys_span(text);
}

struct gang_record_entry *gang_records_get(struct sched *sched, const uint32_t key[2])
{
	struct strings *strings = &sched->model.strings;
	const struct partition_group group = {.namespace = sched_text(sched, key[0]),
	                                      .gang = sched_text(sched, key[1])};
	struct gang_record_entry *known = gang_records_find(sched, key);
	uint32_t partition;

	if (known != NULL)
		return known;
	if (partition_of_group(&group, sched->opts.partitions, &partition, NULL) != PL_OK)
		return NULL;
	known = pl_calloc(1, sizeof *known);
	if (known == NULL)
		return NULL;
	known->key[0] = strings_ref(strings, key[0]);
	known->key[1] = strings_ref(strings, key[1]);
	known->partition = partition;
	known->gone_ms = sched->now_ms;
	pl_list_add_tail(&sched->gang_records.gone, &known->link);
	(void)!pl_map_add(&sched->gang_records.by_name, &known->by_name,
	                  name_key(known->key));
	return known;
}

static void count_record(struct sched *sched, const struct gang_record_entry *known,
                         bool more)
{
	bool bound =
		known->rev != 0 && !known->malformed && known->phase == GANG_PHASE_BOUND;

	sched->gang_records.bound += more ? bound : -(uint32_t)bound;
	sched->gang_records.bytes += more ? known->len : -known->len;
	sched->gang_records.count +=
		more ? known->rev != 0 : -(uint32_t)(known->rev != 0);
}

static void entry_free(struct sched *sched, struct gang_record_entry *known)
{
	count_record(sched, known, false);
	pl_map_del(&sched->gang_records.by_name, &known->by_name);
	pl_list_del(&known->link);
	strings_unref(&sched->model.strings, known->key[0]);
	strings_unref(&sched->model.strings, known->key[1]);
	free(known->value);
	free(known);
}

void gang_records_done(struct sched *sched)
{
	PL_MAP_EACH (at, &sched->gang_records.by_name)
		entry_free(sched, PL_CONTAINER_OF(at, struct gang_record_entry, by_name));
	pl_map_done(&sched->gang_records.by_name);
}

bool gang_records_has(const struct sched *sched, const uint32_t key[2])
{
	const struct gang_record_entry *known = gang_records_find(sched, key);

	return known != NULL && known->rev != 0;
}

void gang_records_tidy(struct sched *sched)
{
	struct gang_records *records = &sched->gang_records;

	PL_LIST_EACH (link, &records->gone) {
		struct gang_record_entry *known =
			PL_LIST_ITEM(link, struct gang_record_entry, link);

		if (records->by_name.count - records->count <= GONE_MAX &&
		    sched->now_ms < known->gone_ms + GONE_MS)
			return;
		if (!gang_record_is_used(sched, known))
			entry_free(sched, known);
	}
}

/* -- values ------------------------------------------------------------------ */

static bool is_malformed(enum pl_code code)
{
	return code == PL_INVALID || code == PL_LIMIT || code == PL_PROTO;
}

/* Takes over value. */
static void entry_set(struct sched *sched, struct gang_record_entry *known,
                      int64_t revision, char *value, size_t len)
{
	count_record(sched, known, false);
	free(known->value);
	known->value = value;
	known->len = len;
	known->rev = value == NULL ? 0 : revision;
	known->heard = revision;
	pl_list_del(&known->link);
	if (value != NULL) {
		pl_list_add_tail(&sched->gang_records.standing, &known->link);
		return;
	}
	known->gone_ms = sched->now_ms;
	pl_list_add_tail(&sched->gang_records.gone, &known->link);
}

/* A record that was known already is kept, and so is one of an attempt under way. */
static bool has_room_for(const struct sched *sched, const struct gang_record_entry *known,
                         size_t len)
{
	return sched->gang_records.bytes - known->len + len <= BYTES_MAX &&
	       (known->rev != 0 || gang_record_is_used(sched, known) ||
	        sched->gang_records.count < KEPT_MAX);
}

static bool entry_apply(struct sched *sched, struct gang_record_entry *known,
                        const struct keys_id *id, const struct kv_record *record)
{
	struct gang_record is = {0};
	struct pl_err err = {0};
	enum pl_code code;
	char *value = NULL;

	pl_arena_reset(&sched->gangs.arena);
	code = gang_record_parse(record->value, &sched->gangs.arena, &is, &err);
	if (code == PL_OK || is_malformed(code)) {
		value = has_room_for(sched, known, record->value.len)
		                ? pl_malloc(record->value.len + 1)
		                : NULL;
		if (value == NULL)
			code = pl_err_set(&err, PL_NOMEM, "keep a gang's record");
	}
	if (code != PL_OK && !is_malformed(code)) {
		sched->gang_records.missed = sched->gang_records.misses = true;
		report_repair(sched, &err);
		return false;
	}
	if (value != NULL && record->value.len > 0)
		memcpy(value, record->value.at, record->value.len);
	entry_set(sched, known, record->mod_revision, value, record->value.len);
	known->malformed = code != PL_OK;
	known->phase = is.phase;
	known->epoch = is.epoch;
	count_record(sched, known, true);
	if (known->malformed && sched->partition[known->partition].owned)
		report_malformed(sched, id, &err);
	return true;
}

bool gang_records_apply(struct sched *sched, const struct keys_id *id,
                        const struct kv_record *record, bool gone)
{
	struct strings *strings = &sched->model.strings;
	uint32_t key[2] = {0};
	struct gang_record_entry *known = NULL;
	bool kept = true;

	if (strings_add(strings, id->scope, &key[0]) == PL_OK &&
	    strings_add(strings, id->name, &key[1]) == PL_OK)
		known = gone ? gang_records_find(sched, key)
		             : gang_records_get(sched, key);
	if (known != NULL && record->mod_revision > known->heard) {
		if (!gone)
			kept = entry_apply(sched, known, id, record);
		else
			entry_set(sched, known, record->mod_revision, NULL, 0);
		large_gangs_set_due(sched);
	}
	strings_unref(strings, key[0]);
	strings_unref(strings, key[1]);
	return kept && (known != NULL || gone);
}

/* -- the view ---------------------------------------------------------------- */

static void apply_key(struct sched *sched, const struct kv_record *record, bool gone)
{
	struct gang_record_entry *known;
	struct keys_id id;
	uint32_t key[2];

	if (keys_parse(record->key, &id, NULL) != PL_OK || id.kind != KEYS_GANG)
		return; /* not a record */
	if (!gang_records_apply(sched, &id, record, gone))
		return; /* reported; it will be listed anew */
	key[0] = strings_find(&sched->model.strings, id.scope);
	key[1] = strings_find(&sched->model.strings, id.name);
	known = key[0] == 0 || key[1] == 0 ? NULL : gang_records_find(sched, key);
	if (known != NULL)
		known->generation = sched->gang_records.generation;
}

void gang_records_begin(struct sched *sched)
{
	sched->gang_records.generation++;
	sched->gang_records.misses = false;
}

void gang_records_list(struct sched *sched, const struct kv_record *records,
                       size_t count_)
{
	for (size_t i = 0; i < count_; i++)
		apply_key(sched, &records[i], false);
}

void gang_records_end(struct sched *sched, int64_t revision)
{
	PL_MAP_EACH (at, &sched->gang_records.by_name) {
		struct gang_record_entry *known =
			PL_CONTAINER_OF(at, struct gang_record_entry, by_name);

		if (known->rev != 0 && known->rev <= revision &&
		    known->generation != sched->gang_records.generation)
			entry_set(sched, known, revision, NULL, 0);
	}
	sched->gang_records.listed = true;
	sched->gang_records.missed = sched->gang_records.misses;
	large_gangs_set_due(sched);
}

void gang_records_events(struct sched *sched, const struct kv_event *events,
                         size_t count_)
{
	for (size_t i = 0; i < count_; i++)
		apply_key(sched, &events[i].record, events[i].is_delete);
}

void gang_records_lost(struct sched *sched)
{
	sched->gang_records.listed = false;
}

/* No partition is owned, or the store was rewound, so no attempt refers to an entry. */
void gang_records_forget(struct sched *sched)
{
	sched->gang_records.listed = false;
	large_gangs_drop_all(sched);
	PL_MAP_EACH (at, &sched->gang_records.by_name)
		entry_free(sched, PL_CONTAINER_OF(at, struct gang_record_entry, by_name));
}
