#include "coord/service/base/sequence.h"
#include "tests/support/store/memkv/kit.h"

static struct kit kit;
static struct sequence sequence;
static char text[256];

static void note(const char *what, const struct kv_result *result,
                 const struct pl_err *err)
{
	size_t len = strlen(text);

	(void)snprintf(text + len, sizeof text - len, "%s(%s) ", what,
	               err != NULL      ? pl_code_name(err->code)
	               : result != NULL ? "answer"
	                                : "due");
}

static void on_last(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	(void)ctx;
	note("last", result, err);
}

static void on_first(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	(void)ctx;
	note("first", result, err);
	sequence_pause(&sequence, 100, on_last);
}

static void up(void)
{
	kit_open(&kit, NULL);
	text[0] = 0;
	T_OK(sequence_init(&sequence, kit.kv, 1000, NULL, &kit.err), &kit.err);
}

static void down(void)
{
	sequence_done(&sequence);
	kit_close(&kit);
}

static void send_get(struct pl_span key, sequence_fn *next)
{
	struct kv_req req = kv_op_get(kv_key(key));

	sequence_send(&sequence, &req, next);
	T_STR(text, "");
}

T_CASE(steps_follow_one_another)
{
	up();
	send_get(PL_SPAN_LIT("a"), on_first);
	kit_until(&kit, 99);
	T_STR(text, "first(answer) ");
	kit_until(&kit, 200);
	T_STR(text, "first(answer) last(due) ");
	down();
}

T_CASE(a_request_that_can_not_start_is_answered_later)
{
	up();
	send_get(PL_SPAN_LIT(""), on_last);
	kit_until(&kit, 1);
	T_STR(text, "last(invalid argument) ");
	down();
}

T_CASE(cancel_ends_the_call_under_way_and_every_later_step)
{
	up();
	send_get(PL_SPAN_LIT("a"), on_first);
	sequence_cancel(&sequence);
	T_STR(text, "");
	kit_until(&kit, 1);
	T_STR(text, "first(canceled) last(canceled) ");
	down();
}

T_CASE(cancel_ends_a_pause)
{
	up();
	sequence_pause(&sequence, 1000, on_last);
	sequence_cancel(&sequence);
	sequence_cancel(&sequence);
	T_STR(text, "");
	kit_until(&kit, 1);
	T_STR(text, "last(canceled) ");
	down();
}
