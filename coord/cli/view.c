#include "coord/cli/view.h"

/* -- one voice for three ---------------------------------------------------------- */

static void tell(struct view *view, enum view_what what, struct pl_span name)
{
	if (view->whole && view->fn != NULL)
		view->fn(view->ctx, &(struct view_note){.what = what, .name = name});
}

static void on_synced(struct view *view, unsigned part)
{
	view->synced |= part;
	if (view->synced != view->wanted)
		return;
	view->whole = true;
	view->settled = true;
	tell(view, VIEW_ALL, (struct pl_span){0});
}

/* What will not go away by waiting. */
static bool is_final(enum pl_code code)
{
	return code == PL_DENIED || code == PL_AUTH || code == PL_TLS ||
	       code == PL_NOMEM || code == PL_LIMIT;
}

static void on_trouble(struct view *view, const struct pl_err *err)
{
	view->trouble = *err;
	if (!view->whole && is_final(err->code)) {
		view->failed = true;
		view->settled = true;
	}
	if (view->whole && view->fn != NULL)
		view->fn(view->ctx,
		         &(struct view_note){.what = VIEW_TROUBLE, .err = err});
}

static void on_stopped(struct view *view, unsigned part)
{
	view->running &= ~part;
}

static void on_roster(void *ctx, const struct roster_note *note)
{
	struct view *view = ctx;

	switch (note->what) {
	case ROSTER_SYNCED:
		on_synced(view, VIEW_ROSTER);
		break;
	case ROSTER_CHANGED:
		tell(view, VIEW_SHARD, note->id);
		break;
	case ROSTER_LOST:
	case ROSTER_TROUBLE:
		on_trouble(view, note->err);
		break;
	case ROSTER_STOPPED:
		on_stopped(view, VIEW_ROSTER);
		break;
	}
}

static void on_owners(void *ctx, const struct owners_note *note)
{
	struct view *view = ctx;

	switch (note->what) {
	case OWNERS_SYNCED:
		on_synced(view, VIEW_OWNERS);
		break;
	case OWNERS_CHANGED:
		tell(view, VIEW_OWNER, note->key);
		break;
	case OWNERS_LOST:
	case OWNERS_TROUBLE:
		on_trouble(view, note->err);
		break;
	case OWNERS_STOPPED:
		on_stopped(view, VIEW_OWNERS);
		break;
	}
}

static void on_config(void *ctx, const struct config_note *note)
{
	struct view *view = ctx;

	switch (note->what) {
	case CONFIG_SYNCED:
		on_synced(view, VIEW_CONFIG);
		break;
	case CONFIG_APPLIED:
	case CONFIG_REFUSED:
		tell(view, VIEW_ALL, (struct pl_span){0});
		break;
	case CONFIG_LOST:
	case CONFIG_TROUBLE:
		on_trouble(view, note->err);
		break;
	case CONFIG_STOPPED:
		on_stopped(view, VIEW_CONFIG);
		break;
	}
}

/* -- life ------------------------------------------------------------------------- */

static enum pl_code start(struct view *view, struct pl_err *err)
{
	struct kv *kv = view->session->kv;
	enum pl_code code = PL_OK;

	if ((view->wanted & VIEW_ROSTER) != 0) {
		code = roster_open(kv, 0, on_roster, view, &view->roster, err);
		view->running |= code == PL_OK ? VIEW_ROSTER : 0;
	}
	if (code == PL_OK && (view->wanted & VIEW_OWNERS) != 0) {
		code = owners_open(kv, on_owners, view, &view->owners, err);
		view->running |= code == PL_OK ? VIEW_OWNERS : 0;
	}
	if (code == PL_OK && (view->wanted & VIEW_CONFIG) != 0) {
		code = config_watch_open(kv, 0, on_config, view, &view->config, err);
		view->running |= code == PL_OK ? VIEW_CONFIG : 0;
	}
	return code;
}

enum pl_code view_open(struct view *view, struct store_session *session, unsigned wanted,
                       struct pl_err *err)
{
	enum pl_code code;

	*view = (struct view){.session = session, .wanted = wanted};
	code = start(view, err);
	if (code == PL_OK &&
	    (!store_session_until(session, &view->settled) || view->failed)) {
		if (view->trouble.code == PL_OK)
			pl_err_set(&view->trouble, PL_TIMEOUT,
			           "the store did not tell all in time");
		*err = view->trouble;
		code = err->code;
	}
	if (code != PL_OK)
		view_close(view);
	return code;
}

void view_follow(struct view *view, view_fn *fn, void *ctx)
{
	view->fn = fn;
	view->ctx = ctx;
}

void view_close(struct view *view)
{
	view->fn = NULL;
	if ((view->running & VIEW_ROSTER) != 0)
		roster_stop(view->roster);
	if ((view->running & VIEW_OWNERS) != 0)
		owners_stop(view->owners);
	if ((view->running & VIEW_CONFIG) != 0)
		config_watch_stop(view->config);
	while (view->running != 0)
		(void)uv_run(&view->session->loop, UV_RUN_ONCE);
}
