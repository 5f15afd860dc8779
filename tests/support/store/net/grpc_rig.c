#include "tests/support/store/net/grpc_rig.h"

#include <stdio.h>
#include <stdlib.h>

static void on_wake(void *ctx)
{
	(void)ctx; /* the test steps the rig in any case */
}

static void on_up(void *ctx)
{
	struct grpc_rig *rig = ctx;

	PL_ASSERT(!rig->ready);
	rig->ready = true;
}

static uint64_t on_now(void *ctx)
{
	return ((struct grpc_rig *)ctx)->now_ms;
}

static const struct grpc_session_fns fns = {
	.wake = on_wake, .up = on_up, .now_ms = on_now};

enum pl_code grpc_rig_init(struct grpc_rig *rig, const struct fake_opts *fake,
                           const struct grpc_session_opts *opts)
{
	static const struct fake_opts plain = {.window = 65535, .big_size = 100000};
	static const struct grpc_session_opts easy = {
		.scheme = "http", .authority = "fake:1", .message_max = 1 << 20};
	enum pl_code code;

	memset(rig, 0, sizeof *rig);
	rig->now_ms = 1000;
	rig->chunk = SIZE_MAX;
	rig->cut_up = rig->cut_down = UINT64_MAX;
	pl_timers_init(&rig->timers, NULL, NULL);
	code = grpc_session_init(&rig->session, opts == NULL ? &easy : opts, &rig->timers,
	                         &fns, rig, NULL);
	if (code != PL_OK)
		pl_timers_done(&rig->timers);
	else
		rig->server = fake_h2_new(fake == NULL ? &plain : fake);
	return code;
}

void grpc_rig_die(struct grpc_rig *rig)
{
	if (rig->dead)
		return;
	rig->dead = true;
	if (rig->why.code == PL_OK)
		pl_err_set(&rig->why, PL_UNAVAIL, "connection cut");
	grpc_session_fail(&rig->session, &rig->why);
	grpc_session_deliver(&rig->session);
}

void grpc_rig_done(struct grpc_rig *rig)
{
	if (rig->why.code == PL_OK)
		pl_err_set(&rig->why, PL_CANCELED, "closed");
	grpc_rig_die(rig);
	for (unsigned i = 0; i < rig->call_count; i++)
		PL_ASSERT(rig->calls[i].ended == 1 && rig->calls[i].call == NULL);
	grpc_rig_check(rig);
	PL_ASSERT(grpc_session_unsent(&rig->session) ==
	          rig->session.serialised - rig->session.written);
	grpc_session_done(&rig->session);
	pl_timers_done(&rig->timers);
	fake_h2_free(rig->server);
}

bool grpc_rig_is_stream(enum fake_act act)
{
	return act == FAKE_stream || act == FAKE_stream_end;
}

static uint32_t sum(struct pl_span span)
{
	uint32_t total = 17;

	for (size_t i = 0; i < span.len; i++)
		total = total * 31 + span.at[i];
	return total;
}

static void on_message(void *ctx, struct pl_span message)
{
	struct grpc_rig_call *call = ctx;

	PL_ASSERT(call->ended == 0 && call->call != NULL);
	call->messages++;
	call->message_len = message.len;
	call->message_sum = sum(message);
	if (call->cancel_at_message)
		grpc_call_cancel(call->call);
}

static void on_end(void *ctx, const struct grpc_end *end)
{
	struct grpc_rig_call *call = ctx;

	PL_ASSERT((end->code != PL_OK) == (end->err != NULL));
	PL_ASSERT((end->fate == GRPC_ANSWERED) == (end->code == PL_OK));
	PL_ASSERT((end->body != NULL) == !grpc_rig_is_stream(call->act));
	call->ended++;
	call->call = NULL;
	call->fate = end->fate;
	call->code = end->code;
	call->status = end->status;
	call->sent_ms = end->sent_ms;
	(void)snprintf(call->text, sizeof call->text, "%s",
	               end->err != NULL ? end->err->msg : end->text);
	if (grpc_rig_is_stream(call->act))
		return;
	call->message_len = end->message.len;
	call->message_sum = sum(end->message);
}

/* Makes a request's message: len bytes that depend on the call's number. */
static enum pl_code body_make(struct pl_buf *body, unsigned number, size_t len)
{
	size_t start;
	enum pl_code code;

	pl_buf_init(body, len + GRPC_PREFIX_SIZE);
	code = grpc_frame_begin(body, &start);
	if (code == PL_OK)
		code = pl_buf_reserve(body, len);
	if (code != PL_OK)
		return code;
	for (size_t i = 0; i < len; i++)
		body->at[body->len++] = (uint8_t)(i + number);
	grpc_frame_end(body, start);
	return PL_OK;
}

struct grpc_rig_call *grpc_rig_call_at(struct grpc_rig *rig, enum fake_act act,
                                       size_t len, uint64_t deadline_ms,
                                       const char *token)
{
	struct grpc_rig_call *call = &rig->calls[rig->call_count];
	struct pl_buf body;
	char path[40];
	struct grpc_call_opts opts = {
		.path = path,
		.token = token,
		.need_leader = token != NULL,
		.unary = !grpc_rig_is_stream(act),
		.deadline_ms = deadline_ms,
		.body = &body,
		.on_message = grpc_rig_is_stream(act) ? on_message : NULL,
		.on_end = on_end,
		.ctx = call,
	};
	enum pl_code code;

	PL_ASSERT(rig->call_count < GRPC_RIG_CALLS_MAX);
	*call = (struct grpc_rig_call){.rig = rig, .act = act, .number = rig->call_count};
	(void)snprintf(path, sizeof path, "/%s/%u", fake_act_name(act), call->number);
	code = body_make(&body, call->number, len);
	if (code == PL_OK)
		code = grpc_session_call(&rig->session, &opts, &call->call, NULL);
	PL_ASSERT(code != PL_OK || body.len == 0);
	pl_buf_done(&body);
	if (code != PL_OK)
		return NULL;
	rig->call_count++;
	return call;
}

struct grpc_rig_call *grpc_rig_call(struct grpc_rig *rig, enum fake_act act, size_t len)
{
	return grpc_rig_call_at(rig, act, len,
	                        grpc_rig_is_stream(act) ? 0 : rig->now_ms + 5000, NULL);
}

bool grpc_rig_send(struct grpc_rig_call *call, size_t len)
{
	struct pl_buf body;
	bool ok = body_make(&body, call->number, len) == PL_OK &&
	          grpc_call_send(call->call, &body, NULL) == PL_OK;

	pl_buf_done(&body);
	return ok;
}

/* --- moving bytes -------------------------------------------------------- */

static size_t least(size_t a, uint64_t b)
{
	return b < a ? (size_t)b : a;
}

static bool step_up(struct grpc_rig *rig)
{
	struct pl_buf *out = &rig->session.out;
	size_t count;

	if (grpc_session_fill(&rig->session, &rig->why) != PL_OK) {
		grpc_rig_die(rig);
		return true;
	}
	count = least(least(out->len, rig->chunk), rig->cut_up - rig->up);
	if (count > 0) {
		PL_ASSERT(fake_h2_feed(rig->server, pl_span(out->at, count)));
		rig->up += count;
		pl_buf_drop(out, count);
		grpc_session_written(&rig->session, rig->up);
	}
	if (rig->up == rig->cut_up)
		grpc_rig_die(rig);
	return count > 0;
}

/* The bytes are fed from a block of exactly that size that is freed right after, so that
 * the sanitizer finds reads past it and pointers kept into it. */
static void feed_copy(struct grpc_rig *rig, const uint8_t *at, size_t len)
{
	uint8_t *copy = malloc(len);

	PL_ASSERT(copy != NULL);
	memcpy(copy, at, len);
	if (grpc_session_feed(&rig->session, pl_span(copy, len), &rig->why) != PL_OK)
		grpc_rig_die(rig);
	grpc_session_deliver(&rig->session);
	memset(copy, 0xdd, len);
	free(copy);
}

static bool step_down(struct grpc_rig *rig)
{
	static uint8_t piece[128 * 1024];
	size_t size = least(least(sizeof piece, rig->chunk), rig->cut_down - rig->down);
	size_t count = fake_h2_take(rig->server, piece, size);

	if (count > 0) {
		rig->down += count;
		feed_copy(rig, piece, count);
	}
	if (!rig->dead && rig->down == rig->cut_down)
		grpc_rig_die(rig);
	return count > 0;
}

bool grpc_rig_step(struct grpc_rig *rig)
{
	bool moved = false;

	if (!rig->dead)
		moved = step_up(rig);
	if (!rig->dead)
		moved = step_down(rig) || moved;
	if (!rig->dead && grpc_session_finished(&rig->session, &rig->why))
		grpc_rig_die(rig);
	if (!rig->dead)
		grpc_session_deliver(&rig->session);
	return moved && !rig->dead;
}

void grpc_rig_run(struct grpc_rig *rig)
{
	while (grpc_rig_step(rig))
		;
}

void grpc_rig_tick(struct grpc_rig *rig, uint64_t now_ms)
{
	rig->now_ms = now_ms;
	pl_timers_run(&rig->timers, now_ms);
	grpc_session_deliver(&rig->session);
}

/* --- checks --------------------------------------------------------------- */

static void call_check(const struct grpc_rig_call *call, const struct fake_call *seen)
{
	PL_ASSERT(seen->heads <= 1 && call->ended == 1);
	switch (call->fate) {
	case GRPC_UNSENT:
		/* No byte arrived, or the server said that it did nothing. */
		PL_ASSERT(seen->heads == 0 || call->act == FAKE_refuse ||
		          strstr(call->text, "going away") != NULL);
		break;
	case GRPC_MAYBE:
		PL_ASSERT(call->code != PL_OK);
		break;
	case GRPC_ANSWERED:
		PL_ASSERT(seen->answers == 1);
		break;
	}
}

void grpc_rig_check(const struct grpc_rig *rig)
{
	for (unsigned i = 0; i < rig->call_count; i++) {
		if (rig->calls[i].ended != 0)
			call_check(&rig->calls[i], fake_h2_call(rig->server, i));
	}
}

bool grpc_rig_ended(const struct grpc_rig_call *call, enum grpc_fate fate,
                    enum pl_code code, const char *words)
{
	if (call->ended == 1 && call->fate == fate && call->code == code &&
	    strstr(call->text, words) != NULL)
		return true;
	(void)printf("call %u ended %u times, fate %d, %s, '%s'\n", call->number,
	             call->ended, (int)call->fate, pl_code_name(call->code), call->text);
	return false;
}
