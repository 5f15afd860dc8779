/*
 * The scheduling work of one shard, the driver of sched.h: the keys of owned
 * partitions are listed and watched, sched decides, and its transactions go through
 * the shard's guarded kv.
 *
 *	shard.h --notes--> work_on_note() --> sched --transactions--> shard_kv()
 *	kv --three relists a partition, views, remote lists--> sched
 *
 * The nodes, allocs and schedules of a partition are three relists of their own,
 * instead of one over all partitions: a shard owns any set of partitions, which come
 * and go one by one, and work on a new one begins at once, whatever the others wait
 * for. 64 partitions have 192 watches on one stream; each costs a small read every 10
 * s.
 *
 * Pods are decided in turns of the loop: so many pods, then everything else that waits
 * there, above all keep-alives. Only kv and its timers are used, so virtual time works
 * too.
 */
#ifndef COORD_WORK_WORK_H
#define COORD_WORK_WORK_H

#include "coord/shard/shard.h"
#include "shardsched/shard/sched.h"
#include "store/metrics/histogram.h"

struct work;

enum { WORK_LIST_PART, WORK_LIST_VIEW, WORK_LIST_KINDS };

enum work_what {
	WORK_OPENED,    /* partition, took_ms: its pods are decided from here on */
	WORK_MALFORMED, /* key, err: a value in the store does not parse, and is left
	                 * out */
	WORK_TROUBLE,   /* part, err: something failed and is tried again */
};

struct work_note {
	enum work_what what;
	uint32_t partition;
	uint64_t took_ms; /* since the partition was owned */
	const char *part; /* "sched", "nodes", "alloc", "schedules", "view", "digests" */
	struct pl_span key;
	const struct pl_err *err;
};

/* Never called from inside a call of ours. It may close the work. */
typedef void work_fn(void *ctx, const struct work_note *note);
typedef void work_closed_fn(void *ctx);

struct work_opts {
	struct sched_opts sched; /* shard is the shard's id; partitions are filled in */
	uint32_t turn_pods;      /* most pods of a turn; 0: 64 */
	uint32_t load_ms;        /* interval at which the shard is told the loads; 0:
	                          * 5,000 */
	int64_t (*wall_ms)(void *ctx); /* NULL: 0 */
	/* Measures turns, which become shorter when they take long, and plugins
	 * (shard.plugin_budget_ms); NULL: neither is measured. */
	uint64_t (*clock_ns)(void *ctx);
};

/* kv is the one that the shard was opened over; it lists and watches, and outlives the
 * work. To be opened before the shard's first note, since all notes have to be passed
 * to work_on_note(). Strings and spans of opts are borrowed as long as the work lives.
 * ctx is passed to fn and to the clocks. */
PL_NODISCARD enum pl_code work_open(struct kv *kv, struct shard *shard,
                                    const struct work_opts *opts, work_fn *fn, void *ctx,
                                    struct work **out, struct pl_err *err);

/* After SHARD_CLOSED the shard is not used any more. */
void work_on_note(struct work *work, const struct shard_note *note);

/* Allowed in any state; calls in flight are canceled. closed is called later, and the
 * work is freed. */
void work_close(struct work *work, work_closed_fn *closed, void *ctx);

/* Counted since the work was opened; of the work's thread. */
struct work_metrics {
	uint64_t lists[WORK_LIST_KINDS]; /* begun: of parts, of views */
	struct histogram lag_ms;         /* from a commit to its event */
	uint64_t lag_revisions;          /* how far the watches are behind, at most */
	uint64_t took_over;              /* partitions that became open */
	struct histogram opening_ms;     /* from owning a partition until it was open */
	struct histogram turn_ns;        /* turns that decided pods */
};
void work_metrics(const struct work *work, struct work_metrics *out);

/* NULL: the number of partitions is not known yet. */
const struct sched *work_sched(const struct work *work);
/* The number of owned partitions that are open. */
uint32_t work_opened(const struct work *work);

#endif
