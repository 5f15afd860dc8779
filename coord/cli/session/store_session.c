#include "coord/cli/session/store_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/kv/rewrite.h"

enum { ARENA_MAX = 64 << 20 };

struct session_wait {
	struct store_session *session;
	struct kv_result *result;
	struct pl_err err;
	bool done;
};

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct session_wait *waiting = ctx;

	waiting->done = true;
	if (err != NULL)
		waiting->err = *err;
	else if (waiting->result != NULL &&
	         kv_result_copy(&waiting->session->arena, result, waiting->result) !=
	                 PL_OK)
		pl_err_set(&waiting->err, PL_NOMEM, "keep an answer");
}

enum pl_code store_session_call(struct store_session *session, const struct kv_req *req,
                                struct kv_result *result, struct pl_err *err)
{
	struct session_wait waiting = {.session = session, .result = result};
	enum pl_code code = kv_start(session->kv, req, session->timeout_ms, on_done,
	                             &waiting, NULL, err);

	if (code != PL_OK)
		return code;
	while (!waiting.done)
		(void)uv_run(&session->loop, UV_RUN_ONCE);
	if (waiting.err.code != PL_OK)
		*err = waiting.err;
	return waiting.err.code;
}

static void on_time_up(void *ctx)
{
	*(bool *)ctx = true;
}

bool store_session_until(struct store_session *session, const bool *flag)
{
	struct pl_timer timer = {0};
	bool time_up = false;

	if (pl_timer_init(&timer, kv_timers(session->kv), on_time_up, &time_up) != PL_OK)
		return *flag;
	pl_timer_set(&timer, kv_now_ms(session->kv) + session->timeout_ms);
	while (!*flag && !time_up)
		(void)uv_run(&session->loop, UV_RUN_ONCE);
	pl_timer_done(&timer);
	return *flag;
}

/* "ann@host", noted in what the command writes. */
static void read_user(char out[STORE_USER_SIZE])
{
	const char *user = getenv("USER");
	char host[64] = "", uid[24];

	if (gethostname(host, sizeof host - 1) != 0)
		host[0] = 0;
	(void)snprintf(uid, sizeof uid, "uid%u", (unsigned)geteuid());
	(void)snprintf(out, STORE_USER_SIZE, "%.50s@%.63s",
	               user == NULL || *user == 0 ? uid : user, host);
}

enum pl_code store_session_open(struct store_session *session,
                                const struct etcd_opts *opts, uint64_t timeout_ms,
                                struct pl_err *err)
{
	int rc = uv_loop_init(&session->loop);
	enum pl_code code;

	if (rc != 0)
		return pl_err_set(err, PL_IO, "loop: %s", uv_strerror(rc));
	session->timeout_ms = timeout_ms;
	read_user(session->user);
	code = etcd_open(&session->loop, opts, &session->kv, err);
	if (code != PL_OK) {
		(void)uv_run(&session->loop, UV_RUN_DEFAULT);
		(void)uv_loop_close(&session->loop);
		return code;
	}
	pl_arena_init(&session->arena, 0, ARENA_MAX);
	return PL_OK;
}

static void on_closed(void *ctx)
{
	*(bool *)ctx = true;
}

void store_session_close(struct store_session *session)
{
	bool closed = false;
	int rc;

	kv_close(session->kv, on_closed, &closed);
	while (!closed)
		(void)uv_run(&session->loop, UV_RUN_ONCE);
	(void)uv_run(&session->loop, UV_RUN_DEFAULT);
	rc = uv_loop_close(&session->loop);
	PL_ASSERT(rc == 0);
	pl_arena_done(&session->arena);
}
