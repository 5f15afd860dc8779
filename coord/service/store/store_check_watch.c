/*
 * Watches: one that has to see each put once and in order, and one on which nothing
 * happens, which has to say how far it is.
 *
 *	OPENING --ready--> PUTTING --answers--> WAITING --told--> CLOSING --end--> OFF
 *	   `---- too late, or the watch ended ----'----------------^
 */
#include <inttypes.h>

#include "coord/service/store/store_check_int.h"
#include "store/kv/calls.h"

enum { WATCHED = 3 };

static void end_step(struct store_check *check)
{
	struct check_watch *watch = &check->watch;

	watch->state = CHECK_WATCH_OFF;
	if (watch->err.code == PL_OK && !watch->quiet &&
	    (watch->wrong || watch->events != WATCHED))
		(void)pl_err_set(&watch->err, PL_CORRUPT,
		                 "%u events for %d puts, or out of order", watch->events,
		                 WATCHED);
	if (watch->quiet)
		check_note(
			check, "a watch without events said within %.1f s how far it is",
			(double)(kv_now_ms(check->service->kv) - watch->begin_ms) / 1000);
	else
		check_note(check,
		           "%d puts seen, revisions %" PRId64 " to %" PRId64
		           ", each once and in order",
		           WATCHED, watch->first, watch->last);
	check_step_end(check, watch->err.code == PL_OK ? NULL : &watch->err);
}

/* The first error stays. A request under way is waited for. */
static void close_watch(struct store_check *check, const struct pl_err *err)
{
	struct check_watch *watch = &check->watch;

	if (err != NULL && watch->err.code == PL_OK)
		watch->err = *err;
	pl_timer_stop(&watch->deadline);
	if (watch->state == CHECK_WATCH_CLOSING)
		return;
	watch->state = CHECK_WATCH_CLOSING;
	if (watch->watch != NULL)
		kv_unwatch(check->service->kv, watch->watch);
	else
		end_step(check);
}

static bool is_told_all(const struct check_watch *watch)
{
	return watch->quiet ? watch->told : watch->events >= WATCHED;
}

static void wait_for_notes(struct store_check *check)
{
	struct check_watch *watch = &check->watch;
	uint64_t most_ms = watch->quiet ? (uint64_t)STORE_CHECK_QUIET_MS
	                                : check->service->timeout_ms;

	watch->state = CHECK_WATCH_WAITING;
	if (is_told_all(watch) || check->canceled)
		close_watch(check, NULL);
	else
		pl_timer_set(&watch->deadline, kv_now_ms(check->service->kv) + most_ms);
}

static void on_deadline(void *ctx)
{
	struct store_check *check = ctx;
	const struct check_watch *watch = &check->watch;
	struct pl_err err = {0};

	if (watch->state == CHECK_WATCH_OPENING)
		(void)pl_err_set(&err, PL_TIMEOUT, "the watch was not set up in time");
	else if (!watch->quiet)
		(void)pl_err_set(&err, PL_TIMEOUT, "%u of %d events came in time",
		                 watch->events, WATCHED);
	else
		(void)pl_err_set(
			&err, PL_TIMEOUT,
			"a watch without events did not say in %d s how far it is: an etcd "
			"before 3.4.25 or 3.5.8 needs "
			"--experimental-watch-progress-notify-interval=5s",
			STORE_CHECK_QUIET_MS / 1000);
	close_watch(check, &err);
}

/* -- puts ------------------------------------------------------------------------ */

static void put_next(struct store_check *check);

/* A put outside of the watched keys makes the store owe the watch a progress note up to
 * it. */
static void ask_for_progress(struct store_check *check, int64_t revision)
{
	struct pl_err err = {0};

	if (kv_progress(check->service->kv, check->watch.watch, revision, &err) == PL_OK)
		wait_for_notes(check);
	else
		close_watch(check, &err);
}

static void on_put(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct store_check *check = ctx;
	struct check_watch *watch = &check->watch;

	if (err != NULL || watch->err.code != PL_OK) /* the watch ended meanwhile */
		close_watch(check, err);
	else if (watch->quiet)
		ask_for_progress(check, result->header.revision);
	else if (++watch->puts < WATCHED)
		put_next(check);
	else
		wait_for_notes(check);
}

static void put_next(struct store_check *check)
{
	const char *name = check->watch.quiet ? "loud" : "w";
	const struct kv_req put = kv_op_put(check_key(check, name), PL_SPAN_LIT("x"));

	sequence_send(&check->sequence, &put, on_put);
}

/* -- notes ------------------------------------------------------------------------ */

static void on_events(struct check_watch *watch, const struct kv_watch_note *note)
{
	if (watch->first == 0)
		watch->first = note->revision;
	watch->wrong = watch->wrong || note->revision <= watch->last;
	watch->last = note->revision;
	watch->events += (unsigned)note->count;
}

static void on_end(struct store_check *check, const struct pl_err *err)
{
	struct check_watch *watch = &check->watch;

	watch->watch = NULL;
	switch (watch->state) {
	case CHECK_WATCH_OFF:
		break;
	case CHECK_WATCH_PUTTING: /* goes on when the put is answered */
		watch->err = *err;
		break;
	case CHECK_WATCH_OPENING:
	case CHECK_WATCH_WAITING:
		close_watch(check, err);
		break;
	case CHECK_WATCH_CLOSING:
		end_step(check);
		break;
	}
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct store_check *check = ctx;
	struct check_watch *watch = &check->watch;

	switch (note->what) {
	case KV_WATCH_READY:
		if (watch->state != CHECK_WATCH_OPENING)
			return;
		pl_timer_stop(&watch->deadline);
		watch->state = CHECK_WATCH_PUTTING;
		put_next(check);
		return;
	case KV_WATCH_EVENTS:
		on_events(watch, note);
		break;
	case KV_WATCH_PROGRESS:
		watch->told = true;
		break;
	case KV_WATCH_END:
		on_end(check, note->err);
		return;
	}
	if (watch->state == CHECK_WATCH_WAITING && is_told_all(watch))
		close_watch(check, NULL);
}

/* -- life -------------------------------------------------------------------------- */

enum pl_code check_watch_init(struct store_check *check)
{
	return pl_timer_init(&check->watch.deadline, kv_timers(check->service->kv),
	                     on_deadline, check);
}

void check_watch_begin(struct store_check *check, bool quiet)
{
	struct check_watch *watch = &check->watch;
	const struct kv_watch_req req = {
		.keys = kv_prefix(check_key(check, quiet ? "quiet" : "w"))};
	struct pl_err err = {0};

	watch->quiet = quiet;
	watch->begin_ms = kv_now_ms(check->service->kv);
	watch->first = watch->last = 0;
	watch->puts = watch->events = 0;
	watch->told = watch->wrong = false;
	watch->err = (struct pl_err){0};
	if (kv_watch(check->service->kv, &req, on_note, check, &watch->watch, &err) !=
	    PL_OK) {
		watch->watch = NULL;
		check_step_end(check, &err);
		return;
	}
	watch->state = CHECK_WATCH_OPENING;
	pl_timer_set(&watch->deadline, watch->begin_ms + check->service->timeout_ms);
}

void check_watch_cancel(struct store_check *check)
{
	const enum check_watch_state state = check->watch.state;
	struct pl_err err = {0};

	(void)pl_err_set(&err, PL_CANCELED, "check the store");
	if (state == CHECK_WATCH_OPENING || state == CHECK_WATCH_WAITING)
		close_watch(check, &err);
}
