/*
 * A lease, granted and kept alive until it is released: the driver of lease_core, which
 * sends its requests and keeps its deadlines. See lease_core.h for the states.
 *
 * After LOST or EXPIRED nothing happens until lease_regrant() or lease_release().
 */
#ifndef STORE_KV_LEASE_H
#define STORE_KV_LEASE_H

#include "store/kv/kv.h"
#include "store/kv/lease_core.h"

struct lease;

struct lease_note {
	/* GRANTING: an attempt has failed with code, and is repeated. HELD: at each
	 * renewal. DOUBT: keep-alives fail with code, but the lease is still safe.
	 * EXPIRED, LOST: the user must stop acting before the callback returns. RELEASED:
	 * the last note; code is PL_OK if the store has confirmed that the lease is gone,
	 * otherwise the lease runs out by itself. */
	enum lease_state state;
	int64_t id;
	uint64_t safe_until_ms; /* in HELD and DOUBT, on the clock of kv_now_ms() */
	enum pl_code code;
};

typedef void lease_fn(void *ctx, const struct lease_note *note);

struct lease_opts {
	int64_t ttl_s;
	uint64_t margin_ms; /* 0: a tenth of the TTL */
	uint64_t seed;      /* of ids and jitter; 0: from the operating system */
};

/* Notes come later, never from inside a call of the lease. The lease must be released
 * before kv is closed. */
PL_NODISCARD enum pl_code lease_open(struct kv *kv, const struct lease_opts *opts,
                                     lease_fn *fn, void *ctx, struct lease **out,
                                     struct pl_err *err);

/* After LOST or EXPIRED: gets another lease, with another id. */
void lease_regrant(struct lease *lease);

/* For a lease that is held: EXPIRED follows, and the lease is revoked once. If the
 * request does not arrive, the lease runs out by itself. */
void lease_give_up(struct lease *lease);

/* Revokes the lease. RELEASED follows within a few seconds, and the lease is gone. */
void lease_release(struct lease *lease);

/* Behaves as if the process had died: nothing is revoked, and RELEASED follows with
 * PL_CANCELED. */
void lease_abandon(struct lease *lease);

/* The id and the time until which its user may act now. 0: the user must not act. */
int64_t lease_id(const struct lease *lease);
uint64_t lease_safe_until_ms(const struct lease *lease);

#endif
