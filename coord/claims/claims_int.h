/* Shared by the files of the driver. */
#ifndef COORD_CLAIMS_CLAIMS_INT_H
#define COORD_CLAIMS_CLAIMS_INT_H

#include "coord/claims/claims.h"
#include "store/base/bitset.h"
#include "store/base/buf.h"
#include "store/keys/keys.h"
#include "store/kv/relist.h"

/* The owner of a partition by the newest fact. */
struct claims_holder {
	char *shard;   /* NULL: the value does not parse, or there was no memory for it */
	int64_t epoch; /* 0: the partition has no owner */
	int64_t lease;
};

struct claims {
	struct claims_core core;
	struct kv *kv;
	struct pl_timer timer;
	struct pl_list calls;
	claims_fn *fn;
	void *ctx;
	struct relist *relist; /* NULL: no watch is open */
	bool relist_ends;      /* the relist was stopped and has not ended yet */
	uint64_t reopen_ms;    /* when to open the watch again, while relist is NULL */
	uint64_t trouble_ms;   /* no trouble is reported before this time */
	uint64_t seed;
	bool stopping;
	bool reported_synced;
	struct pl_span id;
	struct keys_text shard_key;
	struct pl_buf value;
	struct claims_slot *slots;
	struct claims_holder *holders;
	struct pl_bitset mentioned; /* partitions that the current list has shown */
	struct owner *shown;        /* result of claims_owner() */
};

/* Feeds the core without reporting anything; what follows is due at once. */
void claims_feed(struct claims *claims, struct claims_event event);
/* Does and reports everything that is due, then sets the timer. */
void claims_pump(struct claims *claims);
void claims_rearm(struct claims *claims);
void claims_trouble(struct claims *claims, const struct pl_err *err);
/* Ends with STOPPED once nothing is in flight. The caller must return at once: the
 * memory is gone. */
void claims_maybe_finish(struct claims *claims);

/* Feeds the event as a fact of its partition; record NULL: there is no key. The
 * revision is positive. False: there was no memory to read the record, and nothing was
 * fed. */
PL_NODISCARD bool claims_fact(struct claims *claims, struct claims_event event,
                              const struct kv_record *record);

/* claims_requests.c */
void claims_request(struct claims *claims, const struct claims_action *action);
/* Ignores the answers of the calls in flight. */
void claims_drop_calls(struct claims *claims);

/* claims_watch.c */
void claims_view_open(struct claims *claims);
void claims_view_close(struct claims *claims);

#endif
