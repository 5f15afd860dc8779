/*
 * One leader a role: /leader/<role>, created under the shard's session lease.
 * elect_core with its requests sent and its deadlines kept.
 */
#ifndef COORD_ELECT_ELECT_H
#define COORD_ELECT_ELECT_H

#include "store/kv/kv.h"

struct elect;

enum elect_what {
	ELECT_LEAD,      /* epoch: the create revision, the fence of what is written */
	ELECT_STEP_DOWN, /* stop before this returns */
	ELECT_FOLLOW,    /* leader: who it is now; empty: nobody; "?": garbled */
	ELECT_TROUBLE,   /* err; goes on trying */
	ELECT_STOPPED,   /* last */
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

/* As claims_session(): lease 0: STEP_DOWN is told before this returns. */
void elect_session(struct elect *elect, int64_t lease, uint64_t safe_until_ms);
/* Whether we stand at all (active, not draining), and how many stand before us. */
void elect_campaign(struct elect *elect, bool campaign, uint32_t rank);
/* The store is another one: gives up the epoch and looks again. */
void elect_rewound(struct elect *elect);

/* Our place among candidates: how many of them hash lower for this role. */
uint64_t elect_hash(const char *role, struct pl_span id);

/* The epoch to act under at this moment; 0: not leading, or not safe. */
int64_t elect_epoch(const struct elect *elect);
/* The compares that a leader's transaction carries; 0: not leading, nothing added.
 * They borrow from elect. */
enum { ELECT_COMPARES = 2 };
size_t elect_guard(const struct elect *elect, struct kv_compare out[ELECT_COMPARES]);

/* resign: the key is given up first. STOPPED follows. */
void elect_stop(struct elect *elect, bool resign);

#endif
