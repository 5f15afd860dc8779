/*
 * A cluster that does not exist, as its shards see it: what is bound there runs, some of
 * it comes to an end by itself, and what terminates ends after a while. Pure: pods'
 * states go in, what the member has to say of them comes out.
 *
 *	Bound       --its lifetime--> Succeeded, or Failed
 *	Terminating --grace--> Gone
 *
 * A pod's lifetime is drawn from the seed, its name and when it came into its phase, so a
 * run can be had again.
 */
#ifndef COORD_NODES_SIM_MEMBER_H
#define COORD_NODES_SIM_MEMBER_H

#include "shardsched/ledger/state.h"
#include "store/base/heap.h"
#include "store/base/map.h"

struct sim_member_opts {
	struct pl_span cluster; /* borrowed */
	uint64_t seed;
	uint64_t lifetime_ms;  /* on average: half of it to one and a half; 0: for ever */
	uint32_t fail_percent; /* of those that end by themselves */
	uint64_t grace_ms;
};

struct sim_member {
	struct sim_member_opts opts;
	struct pl_map pods; /* that run there, by "namespace/name" */
	struct pl_heap due;
	/* Now; said since the beginning. */
	uint64_t running, leaving;
	uint64_t succeeded, failed, gone;
};

void sim_member_init(struct sim_member *member, const struct sim_member_opts *opts);
void sim_member_done(struct sim_member *member);

/* How the pod is now; state NULL: it is no more. PL_NOMEM. */
PL_NODISCARD enum pl_code sim_member_take(struct sim_member *member, struct pl_span key,
                                          const struct pod_state *state, uint64_t now_ms);

/* The next one that has ended by now, once; key is borrowed until the next call of
 * any function. */
bool sim_member_next(struct sim_member *member, uint64_t now_ms, struct pl_span *key,
                     enum state_ended *how);
/* UINT64_MAX: nobody will, as things are. */
uint64_t sim_member_deadline_ms(const struct sim_member *member);

#endif
