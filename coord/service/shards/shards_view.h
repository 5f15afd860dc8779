/*
 * A shards view: the shards' records, the partitions' owners and the configurations, as
 * far as they are wanted, listed and watched together.
 *
 *	open               all parts are known
 *	-----> LOADING ------------------------> WHOLE
 *	          |  an error that stays            |
 *	          `------------------> FAILED       |
 *	                                  `---------+-- stop --> STOPPING --> STOPPED
 *
 * Invariants
 *  - The parts may be read in WHOLE, and in a note.
 *  - A view that was WHOLE stays so: what is lost is listed again behind its back, and
 *    SHARDS_VIEW_ALL is noted when it is known again.
 *  - Notes come later, never from inside open or stop; STOPPED is the last one.
 */
#ifndef COORD_SERVICE_SHARDS_SHARDS_VIEW_H
#define COORD_SERVICE_SHARDS_SHARDS_VIEW_H

#include "coord/config/config_watch.h"
#include "coord/membership/roster.h"
#include "coord/service/shards/owners_watch.h"

enum { SHARDS_VIEW_ROSTER = 1, SHARDS_VIEW_OWNERS = 2, SHARDS_VIEW_CONFIG = 4 };

enum shards_view_what {
	SHARDS_VIEW_ALL,     /* WHOLE, and anything may be different */
	SHARDS_VIEW_SHARD,   /* name: the shard's id */
	SHARDS_VIEW_OWNER,   /* name: the key below /partitions/ */
	SHARDS_VIEW_TROUBLE, /* err; it goes on trying */
	SHARDS_VIEW_FAILED,  /* err; it was never whole, and will not be */
	SHARDS_VIEW_STOPPED,
};

struct shards_view_note {
	enum shards_view_what what;
	struct pl_span name;
	const struct pl_err *err;
};

typedef void shards_view_fn(void *ctx, const struct shards_view_note *note);

enum shards_view_state {
	SHARDS_LOADING,
	SHARDS_WHOLE,
	SHARDS_FAILED,
	SHARDS_STOPPING,
};

/* The caller's memory until STOPPED; it must not move. */
struct shards_view {
	struct roster *roster; /* NULL: not wanted */
	struct owners_watch *owners;
	struct config_watch *config;
	enum shards_view_state state;
	unsigned wanted, synced, running; /* SHARDS_VIEW_ROSTER, ... */
	struct pl_err failure;            /* FAILED */
	struct pl_timer timer;            /* notes what can not be noted at once */
	shards_view_fn *fn;
	void *ctx;
};

/* wanted: SHARDS_VIEW_ROSTER, ..., at least one. */
PL_NODISCARD enum pl_code shards_view_open(struct shards_view *view, struct kv *kv,
                                           unsigned wanted, shards_view_fn *fn, void *ctx,
                                           struct pl_err *err);
void shards_view_stop(struct shards_view *view);

#endif
