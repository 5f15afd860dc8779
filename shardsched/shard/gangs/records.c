#include "shardsched/shard/gangs/records.h"

#include <stdlib.h>

#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/tell.h"
#include "store/base/alloc.h"
#include "store/keys/partition.h"

/* A few of each shard's at a time; and of those that are gone a thousand a second. */
enum { KEPT_MAX = 65536, GONE_MAX = 65536, GONE_MS = 60000 };

#define BYTES_MAX ((size_t)256 << 20)

void records_init(struct sched *sched)
{
	pl_map_init(&sched->records.by_name);
	pl_list_init(&sched->records.standing);
	pl_list_init(&sched->records.gone);
}

/* -- the table ------------------------------------------------------------ */

static struct pl_span name_of(const uint32_t key[2])
{
	return pl_span(key, 2 * sizeof key[0]);
}

struct gang_known *records_find(const struct sched *sched, const uint32_t key[2])
{
	struct pl_map_node *at = pl_map_get(&sched->records.by_name, name_of(key));

	return at == NULL ? NULL : PL_CONTAINER_OF(at, struct gang_known, by_name);
}

struct pl_span records_key(const struct sched *sched, const uint32_t key[2],
                           struct keys_text *text)
{
	const struct keys_id id = {.kind = KEYS_GANG,
	                           .scope = sched_text(sched, key[0]),
	                           .name = sched_text(sched, key[1])};

	if (keys_build(&id, text, NULL) != PL_OK)
		PL_UNREACHABLE("a gang that no key can have");
	return keys_span(text);
}

struct gang_known *records_get(struct sched *sched, const uint32_t key[2])
{
	struct strings *strings = &sched->model.strings;
	const struct partition_group group = {.namespace = sched_text(sched, key[0]),
	                                      .gang = sched_text(sched, key[1])};
	struct gang_known *known = records_find(sched, key);
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
	pl_list_add_tail(&sched->records.gone, &known->link);
	(void)!pl_map_add(&sched->records.by_name, &known->by_name, name_of(known->key));
	return known;
}

static void count(struct sched *sched, const struct gang_known *known, bool more)
{
	bool bound =
		known->rev != 0 && !known->garbled && known->phase == GANG_PHASE_BOUND;

	sched->records.bound += more ? bound : -(uint32_t)bound;
	sched->records.bytes += more ? known->len : -known->len;
	sched->records.count += more ? known->rev != 0 : -(uint32_t)(known->rev != 0);
}

static void known_free(struct sched *sched, struct gang_known *known)
{
	count(sched, known, false);
	pl_map_del(&sched->records.by_name, &known->by_name);
	pl_list_del(&known->link);
	strings_unref(&sched->model.strings, known->key[0]);
	strings_unref(&sched->model.strings, known->key[1]);
	free(known->value);
	free(known);
}

void records_done(struct sched *sched)
{
	PL_MAP_EACH (at, &sched->records.by_name)
		known_free(sched, PL_CONTAINER_OF(at, struct gang_known, by_name));
	pl_map_done(&sched->records.by_name);
}

bool records_has(const struct sched *sched, const uint32_t key[2])
{
	const struct gang_known *known = records_find(sched, key);

	return known != NULL && known->rev != 0;
}

void records_tidy(struct sched *sched)
{
	struct records *records = &sched->records;

	PL_LIST_EACH (link, &records->gone) {
		struct gang_known *known = PL_LIST_ITEM(link, struct gang_known, link);

		if (records->by_name.count - records->count <= GONE_MAX &&
		    sched->now_ms < known->gone_ms + GONE_MS)
			return;
		if (!large_uses(sched, known))
			known_free(sched, known);
	}
}

/* -- what stands there ------------------------------------------------------- */

static bool is_garbled(enum pl_code code)
{
	return code == PL_INVALID || code == PL_LIMIT || code == PL_PROTO;
}

/* Takes value over. */
static void set(struct sched *sched, struct gang_known *known, int64_t revision,
                char *value, size_t len)
{
	count(sched, known, false);
	free(known->value);
	known->value = value;
	known->len = len;
	known->rev = value == NULL ? 0 : revision;
	known->heard = revision;
	pl_list_del(&known->link);
	if (value != NULL) {
		pl_list_add_tail(&sched->records.standing, &known->link);
		return;
	}
	known->gone_ms = sched->now_ms;
	pl_list_add_tail(&sched->records.gone, &known->link);
}

/* What stood there already, and what is under way here, goes on. */
static bool is_room(const struct sched *sched, const struct gang_known *known, size_t len)
{
	return sched->records.bytes - known->len + len <= BYTES_MAX &&
	       (known->rev != 0 || large_uses(sched, known) ||
	        sched->records.count < KEPT_MAX);
}

static bool take_value(struct sched *sched, struct gang_known *known,
                       const struct keys_id *id, const struct kv_record *record)
{
	struct gang_record is = {0};
	struct pl_err err = {0};
	enum pl_code code;
	char *value = NULL;

	pl_arena_reset(&sched->gangs.arena);
	code = gang_record_parse(record->value, &sched->gangs.arena, &is, &err);
	if (code == PL_OK || is_garbled(code)) {
		value = is_room(sched, known, record->value.len)
		                ? pl_malloc(record->value.len + 1)
		                : NULL;
		if (value == NULL)
			code = pl_err_set(&err, PL_NOMEM, "keep a gang's record");
	}
	if (code != PL_OK && !is_garbled(code)) {
		sched->records.missed = sched->records.misses = true;
		tell_repair(sched, &err);
		return false;
	}
	if (value != NULL && record->value.len > 0)
		memcpy(value, record->value.at, record->value.len);
	set(sched, known, record->mod_revision, value, record->value.len);
	known->garbled = code != PL_OK;
	known->phase = is.phase;
	known->epoch = is.epoch;
	count(sched, known, true);
	if (known->garbled && sched->partition[known->partition].owned)
		tell_garbled(sched, id, &err);
	return true;
}

bool records_take(struct sched *sched, const struct keys_id *id,
                  const struct kv_record *record, bool gone)
{
	struct strings *strings = &sched->model.strings;
	uint32_t key[2] = {0};
	struct gang_known *known = NULL;
	bool kept = true;

	if (strings_add(strings, id->scope, &key[0]) == PL_OK &&
	    strings_add(strings, id->name, &key[1]) == PL_OK)
		known = gone ? records_find(sched, key) : records_get(sched, key);
	if (known != NULL && record->mod_revision > known->heard) {
		if (!gone)
			kept = take_value(sched, known, id, record);
		else
			set(sched, known, record->mod_revision, NULL, 0);
		large_due(sched);
	}
	strings_unref(strings, key[0]);
	strings_unref(strings, key[1]);
	return kept && (known != NULL || gone);
}

/* -- the view ------------------------------------------------------------------- */

static void take(struct sched *sched, const struct kv_record *record, bool gone)
{
	struct gang_known *known;
	struct keys_id id;
	uint32_t key[2];

	if (keys_parse(record->key, &id, NULL) != PL_OK || id.kind != KEYS_GANG)
		return; /* whatever somebody has put there */
	if (!records_take(sched, &id, record, gone))
		return; /* that was told; it is listed anew some time */
	key[0] = strings_find(&sched->model.strings, id.scope);
	key[1] = strings_find(&sched->model.strings, id.name);
	known = key[0] == 0 || key[1] == 0 ? NULL : records_find(sched, key);
	if (known != NULL)
		known->generation = sched->records.generation;
}

void records_begin(struct sched *sched)
{
	sched->records.generation++;
	sched->records.misses = false;
}

void records_listed(struct sched *sched, const struct kv_record *records, size_t count_)
{
	for (size_t i = 0; i < count_; i++)
		take(sched, &records[i], false);
}

void records_end(struct sched *sched, int64_t revision)
{
	PL_MAP_EACH (at, &sched->records.by_name) {
		struct gang_known *known =
			PL_CONTAINER_OF(at, struct gang_known, by_name);

		if (known->rev != 0 && known->rev <= revision &&
		    known->generation != sched->records.generation)
			set(sched, known, revision, NULL, 0);
	}
	sched->records.listed = true;
	sched->records.missed = sched->records.misses;
	large_due(sched);
}

void records_events(struct sched *sched, const struct kv_event *events, size_t count_)
{
	for (size_t i = 0; i < count_; i++)
		take(sched, &events[i].record, events[i].is_delete);
}

void records_lost(struct sched *sched)
{
	sched->records.listed = false;
}

/* Nothing is owned, or revisions mean nothing any more: no work refers to them. */
void records_forget(struct sched *sched)
{
	sched->records.listed = false;
	large_drop_all(sched);
	PL_MAP_EACH (at, &sched->records.by_name)
		known_free(sched, PL_CONTAINER_OF(at, struct gang_known, by_name));
}
