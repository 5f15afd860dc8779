#include "coord/cli/session/session_pause.h"

static void on_pause_over(void *ctx)
{
	bool *over = ctx;

	*over = true;
}

enum pl_code session_pause(struct store_session *session, uint64_t ms, struct pl_err *err)
{
	struct pl_timer timer;
	bool over = false;
	enum pl_code code =
		pl_timer_init(&timer, kv_timers(session->kv), on_pause_over, &over);

	if (code != PL_OK)
		return pl_err_set(err, code, "wait");
	pl_timer_set(&timer, kv_now_ms(session->kv) + ms);
	while (!over)
		(void)uv_run(&session->loop, UV_RUN_ONCE);
	pl_timer_done(&timer);
	return PL_OK;
}
