/*
 * How a run ends, step by step, each within a bound:
 *
 *	RUN -> FINISH -> PROVE -> EMPTY -> READ -> CATCH_UP -> REPLAY -> STOP -> CLOSE
 *
 * A step that does not come to its end in time is a complaint, and the next one
 * begins all the same.
 */
#include "tests/faultlab/load_int.h"

enum { PROGRESS_MS = 700, CALL_MS = 3000 };

static const char *const phase_names[LOAD_PHASE_COUNT] = {
	[LOAD_RUN] = "working",
	[LOAD_FINISH] = "calls in flight end, leases are let go",
	[LOAD_PROVE] = "every client writes again",
	[LOAD_EMPTY] = "keys of leases go",
	[LOAD_READ] = "everything is read",
	[LOAD_CATCH_UP] = "watchers catch up",
	[LOAD_REPLAY] = "the history is watched once more",
	[LOAD_STOP] = "watchers and leases stop",
	[LOAD_CLOSE] = "clients close",
};

const char *load_phase_name(enum load_phase phase)
{
	PL_ASSERT((unsigned)phase < LOAD_PHASE_COUNT);
	return phase_names[phase];
}

static bool workers_idle(const struct load *load)
{
	for (unsigned i = 0; i < load->opts.workers; i++)
		if (!worker_idle(&load->worker[i]))
			return false;
	return true;
}

static bool workers_proved(const struct load *load)
{
	for (unsigned i = 0; i < load->opts.workers; i++)
		if (!load->worker[i].proved)
			return false;
	return true;
}

static void on_lease_keys(void *ctx, const struct kv_result *result,
                          const struct pl_err *err)
{
	struct load *load = ctx;

	load->call_busy = false;
	if (load->phase == LOAD_EMPTY && err == NULL && result->get.total == 0)
		load->phase_met = true;
}

static void on_everything(void *ctx, const struct kv_result *result,
                          const struct pl_err *err)
{
	struct load *load = ctx;

	load->call_busy = false;
	if (load->phase != LOAD_READ || err != NULL)
		return;
	load->hist->final_revision = result->header.revision;
	load->hist->final_ms = load_now(load);
	for (size_t i = 0; i < result->get.count; i++) {
		struct hist_event event = event_of_record(&result->get.records[i], false);

		hist_final_add(load->hist, &event);
	}
	load->phase_met = true;
}

/* Asks again at the next tick when it does not work. */
static void start_read(struct load *load, enum hist_class class, bool count_only,
                       kv_done_fn *done)
{
	char prefix[HIST_KEY_SIZE];
	struct kv_get get = {.keys = kv_prefix(hist_class_prefix(class, prefix)),
	                     .count_only = count_only};

	if (!load->call_busy && !load->phase_met)
		load->call_busy = kv_get(load->scribe, &get, CALL_MS, done, load, NULL,
		                         NULL) == PL_OK;
}

static void replay_streams(struct load *load)
{
	int64_t from = load->hist->base_revision + 1;

	if (load->compacted >= from)
		from = load->compacted + 1;
	if (watcher_add(load, load->scribe, "replay", HIST_ALL, from) != PL_OK)
		hist_complain(load->hist, load_now(load), "the replay did not start");
}

void load_enter(struct load *load, enum load_phase phase)
{
	load->phase = phase;
	load->phase_met = false;
	load->phase_end_ms = load_now(load) + load->opts.end_step_ms;
	for (unsigned i = 0; i < load->opts.workers; i++) {
		struct worker *worker = &load->worker[i];

		if (phase == LOAD_FINISH)
			lessee_let_go(worker, pl_rng_chance(&load->rng, 1, 2));
		else if (phase == LOAD_PROVE)
			slot_later(&worker->slot[0]);
	}
	if (phase == LOAD_REPLAY)
		replay_streams(load);
	else if (phase == LOAD_STOP)
		watchers_stop(load);
}

static bool phase_met(struct load *load)
{
	switch (load->phase) {
	case LOAD_FINISH:
		return workers_idle(load);
	case LOAD_PROVE:
		return workers_proved(load);
	case LOAD_EMPTY:
		start_read(load, HIST_LEASED, true, on_lease_keys);
		return load->phase_met;
	case LOAD_READ:
		start_read(load, HIST_ALL, false, on_everything);
		return load->phase_met;
	case LOAD_CATCH_UP:
	case LOAD_REPLAY:
		return watchers_caught_up(load, load->hist->final_revision);
	case LOAD_STOP:
		return watchers_stopped(load) && workers_idle(load);
	case LOAD_RUN:
	case LOAD_CLOSE:
	case LOAD_PHASE_COUNT:
		break;
	}
	return false;
}

void load_tick(void *ctx)
{
	struct load *load = ctx;
	uint64_t now_ms = load_now(load);
	bool met = phase_met(load);

	if (now_ms >= load->progress_at_ms && load->phase < LOAD_STOP) {
		load->progress_at_ms = now_ms + PROGRESS_MS;
		watchers_progress(load);
	}
	if (load->phase != LOAD_RUN && !met && now_ms >= load->phase_end_ms) {
		hist_complain(load->hist, now_ms, "not within %u ms: %s",
		              (unsigned)load->opts.end_step_ms,
		              load_phase_name(load->phase));
		met = true;
	}
	if (met && load->phase == LOAD_STOP) {
		load_close(load);
		return;
	}
	if (met)
		load_enter(load, load->phase + 1);
	pl_timer_set(&load->tick, now_ms + LOAD_TICK_MS);
}
