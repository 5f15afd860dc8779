#include "coord/cli/shards/drain_wait.h"

#include <inttypes.h>

#include "coord/cli/output/message.h"
#include "coord/cli/session/shards_session.h"

enum { SAY_MS = 500 };

struct drain_waiting {
	struct shards_session session;
	struct pl_span id;
	uint32_t owned;
	uint64_t said_ms;
	bool over;
	bool time_up;
};

/* A drain ends only if another shard is active and takes the partitions. */
static bool other_shards_active(const struct drain_waiting *w)
{
	const struct config_shards *config =
		&config_watch_value(w->session.view.config, CONFIG_SHARDS)->shards;

	for (const struct roster_entry *entry = roster_first(w->session.view.roster);
	     entry != NULL; entry = roster_next(w->session.view.roster, entry))
		if (!entry->malformed && entry->member.state == MEMBERSHIP_ACTIVE &&
		    !config_drains(config, entry->member.id))
			return true;
	return false;
}

static void check_owned(struct drain_waiting *w)
{
	uint32_t owned = owners_watch_owned(w->session.view.owners, w->id);
	uint64_t now_ms = kv_now_ms(w->session.session->kv);
	bool due = now_ms - w->said_ms >= SAY_MS || owned == 0;

	if (owned != w->owned && due) {
		print_message(PL_SPAN_FMT " owns %" PRIu32 " partition%s",
		              PL_SPAN_ARG(w->id), owned, owned == 1 ? "" : "s");
		w->owned = owned;
		w->said_ms = now_ms;
	}
	w->over = w->over || owned == 0;
}

static void on_note(void *ctx, const struct shards_view_note *note)
{
	struct drain_waiting *w = ctx;

	if (note->what == SHARDS_VIEW_TROUBLE)
		print_message("%s; going on", note->err->msg);
	else
		check_owned(w);
}

static void on_time_up(void *ctx)
{
	struct drain_waiting *w = ctx;

	w->time_up = true;
	w->over = true;
}

static enum pl_code run_wait(struct drain_waiting *w, uint64_t wait_ms,
                             struct pl_err *err)
{
	struct kv *kv = w->session.session->kv;
	struct pl_timer timer = {0};
	enum pl_code code = pl_timer_init(&timer, kv_timers(kv), on_time_up, w);

	if (code != PL_OK)
		return pl_err_set(err, code, "wait");
	pl_timer_set(&timer, kv_now_ms(kv) + wait_ms);
	w->owned = UINT32_MAX;
	check_owned(w);
	if (!w->over && !other_shards_active(w))
		print_message(
			"no other shard takes part: its partitions stay where they are until "
			"one does");
	while (!w->over)
		(void)uv_run(&w->session.session->loop, UV_RUN_ONCE);
	pl_timer_done(&timer);
	if (!w->time_up)
		return PL_OK;
	return pl_err_set(err, PL_TIMEOUT,
	                  PL_SPAN_FMT " still owns %" PRIu32
	                              " partitions; it goes on handing over, see placet "
	                              "partitions --summary",
	                  PL_SPAN_ARG(w->id),
	                  owners_watch_owned(w->session.view.owners, w->id));
}

enum pl_code drain_wait(struct store_session *session, struct pl_span id,
                        uint64_t wait_ms, struct pl_err *err)
{
	struct drain_waiting waiting = {.id = id};
	enum pl_code code = shards_session_open(
		&waiting.session, session,
		SHARDS_VIEW_ROSTER | SHARDS_VIEW_OWNERS | SHARDS_VIEW_CONFIG, err);

	if (code != PL_OK)
		return code;
	shards_session_follow(&waiting.session, on_note, &waiting);
	code = run_wait(&waiting, wait_ms, err);
	shards_session_close(&waiting.session);
	return code;
}
