#include <inttypes.h>

#include "coord/cli/store/store_steps_int.h"
#include "store/kv/calls.h"

enum {
	WATCHED = 3,
	/* Half of the time after which a shard gives up a watch that owes a progress
	 * note, and lists again. */
	QUIET_MS = 7000,
};

struct step_watching {
	int64_t first, last; /* revisions seen */
	unsigned events;
	bool ready, enough, told, ended, wrong;
	struct pl_err err;
};

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct step_watching *watching = ctx;

	switch (note->what) {
	case KV_WATCH_READY:
		watching->ready = true;
		break;
	case KV_WATCH_EVENTS:
		if (watching->first == 0)
			watching->first = note->revision;
		watching->wrong |= note->revision <= watching->last;
		watching->last = note->revision;
		watching->events += (unsigned)note->count;
		watching->enough = watching->events >= WATCHED;
		break;
	case KV_WATCH_PROGRESS:
		watching->told = true;
		break;
	case KV_WATCH_END:
		watching->ended = true;
		watching->ready = watching->enough = watching->told =
			true; /* wait no longer */
		watching->err = *note->err;
		break;
	}
}

static enum pl_code watch_puts(struct store_steps *steps, struct step_watching *watching,
                               struct pl_err *err)
{
	char at[STEPS_KEY_SIZE];
	struct kv_req put = kv_op_put(steps_key(steps, "w", at), PL_SPAN_LIT("x"));
	enum pl_code code = PL_OK;

	if (!store_session_until(steps->session, &watching->ready))
		return pl_err_set(err, PL_TIMEOUT, "the watch was not set up in time");
	for (unsigned i = 0; i < WATCHED && code == PL_OK && !watching->ended; i++)
		code = store_session_call(steps->session, &put, NULL, err);
	if (code == PL_OK && !store_session_until(steps->session, &watching->enough))
		code = pl_err_set(err, PL_TIMEOUT, "%u of %d events came in time",
		                  watching->events, WATCHED);
	return code;
}

/* False: the watch ended without being asked. */
static bool watch_over(struct store_steps *steps, struct kv_watch *watch,
                       struct step_watching *watching, struct pl_err *err)
{
	if (watching->ended) {
		*err = watching->err;
		return false;
	}
	kv_unwatch(steps->session->kv, watch);
	while (!watching->ended)
		(void)uv_run(&steps->session->loop, UV_RUN_ONCE);
	return true;
}

enum pl_code step_watch(struct store_steps *steps, struct pl_err *err)
{
	struct step_watching watching = {0};
	struct kv_watch *watch = NULL;
	char at[STEPS_KEY_SIZE];
	struct kv_watch_req req = {.keys = kv_prefix(steps_key(steps, "w", at))};
	enum pl_code code =
		kv_watch(steps->session->kv, &req, on_note, &watching, &watch, err);

	if (code != PL_OK)
		return code;
	code = watch_puts(steps, &watching, err);
	if (!watch_over(steps, watch, &watching, err))
		return err->code;
	if (code != PL_OK)
		return code;
	if (watching.wrong || watching.events != WATCHED)
		return pl_err_set(err, PL_CORRUPT,
		                  "%u events for %d puts, or out of order",
		                  watching.events, WATCHED);
	steps_note(steps,
	           "%d puts seen, revisions %" PRId64 " to %" PRId64
	           ", each once and in order",
	           WATCHED, watching.first, watching.last);
	return PL_OK;
}

/* A put outside of the watched keys makes the store owe the watch a progress note up
 * to it. */
static enum pl_code wait_silently(struct store_steps *steps, struct kv_watch *watch,
                                  struct step_watching *watching, struct pl_err *err)
{
	uint64_t timeout_ms = steps->session->timeout_ms;
	char at[STEPS_KEY_SIZE];
	struct kv_req put = kv_op_put(steps_key(steps, "loud", at), PL_SPAN_LIT("x"));
	struct kv_result result;
	enum pl_code code;

	if (!store_session_until(steps->session, &watching->ready))
		return pl_err_set(err, PL_TIMEOUT, "the watch was not set up in time");
	code = store_session_call(steps->session, &put, &result, err);
	if (code == PL_OK && !watching->ended)
		code = kv_progress(steps->session->kv, watch, result.header.revision,
		                   err);
	if (code != PL_OK)
		return code;
	steps->session->timeout_ms = QUIET_MS;
	if (!store_session_until(steps->session, &watching->told))
		code = pl_err_set(
			err, PL_TIMEOUT,
			"a watch without events did not say in %d s how far it is: an etcd "
			"before 3.4.25 or 3.5.8 needs "
			"--experimental-watch-progress-notify-interval=5s",
			QUIET_MS / 1000);
	steps->session->timeout_ms = timeout_ms;
	return code;
}

enum pl_code step_watch_silent(struct store_steps *steps, struct pl_err *err)
{
	struct step_watching watching = {0};
	struct kv_watch *watch = NULL;
	char at[STEPS_KEY_SIZE];
	struct kv_watch_req req = {.keys = kv_prefix(steps_key(steps, "quiet", at))};
	uint64_t begin_ms = kv_now_ms(steps->session->kv);
	enum pl_code code =
		kv_watch(steps->session->kv, &req, on_note, &watching, &watch, err);

	if (code != PL_OK)
		return code;
	code = wait_silently(steps, watch, &watching, err);
	if (!watch_over(steps, watch, &watching, err))
		return err->code;
	if (code != PL_OK)
		return code;
	steps_note(steps, "a watch without events said within %.1f s how far it is",
	           (double)(kv_now_ms(steps->session->kv) - begin_ms) / 1000);
	return PL_OK;
}
