#include "coord/service/shards/shards_view.h"

static void emit(struct shards_view *view, enum shards_view_what what,
                 struct pl_span name, const struct pl_err *err)
{
	view->fn(view->ctx,
	         &(struct shards_view_note){.what = what, .name = name, .err = err});
}

static void emit_note(struct shards_view *view, enum shards_view_what what,
                      struct pl_span name)
{
	if (view->state == SHARDS_WHOLE)
		emit(view, what, name, NULL);
}

static void on_synced(struct shards_view *view, unsigned part)
{
	view->synced |= part;
	if (view->synced != view->wanted)
		return;
	if (view->state == SHARDS_LOADING)
		view->state = SHARDS_WHOLE;
	emit_note(view, SHARDS_VIEW_ALL, (struct pl_span){0});
}

/* An error that does not go away by waiting. */
static bool is_final(enum pl_code code)
{
	return code == PL_DENIED || code == PL_AUTH || code == PL_TLS ||
	       code == PL_NOMEM || code == PL_LIMIT;
}

static void on_trouble(struct shards_view *view, const struct pl_err *err)
{
	if (view->state == SHARDS_LOADING && is_final(err->code)) {
		view->state = SHARDS_FAILED;
		view->failure = *err;
		emit(view, SHARDS_VIEW_FAILED, (struct pl_span){0}, err);
	} else if (view->state == SHARDS_LOADING || view->state == SHARDS_WHOLE) {
		emit(view, SHARDS_VIEW_TROUBLE, (struct pl_span){0}, err);
	}
}

static void end_if_stopped(struct shards_view *view)
{
	if (view->running != 0 || view->state != SHARDS_STOPPING)
		return;
	pl_timer_done(&view->timer);
	emit(view, SHARDS_VIEW_STOPPED, (struct pl_span){0}, NULL);
}

static void on_stopped(struct shards_view *view, unsigned part)
{
	view->running &= ~part;
	end_if_stopped(view);
}

static void on_roster(void *ctx, const struct roster_note *note)
{
	struct shards_view *view = ctx;

	switch (note->what) {
	case ROSTER_SYNCED:
		on_synced(view, SHARDS_VIEW_ROSTER);
		break;
	case ROSTER_CHANGED:
		emit_note(view, SHARDS_VIEW_SHARD, note->id);
		break;
	case ROSTER_LOST:
	case ROSTER_TROUBLE:
		on_trouble(view, note->err);
		break;
	case ROSTER_STOPPED:
		on_stopped(view, SHARDS_VIEW_ROSTER);
		break;
	}
}

static void on_owners(void *ctx, const struct owners_watch_note *note)
{
	struct shards_view *view = ctx;

	switch (note->what) {
	case OWNERS_WATCH_SYNCED:
		on_synced(view, SHARDS_VIEW_OWNERS);
		break;
	case OWNERS_WATCH_CHANGED:
		emit_note(view, SHARDS_VIEW_OWNER, note->key);
		break;
	case OWNERS_WATCH_LOST:
	case OWNERS_WATCH_TROUBLE:
		on_trouble(view, note->err);
		break;
	case OWNERS_WATCH_STOPPED:
		on_stopped(view, SHARDS_VIEW_OWNERS);
		break;
	}
}

static void on_config(void *ctx, const struct config_note *note)
{
	struct shards_view *view = ctx;

	switch (note->what) {
	case CONFIG_SYNCED:
		on_synced(view, SHARDS_VIEW_CONFIG);
		break;
	case CONFIG_APPLIED:
	case CONFIG_REFUSED:
		emit_note(view, SHARDS_VIEW_ALL, (struct pl_span){0});
		break;
	case CONFIG_LOST:
	case CONFIG_TROUBLE:
		on_trouble(view, note->err);
		break;
	case CONFIG_STOPPED:
		on_stopped(view, SHARDS_VIEW_CONFIG);
		break;
	}
}

/* -- life ------------------------------------------------------------------------- */

/* Notes what open and stop must not: a part that could not be opened beside others, which
 * have to be stopped as those of a view that fails later; and that no part was left. */
static void on_due(void *ctx)
{
	struct shards_view *view = ctx;

	if (view->state == SHARDS_FAILED)
		emit(view, SHARDS_VIEW_FAILED, (struct pl_span){0}, &view->failure);
	else
		end_if_stopped(view);
}

static enum pl_code open_parts(struct shards_view *view, struct kv *kv, unsigned wanted,
                               struct pl_err *err)
{
	enum pl_code code = PL_OK;

	if ((wanted & SHARDS_VIEW_ROSTER) != 0) {
		code = roster_open(kv, 0, on_roster, view, &view->roster, err);
		view->running |= code == PL_OK ? SHARDS_VIEW_ROSTER : 0;
	}
	if (code == PL_OK && (wanted & SHARDS_VIEW_OWNERS) != 0) {
		code = owners_watch_open(kv, on_owners, view, &view->owners, err);
		view->running |= code == PL_OK ? SHARDS_VIEW_OWNERS : 0;
	}
	if (code == PL_OK && (wanted & SHARDS_VIEW_CONFIG) != 0) {
		code = config_watch_open(kv, 0, on_config, view, &view->config, err);
		view->running |= code == PL_OK ? SHARDS_VIEW_CONFIG : 0;
	}
	return code;
}

enum pl_code shards_view_open(struct shards_view *view, struct kv *kv, unsigned wanted,
                              shards_view_fn *fn, void *ctx, struct pl_err *err)
{
	enum pl_code code;

	PL_ASSERT(wanted != 0);
	*view = (struct shards_view){.wanted = wanted, .fn = fn, .ctx = ctx};
	code = pl_timer_init(&view->timer, kv_timers(kv), on_due, view);
	if (code != PL_OK)
		return pl_err_set(err, code, "watch the shards");
	code = open_parts(view, kv, wanted, err);
	if (code == PL_OK)
		return PL_OK;
	if (view->running == 0) {
		pl_timer_done(&view->timer);
		return code;
	}
	view->state = SHARDS_FAILED;
	view->failure = *err;
	pl_timer_set(&view->timer, kv_now_ms(kv));
	return PL_OK;
}

void shards_view_stop(struct shards_view *view)
{
	PL_ASSERT(view->state != SHARDS_STOPPING);
	view->state = SHARDS_STOPPING;
	if ((view->running & SHARDS_VIEW_ROSTER) != 0)
		roster_stop(view->roster);
	if ((view->running & SHARDS_VIEW_OWNERS) != 0)
		owners_watch_stop(view->owners);
	if ((view->running & SHARDS_VIEW_CONFIG) != 0)
		config_watch_stop(view->config);
	if (view->running == 0)
		pl_timer_set(&view->timer, 0);
}
