/*
 * An election: one leader a role, by the key /leader/<role> under the shard's session
 * lease. The driver of elect_core.
 */
#ifndef COORD_ELECT_ELECT_H
#define COORD_ELECT_ELECT_H

#include "store/kv/kv.h"

struct elect;

enum elect_what {
	ELECT_LEAD,      /* epoch: the key's create revision, which fences the leader's
	                  * writes */
	ELECT_STEP_DOWN, /* the leader must have stopped acting before this returns */
	ELECT_FOLLOW,    /* leader: id of the present leader; empty: none; "?": the
	                  * value does not parse */
	ELECT_TROUBLE,   /* err; what failed is tried again */
	ELECT_STOPPED,   /* the last note */
};

struct elect_note {
	enum elect_what what;
	int64_t epoch;
	struct pl_span leader;
	const struct pl_err *err;
};

typedef void elect_fn(void *ctx, const struct elect_note *note);

struct elect_opts {
	const char *role;  /* copied */
	struct pl_span id; /* copied */
	uint64_t seed;
};

PL_NODISCARD enum pl_code elect_open(struct kv *kv, const struct elect_opts *opts,
                                     elect_fn *fn, void *ctx, struct elect **out,
                                     struct pl_err *err);

/* The session's lease, as in claims_session(): with lease 0 STEP_DOWN is reported
 * before this returns. */
void elect_session(struct elect *elect, int64_t lease, uint64_t safe_until_ms);
/* campaign: whether the shard is a candidate (active, not draining). rank: how many
 * candidates come before it. */
void elect_campaign(struct elect *elect, bool campaign, uint32_t rank);
/* The store is another one: the epoch is given up and the key is read again. */
void elect_rewound(struct elect *elect);

/* Orders the candidates of a role: a shard's rank is the number of candidates with a
 * lower hash. */
uint64_t elect_hash(const char *role, struct pl_span id);

/* The epoch to act under at this moment; 0: the shard does not lead, or its lease is
 * not safe any more. */
int64_t elect_epoch(const struct elect *elect);
/* The compares for each transaction of the leader. 0: the shard does not lead and
 * nothing was added. The compares borrow from elect. */
enum { ELECT_COMPARES = 2 };
size_t elect_guard(const struct elect *elect, struct kv_compare out[ELECT_COMPARES]);

/* resign: the key is deleted first. STOPPED follows. */
void elect_stop(struct elect *elect, bool resign);

#endif
