/*
 * A load: clients at work on a store, and a record of everything they did and saw.
 *
 * Each worker is a kv of its own with some calls in flight: reads, compare-and-set
 * on registers, transactions over several, deletions, appends to shared lists,
 * unique creations, plain puts, a lease with a key on it; and watchers. The scribe
 * watches everything for the full history, the sleeper's watchers may fall behind
 * compactions and list again. Nothing here knows about faults, or which store it
 * is: all time is the store's.
 */
#ifndef TESTS_FAULTLAB_LOAD_H
#define TESTS_FAULTLAB_LOAD_H

#include "store/kv/kv.h"
#include "tests/faultlab/hist.h"

enum { LOAD_WORKERS_MAX = 8, LOAD_SLOTS_MAX = 4 };

enum load_role { LOAD_WORKER, LOAD_SCRIBE, LOAD_SLEEPER };

struct load_opts {
	struct hist *hist; /* borrowed, initialised, of an empty store */
	uint64_t seed;
	unsigned workers;
	unsigned slots;    /* calls in flight of each worker */
	uint32_t think_ms; /* at most, between two calls of a slot */
	uint32_t timeout_min_ms, timeout_max_ms;
	uint32_t end_step_ms; /* the longest time for each step of the end */
	/* A client of the store, for each worker, the scribe and the sleeper. The
	 * load closes them. */
	enum pl_code (*open)(void *ctx, enum load_role role, unsigned index,
	                     struct kv **out, struct pl_err *err);
	void *ctx;
	/* Called last: the history is complete, all clients and the load are closed. */
	void (*done)(void *ctx);
};

struct load;

/* An error at the start ends the process with a message. */
struct load *load_start(const struct load_opts *opts);

/* Ends the load after the faults: no new calls start, every client proves that it works
 * again, leases run out, all keys are read, the whole history is watched once more, and
 * the clients close. Each step that takes longer than end_step_ms is a complaint in the
 * history. */
void load_stop(struct load *load);

/* Compacts the revisions that every watcher but the sleeper's has seen. */
void load_compact(struct load *load);

/* Stops all keep-alives: the leases expire, and workers grant new ones. */
void load_drop_leases(struct load *load);

struct load_stats {
	uint64_t ok, refused, failed, unknown, events;
	uint64_t relists;
	const char *phase;
};
struct load_stats load_stats(const struct load *load);

#endif
