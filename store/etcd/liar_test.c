/* Against servers that are not etcd, or an etcd that has gone mad: each call ends
 * in an error that says so, nobody spins, and all is well once the cause is gone. */
#include "store/base/clock.h"
#include "store/etcd/liar_rig.h"

/* -- servers that are not etcd --------------------------------------------- */

T_CASE(a_web_server_is_named_and_not_flooded)
{
	up(says_404);
	T_CODE(get(3000), PL_PROTO, &rig.err);
	T_TRUE(strstr(rig.err.msg, "404") != NULL);
	T_CODE(put(3000), PL_UNKNOWN, &rig.err); /* who knows what it did with it */
	T_EQ(rig.err.cause, PL_PROTO);
	T_TRUE(keep(400) != PL_OK);
	T_TRUE(liar.messages < 60);
	recovers();
	down();
}

static bool says_unimplemented(struct liar *it, struct liar_call *call,
                               struct pl_span message)
{
	(void)it;
	(void)message;
	liar_end(call, 12, "unknown service etcdserverpb.KV");
	return true;
}

T_CASE(another_grpc_service_is_named_and_its_limits_are_not_believed)
{
	up(says_unimplemented);
	T_CODE(get(3000), PL_UNSUPPORTED, &rig.err);
	T_CODE(put(3000), PL_UNSUPPORTED, &rig.err);
	T_CODE(keep(3000), PL_UNSUPPORTED, &rig.err);
	T_EQ(kv_limits(rig.kv).txn_ops, 0);
	T_TRUE(liar.messages < 60);
	recovers();
	down();
}

static bool is_starting(struct liar *it, struct liar_call *call, struct pl_span message)
{
	(void)it;
	(void)message;
	if (!is_unary(call))
		return false;
	liar_end(call, 14, "etcdserver: not capable");
	return true;
}

T_CASE(limits_are_not_learnt_from_a_server_that_is_still_starting)
{
	up(is_starting);
	T_CODE(get(300), PL_UNAVAIL, &rig.err);
	T_CODE(put(300), PL_UNAVAIL, &rig.err);
	T_TRUE(liar.messages < 60);
	recovers();
	down();
}

/* -- silence --------------------------------------------------------------- */

T_CASE(a_server_that_answers_nothing)
{
	up(is_silent);
	T_CODE(get(200), PL_TIMEOUT, &rig.err);
	T_TRUE(put(200) == PL_TIMEOUT || rig.err.code == PL_UNKNOWN);
	T_CODE(keep(200), PL_TIMEOUT, &rig.err);
	recovers();
	down();
}

T_CASE(a_server_that_accepts_and_says_nothing)
{
	struct etcd_opts opts = {.connect_timeout_ms = 100};

	up_with(NULL, &opts);
	liar.mute = true;
	T_CODE(get(250), PL_TIMEOUT, &rig.err);
	T_CODE(put(250), PL_TIMEOUT, &rig.err);
	T_CODE(keep(250), PL_TIMEOUT, &rig.err);
	recovers();
	down();
}

/* -- answers that are none ------------------------------------------------- */

static struct pl_span lie;
static bool lie_ends;

static bool lies_in_calls(struct liar *it, struct liar_call *call, struct pl_span message)
{
	(void)it;
	(void)message;
	if (!liar_is(call, "Range") && !liar_is(call, "Put"))
		return false;
	liar_raw(call, lie);
	if (lie_ends)
		liar_end(call, 0, "");
	return true;
}

static void lies_case(struct pl_span bytes, bool ends, enum pl_code code)
{
	lie = bytes;
	lie_ends = ends;
	up(NULL);
	T_OK(get(RIG_TIMEOUT_MS), &rig.err);
	liar.fn = lies_in_calls;
	T_CODE(get(300), code, &rig.err);
	T_CODE(put(300), PL_UNKNOWN, &rig.err);
	T_EQ(rig.err.cause, code);
	recovers();
	down();
}

T_CASE(undecodable_answers)
{
	lies_case(PL_SPAN_LIT("\0\0\0\0\3\xff\xff\xff"), true, PL_PROTO);
}

T_CASE(truncated_answers)
{
	lies_case(PL_SPAN_LIT("\0\0\0\0\x09\x0a\x07"), true, PL_PROTO);
}

T_CASE(answers_that_never_end)
{
	lies_case(PL_SPAN_LIT("\0\0\0\0\x09\x0a\x07"), false, PL_TIMEOUT);
}

T_CASE(oversized_answers)
{
	lies_case(PL_SPAN_LIT("\0\xff\xff\xff\xff\x0a\x07"), false, PL_LIMIT);
}

/* -- refusals at once ------------------------------------------------------ */

static unsigned puts_seen;

static bool refuses(struct liar *it, struct liar_call *call, struct pl_span message)
{
	(void)it;
	(void)message;
	if (!liar_is(call, "Put") && !liar_is(call, "Range"))
		return false;
	puts_seen++;
	liar_reset(call, 7); /* REFUSED_STREAM: it says that it did nothing */
	return true;
}

T_CASE(refused_streams_are_not_retried_in_a_hurry)
{
	uint64_t before = pl_clock_ms();

	up(refuses);
	T_CODE(put(600), PL_UNAVAIL, &rig.err);
	T_TRUE(pl_clock_ms() - before >= 300); /* it did go on trying */
	T_TRUE(puts_seen > 1 && puts_seen < 20);
	recovers();
	down();
}

static bool answers_then_refuses(struct liar *it, struct liar_call *call,
                                 struct pl_span message)
{
	(void)it;
	(void)message;
	if (!liar_is(call, "Put"))
		return false;
	puts_seen++;
	liar_raw(call, PL_SPAN_LIT("\0\0\0"));
	liar_flush(it);
	liar_reset(call, 7);
	return true;
}

T_CASE(a_refusal_behind_the_head_of_an_answer_is_not_believed)
{
	up(answers_then_refuses);
	T_CODE(put(600), PL_UNKNOWN, &rig.err);
	T_EQ(puts_seen, 1);
	recovers();
	down();
}

static bool goes_away(struct liar *it, struct liar_call *call, struct pl_span message)
{
	(void)call;
	(void)message;
	puts_seen += liar_is(call, "Put");
	liar_goaway(it, 0);
	return true;
}

T_CASE(a_storm_of_goaways)
{
	struct rig_watch watch = {0};
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("w/"))};

	up(NULL);
	T_OK(get(RIG_TIMEOUT_MS), &rig.err);
	liar.fn = goes_away;
	liar_goaway(&liar, 0);
	liar_flush(&liar);
	T_OK(kv_watch(rig.kv, &req, rig_on_note, &watch, &watch.watch, &rig.err),
	     &rig.err);
	T_CODE(put(700), PL_UNAVAIL, &rig.err);
	T_CODE(get(700), PL_UNAVAIL, &rig.err);
	T_TRUE(keep(500) != PL_OK);
	T_TRUE(liar.connections < 100);
	liar.fn = NULL;
	rig_until(&rig, &watch.is_ready);
	T_TRUE(!watch.ended);
	rig_unwatch(&rig, &watch);
	recovers();
	down();
}

/* -- keep-alives ----------------------------------------------------------- */

static bool lies_in_keeps(struct liar *it, struct liar_call *call, struct pl_span message)
{
	(void)message;
	if (!liar_is(call, "LeaseKeepAlive"))
		return false;
	liar_say(call, liar_kept(it->revision, 8, 10)); /* of another lease */
	liar_say(call, PL_SPAN_LIT("\xff\xff\xff"));
	return true;
}

T_CASE(keep_alives_answered_with_nonsense)
{
	up(lies_in_keeps);
	T_OK(get(RIG_TIMEOUT_MS), &rig.err);
	T_CODE(keep(700), PL_PROTO, &rig.err);
	recovers();
	down();
}

/* -- room ------------------------------------------------------------------ */

struct retry {
	struct kv_waiter waiter;
	struct rig_pending pending;
	struct kv_req req;
	unsigned tries;
	bool started;
};

static void on_room(void *ctx)
{
	struct retry *retry = ctx;
	enum pl_code code;

	retry->tries++;
	code = kv_start(rig.kv, &retry->req, RIG_TIMEOUT_MS, rig_on_pending,
	                &retry->pending, NULL, &rig.err);
	retry->started = code == PL_OK;
	if (code == PL_BUSY)
		kv_when_room(rig.kv, &retry->waiter);
}

T_CASE(who_waits_for_room_is_not_woken_in_vain)
{
	static char value[60 << 10];
	struct etcd_opts opts = {.inflight_bytes_max = 64 << 10};
	struct kv_req small = kv_op_put(PL_SPAN_LIT("a"), pl_span(value, 20 << 10));
	struct rig_pending first = {0};
	static struct retry retry;

	retry = (struct retry){.waiter = {.fn = on_room, .ctx = &retry}};
	retry.req = kv_op_put(PL_SPAN_LIT("b"), pl_span(value, 60 << 10));
	pl_list_init(&retry.waiter.link);
	up_with(NULL, &opts);
	T_OK(get(RIG_TIMEOUT_MS), &rig.err);
	liar.fn = is_silent;
	rig_start(&rig, &first, &small, 300);
	on_room(&retry);
	T_TRUE(!retry.started);
	rig_until(&rig, &first.done);
	liar.fn = NULL;
	rig_until(&rig, &retry.pending.done);
	T_CODE(retry.pending.code, PL_OK, &retry.pending.err);
	T_TRUE(retry.tries < 5);
	down();
}

T_CASE(a_waiter_outlives_the_client)
{
	struct etcd_opts opts = {.inflight_bytes_max = 64 << 10};
	struct kv_req req;
	static char value[60 << 10];
	struct rig_pending pending;
	struct kv_waiter waiter = {.fn = on_room};

	req = kv_op_put(PL_SPAN_LIT("b"), pl_span(value, sizeof value));
	up_with(is_silent, &opts);
	rig_start(&rig, &pending, &req, RIG_TIMEOUT_MS);
	pl_list_init(&waiter.link);
	kv_when_room(rig.kv, &waiter);
	rig_close(&rig, rig.kv);
	rig.kv = NULL;
	pl_list_del(&waiter.link);
	down();
}
