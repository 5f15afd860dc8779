/*
 * The scheduling work of one shard, driven: what the shard owns is listed and watched,
 * sched.h decides, and its transactions go through the shard's guarded kv.
 *
 *	shard.h --notes--> work_on_note() --> sched --calls--> shard_kv()
 *	kv --three relists a partition, views, visits--> sched
 *
 * A partition's nodes, allocs and schedules are three relists, not one a shard over all
 * partitions: what a shard owns is any set of partitions, comes and goes one by one, and
 * whoever takes one over begins with it at once, whatever the others wait for. Of 64
 * partitions that is 192 watches on one stream; each costs a small read every 10 s.
 *
 * Deciding goes in turns of the loop: so many pods, then whatever else waits there,
 * keep-alives above all. Nothing but kv and its timers is used, so virtual time will do.
 */
#ifndef COORD_WORK_WORK_H
#define COORD_WORK_WORK_H

#include "coord/shard/shard.h"
#include "shardsched/shard/sched.h"

struct work;

enum work_what {
	WORK_OPENED,    /* partition, took_ms: pods of it are decided from here on */
	WORK_MALFORMED, /* key, err: something in the store makes no sense, and is set aside
	               */
	WORK_TROUBLE,   /* part, err: something is tried again */
};

struct work_note {
	enum work_what what;
	uint32_t partition;
	uint64_t took_ms; /* since it was owned */
	const char *part; /* "sched", "nodes", "alloc", "schedules", "view", "digests" */
	struct pl_span key;
	const struct pl_err *err;
};

/* Never from inside a call of ours; may close. */
typedef void work_fn(void *ctx, const struct work_note *told);
typedef void work_closed_fn(void *ctx);

struct work_opts {
	struct sched_opts sched; /* shard: the shard's id; partitions are filled in */
	uint32_t turn_pods;      /* decided in a turn, at most; 0: 64 */
	uint32_t load_ms;        /* how often the shard hears of the load; 0: 5,000 */
	int64_t (*wall_ms)(void *ctx); /* NULL: 0 */
	/* By which turns that take long become shorter; NULL: none does. */
	uint64_t (*clock_ns)(void *ctx);
};

/* kv: what the shard was opened over; it lists and watches, and outlives this. Comes
 * before the shard's first note: all of them are to be handed to work_on_note(). Strings
 * and spans of opts are borrowed for good. ctx is of fn and of the clocks. */
PL_NODISCARD enum pl_code work_open(struct kv *kv, struct shard *shard,
                                    const struct work_opts *opts, work_fn *fn, void *ctx,
                                    struct work **out, struct pl_err *err);

/* The shard is not touched any more once it has said SHARD_CLOSED. */
void work_on_note(struct work *work, const struct shard_note *note);

/* From any state; calls in flight are canceled. closed comes later, and work is gone. */
void work_close(struct work *work, work_closed_fn *closed, void *ctx);

/* NULL: the shard does not know yet how many partitions there are. */
const struct sched *work_sched(const struct work *work);
/* Partitions that were opened, of those owned. */
uint32_t work_opened(const struct work *work);

#endif
