/*
 * The partitions of one shard: claims_core over a kv, with /partitions/ watched.
 * See docs/coordination.md for the states.
 *
 * One who works on partitions does so between OWNED and LOST, and before each
 * decision asks claims_epoch(). After QUIESCE it begins nothing new, and calls
 * claims_quiet() once nothing is in flight.
 */
#ifndef COORD_CLAIMS_CLAIMS_H
#define COORD_CLAIMS_CLAIMS_H

#include "coord/assign/assign.h"
#include "coord/claims/claims_core.h"
#include "coord/claims/owner.h"
#include "store/kv/kv.h"

struct claims;

enum claims_what {
	CLAIMS_OWNED,     /* partition, epoch */
	CLAIMS_QUIESCE,   /* partition, epoch: finish until deadline_ms */
	CLAIMS_LOST,      /* partition, epoch, why: stop before this returns */
	CLAIMS_MALFORMED, /* partition, err: its key makes no sense; left alone */
	CLAIMS_VIEW,      /* synced */
	CLAIMS_TROUBLE,   /* err; goes on trying */
	CLAIMS_STOPPED,   /* last */
};

struct claims_note {
	enum claims_what what;
	uint32_t partition;
	int64_t epoch;
	uint64_t deadline_ms;
	enum claims_why why;
	bool synced;
	const struct pl_err *err;
};

typedef void claims_fn(void *ctx, const struct claims_note *note);

struct claims_opts {
	struct pl_span id; /* copied */
	uint32_t partitions;
	uint32_t inflight; /* claims and releases at once; 0: 32 */
	uint64_t handover_ms;
	uint64_t settle_ms;
	uint64_t seed;
};

PL_NODISCARD enum pl_code claims_open(struct kv *kv, const struct claims_opts *opts,
                                      claims_fn *fn, void *ctx, struct claims **out,
                                      struct pl_err *err);

/* From the session, at each of its notes. lease 0: it is down; LOST is told for
 * every partition before this returns (the one exception to notes coming later). */
void claims_session(struct claims *claims, int64_t lease, uint64_t safe_until_ms);

/* The assignment changed, read here at once. leaving: hand everything over, even
 * when it falls to nobody, and claim nothing. Before the first call nothing is
 * claimed or released. */
void claims_assign(struct claims *claims, const struct assign *assign, bool leaving);
void claims_tune(struct claims *claims, uint64_t handover_ms, uint64_t settle_ms);

void claims_quiet(struct claims *claims, uint32_t partition, int64_t epoch);
/* From the guard: LOST is told later, but claims_epoch() is 0 from here on. */
void claims_fenced(struct claims *claims, uint32_t partition, int64_t epoch);
/* The store is another one (meta): gives up every epoch and lists again. */
void claims_rewound(struct claims *claims);

/* The epoch to act under at this moment; 0: not ours, or not safe. While a
 * partition quiesces what is in flight may still end under it. */
int64_t claims_epoch(const struct claims *claims, uint32_t partition);
int64_t claims_lease(const struct claims *claims);
/* Decides anew: owned and not to be handed over. */
bool claims_may_begin(const struct claims *claims, uint32_t partition);
uint32_t claims_owned(const struct claims *claims);
/* The session is up (or we are leaving), the view complete, and nothing of ours is to
 * be claimed or released. */
bool claims_settled(const struct claims *claims);
/* What is known of a partition's key; NULL: nobody has it. Valid until the next call. */
const struct owner *claims_owner(const struct claims *claims, uint32_t partition);

/* Releases nothing, cancels what is in flight. STOPPED follows. */
void claims_stop(struct claims *claims);

#endif
