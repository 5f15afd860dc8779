/* Shared by the files of the election's driver. */
#ifndef COORD_ELECT_ELECT_INT_H
#define COORD_ELECT_ELECT_INT_H

#include "coord/elect/elect.h"
#include "coord/elect/elect_core.h"
#include "coord/membership/holder.h"
#include "store/base/buf.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"
#include "store/kv/relist.h"

/* The key as the list in progress has shown it. */
struct elect_listed {
	struct elect_key key;
	struct holder holder;
	struct pl_err err; /* PL_OK: the value parses */
};

struct elect {
	struct elect_core core;
	struct kv *kv;
	elect_fn *fn;
	void *ctx;
	struct keys_text key;
	struct keys_text shard_key; /* key of the shard's record */
	struct pl_buf value;        /* the value that is put */
	struct pl_timer timer;
	uint64_t seed;

	struct relist *relist; /* NULL: none is open; the timer opens one */
	uint64_t relist_at_ms;
	struct elect_listed listed;
	struct pl_list calls;
	unsigned call_count;

	/* As the user wants it: */
	uint32_t rank;
	int64_t lease;
	uint64_t safe_until_ms;

	/* Data of the event that is being reported: */
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

/* elect.c. The clock is checked before the event. */
void elect_feed(struct elect *e, struct elect_event event);
void elect_rearm(struct elect *e);
void elect_report(struct elect *e, const struct elect_note *note);

/* elect_requests.c */
void elect_request(struct elect *e, const struct elect_action *action);
void elect_cancel(struct elect *e);
void elect_compares(const struct elect *e, int64_t epoch, int64_t lease,
                    struct kv_compare out[ELECT_COMPARES]);
/* The key at that revision; record NULL: there is none. Sets e->incoming to the
 * holder, and *err and e->err if the value does not parse. */
struct elect_key elect_key_of(struct elect *e, const struct kv_record *record,
                              int64_t revision, struct pl_err *err);

/* elect_watch.c */
void elect_watch(struct elect *e);
/* Ends the present watch and opens another one. */
void elect_watch_again(struct elect *e);
void elect_unwatch(struct elect *e);

#endif
