/*
 * A lease on a kv, granted and kept alive until it is released: lease_core with
 * its requests sent and its deadlines kept. See there for the states.
 *
 * After LOST or EXPIRED nothing happens until lease_regrant() or lease_release().
 */
#ifndef STORE_KV_LEASE_H
#define STORE_KV_LEASE_H

#include "store/kv/kv.h"
#include "store/kv/lease_core.h"

struct lease;

struct lease_note {
	/* GRANTING: trouble, see code, goes on trying. HELD: at each renewal.
	 * DOUBT: keep-alives fail, see code; still safe. EXPIRED, LOST: stop acting
	 * before this returns. RELEASED: the last note; code PL_OK when the store has
	 * said that it is gone, otherwise it runs out by itself. */
	enum lease_state state;
	int64_t id;
	uint64_t safe_until_ms; /* HELD, DOUBT: on kv_now_ms()'s clock */
	enum pl_code code;
};

typedef void lease_fn(void *ctx, const struct lease_note *note);

struct lease_opts {
	int64_t ttl_s;
	uint64_t margin_ms; /* 0: a tenth of the TTL */
	uint64_t seed;      /* 0: from the operating system. Of ids and jitter */
};

/* Notes come later, never from inside a call of ours. Must have been released
 * before kv is closed. */
PL_NODISCARD enum pl_code lease_open(struct kv *kv, const struct lease_opts *opts,
                                     lease_fn *fn, void *ctx, struct lease **out,
                                     struct pl_err *err);

/* After LOST or EXPIRED: tries for another lease, with another id. */
void lease_regrant(struct lease *lease);

/* While it is held: EXPIRED follows, and it is revoked, once: where that does not
 * arrive it runs out by itself. */
void lease_give_up(struct lease *lease);

/* Revokes it; RELEASED follows within a few seconds, and the lease is gone. */
void lease_release(struct lease *lease);

/* As if the process had died: nothing is revoked, RELEASED follows with
 * PL_CANCELED. */
void lease_abandon(struct lease *lease);

/* What may be acted on at this moment; 0: nothing. */
int64_t lease_id(const struct lease *lease);
uint64_t lease_safe_until_ms(const struct lease *lease);

#endif
