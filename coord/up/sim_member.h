/*
 * A simulated member cluster, as the shards see it: bound pods run, some of them end
 * by themselves, and terminating pods end after a while. Pure: states of pods go in,
 * the member's reports come out.
 *
 *	Bound       --its lifetime, or its turn--> Succeeded, or Failed
 *	Terminating --grace--> Gone
 *
 * The lifetime of a pod is derived from the seed, its name and the time of its phase,
 * so a run can be repeated. Turns come at a rate, and each ends the pod that has run
 * longest; while no pod runs no turns accumulate.
 */
#ifndef COORD_UP_SIM_MEMBER_H
#define COORD_UP_SIM_MEMBER_H

#include "shardsched/records/pod_state.h"
#include "store/base/heap.h"
#include "store/base/list.h"
#include "store/base/map.h"

enum {
	SIM_ENDS_MAX = 1000000, /* in a period */
	SIM_PERIOD_MAX_MS = 3600000,
};

/* count in each period; 0: never. */
struct sim_rate {
	uint64_t count;
	uint64_t period_ms;
};

struct sim_member_opts {
	struct pl_span cluster; /* borrowed */
	uint64_t seed;
	uint64_t lifetime_ms;  /* average; each pod gets half of it to one and a half;
	                        * 0: no pod ends by itself */
	struct sim_rate ends;  /* rate at which the longest running pods end, besides
	                        * their lifetimes */
	uint32_t fail_percent; /* of the pods that end by themselves */
	uint64_t grace_ms;
};

struct sim_member {
	struct sim_member_opts opts;
	struct pl_map pods; /* the pods that run here, by "namespace/name" */
	struct pl_heap due;
	struct pl_list line; /* the pods that run and have not ended, the longest
	                      * running first */
	uint64_t line_ms;    /* since when the line has had a pod */
	uint64_t turns;      /* turns taken since then */
	/* Present counts, and reports since the beginning. */
	uint64_t running, leaving;
	uint64_t succeeded, failed, gone;
};

/* Parses "50/s", "20/m", "1/h" or "0". PL_INVALID, PL_LIMIT. */
PL_NODISCARD enum pl_code sim_rate_parse(struct pl_span text, struct sim_rate *out,
                                         struct pl_err *err);

/* The member must not move, since its lists point to it. */
void sim_member_init(struct sim_member *member, const struct sim_member_opts *opts);
void sim_member_done(struct sim_member *member);

/* Takes the present state of a pod; NULL: the pod is gone. PL_NOMEM. */
PL_NODISCARD enum pl_code sim_member_apply(struct sim_member *member, struct pl_span key,
                                           const struct pod_state *state,
                                           uint64_t now_ms);

/* Gives each pod that has ended by now once; key is borrowed until the next call of
 * any function. */
bool sim_member_next(struct sim_member *member, uint64_t now_ms, struct pl_span *key,
                     enum state_ended *how);
/* UINT64_MAX: nothing ends as things are. */
uint64_t sim_member_deadline_ms(const struct sim_member *member);

#endif
