/* What the files of the election's driver share. */
#ifndef COORD_ELECT_ELECT_INT_H
#define COORD_ELECT_ELECT_INT_H

#include "coord/elect/elect.h"
#include "coord/elect/elect_core.h"
#include "coord/membership/holder.h"
#include "store/base/buf.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"
#include "store/kv/relist.h"

/* The key as the list under way has it. */
struct elect_listed {
	struct elect_key key;
	struct holder holder;
	struct pl_err err; /* PL_OK: the holder could be read */
};

struct elect {
	struct elect_core core;
	struct kv *kv;
	elect_fn *fn;
	void *ctx;
	struct keys_text key;
	struct keys_text shard_key; /* of our record */
	struct pl_buf value;        /* ours */
	struct pl_timer timer;
	uint64_t seed;

	struct relist *relist; /* NULL: none; one is opened from the timer */
	uint64_t relist_at_ms;
	struct elect_listed listed;
	struct pl_list calls;
	unsigned call_count;

	/* Wanted by the user. */
	uint32_t rank;
	int64_t lease;
	uint64_t safe_until_ms;

	/* What the event brought that is being told. */
	const struct pl_err *err;
	struct holder incoming;

	struct pl_err failure; /* of a request that could not be started */
	uint32_t failed_seq;
	bool start_failed;

	bool wants_campaign, wants_session, wants_stop, wants_rewound;
	bool campaign, resign;
	bool relist_stopping;
	bool ending;
};

/* elect.c. The clock is heard before the event. */
void elect_feed(struct elect *e, struct elect_event event);
void elect_rearm(struct elect *e);
void elect_report(struct elect *e, const struct elect_note *note);

/* elect_calls.c */
void elect_request(struct elect *e, const struct elect_action *action);
void elect_cancel(struct elect *e);
void elect_compares(const struct elect *e, int64_t epoch, int64_t lease,
                    struct kv_compare out[ELECT_COMPARES]);
/* The key at that revision; who holds it is in e->incoming, and what is wrong with
 * it in *err and e->err. record NULL: there is none. */
struct elect_key elect_key_of(struct elect *e, const struct kv_record *record,
                              int64_t revision, struct pl_err *err);

/* elect_view.c */
void elect_watch(struct elect *e);
/* The one there is ends, and another follows. */
void elect_watch_anew(struct elect *e);
void elect_unwatch(struct elect *e);

#endif
