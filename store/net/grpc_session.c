#include "store/net/grpc_session.h"

#include <stdlib.h>

#include "store/base/alloc.h"

/* Bytes of frames that nghttp2 makes on its own may exceed GRPC_OUT_HIGH; this bounds
 * them. */
enum { OUT_MAX = 64 * 1024 * 1024 };

static struct grpc_call *first_call(struct pl_list *list)
{
	return PL_LIST_ITEM(list->next, struct grpc_call, link);
}

static void ping_arm(struct grpc_session *session)
{
	uint64_t due = grpc_ping_deadline_ms(&session->ping);

	if (due == UINT64_MAX)
		pl_timer_stop(&session->ping_timer);
	else
		pl_timer_set(&session->ping_timer, due);
}

static void on_ping_timer(void *ctx)
{
	struct grpc_session *session = ctx;

	if (session->state == GRPC_SESSION_DEAD)
		return;
	switch (grpc_ping_step(&session->ping, session->fns.now_ms(session->ctx))) {
	case GRPC_PING_NOTHING:
		break;
	case GRPC_PING_SEND:
		/* Without memory the PING is not sent, and the session ends when it
		 * counts as unanswered. */
		(void)nghttp2_submit_ping(session->h2, NGHTTP2_FLAG_NONE, NULL);
		session->fns.wake(session->ctx);
		break;
	case GRPC_PING_DEAD:
		pl_err_set(&session->why, PL_TIMEOUT,
		           "server is silent: no answer to a PING within %u ms",
		           (unsigned)session->ping.timeout_ms);
		session->fns.wake(session->ctx);
		return;
	}
	ping_arm(session);
}

enum pl_code grpc_session_init(struct grpc_session *session,
                               const struct grpc_session_opts *opts,
                               struct pl_timers *timers,
                               const struct grpc_session_fns *fns, void *ctx,
                               struct pl_err *err)
{
	*session = (struct grpc_session){
		.timers = timers,
		.fns = *fns,
		.ctx = ctx,
		.scheme = opts->scheme,
		.message_max = opts->message_max,
		.ping = {.idle_ms = opts->ping_idle_ms,
	                 .gap_ms = opts->ping_gap_ms,
	                 .timeout_ms = opts->ping_timeout_ms},
	};
	pl_list_init(&session->waiting);
	pl_list_init(&session->open);
	pl_list_init(&session->ended);
	pl_list_init(&session->borrowing);
	pl_list_init(&session->sending);
	pl_buf_init(&session->out, OUT_MAX);
	session->authority = pl_strdup(opts->authority);
	if (session->authority == NULL ||
	    pl_timer_init(&session->ping_timer, timers, on_ping_timer, session) != PL_OK)
		pl_err_set(err, PL_NOMEM, "HTTP/2 session");
	else if (grpc_h2_new(session, err) == PL_OK)
		return PL_OK;
	grpc_session_done(session);
	return PL_NOMEM;
}

void grpc_session_done(struct grpc_session *session)
{
	if (session->timers == NULL)
		return;
	PL_ASSERT(pl_list_empty(&session->waiting) && pl_list_empty(&session->open) &&
	          pl_list_empty(&session->ended));
	nghttp2_session_del(session->h2);
	pl_timer_done(&session->ping_timer);
	pl_buf_done(&session->out);
	free(session->authority);
	free(session->reserve);
	session->authority = NULL;
	session->h2 = NULL;
	session->timers = NULL;
}

static enum pl_code h2_failed(const struct grpc_session *session, ssize_t rc,
                              struct pl_err *err)
{
	if (session->why.code != PL_OK) {
		if (err != NULL)
			*err = session->why;
		return session->why.code;
	}
	if (rc == NGHTTP2_ERR_NOMEM)
		return pl_err_set(err, PL_NOMEM, "HTTP/2 session");
	return pl_err_set(err, PL_PROTO, "HTTP/2: %s", nghttp2_strerror((int)rc));
}

/* The first nine bytes show whether the server speaks HTTP/2. Checking them lets the
 * error name the protocol that it speaks instead. */
static enum pl_code check_preface(struct grpc_session *session, struct pl_span data,
                                  struct pl_err *err)
{
	size_t room = sizeof session->preface - session->preface_len;
	size_t count = data.len < room ? data.len : room;

	if (count == 0)
		return PL_OK;
	if (session->preface_len == 0)
		return grpc_h2_check_preface(data.at, data.len, err);
	memcpy(session->preface + session->preface_len, data.at, count);
	return grpc_h2_check_preface(session->preface, session->preface_len + count, err);
}

enum pl_code grpc_session_feed(struct grpc_session *session, struct pl_span data,
                               struct pl_err *err)
{
	size_t room = sizeof session->preface - session->preface_len;
	size_t count = data.len < room ? data.len : room;
	enum pl_code code = check_preface(session, data, err);
	ssize_t rc;

	PL_ASSERT(session->state != GRPC_SESSION_DEAD);
	if (code != PL_OK)
		return code;
	memcpy(session->preface + session->preface_len, data.at, count);
	session->preface_len = (uint8_t)(session->preface_len + count);
	session->received += data.len;
	grpc_ping_heard(&session->ping, session->fns.now_ms(session->ctx));
	rc = nghttp2_session_mem_recv(session->h2, data.at, data.len);
	if (rc < 0)
		return h2_failed(session, rc, err);
	/* nghttp2 opens windows again without any callback. */
	if (nghttp2_session_want_write(session->h2) != 0)
		session->fns.wake(session->ctx);
	return PL_OK;
}

static bool can_submit(const struct grpc_session *session)
{
	return session->state == GRPC_SESSION_UP && session->out.len < GRPC_OUT_HIGH &&
	       !pl_list_empty(&session->waiting) &&
	       session->streams <
	               nghttp2_session_get_remote_settings(
			       session->h2, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

static int h2_send(struct grpc_session *session)
{
	int rc = nghttp2_session_send(session->h2);

	return rc == 0 && session->why.code == PL_NOMEM ? NGHTTP2_ERR_NOMEM : rc;
}

/* Requests are serialised one after the other, each completely, so that the server can
 * begin with the first while the last is still being written here. */
enum pl_code grpc_session_fill(struct grpc_session *session, struct pl_err *err)
{
	enum pl_code code;
	int rc;

	PL_ASSERT(session->state != GRPC_SESSION_DEAD);
	session->now_ms = session->fns.now_ms(session->ctx);
	rc = h2_send(session);
	while (rc == 0 && can_submit(session)) {
		if (pl_list_empty(&session->open)) {
			grpc_ping_busy(&session->ping, true, session->now_ms);
			if (!pl_timer_is_set(&session->ping_timer))
				ping_arm(session);
		}
		code = grpc_h2_submit(session, first_call(&session->waiting), err);
		if (code != PL_OK)
			return code;
		rc = h2_send(session);
	}
	return rc != 0 ? h2_failed(session, rc, err) : PL_OK;
}

void grpc_session_written(struct grpc_session *session, uint64_t total)
{
	PL_ASSERT(total >= session->written && total <= session->serialised);
	session->written = total;
	while (!pl_list_empty(&session->sending)) {
		struct grpc_call *call =
			PL_LIST_ITEM(session->sending.next, struct grpc_call, sending);

		if (call->tail_offset > total)
			return;
		call->sent_ms = call->left_ms;
		pl_list_del(&call->sending);
	}
}

static void end_calls(struct pl_list *list, const struct pl_err *why)
{
	while (!pl_list_empty(list)) {
		struct grpc_call *call = first_call(list);

		grpc_call_end(call, grpc_call_fate(call, true), why);
	}
}

void grpc_session_fail(struct grpc_session *session, const struct pl_err *why)
{
	session->state = GRPC_SESSION_DEAD;
	end_calls(&session->open, why);
	end_calls(&session->waiting, why);
	pl_buf_done(&session->out);
	pl_timer_stop(&session->ping_timer);
}

static void call_deliver(struct grpc_call *call)
{
	const struct pl_err *err = call->err.code == PL_OK ? NULL : &call->err;
	struct grpc_end end = {
		.fate = call->fate,
		.code = call->err.code,
		.status = err == NULL ? call->reply.grpc_status : GRPC_UNKNOWN,
		.text = call->reply.text == NULL ? "" : call->reply.text,
		.err = err,
		.sent_ms = call->sent_ms,
	};

	if (call->unary)
		end.body = &call->body;
	if (err == NULL && end.status == GRPC_OK)
		end.message = call->message;
	pl_list_del(&call->link);
	call->on_end(call->ctx, &end);
	grpc_call_free(call);
}

void grpc_session_deliver(struct grpc_session *session)
{
	if (session->up_due) {
		session->up_due = false;
		session->fns.up(session->ctx);
	}
	while (!pl_list_empty(&session->ended))
		call_deliver(first_call(&session->ended));
	while (!pl_list_empty(&session->borrowing))
		grpc_call_keep_message(PL_LIST_ITEM(session->borrowing.next,
		                                    struct grpc_call, borrowing));
}

void grpc_session_up(struct grpc_session *session)
{
	if (session->state != GRPC_SESSION_CONNECTING)
		return;
	session->state = GRPC_SESSION_UP;
	session->up_due = true;
}

void grpc_session_retire(struct grpc_session *session)
{
	PL_ASSERT(session->why.code != PL_OK);
	if (session->state != GRPC_SESSION_DEAD)
		session->state = GRPC_SESSION_AWAY;
	while (!pl_list_empty(&session->waiting))
		grpc_call_end(first_call(&session->waiting), GRPC_UNSENT, &session->why);
	session->fns.wake(session->ctx);
}

bool grpc_session_finished(const struct grpc_session *session, struct pl_err *why)
{
	bool over =
		session->ping.state == GRPC_PING_LOST ||
		(session->state == GRPC_SESSION_AWAY && pl_list_empty(&session->open));

	if (!over && nghttp2_session_want_read(session->h2) != 0)
		return false;
	if (session->why.code != PL_OK)
		*why = session->why;
	else
		pl_err_set(why, PL_PROTO, "server violated HTTP/2");
	return true;
}

void grpc_session_probe(struct grpc_session *session)
{
	if (session->state == GRPC_SESSION_CONNECTING ||
	    session->state == GRPC_SESSION_DEAD)
		return;
	grpc_ping_want(&session->ping);
	ping_arm(session);
}

size_t grpc_session_unsent(const struct grpc_session *session)
{
	return session->body_bytes + (size_t)(session->serialised - session->written);
}
