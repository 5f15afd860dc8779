/*
 * A cluster that does not exist, as its shards see it: what is bound there runs, some of
 * it comes to an end by itself, and what terminates ends after a while. Pure: pods'
 * states go in, what the member has to say of them comes out.
 *
 *	Bound       --its lifetime, or its turn--> Succeeded, or Failed
 *	Terminating --grace--> Gone
 *
 * A pod's lifetime is drawn from the seed, its name and when it came into its phase, so a
 * run can be had again. A turn comes so many times a period, and is that of the pod which
 * has run longest; when nobody runs none is saved up.
 */
#ifndef COORD_NODES_SIM_MEMBER_H
#define COORD_NODES_SIM_MEMBER_H

#include "shardsched/records/pod_state.h"
#include "store/base/heap.h"
#include "store/base/list.h"
#include "store/base/map.h"

enum {
	SIM_ENDS_MAX = 1000000, /* a period */
	SIM_PERIOD_MAX_MS = 3600000,
};

/* count each period; 0: never. */
struct sim_rate {
	uint64_t count;
	uint64_t period_ms;
};

struct sim_member_opts {
	struct pl_span cluster; /* borrowed */
	uint64_t seed;
	uint64_t lifetime_ms;  /* on average: half of it to one and a half; 0: for ever */
	struct sim_rate ends;  /* of all that run there, besides */
	uint32_t fail_percent; /* of those that end by themselves */
	uint64_t grace_ms;
};

struct sim_member {
	struct sim_member_opts opts;
	struct pl_map pods; /* that run there, by "namespace/name" */
	struct pl_heap due;
	struct pl_list line; /* that run and have not ended, by how long */
	uint64_t line_ms;    /* somebody has been in it since then ... */
	uint64_t turns;      /* ... and so many turns were taken since */
	/* Now; said since the beginning. */
	uint64_t running, leaving;
	uint64_t succeeded, failed, gone;
};

/* "50/s", "20/m", "1/h", or "0". PL_INVALID, PL_LIMIT. */
PL_NODISCARD enum pl_code sim_rate_parse(struct pl_span text, struct sim_rate *out,
                                         struct pl_err *err);

/* The member may not move: it is in its own list. */
void sim_member_init(struct sim_member *member, const struct sim_member_opts *opts);
void sim_member_done(struct sim_member *member);

/* How the pod is now; state NULL: it is no more. PL_NOMEM. */
PL_NODISCARD enum pl_code sim_member_apply(struct sim_member *member, struct pl_span key,
                                           const struct pod_state *state,
                                           uint64_t now_ms);

/* The next one that has ended by now, once; key is borrowed until the next call of
 * any function. */
bool sim_member_next(struct sim_member *member, uint64_t now_ms, struct pl_span *key,
                     enum state_ended *how);
/* UINT64_MAX: nobody will, as things are. */
uint64_t sim_member_deadline_ms(const struct sim_member *member);

#endif
