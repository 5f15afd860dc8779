/* What is decided together, and committed in one call. */
#ifndef SHARDSCHED_SHARD_COMMIT_BUNDLE_H
#define SHARDSCHED_SHARD_COMMIT_BUNDLE_H

#include "store/base/arena.h"
#include "store/base/err.h"
#include "store/base/list.h"

struct call;
struct sched;
struct sched_gang;
struct sched_pod;

enum bundle_state { BUNDLE_NONE, BUNDLE_GATHERS, BUNDLE_WAITS, BUNDLE_SENT };
enum bundle_how { BUNDLE_EXPECT, BUNDLE_PUT, BUNDLE_BUMP };

/* A key that is neither a pod's nor a node's: compared, compared and put, or put. */
struct bundle_extra {
	enum bundle_how how;
	int64_t rev;
	struct pl_span key, value;
};

struct bundle {
	enum bundle_state state;
	bool broken;    /* what was decided may not stand: all of it again */
	uint32_t shape; /* the extra that is about it, its number and one; 0: none */
	struct pl_list nodes; /* until it is sent */
	uint32_t node_count, pods;
	uint32_t most;   /* pods; as adapted */
	uint64_t number; /* of bundles before */
	uint64_t began_ms;
	struct pl_list gangs; /* that are in it; no other pods, then */
	struct bundle_extra *extra;
	uint32_t extras, extra_cap;
	struct pl_arena arena; /* theirs */
};

/* -- bundle.c ------------------------------------------------------------ */

void bundle_init(struct sched *sched);
void bundle_done(struct sched *sched);
/* A gang may be decided into it; it is, and its pods follow. */
bool bundle_takes_gang(const struct sched *sched);
void bundle_add_gang(struct sched *sched, struct sched_gang *gang);
/* Would so many more fit into its transaction? */
bool bundle_holds(const struct sched *sched, uint32_t pods, uint32_t nodes);
/* One more pod may be decided into it. */
bool bundle_takes(const struct sched *sched);
/* The pod was assumed just now. */
void bundle_add(struct sched *sched, struct sched_pod *pod);
/* Copied. Its number; UINT32_MAX: there is no room, and the bundle is broken. */
uint32_t bundle_extra(struct sched *sched, const struct bundle_extra *extra);
/* Another value for it; without room for that the bundle is broken. */
void bundle_extra_value(struct sched *sched, struct bundle_extra *extra,
                        struct pl_span value);
/* Into a call. PL_BUSY: it does not fit. */
PL_NODISCARD enum pl_code bundle_put_extra(struct call *call,
                                           const struct bundle_extra *extra);
/* The store takes no such transaction: a gang that is alone in it needs more. */
void bundle_limited(struct sched *sched);
/* Nothing more is decided into it. */
void bundle_close(struct sched *sched);
/* What was decided may not stand. */
void bundle_break(struct sched *sched);
/* A pod of it waits no more, be it lost or to be decided again. */
void bundle_left(struct sched *sched, struct sched_pod *pod);
/* Sends it, or gives it up, if it is time. */
void bundle_run(struct sched *sched);
bool bundle_may(const struct sched *sched);
/* Its call has ended, and what was in it has been unsent or stands. */
void bundle_settled(struct sched *sched, const struct call *call);

#endif
