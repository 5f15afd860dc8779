#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/sim/clerk.h"
#include "tests/sim/nemesis_int.h"
#include "tests/sim/spoil.h"

static enum fault draw(struct nemesis *nemesis)
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

static void by_hand(struct nemesis *nemesis, enum fault fault)
{
	if (fault == FAULT_JOIN)
		fault_join(nemesis);
	if (fault == FAULT_EVICT)
		hands_evict(nemesis->hands);
	if (fault == FAULT_DRAIN)
		hands_drain(nemesis->hands);
	if (fault == FAULT_CONFIG)
		hands_config(nemesis->hands);
	if (fault == FAULT_CONFIG_BAD)
		hands_config_bad(nemesis->hands);
	if (fault == FAULT_HAND_DELETE)
		hands_delete_owner(nemesis->hands);
	if (fault == FAULT_HAND_GARBLE)
		hands_garble_owner(nemesis->hands);
	if (fault == FAULT_PIN)
		hands_pin(nemesis->hands);
	if (fault == FAULT_SPOIL_ALLOC)
		spoil_alloc(nemesis->world);
	if (fault == FAULT_SPOIL_STATE)
		spoil_state(nemesis->world);
	if (fault == FAULT_SPOIL_SPEC)
		spoil_spec(nemesis->world);
	if (fault == FAULT_SPOIL_RULES)
		spoil_rules(nemesis->world);
	if (fault == FAULT_SPOIL_GANG)
		spoil_gang(nemesis->world);
	if (fault == FAULT_STRAY)
		spoil_stray(nemesis->world);
	if (fault == FAULT_CLERK)
		clerk_crash(nemesis->world->clerk);
}

static void on_next(void *ctx)
{
	struct nemesis *nemesis = ctx;
	struct world *world = nemesis->world;
	struct proc *proc = proc_any(world);
	uint64_t gap = world->plan.gap_ms;
	enum fault fault = draw(nemesis);

	agenda_set(&world->agenda, &nemesis->next,
	           nemesis_now(nemesis) + 1 + nemesis_below(nemesis, 2 * gap));
	/* One that waits for the last to settle does nothing meanwhile. */
	if (world->plan.one_at_a_time && world->change_ms != 0)
		return;
	if (world_chance(world, 1, 8) && world->plan.weight[FAULT_RESTORE] != 0)
		faults_snapshot(nemesis);
	if (proc != NULL)
		fault_of_proc(nemesis, fault, proc);
	fault_of_store(nemesis, fault);
	by_hand(nemesis, fault);
}

void nemesis_start(struct world *world)
{
	if (world->plan.one_at_a_time)
		hands_no_balancer(world->nemesis->hands);
	if (world->plan.weights != 0)
		agenda_set(&world->agenda, &world->nemesis->next,
		           world->agenda.now_ms + 1);
}

static void mend(struct nemesis *nemesis, struct proc *proc)
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

void nemesis_calm(struct world *world)
{
	struct nemesis *nemesis = world->nemesis;

	nemesis_say(nemesis, "lets everything be");
	agenda_stop(&world->agenda, &nemesis->next);
	agenda_stop(&world->agenda, &nemesis->murder);
	faults_store_stop(nemesis);
	PROC_EACH (proc, world)
		if (proc_lives(proc))
			mend(nemesis, proc);
	for (unsigned i = 0; i < RETURNS_MAX; i++)
		if (nemesis->ret[i].busy)
			agenda_set(&world->agenda, &nemesis->ret[i].item,
			           nemesis_now(nemesis) + nemesis_below(nemesis, 100));
	if (world->clerk != NULL && !world->plan.wall_stays)
		clerk_set_wall(world->clerk, 0);
	hands_calm(nemesis->hands);
	if (world->stock != NULL)
		spoil_calm(world);
}

void nemesis_open(struct world *world)
{
	struct nemesis *nemesis = pl_calloc(1, sizeof *nemesis);

	PL_ASSERT(nemesis != NULL);
	nemesis->world = world;
	nemesis->hands = hands_new(world);
	agenda_item_init(&nemesis->next, on_next, nemesis);
	faults_proc_init(nemesis);
	faults_store_init(nemesis);
	world->nemesis = nemesis;
}

void nemesis_close(struct world *world)
{
	struct nemesis *nemesis = world->nemesis;

	agenda_stop(&world->agenda, &nemesis->next);
	agenda_stop(&world->agenda, &nemesis->murder);
	nemesis->untold = false;
	faults_store_stop(nemesis);
	for (unsigned i = 0; i < RETURNS_MAX; i++)
		agenda_stop(&world->agenda, &nemesis->ret[i].item);
	memkv_snapshot_free(nemesis->snapshot);
	hands_free(nemesis->hands);
	free(nemesis);
}
