#include "tests/faultlab/load.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/faultlab/load_int.h"

enum { COMPACT_MS = 3000 };

static struct kv *open_one(struct load *load, enum load_role role, unsigned index)
{
	struct pl_err err = {0};
	struct kv *kv = NULL;

	if (load->opts.open(load->opts.ctx, role, index, &kv, &err) != PL_OK) {
		(void)fprintf(stderr, "open client %u: %s\n", index, err.msg);
		PL_UNREACHABLE("a client could not be opened");
	}
	return kv;
}

static void must_succeed(enum pl_code code)
{
	PL_ASSERT(code == PL_OK);
}

static void worker_init(struct load *load, unsigned index)
{
	struct worker *worker = &load->worker[index];

	worker->load = load;
	worker->index = index;
	worker->kv = open_one(load, LOAD_WORKER, index);
	for (unsigned i = 0; i <= LOAD_SLOTS_MAX; i++) {
		worker->slot[i].worker = worker;
		must_succeed(pl_timer_init(&worker->slot[i].timer, kv_timers(worker->kv),
		                           slot_next, &worker->slot[i]));
		if (i < load->opts.slots)
			slot_later(&worker->slot[i]);
	}
	must_succeed(lessee_init(worker));
}

/* The scribe comes first: its stream is the truth. */
static void add_watchers(struct load *load)
{
	static const struct {
		const char *name;
		enum hist_class class;
		bool from_now;
		bool churns;
	} plain[] = {
		{"all", HIST_ALL, false, false},
		{"registers from now", HIST_REGISTER, true, false},
		{"leased", HIST_LEASED, false, false},
		{"churning", HIST_ALL, false, true},
		{"churning lists", HIST_LIST, false, true},
	};
	int64_t from = load->hist->base_revision + 1;

	must_succeed(watcher_add(load, load->scribe, "full history", HIST_ALL, from));
	for (unsigned i = 0; i < sizeof plain / sizeof *plain; i++) {
		struct kv *kv = load->worker[i % load->opts.workers].kv;

		must_succeed(watcher_add(load, kv, plain[i].name, plain[i].class,
		                         plain[i].from_now ? 0 : from));
		if (plain[i].churns)
			must_succeed(
				watcher_churn(&load->watcher[load->watcher_count - 1]));
	}
	must_succeed(watcher_add_relist(load, load->worker[0].kv, "listed lists",
	                                HIST_LIST, true));
	must_succeed(
		watcher_add_relist(load, load->sleeper, "sleeping", HIST_ALL, false));
	must_succeed(watcher_add_relist(load, load->sleeper, "sleeping registers",
	                                HIST_REGISTER, true));
}

struct load *load_start(const struct load_opts *opts)
{
	struct load *load = pl_calloc(1, sizeof *load);

	PL_ASSERT(load != NULL && opts->workers > 0 &&
	          opts->workers <= LOAD_WORKERS_MAX && opts->slots <= LOAD_SLOTS_MAX &&
	          opts->think_ms > 0 && opts->timeout_min_ms > 0);
	load->opts = *opts;
	load->hist = opts->hist;
	pl_rng_init(&load->rng, opts->seed);
	load->scribe = open_one(load, LOAD_SCRIBE, 0);
	load->sleeper = open_one(load, LOAD_SLEEPER, 0);
	for (unsigned i = 0; i < opts->workers; i++)
		worker_init(load, i);
	add_watchers(load);
	must_succeed(
		pl_timer_init(&load->tick, kv_timers(load->scribe), load_tick, load));
	pl_timer_set(&load->tick, load_now(load) + LOAD_TICK_MS);
	return load;
}

void load_stop(struct load *load)
{
	if (load->phase == LOAD_RUN)
		load_enter(load, LOAD_FINISH);
}

static void on_closed(void *ctx)
{
	struct load *load = ctx;
	struct load_opts opts = load->opts;

	if (--load->closing > 0)
		return;
	free(load);
	opts.done(opts.ctx);
}

void load_close(struct load *load)
{
	load->phase = LOAD_CLOSE;
	pl_timer_done(&load->tick);
	watchers_done(load);
	for (unsigned i = 0; i < load->opts.workers; i++) {
		for (unsigned k = 0; k <= LOAD_SLOTS_MAX; k++)
			pl_timer_done(&load->worker[i].slot[k].timer);
		lessee_done(&load->worker[i]);
	}
	load->closing = load->opts.workers + 2;
	kv_close(load->sleeper, on_closed, load);
	for (unsigned i = 0; i < load->opts.workers; i++)
		kv_close(load->worker[i].kv, on_closed, load);
	kv_close(load->scribe, on_closed, load);
}

/* The answer does not matter: the judge knows of the request. */
static void on_compacted(void *ctx, const struct kv_result *result,
                         const struct pl_err *err)
{
	(void)ctx;
	(void)result;
	(void)err;
}

void load_compact(struct load *load)
{
	struct kv_compact compact = {.revision = watchers_covered(load)};
	struct kv *kv = load->worker[pl_rng_below(&load->rng, load->opts.workers)].kv;

	if (compact.revision <= load->compacted ||
	    compact.revision <= load->hist->base_revision)
		return;
	if (kv_compact(kv, &compact, COMPACT_MS, on_compacted, load, NULL, NULL) != PL_OK)
		return;
	load->compacted = compact.revision;
	hist_compacted(load->hist, compact.revision);
	hist_mark(load->hist, load_now(load), "compact at revision %lld",
	          (long long)compact.revision);
}

struct load_stats load_stats(const struct load *load)
{
	struct load_stats stats = {.ok = load->outcome[HIST_OK],
	                           .refused = load->outcome[HIST_REFUSED],
	                           .failed = load->outcome[HIST_FAILED],
	                           .unknown = load->outcome[HIST_UNKNOWN],
	                           .relists = load->relists,
	                           .phase = load_phase_name(load->phase)};

	for (unsigned i = 0; i < load->hist->stream_count; i++)
		stats.events += load->hist->stream[i].event_count;
	return stats;
}
