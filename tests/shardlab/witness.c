#include "tests/shardlab/witness.h"

#include <inttypes.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/kv/calls.h"

enum { LIST_MS = 20000 };

static const struct check *const checks[] = {&check_place, &check_room, &check_rules,
                                             &check_ends};
enum { CHECKS = sizeof checks / sizeof checks[0] };

static void follow(struct witness *witness);

static void *room(size_t count, size_t size)
{
	void *at = pl_calloc(count, size);

	PL_ASSERT(at != NULL);
	return at;
}

static void failed(struct world *world, const char *check, const char *text)
{
	const struct witness *witness = world->ctx;

	witness->opts.failed(witness->opts.ctx, check, text);
}

/* -- whose a revision is ---------------------------------------------------------- */

enum {
	HAS_HAND = 1 << 0,
	HAS_NODE = 1 << 1,
	HAS_SPEC = 1 << 2, /* put */
	HAS_ALLOC = 1 << 3,
};

static unsigned look_at(const struct kv_event *event)
{
	struct keys_id id;

	if (pl_span_eq(event->record.key, PL_SPAN_LIT(WITNESS_HAND)))
		return HAS_HAND;
	if (keys_parse(event->record.key, &id, NULL) != PL_OK)
		return 0;
	if (id.kind == KEYS_NODE)
		return HAS_NODE;
	if (id.kind == KEYS_SPEC)
		return event->is_delete ? 0 : HAS_SPEC;
	return id.kind == KEYS_ALLOC ? HAS_ALLOC : 0;
}

/* Only shards change phases. A pod that has no place is removed by whoever wants it. */
static bool changes_phase(const struct stock *stock)
{
	for (uint32_t k = 0; k < stock->touched_pods; k++) {
		uint32_t i = stock->touched_pod[k];

		if (stock->pod[i].phase != STOCK_NO_STATE &&
		    stock->pod[i].phase != stock->was_pod[i].phase)
			return true;
	}
	return false;
}

static int64_t whose(const struct stock *stock, unsigned has)
{
	if ((has & HAS_HAND) != 0)
		return DEPOT_NOBODY;
	if ((has & (HAS_NODE | HAS_SPEC)) != 0)
		return DEPOT_CLERK;
	return (has & HAS_ALLOC) != 0 || changes_phase(stock) ? 1 : DEPOT_CLERK;
}

/* -- what is seen ----------------------------------------------------------------- */

static void see_owner(struct witness *witness, const struct keys_id *id,
                      const struct kv_event *event)
{
	struct truth_owner *owner;

	if (id->partition >= witness->opts.partitions)
		return;
	owner = &witness->world.truth.owner[id->partition];
	witness->lost_owners += owner->exists && event->is_delete;
	*owner = (struct truth_owner){.exists = !event->is_delete,
	                              .shard = TRUTH_SHARD_NONE};
	if (event->is_delete)
		return;
	owner->epoch = event->record.create_revision;
	owner->lease = event->record.lease;
}

static void see_leader(struct witness *witness, const struct keys_id *id,
                       const struct kv_event *event)
{
	static const char word[] = "\"shard\":\"";
	struct pl_span value = event->record.value;
	const char *at;

	if (!pl_span_eq(id->name, PL_SPAN_LIT("budgets")))
		return;
	witness->counter[0] = 0;
	at = event->is_delete || value.len == 0
	             ? NULL
	             : memmem(value.at, value.len, word, sizeof word - 1);
	if (at == NULL)
		return;
	at += sizeof word - 1;
	(void)snprintf(witness->counter, sizeof witness->counter, "%.*s",
	               (int)((const char *)value.at + value.len - at), at);
	witness->counter[strcspn(witness->counter, "\"")] = 0;
	witness->counters++;
}

static void see_gang(struct witness *witness, const struct keys_id *id,
                     const struct kv_event *event)
{
	static const char *const phases[WITNESS_GANGS] = {
		[WITNESS_LARGE] = "\"phase\":\"bound\"",
		[WITNESS_ABORTED] = "\"phase\":\"aborting\""};
	struct pl_span value = event->record.value;

	for (unsigned i = WITNESS_LARGE; i < WITNESS_GANGS; i++)
		witness->gangs[i] +=
			!event->is_delete && value.len > 0 &&
			memmem(value.at, value.len, phases[i], strlen(phases[i])) != NULL;
	stock_gang_event(witness->world.stock, id, event);
}

static void see_event(struct witness *witness, const struct kv_event *event)
{
	struct keys_id id;

	if (keys_parse(event->record.key, &id, NULL) != PL_OK)
		return;
	if (id.kind == KEYS_OWNER)
		see_owner(witness, &id, event);
	else if (id.kind == KEYS_NODE || id.kind == KEYS_ALLOC || id.kind == KEYS_SPEC ||
	         id.kind == KEYS_STATE)
		stock_event(witness->world.stock, &id, event);
	else if (id.kind == KEYS_GANG)
		see_gang(witness, &id, event);
	else if (id.kind == KEYS_BUDGET)
		pdb_judge_event(witness->budgets, &id, event);
	else if (id.kind == KEYS_LEADER)
		see_leader(witness, &id, event);
}

/* No pod that was accepted is lost. */
static void check_lost(struct witness *witness)
{
	const struct stock *stock = witness->world.stock;

	for (uint32_t k = 0; k < stock->touched_pods; k++) {
		uint32_t i = stock->touched_pod[k];
		const struct stock_pod *was = &stock->was_pod[i];

		if (was->has_spec && !stock->pod[i].has_spec && !stock->pod[i].spoilt &&
		    !was->unwanted && !witness->removed[i])
			check_fail(&witness->world, "lost",
			           "p-%u (%s), @%" PRId64
			           ": it is gone, and nobody wanted that",
			           i, scene_kind_text[scene_kind(i)], stock->revision);
	}
}

static void count_bound(struct witness *witness)
{
	const struct stock *stock = witness->world.stock;

	for (uint32_t k = 0; k < stock->touched_pods; k++) {
		uint32_t i = stock->touched_pod[k];

		witness->bound += stock->pod[i].phase == STOCK_BOUND &&
		                  stock->was_pod[i].phase != STOCK_BOUND;
		witness->preempted += stock->pod[i].phase == STOCK_TERMINATING &&
		                      stock->was_pod[i].phase == STOCK_BOUND &&
		                      strcmp(stock->pod[i].reason, "preempted") == 0;
	}
}

/* One that has come whole, in one transaction. */
static void count_gangs(struct witness *witness)
{
	const struct stock *stock = witness->world.stock;
	uint32_t last = UINT32_MAX, count = 0;

	for (uint32_t k = 0; k < stock->touched_pods; k++) {
		uint32_t i = stock->touched_pod[k], gang;

		if (!scene_is_gang(i) || stock->pod[i].phase != STOCK_BOUND ||
		    stock->was_pod[i].phase == STOCK_BOUND)
			continue;
		gang = scene_gang(i);
		if (stock->gang[gang].phase != STOCK_GANG_NONE)
			continue;
		count = gang == last ? count + 1 : 1;
		last = gang;
		witness->gangs[WITNESS_SMALL] += count == scene_gang_min(gang);
	}
}

static void judge(struct witness *witness, unsigned has)
{
	struct world *world = &witness->world;
	struct stock *stock = world->stock;
	struct obs obs = {.what = OBS_STOCK, .revision = stock->revision};

	pdb_judge_see(witness->budgets, witness->revision);
	if (stock->touched_nodes + stock->touched_pods + stock->touched_gangs == 0)
		return;
	obs.whose = whose(stock, has);
	witness->judged++;
	for (unsigned i = 0; i < CHECKS; i++)
		checks[i]->see(world, witness->state[i], &obs);
	if (obs.whose != DEPOT_NOBODY)
		check_lost(witness);
	count_bound(witness);
	count_gangs(witness);
	stock_end(stock);
}

static void see_revision(struct witness *witness, const struct kv_event *events,
                         size_t count)
{
	unsigned has = 0;

	witness->revision = events[0].record.mod_revision;
	witness->revisions++;
	witness->world.agenda.now_ms = pl_clock_ms() - witness->start_ms;
	for (size_t i = 0; i < count; i++) {
		has |= look_at(&events[i]);
		see_event(witness, &events[i]);
	}
	judge(witness, has);
}

static void see_all(struct witness *witness, const struct kv_event *events, size_t count)
{
	size_t first = 0;

	for (size_t i = 1; i <= count; i++) {
		if (i < count &&
		    events[i].record.mod_revision == events[first].record.mod_revision)
			continue;
		see_revision(witness, events + first, i - first);
		first = i;
	}
}

/* But for what only fills the store (WITNESS_JUNK). */
static struct kv_keys everything(void)
{
	return kv_range(PL_SPAN_LIT("/"), PL_SPAN_LIT(WITNESS_JUNK));
}

/* -- list and watch --------------------------------------------------------------- */

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct witness *witness = ctx;

	if (note->what == KV_WATCH_EVENTS)
		see_all(witness, note->events, note->count);
	if (note->what != KV_WATCH_END)
		return;
	witness->watch = NULL;
	if (!witness->closing)
		follow(witness);
}

static void on_list(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct witness *witness = ctx;
	struct kv_watch_req req = {.keys = everything()};
	struct stock *stock = witness->world.stock;
	enum pl_code code;

	witness->call = NULL;
	if (witness->closing)
		return;
	if (err != NULL) {
		follow(witness);
		return;
	}
	memset(witness->world.truth.owner, 0,
	       witness->opts.partitions * sizeof *witness->world.truth.owner);
	stock_reset(stock);
	pdb_judge_reset(witness->budgets);
	witness->counter[0] = 0;
	witness->world.truth.listing = true;
	for (size_t i = 0; i < result->get.count; i++)
		see_event(witness, &(struct kv_event){.record = result->get.records[i]});
	witness->world.truth.listing = false;
	stock_end(stock);
	witness->revision = result->header.revision;
	pdb_judge_listed(witness->budgets, witness->revision);
	witness->listed = true;
	req.from_revision = witness->revision + 1;
	code = kv_watch(witness->opts.kv, &req, on_note, witness, &witness->watch, NULL);
	PL_ASSERT(code == PL_OK);
}

static void follow(struct witness *witness)
{
	enum pl_code code;

	PL_ASSERT(witness->watch == NULL && witness->call == NULL);
	witness->blind++;
	witness->listed = false;
	code = kv_get(witness->opts.kv, &(struct kv_get){.keys = everything()}, LIST_MS,
	              on_list, witness, &witness->call, NULL);
	PL_ASSERT(code == PL_OK);
}

/* -- beginning and end ------------------------------------------------------------ */

void witness_open(struct witness *witness, const struct witness_opts *opts)
{
	struct world *world = &witness->world;

	witness->opts = *opts;
	witness->start_ms = pl_clock_ms();
	world->failed = failed;
	world->ctx = witness;
	world->plan.scene = *opts->scene;
	world->plan.partitions = opts->partitions;
	world->plan.wall_max_ms = 1; /* whatever clocks say */
	world->wall_ms = (uint64_t)pl_clock_wall_ms();
	pl_list_init(&world->procs);
	world->story =
		(struct story){.out = opts->story, .now_ms = &world->agenda.now_ms};
	world->stock = stock_new(world, opts->scene);
	world->truth.partitions = opts->partitions;
	world->truth.owner = room(opts->partitions, sizeof *world->truth.owner);
	world->handmade = room(opts->partitions, sizeof *world->handmade);
	witness->removed = room(opts->scene->pods, sizeof *witness->removed);
	witness->budgets = pdb_judge_new(world, opts->scene->pods);
	for (unsigned i = 0; i < CHECKS; i++)
		witness->state[i] = room(1, checks[i]->size);
	follow(witness);
}

void witness_again(struct witness *witness)
{
	witness->listed = false;
	if (witness->watch != NULL)
		kv_unwatch(witness->opts.kv, witness->watch);
}

bool witness_close(struct witness *witness)
{
	bool first = !witness->closing;

	witness->closing = true;
	if (first && witness->watch != NULL)
		kv_unwatch(witness->opts.kv, witness->watch);
	if (first && witness->call != NULL)
		kv_cancel(witness->opts.kv, witness->call);
	return witness->watch == NULL && witness->call == NULL;
}

void witness_free(struct witness *witness)
{
	for (unsigned i = 0; i < CHECKS; i++)
		free(witness->state[i]);
	pdb_judge_free(witness->budgets);
	stock_free(witness->world.stock);
	free(witness->world.truth.owner);
	free(witness->world.handmade);
	free(witness->removed);
}

/* -- what was spoilt -------------------------------------------------------------- */

void witness_spoil_node(struct witness *witness, uint32_t node)
{
	struct stock *stock = witness->world.stock;

	stock->node[node].spoilt = true;
	for (uint32_t i = 0; i < stock->pods; i++)
		if (stock->pod[i].node == node || stock_lists(&stock->node[node], i))
			stock->pod[i].spoilt = true;
}

void witness_spoil_pod(struct witness *witness, uint32_t pod)
{
	struct stock *stock = witness->world.stock;

	stock->pod[pod].spoilt = true;
	for (uint32_t i = 0; i < stock->nodes; i++)
		if (stock->pod[pod].node == i || stock_lists(&stock->node[i], pod))
			stock->node[i].spoilt = true;
}

void witness_spoil_rules(struct witness *witness)
{
	witness->world.stock->rules_spoilt = true;
}

void witness_spoil_gang(struct witness *witness, uint32_t gang)
{
	witness->world.stock->gang_spoilt[gang] = true;
}

void witness_spoil_budget(struct witness *witness, unsigned budget)
{
	pdb_judge_spoil(witness->budgets, budget, true);
}

void witness_unspoil(struct witness *witness)
{
	struct stock *stock = witness->world.stock;

	stock->rules_spoilt = false;
	for (unsigned i = 0; i < PDB_COUNT; i++)
		pdb_judge_spoil(witness->budgets, i, false);
	for (uint32_t i = 0; i < stock->gangs; i++)
		stock->gang_spoilt[i] = false;
	for (uint32_t i = 0; i < stock->nodes; i++)
		stock->node[i].spoilt = false;
	for (uint32_t i = 0; i < stock->pods; i++)
		stock->pod[i].spoilt = false;
}
