/* Shared by the parts of nemesis.c; no other file includes it. */
#ifndef TESTS_SIM_NEMESIS_INT_H
#define TESTS_SIM_NEMESIS_INT_H

#include "tests/sim/nemesis.h"
#include "tests/sim/proc.h"

enum { STARTS_MAX = 64, SHARDS_A_HOST = 2, SAFE_PPM = 90000, WILD_PPM = 250000 };

/* A process that is to be started. */
struct pending_start {
	struct nemesis *nemesis;
	struct agenda_item item;
	bool busy;
	unsigned id, host;
};

struct nemesis {
	struct world *world;
	struct operators *operators;
	struct agenda_item next;
	struct agenda_item slow_end, full_end,
		announce; /* end of slow, of full; announcement of a restore */
	struct pending_start starts[STARTS_MAX];
	struct agenda_item compact_item; /* a compaction just after owner keys were
					  * deleted */
	bool compact_armed;              /* the next deleted owner key triggers one */
	struct agenda_item kill_item;    /* death of the owner of a large gang */
	unsigned victim;
	struct memkv_snapshot *snapshot;
	bool unannounced; /* a restore was not announced yet */
};

static inline uint64_t nemesis_now(const struct nemesis *nemesis)
{
	return nemesis->world->agenda.now_ms;
}

static inline uint64_t nemesis_below(struct nemesis *nemesis, uint64_t bound)
{
	return world_below(nemesis->world, bound);
}

static inline uint64_t nemesis_ttl_ms(const struct nemesis *nemesis)
{
	return (uint64_t)nemesis->world->plan.ttl_s * 1000;
}

/* How long a fault lasts: often short, sometimes longer than any lease. */
static inline uint64_t nemesis_duration_ms(struct nemesis *nemesis)
{
	return 1 + nemesis_below(nemesis, world_chance(nemesis->world, 1, 2)
	                                          ? 800
	                                          : 2 * nemesis_ttl_ms(nemesis) + 2000);
}

static inline void nemesis_story(struct nemesis *nemesis, const char *words)
{
	STORY(&nemesis->world->story, "nemesis", "%s", words);
}

/* faults_proc.c: faults of processes, their network and clocks */
void faults_proc_init(struct nemesis *nemesis);
void fault_of_proc(struct nemesis *nemesis, enum fault fault, struct proc *proc);
void fault_join(struct nemesis *nemesis);

/* faults_store.c */
void faults_store_init(struct nemesis *nemesis);
void faults_store_stop(struct nemesis *nemesis); /* undoes what was begun */
void fault_of_store(struct nemesis *nemesis, enum fault fault);
void faults_snapshot(struct nemesis *nemesis);

#endif
