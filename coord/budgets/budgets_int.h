/* What the files of the driver share. */
#ifndef COORD_BUDGETS_BUDGETS_INT_H
#define COORD_BUDGETS_BUDGETS_INT_H

#include "coord/budgets/budgets.h"
#include "shardsched/budget/counter.h"
#include "shardsched/records/txn_builder.h"
#include "store/base/list.h"
#include "store/kv/relist.h"

enum {
	BUDGETS_CALLS = 4,
	BUDGETS_RETRY_MS = 1000,
	BUDGETS_FULL_MS = 60000, /* there were more pods than can be counted */
	BUDGETS_CALL_MS = 5000,
	/* With so many namespaces partitions are listed whole. */
	BUDGETS_NAMESPACES_APART = 32,
};

enum budgets_feed_kind { FEED_BUDGETS, FEED_PODS, FEEDS };

/* A relist; it outlives our interest in it until it has stopped. */
struct budgets_feed {
	struct pl_list link;
	struct budgets *owner;
	struct relist *relist;
	enum budgets_feed_kind what;
	bool is_followed; /* else nobody listens any more */
	bool listed;      /* its list has ended */
	bool is_stale;    /* something of it could not be kept: it is to be made anew */
	/* Of pods: what is being listed. */
	bool apart; /* only namespaces that have budgets */
	uint32_t partition;
	struct keys_text prefix;
	size_t namespace_len; /* at the end of the prefix, before its slash; 0: none yet */
};

struct budgets_put {
	struct budgets *owner;
	struct counted_budget *budget; /* NULL: free */
	struct pl_arena arena;
	struct txn_builder builder;
};

struct budgets {
	struct kv *kv;
	const struct elect *elect;
	uint32_t partitions;
	uint64_t seed;
	budgets_fn *fn;
	void *ctx;
	struct counter *counter;
	struct pl_timer timer;
	struct pl_list feeds;
	struct budgets_feed *feed[FEEDS]; /* that are listened to */
	struct relist_page_size pages[FEEDS];
	uint64_t retry_ms[FEEDS];
	struct budgets_put put[BUDGETS_CALLS];
	unsigned out;
	bool leading, stopping;
};

/* budgets.c */
void budgets_kick(struct budgets *budgets);
void budgets_report(struct budgets *budgets, const struct budgets_note *note);

/* budgets_feed.c */
/* What is to be followed is, and nothing else. PL_OK, or why not: it is tried again. */
PL_NODISCARD enum pl_code feeds_follow(struct budgets *budgets, struct pl_err *err);
void feeds_stop(struct budgets *budgets);
uint64_t feeds_deadline_ms(const struct budgets *budgets);

/* budgets_put.c */
PL_NODISCARD enum pl_code puts_run(struct budgets *budgets, struct pl_err *err);

#endif
