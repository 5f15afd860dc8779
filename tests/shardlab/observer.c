#include "tests/shardlab/observer.h"

#include <inttypes.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/kv/calls.h"

enum { LIST_MS = 20000 };

static const struct check *const checks[] = {&check_place, &check_room, &check_rules,
                                             &check_termination};
enum { CHECKS = sizeof checks / sizeof checks[0] };

static void start_list(struct observer *observer);

static void *alloc_zeroed(size_t count, size_t size)
{
	void *at = pl_calloc(count, size);

	PL_ASSERT(at != NULL);
	return at;
}

static void on_failed(struct world *world, const char *check, const char *text)
{
	const struct observer *observer = world->ctx;

	observer->opts.failed(observer->opts.ctx, check, text);
}

/* -- the writer of a revision ----------------------------------------------------- */

enum {
	HAS_MANUAL = 1 << 0,
	HAS_NODE = 1 << 1,
	HAS_SPEC = 1 << 2, /* the spec is put, not deleted */
	HAS_ALLOC = 1 << 3,
};

static unsigned classify_event(const struct kv_event *event)
{
	struct keys_id id;

	if (pl_span_eq(event->record.key, PL_SPAN_LIT(OBSERVER_MANUAL)))
		return HAS_MANUAL;
	if (keys_parse(event->record.key, &id, NULL) != PL_OK)
		return 0;
	if (id.kind == KEYS_NODE)
		return HAS_NODE;
	if (id.kind == KEYS_SPEC)
		return event->is_delete ? 0 : HAS_SPEC;
	return id.kind == KEYS_ALLOC ? HAS_ALLOC : 0;
}

/* Only shards change phases. A pod without a place is removed by its user. */
static bool changes_phase(const struct mirror *mirror)
{
	for (uint32_t k = 0; k < mirror->touched_pods; k++) {
		uint32_t i = mirror->touched_pod[k];

		if (mirror->pod[i].phase != MIRROR_NO_STATE &&
		    mirror->pod[i].phase != mirror->was_pod[i].phase)
			return true;
	}
	return false;
}

static int64_t writer_of(const struct mirror *mirror, unsigned has)
{
	if ((has & HAS_MANUAL) != 0)
		return SIMSTORE_NO_WRITER;
	if ((has & (HAS_NODE | HAS_SPEC)) != 0)
		return SIMSTORE_CLIENT;
	return (has & HAS_ALLOC) != 0 || changes_phase(mirror) ? 1 : SIMSTORE_CLIENT;
}

/* -- events ----------------------------------------------------------------------- */

static void observe_owner(struct observer *observer, const struct keys_id *id,
                          const struct kv_event *event)
{
	struct truth_owner *owner;

	if (id->partition >= observer->opts.partitions)
		return;
	owner = &observer->world.truth.owner[id->partition];
	observer->lost_owners += owner->exists && event->is_delete;
	*owner = (struct truth_owner){.exists = !event->is_delete,
	                              .shard = TRUTH_SHARD_NONE};
	if (event->is_delete)
		return;
	owner->epoch = event->record.create_revision;
	owner->lease = event->record.lease;
}

static void observe_leader(struct observer *observer, const struct keys_id *id,
                           const struct kv_event *event)
{
	static const char word[] = "\"shard\":\"";
	struct pl_span value = event->record.value;
	const char *at;

	if (!pl_span_eq(id->name, PL_SPAN_LIT("budgets")))
		return;
	observer->counter[0] = 0;
	at = event->is_delete || value.len == 0
	             ? NULL
	             : memmem(value.at, value.len, word, sizeof word - 1);
	if (at == NULL)
		return;
	at += sizeof word - 1;
	(void)snprintf(observer->counter, sizeof observer->counter, "%.*s",
	               (int)((const char *)value.at + value.len - at), at);
	observer->counter[strcspn(observer->counter, "\"")] = 0;
	observer->counters++;
}

static void observe_gang(struct observer *observer, const struct keys_id *id,
                         const struct kv_event *event)
{
	static const char *const phases[OBSERVER_GANGS] = {
		[OBSERVER_LARGE] = "\"phase\":\"bound\"",
		[OBSERVER_ABORTED] = "\"phase\":\"aborting\""};
	struct pl_span value = event->record.value;

	for (unsigned i = OBSERVER_LARGE; i < OBSERVER_GANGS; i++)
		observer->gangs[i] +=
			!event->is_delete && value.len > 0 &&
			memmem(value.at, value.len, phases[i], strlen(phases[i])) != NULL;
	mirror_gang_event(observer->world.mirror, id, event);
}

static void observe_event(struct observer *observer, const struct kv_event *event)
{
	struct keys_id id;

	if (keys_parse(event->record.key, &id, NULL) != PL_OK)
		return;
	if (id.kind == KEYS_OWNER)
		observe_owner(observer, &id, event);
	else if (id.kind == KEYS_NODE || id.kind == KEYS_ALLOC || id.kind == KEYS_SPEC ||
	         id.kind == KEYS_STATE)
		mirror_event(observer->world.mirror, &id, event);
	else if (id.kind == KEYS_GANG)
		observe_gang(observer, &id, event);
	else if (id.kind == KEYS_BUDGET)
		pdb_judge_event(observer->budgets, &id, event);
	else if (id.kind == KEYS_LEADER)
		observe_leader(observer, &id, event);
}

/* No pod that was accepted is lost. */
static void check_lost(struct observer *observer)
{
	const struct mirror *mirror = observer->world.mirror;

	for (uint32_t k = 0; k < mirror->touched_pods; k++) {
		uint32_t i = mirror->touched_pod[k];
		const struct mirror_pod *was = &mirror->was_pod[i];

		if (was->has_spec && !mirror->pod[i].has_spec &&
		    !mirror->pod[i].corrupted && !was->unwanted && !observer->removed[i])
			check_fail(&observer->world, "lost",
			           "p-%u (%s), @%" PRId64
			           ": it is gone, and no command removed it",
			           i, scenario_kind_text[scenario_kind(i)],
			           mirror->revision);
	}
}

static void count_bound(struct observer *observer)
{
	const struct mirror *mirror = observer->world.mirror;

	for (uint32_t k = 0; k < mirror->touched_pods; k++) {
		uint32_t i = mirror->touched_pod[k];

		observer->bound += mirror->pod[i].phase == MIRROR_BOUND &&
		                   mirror->was_pod[i].phase != MIRROR_BOUND;
		observer->preempted += mirror->pod[i].phase == MIRROR_TERMINATING &&
		                       mirror->was_pod[i].phase == MIRROR_BOUND &&
		                       strcmp(mirror->pod[i].reason, "preempted") == 0;
	}
}

/* Counts gangs that one transaction binds as a whole. */
static void count_gangs(struct observer *observer)
{
	const struct mirror *mirror = observer->world.mirror;
	uint32_t last = UINT32_MAX, count = 0;

	for (uint32_t k = 0; k < mirror->touched_pods; k++) {
		uint32_t i = mirror->touched_pod[k], gang;

		if (!scenario_is_gang(i) || mirror->pod[i].phase != MIRROR_BOUND ||
		    mirror->was_pod[i].phase == MIRROR_BOUND)
			continue;
		gang = scenario_gang(i);
		if (mirror->gang[gang].phase != MIRROR_GANG_NONE)
			continue;
		count = gang == last ? count + 1 : 1;
		last = gang;
		observer->gangs[OBSERVER_SMALL] += count == scenario_gang_min(gang);
	}
}

static void judge_revision(struct observer *observer, unsigned has)
{
	struct world *world = &observer->world;
	struct mirror *mirror = world->mirror;
	struct obs obs = {.what = OBS_MIRROR, .revision = mirror->revision};

	pdb_judge_observe(observer->budgets, observer->revision);
	if (mirror->touched_nodes + mirror->touched_pods + mirror->touched_gangs == 0)
		return;
	obs.writer = writer_of(mirror, has);
	observer->judged++;
	for (unsigned i = 0; i < CHECKS; i++)
		checks[i]->observe(world, observer->state[i], &obs);
	if (obs.writer != SIMSTORE_NO_WRITER)
		check_lost(observer);
	count_bound(observer);
	count_gangs(observer);
	mirror_end(mirror);
}

static void observe_revision(struct observer *observer, const struct kv_event *events,
                             size_t count)
{
	unsigned has = 0;

	observer->revision = events[0].record.mod_revision;
	observer->revisions++;
	observer->world.agenda.now_ms = pl_clock_ms() - observer->start_ms;
	for (size_t i = 0; i < count; i++) {
		has |= classify_event(&events[i]);
		observe_event(observer, &events[i]);
	}
	judge_revision(observer, has);
}

static void observe_events(struct observer *observer, const struct kv_event *events,
                           size_t count)
{
	size_t first = 0;

	for (size_t i = 1; i <= count; i++) {
		if (i < count &&
		    events[i].record.mod_revision == events[first].record.mod_revision)
			continue;
		observe_revision(observer, events + first, i - first);
		first = i;
	}
}

/* All keys except those that only fill the store (OBSERVER_JUNK). */
static struct kv_keys all_keys(void)
{
	return kv_range(PL_SPAN_LIT("/"), PL_SPAN_LIT(OBSERVER_JUNK));
}

/* -- list and watch --------------------------------------------------------------- */

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct observer *observer = ctx;

	if (note->what == KV_WATCH_EVENTS)
		observe_events(observer, note->events, note->count);
	if (note->what != KV_WATCH_END)
		return;
	observer->watch = NULL;
	if (!observer->closing)
		start_list(observer);
}

static void on_list(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct observer *observer = ctx;
	struct kv_watch_req req = {.keys = all_keys()};
	struct mirror *mirror = observer->world.mirror;
	enum pl_code code;

	observer->call = NULL;
	if (observer->closing)
		return;
	if (err != NULL) {
		start_list(observer);
		return;
	}
	memset(observer->world.truth.owner, 0,
	       observer->opts.partitions * sizeof *observer->world.truth.owner);
	mirror_reset(mirror);
	pdb_judge_reset(observer->budgets);
	observer->counter[0] = 0;
	observer->world.truth.listing = true;
	for (size_t i = 0; i < result->get.count; i++)
		observe_event(observer,
		              &(struct kv_event){.record = result->get.records[i]});
	observer->world.truth.listing = false;
	mirror_end(mirror);
	observer->revision = result->header.revision;
	pdb_judge_listed(observer->budgets, observer->revision);
	observer->listed = true;
	req.from_revision = observer->revision + 1;
	code = kv_watch(observer->opts.kv, &req, on_note, observer, &observer->watch,
	                NULL);
	PL_ASSERT(code == PL_OK);
}

static void start_list(struct observer *observer)
{
	enum pl_code code;

	PL_ASSERT(observer->watch == NULL && observer->call == NULL);
	observer->unjudged++;
	observer->listed = false;
	code = kv_get(observer->opts.kv, &(struct kv_get){.keys = all_keys()}, LIST_MS,
	              on_list, observer, &observer->call, NULL);
	PL_ASSERT(code == PL_OK);
}

/* -- lifetime --------------------------------------------------------------------- */

void observer_open(struct observer *observer, const struct observer_opts *opts)
{
	struct world *world = &observer->world;

	observer->opts = *opts;
	observer->start_ms = pl_clock_ms();
	world->failed = on_failed;
	world->ctx = observer;
	world->plan.scenario = *opts->scenario;
	world->plan.partitions = opts->partitions;
	world->plan.wall_max_ms = 1; /* judges do not trust wall clocks then */
	world->wall_ms = (uint64_t)pl_clock_wall_ms();
	pl_list_init(&world->procs);
	world->story =
		(struct story){.out = opts->story, .now_ms = &world->agenda.now_ms};
	world->mirror = mirror_new(world, opts->scenario);
	world->truth.partitions = opts->partitions;
	world->truth.owner = alloc_zeroed(opts->partitions, sizeof *world->truth.owner);
	world->manual_owner = alloc_zeroed(opts->partitions, sizeof *world->manual_owner);
	observer->removed = alloc_zeroed(opts->scenario->pods, sizeof *observer->removed);
	observer->budgets = pdb_judge_new(world, opts->scenario->pods);
	for (unsigned i = 0; i < CHECKS; i++)
		observer->state[i] = alloc_zeroed(1, checks[i]->size);
	start_list(observer);
}

void observer_relist(struct observer *observer)
{
	observer->listed = false;
	if (observer->watch != NULL)
		kv_unwatch(observer->opts.kv, observer->watch);
}

bool observer_close(struct observer *observer)
{
	bool first = !observer->closing;

	observer->closing = true;
	if (first && observer->watch != NULL)
		kv_unwatch(observer->opts.kv, observer->watch);
	if (first && observer->call != NULL)
		kv_cancel(observer->opts.kv, observer->call);
	return observer->watch == NULL && observer->call == NULL;
}

void observer_free(struct observer *observer)
{
	for (unsigned i = 0; i < CHECKS; i++)
		free(observer->state[i]);
	pdb_judge_free(observer->budgets);
	mirror_free(observer->world.mirror);
	free(observer->world.truth.owner);
	free(observer->world.manual_owner);
	free(observer->removed);
}

/* -- damage by hand --------------------------------------------------------------- */

void observer_corrupt_node(struct observer *observer, uint32_t node)
{
	struct mirror *mirror = observer->world.mirror;

	mirror->node[node].corrupted = true;
	for (uint32_t i = 0; i < mirror->pods; i++)
		if (mirror->pod[i].node == node || mirror_lists(&mirror->node[node], i))
			mirror->pod[i].corrupted = true;
}

void observer_corrupt_pod(struct observer *observer, uint32_t pod)
{
	struct mirror *mirror = observer->world.mirror;

	mirror->pod[pod].corrupted = true;
	for (uint32_t i = 0; i < mirror->nodes; i++)
		if (mirror->pod[pod].node == i || mirror_lists(&mirror->node[i], pod))
			mirror->node[i].corrupted = true;
}

void observer_corrupt_rules(struct observer *observer)
{
	observer->world.mirror->rules_corrupted = true;
}

void observer_corrupt_gang(struct observer *observer, uint32_t gang)
{
	observer->world.mirror->gang_corrupted[gang] = true;
}

void observer_corrupt_budget(struct observer *observer, unsigned budget)
{
	pdb_judge_corrupt(observer->budgets, budget, true);
}

void observer_clear_corrupted(struct observer *observer)
{
	struct mirror *mirror = observer->world.mirror;

	mirror->rules_corrupted = false;
	for (unsigned i = 0; i < PDB_COUNT; i++)
		pdb_judge_corrupt(observer->budgets, i, false);
	for (uint32_t i = 0; i < mirror->gangs; i++)
		mirror->gang_corrupted[i] = false;
	for (uint32_t i = 0; i < mirror->nodes; i++)
		mirror->node[i].corrupted = false;
	for (uint32_t i = 0; i < mirror->pods; i++)
		mirror->pod[i].corrupted = false;
}
