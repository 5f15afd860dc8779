/*
 * The partitions of one shard: claims_core over a kv, with /partitions/ watched.
 * docs/coordination.md explains the states.
 *
 * Work on a partition is allowed between OWNED and LOST, under the epoch that
 * claims_epoch() returns at the moment of the decision. After QUIESCE no new work may
 * begin; claims_quiet() says that nothing is in flight any more.
 */
#ifndef COORD_CLAIMS_CLAIMS_H
#define COORD_CLAIMS_CLAIMS_H

#include "coord/assign/assign.h"
#include "coord/claims/claims_core.h"
#include "coord/claims/owner.h"
#include "store/kv/kv.h"

struct claims;

enum claims_what {
	CLAIMS_OWNED,     /* carries partition and epoch */
	CLAIMS_QUIESCE,   /* carries partition, epoch and deadline_ms: finish what is
	                   * in flight by then */
	CLAIMS_LOST,      /* carries partition, epoch and why: all work has to stop
	                   * before this returns */
	CLAIMS_MALFORMED, /* carries partition and err: the key does not parse and is
	                   * left alone */
	CLAIMS_VIEW,      /* carries synced */
	CLAIMS_TROUBLE,   /* carries err; what failed is tried again */
	CLAIMS_STOPPED,   /* the last note */
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
	struct pl_span id; /* the shard's id; copied */
	uint32_t partitions;
	uint32_t inflight; /* claims and releases in flight at once; 0: 32 */
	uint64_t handover_ms;
	uint64_t settle_ms;
	uint64_t seed;
};

PL_NODISCARD enum pl_code claims_open(struct kv *kv, const struct claims_opts *opts,
                                      claims_fn *fn, void *ctx, struct claims **out,
                                      struct pl_err *err);

/* The session's lease, passed on at each of its notes. With lease 0 the session is
 * down, and LOST is reported for every partition before this returns (the only note
 * from inside a call). */
void claims_session(struct claims *claims, int64_t lease, uint64_t safe_until_ms);

/* Reads the new assignment at once. With leaving every partition is handed over, even
 * if no other member takes it, and nothing is claimed. Nothing is claimed or released
 * before the first call. */
void claims_assign(struct claims *claims, const struct assign *assign, bool leaving);
void claims_tune(struct claims *claims, uint64_t handover_ms, uint64_t settle_ms);

void claims_quiet(struct claims *claims, uint32_t partition, int64_t epoch);
/* Called by the guard when a write was refused. LOST is reported later, but
 * claims_epoch() returns 0 from here on. */
void claims_fenced(struct claims *claims, uint32_t partition, int64_t epoch);
/* The store is another one (as /placet/meta says): every epoch is given up and the
 * keys are listed again. */
void claims_rewound(struct claims *claims);

/* The epoch to act under at this moment; 0: the partition is not owned, or the lease
 * is not safe any more. While a partition quiesces the work in flight may still end
 * under it. */
int64_t claims_epoch(const struct claims *claims, uint32_t partition);
int64_t claims_lease(const struct claims *claims);
/* Whether new work may begin: the partition is owned and is not to be handed over. */
bool claims_may_begin(const struct claims *claims, uint32_t partition);
uint32_t claims_owned(const struct claims *claims);
/* Whether the session is up (or the shard is leaving), the view is complete, and
 * nothing is to be claimed or released. */
bool claims_settled(const struct claims *claims);
/* The owner that a partition's key names; NULL: the partition has no owner. Valid
 * until the next call. */
const struct owner *claims_owner(const struct claims *claims, uint32_t partition);

/* Cancels the calls in flight and releases nothing. STOPPED follows. */
void claims_stop(struct claims *claims);

#endif
