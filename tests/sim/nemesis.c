#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/sim/client.h"
#include "tests/sim/corrupt.h"
#include "tests/sim/nemesis_int.h"

static enum fault draw_fault(struct nemesis *nemesis)
{
	const struct plan *plan = &nemesis->world->plan;
	uint64_t at = nemesis_below(nemesis, plan->weights);

	for (unsigned i = 0; i < FAULT_COUNT; i++) {
		if (at < plan->weight[i])
			return (enum fault)i;
		at -= plan->weight[i];
	}
	PL_UNREACHABLE("weights");
}

static void by_operator(struct nemesis *nemesis, enum fault fault)
{
	if (fault == FAULT_JOIN)
		fault_join(nemesis);
	if (fault == FAULT_EVICT)
		operators_evict(nemesis->operators);
	if (fault == FAULT_DRAIN)
		operators_drain(nemesis->operators);
	if (fault == FAULT_CONFIG)
		operators_config(nemesis->operators);
	if (fault == FAULT_CONFIG_BAD)
		operators_config_bad(nemesis->operators);
	if (fault == FAULT_MANUAL_DELETE)
		operators_delete_owner(nemesis->operators);
	if (fault == FAULT_MANUAL_CORRUPT)
		operators_corrupt_owner(nemesis->operators);
	if (fault == FAULT_PIN)
		operators_pin(nemesis->operators);
	if (fault == FAULT_CORRUPT_ALLOC)
		corrupt_alloc(nemesis->world);
	if (fault == FAULT_CORRUPT_STATE)
		corrupt_state(nemesis->world);
	if (fault == FAULT_CORRUPT_SPEC)
		corrupt_spec(nemesis->world);
	if (fault == FAULT_CORRUPT_RULES)
		corrupt_rules(nemesis->world);
	if (fault == FAULT_CORRUPT_GANG)
		corrupt_gang(nemesis->world);
	if (fault == FAULT_UNKNOWN_KEY)
		corrupt_add_unknown_key(nemesis->world);
	if (fault == FAULT_CLIENT)
		client_crash(nemesis->world->client);
}

static void on_next(void *ctx)
{
	struct nemesis *nemesis = ctx;
	struct world *world = nemesis->world;
	struct proc *proc = proc_any(world);
	uint64_t gap = world->plan.gap_ms;
	enum fault fault = draw_fault(nemesis);

	agenda_set(&world->agenda, &nemesis->next,
	           nemesis_now(nemesis) + 1 + nemesis_below(nemesis, 2 * gap));
	/* With one_at_a_time, no fault comes before the last change has converged. */
	if (world->plan.one_at_a_time && world->change_ms != 0)
		return;
	if (world_chance(world, 1, 8) && world->plan.weight[FAULT_RESTORE] != 0)
		faults_snapshot(nemesis);
	if (proc != NULL)
		fault_of_proc(nemesis, fault, proc);
	fault_of_store(nemesis, fault);
	by_operator(nemesis, fault);
}

void nemesis_start(struct world *world)
{
	if (world->plan.one_at_a_time)
		operators_no_balancer(world->nemesis->operators);
	if (world->plan.weights != 0)
		agenda_set(&world->agenda, &world->nemesis->next,
		           world->agenda.now_ms + 1);
}

static void heal_proc(struct nemesis *nemesis, struct proc *proc)
{
	struct world *world = nemesis->world;

	if (simkv_is_paused(proc->sim))
		agenda_set(&world->agenda, &proc->wake, nemesis_now(nemesis));
	agenda_set(&world->agenda, &proc->heal, nemesis_now(nemesis));
	if (!world->plan.wall_stays)
		proc->wall_ms = 0;
	if (simkv_clock(proc->sim)->ppm < -SAFE_PPM ||
	    simkv_clock(proc->sim)->ppm > SAFE_PPM)
		simkv_drift(proc->sim, 0);
	if (proc->broken_until_ms == UINT64_MAX)
		proc->broken_until_ms =
			nemesis_now(nemesis) + 2 * nemesis_ttl_ms(nemesis);
	*simkv_link(proc->sim) =
		(struct simlink){.delay_min_ms = 1, .delay_max_ms = 4, .lag_max_ms = 1};
}

void nemesis_stop(struct world *world)
{
	struct nemesis *nemesis = world->nemesis;

	nemesis_story(nemesis, "lets everything be");
	agenda_stop(&world->agenda, &nemesis->next);
	agenda_stop(&world->agenda, &nemesis->kill_item);
	faults_store_stop(nemesis);
	PROC_EACH (proc, world)
		if (proc_lives(proc))
			heal_proc(nemesis, proc);
	for (unsigned i = 0; i < STARTS_MAX; i++)
		if (nemesis->starts[i].busy)
			agenda_set(&world->agenda, &nemesis->starts[i].item,
			           nemesis_now(nemesis) + nemesis_below(nemesis, 100));
	if (world->client != NULL && !world->plan.wall_stays)
		client_set_wall(world->client, 0);
	operators_recover(nemesis->operators);
	if (world->mirror != NULL)
		corrupt_repair(world);
}

void nemesis_open(struct world *world)
{
	struct nemesis *nemesis = pl_calloc(1, sizeof *nemesis);

	PL_ASSERT(nemesis != NULL);
	nemesis->world = world;
	nemesis->operators = operators_new(world);
	agenda_item_init(&nemesis->next, on_next, nemesis);
	faults_proc_init(nemesis);
	faults_store_init(nemesis);
	world->nemesis = nemesis;
}

void nemesis_close(struct world *world)
{
	struct nemesis *nemesis = world->nemesis;

	agenda_stop(&world->agenda, &nemesis->next);
	agenda_stop(&world->agenda, &nemesis->kill_item);
	nemesis->unannounced = false;
	faults_store_stop(nemesis);
	for (unsigned i = 0; i < STARTS_MAX; i++)
		agenda_stop(&world->agenda, &nemesis->starts[i].item);
	memkv_snapshot_free(nemesis->snapshot);
	operators_free(nemesis->operators);
	free(nemesis);
}
