/* Shared by the files of the budget counter's driver. */
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
	BUDGETS_FULL_MS = 60000, /* retry after there were more pods than the counter
	                          * can hold */
	BUDGETS_CALL_MS = 5000,
	/* From this number of namespaces on whole partitions are listed. */
	BUDGETS_NAMESPACES_APART = 32,
};

enum budgets_feed_kind { FEED_BUDGETS, FEED_PODS, FEEDS };

/* LISTING --list ends--> LISTED --watch lost--> LISTING; stopped: DETACHED, from both */
enum budgets_feed_state {
	FEED_LISTING,
	FEED_LISTED,
	FEED_DETACHED, /* notes are ignored until the relist has stopped */
};

/* One relist. A feed that is not followed any more lives until its relist has stopped. */
struct budgets_feed {
	struct pl_list link;
	struct budgets *owner;
	struct relist *relist;
	enum budgets_feed_kind what;
	enum budgets_feed_state state;
	bool is_stale; /* a record could not be kept, so it has to be opened again */
	/* FEED_PODS only: the piece that is being listed. */
	bool apart; /* only namespaces that have budgets are listed */
	uint32_t partition;
	struct keys_text prefix;
	size_t namespace_len; /* length of the namespace at the end of the prefix,
	                       * without the slash; 0: no namespace yet */
};

struct budgets_put {
	struct budgets *owner;
	struct counted_budget *budget; /* NULL: the slot is free */
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
	struct budgets_feed *feed[FEEDS]; /* the feeds that are followed; NULL: none */
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
/* Opens the feeds that are needed and stops the others. A feed that could not be
 * opened is tried again; the error says why. */
PL_NODISCARD enum pl_code feeds_follow(struct budgets *budgets, struct pl_err *err);
void feeds_stop(struct budgets *budgets);
uint64_t feeds_deadline_ms(const struct budgets *budgets);

/* budgets_put.c */
PL_NODISCARD enum pl_code puts_run(struct budgets *budgets, struct pl_err *err);

#endif
