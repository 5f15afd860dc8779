#include "tests/sim/truth.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"
#include "tests/sim/world.h"

/* -- reading values, leniently: only the shard that is meant matters ----- */

static const uint8_t *text_after(struct pl_span text, const char *word)
{
	const uint8_t *at = memmem(text.at, text.len, word, strlen(word));

	return at == NULL ? NULL : at + strlen(word);
}

uint16_t truth_shard_of(struct pl_span id, unsigned shards)
{
	unsigned number = 0;

	if (id.len < 2 || id.len > 6 || id.at[0] != 's')
		return TRUTH_SHARD_NONE;
	for (size_t i = 1; i < id.len; i++) {
		if (id.at[i] < '0' || id.at[i] > '9')
			return TRUTH_SHARD_NONE;
		number = number * 10 + (unsigned)(id.at[i] - '0');
	}
	return number < shards ? (uint16_t)number : TRUTH_SHARD_NONE;
}

static uint16_t shard_in(const struct truth *truth, struct pl_span value)
{
	const uint8_t *at = text_after(value, "\"shard\":\"");
	const uint8_t *end = value.at + value.len, *to = at;

	if (at == NULL)
		return TRUTH_SHARD_NONE;
	while (to < end && *to != '"')
		to++;
	return truth_shard_of(pl_span(at, (size_t)(to - at)), truth->shards);
}

static uint64_t number_in(struct pl_span value, const char *word)
{
	const uint8_t *at = text_after(value, word);
	uint64_t number = 0;

	for (; at != NULL && at < value.at + value.len && *at >= '0' && *at <= '9'; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	return number;
}

static void report_obs(struct truth *truth, const struct obs *obs)
{
	if (!truth->listing)
		world_observe(truth->world, obs);
}

/* -- kinds of keys ------------------------------------------------------- */

static void observe_owner(struct truth *truth, const struct keys_id *id,
                          const struct kv_event *event)
{
	struct truth_owner *owner, before;
	const struct kv_record *record = &event->record;

	if (id->partition >= truth->partitions)
		return;
	owner = &truth->owner[id->partition];
	before = *owner;
	*owner = (struct truth_owner){.since_ms = truth->world->agenda.now_ms};
	if (!event->is_delete) {
		owner->exists = true;
		owner->shard = shard_in(truth, record->value);
		owner->epoch = record->create_revision;
		owner->lease = record->lease;
	}
	STORY_WIRE(&truth->world->story, "store", "@%lld %u: %s %u, epoch %lld",
	           (long long)truth->revision, id->partition,
	           owner->exists ? "with" : "without, was",
	           owner->exists ? owner->shard : before.shard,
	           (long long)(owner->exists ? owner->epoch : before.epoch));
	report_obs(truth, &(struct obs){.what = OBS_OWNER,
	                                .partition = id->partition,
	                                .owner = owner,
	                                .before = &before,
	                                .revision = truth->revision});
}

static void observe_member(struct truth *truth, const struct keys_id *id,
                           const struct kv_event *event)
{
	uint16_t shard = truth_shard_of(id->name, truth->shards);
	const struct kv_record *record = &event->record;
	struct truth_member *member;

	if (shard == TRUTH_SHARD_NONE)
		return;
	member = &truth->member[shard];
	*member = (struct truth_member){.shard = shard};
	if (!event->is_delete) {
		member->exists = true;
		member->active =
			text_after(record->value, "\"state\":\"active\"") != NULL;
		member->weight = (uint32_t)number_in(record->value, "\"weight\":");
		member->salt = (uint32_t)number_in(record->value, "\"salt\":");
		member->lease = record->lease;
		member->create_revision = record->create_revision;
	}
	report_obs(truth, &(struct obs){.what = OBS_SHARD, .member = member});
}

static struct truth_leader *leader_of(struct truth *truth, struct pl_span role)
{
	for (unsigned i = 0; i < TRUTH_ROLES_MAX; i++) {
		struct truth_leader *leader = &truth->leader[i];

		if (leader->role[0] == 0)
			(void)snprintf(leader->role, sizeof leader->role, PL_SPAN_FMT,
			               PL_SPAN_ARG(role));
		if (pl_span_eq(pl_span_str(leader->role), role))
			return leader;
	}
	return NULL;
}

static void observe_leader(struct truth *truth, const struct keys_id *id,
                           const struct kv_event *event)
{
	struct truth_leader *leader = leader_of(truth, id->name);
	const struct kv_record *record = &event->record;

	if (leader == NULL)
		return;
	leader->exists = !event->is_delete;
	leader->shard =
		event->is_delete ? TRUTH_SHARD_NONE : shard_in(truth, record->value);
	leader->epoch = event->is_delete ? 0 : record->create_revision;
	leader->lease = event->is_delete ? 0 : record->lease;
	report_obs(truth, &(struct obs){.what = OBS_LEADER,
	                                .role = leader->role,
	                                .leader = leader});
}

static void observe_pin(struct truth *truth, const struct kv_event *event)
{
	struct pl_span key = event->record.key;
	struct truth_pin *free_one = NULL;

	for (unsigned i = 0; i < TRUTH_PINS_MAX; i++) {
		struct truth_pin *pin = &truth->pin[i];

		if (pin->revision == 0)
			free_one = pin;
		if (pin->revision == 0 || !pl_span_eq(pl_span_str(pin->key), key))
			continue;
		if (event->is_delete)
			pin->revision = 0;
		return;
	}
	if (event->is_delete || free_one == NULL || key.len >= sizeof free_one->key)
		return;
	(void)snprintf(free_one->key, sizeof free_one->key, PL_SPAN_FMT,
	               PL_SPAN_ARG(key));
	free_one->revision = event->record.create_revision;
}

static void observe_config(struct truth *truth, const struct keys_id *id,
                           const struct kv_event *event)
{
	static const char *const names[TRUTH_CONFIGS] = {"coord", "shards", "weights",
	                                                 "scheduler", "access"};

	for (unsigned i = 0; i < TRUTH_CONFIGS; i++)
		if (pl_span_eq(id->name, pl_span_str(names[i])))
			truth->config[i] =
				event->is_delete
					? 0
					: number_in(event->record.value, "\"version\":");
}

static void observe_table(struct truth *truth, const struct keys_id *id,
                          const struct kv_event *event)
{
	char **table = &truth->weights[id->version % TRUTH_TABLES];

	if (event->is_delete || !pl_span_eq(id->name, PL_SPAN_LIT("weights")))
		return;
	free(*table);
	*table = pl_calloc(1, event->record.value.len + 1);
	PL_ASSERT(*table != NULL);
	memcpy(*table, event->record.value.at, event->record.value.len);
}

uint32_t truth_factor(const struct truth *truth, unsigned shard)
{
	const char *table = truth->weights[truth->config[2] % TRUTH_TABLES];
	char word[16];
	uint64_t factor = 0;

	(void)snprintf(word, sizeof word, "\"s%u\":", shard);
	if (truth->config[2] != 0 && table != NULL)
		factor = number_in(pl_span_str(table), word);
	return factor == 0 ? 1000 : (uint32_t)factor;
}

static void observe_event(struct truth *truth, const struct kv_event *event)
{
	struct pl_span key = event->record.key;
	struct keys_id id;

	if (pl_span_starts(key, PL_SPAN_LIT("/pins/"))) {
		observe_pin(truth, event);
		return;
	}
	if (keys_parse(key, &id, NULL) != PL_OK)
		return;
	if (id.kind == KEYS_OWNER)
		observe_owner(truth, &id, event);
	else if (id.kind == KEYS_SHARD)
		observe_member(truth, &id, event);
	else if (id.kind == KEYS_LEADER)
		observe_leader(truth, &id, event);
	else if (id.kind == KEYS_CONFIG)
		observe_table(truth, &id, event);
	else if (id.kind == KEYS_CONFIG_CURRENT)
		observe_config(truth, &id, event);
	else if (truth->world->mirror != NULL &&
	         (id.kind == KEYS_NODE || id.kind == KEYS_ALLOC || id.kind == KEYS_SPEC ||
	          id.kind == KEYS_STATE))
		mirror_event(truth->world->mirror, &id, event);
	else if (truth->world->mirror != NULL && id.kind == KEYS_GANG)
		mirror_gang_event(truth->world->mirror, &id, event);
	else if (truth->world->mirror != NULL && id.kind == KEYS_BUDGET)
		mirror_budget_event(truth->world->mirror, &id, event);
	else if ((id.kind == KEYS_STATE || id.kind == KEYS_SPEC) && !event->is_delete)
		report_obs(truth, &(struct obs){.what = OBS_WRITE,
		                                .partition = id.partition,
		                                .text = event->record.value,
		                                .revision = truth->revision});
}

/* The judges see a revision as a whole. */
static void end_revision(struct truth *truth)
{
	struct mirror *mirror = truth->world->mirror;

	if (mirror == NULL || mirror->touched_nodes + mirror->touched_pods +
	                                      mirror->touched_gangs +
	                                      mirror->touched_budgets ==
	                              0)
		return;
	report_obs(truth, &(struct obs){.what = OBS_MIRROR,
	                                .revision = mirror->revision,
	                                .writer = simstore_writer(&truth->world->store,
	                                                          mirror->revision)});
	mirror_end(mirror);
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct truth *truth = ctx;

	if (note->what == KV_WATCH_END) {
		truth->ended = true;
		return;
	}
	if (note->what != KV_WATCH_EVENTS)
		return;
	truth->revision = note->revision;
	for (size_t i = 0; i < note->count; i++) {
		int64_t revision = note->events[i].record.mod_revision;

		if (i > 0 && revision != note->events[i - 1].record.mod_revision)
			end_revision(truth);
		observe_event(truth, &note->events[i]);
	}
	end_revision(truth);
}

/* -- beginning, restoring, end ------------------------------------------- */

static void on_list(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct truth *truth = ctx;

	PL_ASSERT(err == NULL);
	truth->revision = result->header.revision;
	truth->listing = true;
	for (size_t i = 0; i < result->get.count; i++)
		observe_event(truth,
		              &(struct kv_event){.record = result->get.records[i]});
	end_revision(truth);
	truth->listing = false;
}

static void start_list(struct truth *truth)
{
	struct kv_watch_req req = {.keys = kv_all_keys()};
	enum pl_code code;

	code = kv_get(truth->kv, &(struct kv_get){.keys = kv_all_keys()}, 1000, on_list,
	              truth, NULL, NULL);
	PL_ASSERT(code == PL_OK);
	simstore_run(&truth->world->store);
	req.from_revision = truth->revision + 1;
	truth->ended = false;
	code = kv_watch(truth->kv, &req, on_note, truth, &truth->watch, NULL);
	PL_ASSERT(code == PL_OK);
}

static void stop_watch(struct truth *truth)
{
	kv_unwatch(truth->kv, truth->watch);
	simstore_run(&truth->world->store);
	PL_ASSERT(truth->ended);
}

void truth_open(struct truth *truth, struct world *world, uint32_t partitions,
                unsigned shards)
{
	enum pl_code code;

	*truth = (struct truth){
		.world = world, .partitions = partitions, .shards = shards};
	truth->owner = pl_calloc(partitions, sizeof *truth->owner);
	truth->member = pl_calloc(shards, sizeof *truth->member);
	PL_ASSERT(truth->owner != NULL && truth->member != NULL);
	code = memkv_session(world->store.mem, &truth->kv, NULL);
	PL_ASSERT(code == PL_OK);
	start_list(truth);
}

void truth_restored(struct truth *truth)
{
	stop_watch(truth);
	memset(truth->owner, 0, truth->partitions * sizeof *truth->owner);
	memset(truth->member, 0, truth->shards * sizeof *truth->member);
	memset(truth->leader, 0, sizeof truth->leader);
	memset(truth->pin, 0, sizeof truth->pin);
	memset(truth->config, 0, sizeof truth->config);
	if (truth->world->mirror != NULL)
		mirror_reset(truth->world->mirror);
	start_list(truth);
	world_observe(truth->world, &(struct obs){.what = OBS_RESTORED});
}

static void on_closed(void *ctx)
{
	*(bool *)ctx = true;
}

void truth_close(struct truth *truth)
{
	bool closed = false;

	stop_watch(truth);
	kv_close(truth->kv, on_closed, &closed);
	simstore_run(&truth->world->store);
	PL_ASSERT(closed);
}

void truth_free(struct truth *truth)
{
	for (unsigned i = 0; i < TRUTH_TABLES; i++)
		free(truth->weights[i]);
	free(truth->owner);
	free(truth->member);
}
