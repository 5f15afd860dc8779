#include "coord/cli/session/shards_session.h"

static void on_note(void *ctx, const struct shards_view_note *note)
{
	struct shards_session *shards = ctx;

	shards->stopped = note->what == SHARDS_VIEW_STOPPED;
	if (note->err != NULL)
		shards->trouble = *note->err;
	if (shards->settled && !shards->stopped && shards->fn != NULL)
		shards->fn(shards->ctx, note);
	if (note->what == SHARDS_VIEW_ALL || note->what == SHARDS_VIEW_FAILED)
		shards->settled = true;
}

enum pl_code shards_session_open(struct shards_session *shards,
                                 struct store_session *session, unsigned wanted,
                                 struct pl_err *err)
{
	enum pl_code code;

	*shards = (struct shards_session){.session = session};
	code = shards_view_open(&shards->view, session->kv, wanted, on_note, shards, err);
	if (code != PL_OK)
		return code;
	if (store_session_until(session, &shards->settled) &&
	    shards->view.state == SHARDS_WHOLE)
		return PL_OK;
	if (shards->trouble.code == PL_OK)
		pl_err_set(&shards->trouble, PL_TIMEOUT,
		           "the store did not tell all in time");
	*err = shards->trouble;
	shards_session_close(shards);
	return err->code;
}

void shards_session_follow(struct shards_session *shards, shards_view_fn *fn, void *ctx)
{
	shards->fn = fn;
	shards->ctx = ctx;
}

void shards_session_close(struct shards_session *shards)
{
	shards->fn = NULL;
	shards_view_stop(&shards->view);
	while (!shards->stopped)
		(void)uv_run(&shards->session->loop, UV_RUN_ONCE);
}
