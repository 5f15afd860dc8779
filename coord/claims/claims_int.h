/* What the files of the driver share. */
#ifndef COORD_CLAIMS_CLAIMS_INT_H
#define COORD_CLAIMS_CLAIMS_INT_H

#include "coord/claims/claims.h"
#include "store/base/bitset.h"
#include "store/base/buf.h"
#include "store/keys/keys.h"
#include "store/kv/relist.h"

/* Who has a partition, as the newest fact says. */
struct claims_holder {
	char *shard;   /* NULL: makes no sense, or no memory */
	int64_t epoch; /* 0: nobody */
	int64_t lease;
};

struct claims {
	struct claims_core core;
	struct kv *kv;
	struct pl_timer timer;
	struct pl_list calls;
	claims_fn *fn;
	void *ctx;
	struct relist *relist; /* NULL: none is open */
	bool relist_ends;      /* STOPPED is on its way */
	uint64_t reopen_ms;    /* with relist NULL: when to open it */
	uint64_t trouble_ms;   /* no trouble is told before */
	uint64_t seed;
	bool stopping;
	bool told_synced;
	struct pl_span id;
	struct keys_text shard_key;
	struct pl_buf value;
	struct claims_slot *slots;
	struct claims_holder *holders;
	struct pl_bitset mentioned; /* by the list under way */
	struct owner *shown;        /* by claims_owner */
};

/* The core without telling anything: what it leads to is due at once. */
void claims_feed(struct claims *claims, struct claims_event event);
/* Everything due is done and told; then the timer is set. */
void claims_pump(struct claims *claims);
void claims_rearm(struct claims *claims);
void claims_trouble(struct claims *claims, const struct pl_err *err);
/* STOPPED, once nothing is left. Nothing may follow it. */
void claims_maybe_finish(struct claims *claims);

/* A fact of a partition, to be fed as the event; record NULL: no key. Revisions are
 * positive. False: no memory to read it, nothing was fed. */
PL_NODISCARD bool claims_fact(struct claims *claims, struct claims_event event,
                              const struct kv_record *record);

/* claims_calls.c */
void claims_request(struct claims *claims, const struct claims_action *action);
/* Those in flight end unheard. */
void claims_drop_calls(struct claims *claims);

/* claims_view.c */
void claims_view_open(struct claims *claims);
void claims_view_close(struct claims *claims);

#endif
