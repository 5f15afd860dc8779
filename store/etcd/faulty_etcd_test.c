/* Tests against servers that are not etcd, or a faulty etcd: each call ends in an error
 * that names the fault, the client does not retry without pause, and everything works
 * once the fault is gone. */
#include "store/base/clock.h"
#include "tests/support/store/etcd/faulty_etcd_rig.h"

/* -- servers that are not etcd --------------------------------------------- */

T_CASE(a_web_server_is_recognised_and_not_flooded)
{
	rig_up(answers_404);
	T_CODE(read_key(3000), PL_PROTO, &rig.err);
	T_TRUE(strstr(rig.err.msg, "404") != NULL);
	/* the write may have been applied */
	T_CODE(write_key(3000), PL_UNKNOWN, &rig.err);
	T_EQ(rig.err.cause, PL_PROTO);
	T_TRUE(keep_lease(400) != PL_OK);
	T_TRUE(faulty.messages < 60);
	check_recovered();
	rig_down();
}

static bool says_unimplemented(struct faulty_etcd *it, struct faulty_etcd_call *call,
                               struct pl_span message)
{
	(void)it;
	(void)message;
	faulty_etcd_end(call, 12, "unknown service etcdserverpb.KV");
	return true;
}

T_CASE(another_grpc_service_is_recognised_and_its_limits_ignored)
{
	rig_up(says_unimplemented);
	T_CODE(read_key(3000), PL_UNSUPPORTED, &rig.err);
	T_CODE(write_key(3000), PL_UNSUPPORTED, &rig.err);
	T_CODE(keep_lease(3000), PL_UNSUPPORTED, &rig.err);
	T_EQ(kv_limits(rig.kv).txn_ops, 0);
	T_TRUE(faulty.messages < 60);
	check_recovered();
	rig_down();
}

static bool is_starting(struct faulty_etcd *it, struct faulty_etcd_call *call,
                        struct pl_span message)
{
	(void)it;
	(void)message;
	if (!is_unary(call))
		return false;
	faulty_etcd_end(call, 14, "etcdserver: not capable");
	return true;
}

T_CASE(limits_are_not_taken_from_a_starting_server)
{
	rig_up(is_starting);
	T_CODE(read_key(300), PL_UNAVAIL, &rig.err);
	T_CODE(write_key(300), PL_UNAVAIL, &rig.err);
	T_TRUE(faulty.messages < 60);
	check_recovered();
	rig_down();
}

/* -- silence --------------------------------------------------------------- */

T_CASE(a_server_that_answers_nothing)
{
	rig_up(is_silent);
	T_CODE(read_key(200), PL_TIMEOUT, &rig.err);
	T_TRUE(write_key(200) == PL_TIMEOUT || rig.err.code == PL_UNKNOWN);
	T_CODE(keep_lease(200), PL_TIMEOUT, &rig.err);
	check_recovered();
	rig_down();
}

T_CASE(a_server_that_accepts_and_sends_nothing)
{
	struct etcd_opts opts = {.connect_timeout_ms = 100};

	rig_up_with(NULL, &opts);
	faulty.mute = true;
	T_CODE(read_key(250), PL_TIMEOUT, &rig.err);
	T_CODE(write_key(250), PL_TIMEOUT, &rig.err);
	T_CODE(keep_lease(250), PL_TIMEOUT, &rig.err);
	check_recovered();
	rig_down();
}

/* -- malformed answers ----------------------------------------------------- */

static struct pl_span lie;
static bool lie_ends;

static bool malformed_calls(struct faulty_etcd *it, struct faulty_etcd_call *call,
                            struct pl_span message)
{
	(void)it;
	(void)message;
	if (!faulty_etcd_is(call, "Range") && !faulty_etcd_is(call, "Put"))
		return false;
	faulty_etcd_raw(call, lie);
	if (lie_ends)
		faulty_etcd_end(call, 0, "");
	return true;
}

static void malformed_case(struct pl_span bytes, bool ends, enum pl_code code)
{
	lie = bytes;
	lie_ends = ends;
	rig_up(NULL);
	T_OK(read_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	faulty.fn = malformed_calls;
	T_CODE(read_key(300), code, &rig.err);
	T_CODE(write_key(300), PL_UNKNOWN, &rig.err);
	T_EQ(rig.err.cause, code);
	check_recovered();
	rig_down();
}

T_CASE(undecodable_answers)
{
	malformed_case(PL_SPAN_LIT("\0\0\0\0\3\xff\xff\xff"), true, PL_PROTO);
}

T_CASE(truncated_answers)
{
	malformed_case(PL_SPAN_LIT("\0\0\0\0\x09\x0a\x07"), true, PL_PROTO);
}

T_CASE(answers_that_never_end)
{
	malformed_case(PL_SPAN_LIT("\0\0\0\0\x09\x0a\x07"), false, PL_TIMEOUT);
}

T_CASE(oversized_answers)
{
	malformed_case(PL_SPAN_LIT("\0\xff\xff\xff\xff\x0a\x07"), false, PL_LIMIT);
}

/* -- refusals at once ------------------------------------------------------ */

static unsigned puts_seen;

static bool refuses(struct faulty_etcd *it, struct faulty_etcd_call *call,
                    struct pl_span message)
{
	(void)it;
	(void)message;
	if (!faulty_etcd_is(call, "Put") && !faulty_etcd_is(call, "Range"))
		return false;
	puts_seen++;
	/* REFUSED_STREAM: the server says that it did nothing */
	faulty_etcd_reset(call, 7);
	return true;
}

T_CASE(refused_streams_are_retried_with_pauses)
{
	uint64_t before = pl_clock_ms();

	rig_up(refuses);
	T_CODE(write_key(600), PL_UNAVAIL, &rig.err);
	T_TRUE(pl_clock_ms() - before >= 300); /* the client retried */
	T_TRUE(puts_seen > 1 && puts_seen < 20);
	check_recovered();
	rig_down();
}

static bool answers_then_refuses(struct faulty_etcd *it, struct faulty_etcd_call *call,
                                 struct pl_span message)
{
	(void)it;
	(void)message;
	if (!faulty_etcd_is(call, "Put"))
		return false;
	puts_seen++;
	faulty_etcd_raw(call, PL_SPAN_LIT("\0\0\0"));
	faulty_etcd_flush(it);
	faulty_etcd_reset(call, 7);
	return true;
}

T_CASE(a_refusal_after_an_answer_began_is_not_believed)
{
	rig_up(answers_then_refuses);
	T_CODE(write_key(600), PL_UNKNOWN, &rig.err);
	T_EQ(puts_seen, 1);
	check_recovered();
	rig_down();
}

static bool sends_goaway(struct faulty_etcd *it, struct faulty_etcd_call *call,
                         struct pl_span message)
{
	(void)call;
	(void)message;
	puts_seen += faulty_etcd_is(call, "Put");
	faulty_etcd_goaway(it, 0);
	return true;
}

T_CASE(a_storm_of_goaways)
{
	struct etcd_rig_watch watch = {0};
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("w/"))};

	rig_up(NULL);
	T_OK(read_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	faulty.fn = sends_goaway;
	faulty_etcd_goaway(&faulty, 0);
	faulty_etcd_flush(&faulty);
	T_OK(kv_watch(rig.kv, &req, etcd_rig_on_note, &watch, &watch.watch, &rig.err),
	     &rig.err);
	T_CODE(write_key(700), PL_UNAVAIL, &rig.err);
	T_CODE(read_key(700), PL_UNAVAIL, &rig.err);
	T_TRUE(keep_lease(500) != PL_OK);
	T_TRUE(faulty.connections < 100);
	faulty.fn = NULL;
	etcd_rig_until(&rig, &watch.is_ready);
	T_TRUE(!watch.ended);
	etcd_rig_unwatch(&rig, &watch);
	check_recovered();
	rig_down();
}

/* -- keep-alives ----------------------------------------------------------- */

static bool malformed_keepalives(struct faulty_etcd *it, struct faulty_etcd_call *call,
                                 struct pl_span message)
{
	(void)message;
	if (!faulty_etcd_is(call, "LeaseKeepAlive"))
		return false;
	faulty_etcd_send(
		/* an answer for another lease */
		call, faulty_etcd_keepalive(it->revision, 8, 10));
	faulty_etcd_send(call, PL_SPAN_LIT("\xff\xff\xff"));
	return true;
}

T_CASE(keepalives_answered_with_malformed_messages)
{
	rig_up(malformed_keepalives);
	T_OK(read_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	T_CODE(keep_lease(700), PL_PROTO, &rig.err);
	check_recovered();
	rig_down();
}

/* -- room ------------------------------------------------------------------ */

struct retry {
	struct kv_waiter waiter;
	struct etcd_rig_pending pending;
	struct kv_req req;
	unsigned tries;
	bool started;
};

static void on_room(void *ctx)
{
	struct retry *retry = ctx;
	enum pl_code code;

	retry->tries++;
	code = kv_start(rig.kv, &retry->req, ETCD_RIG_TIMEOUT_MS, etcd_rig_on_pending,
	                &retry->pending, NULL, &rig.err);
	retry->started = code == PL_OK;
	if (code == PL_BUSY)
		kv_when_room(rig.kv, &retry->waiter);
}

T_CASE(waiters_for_room_are_woken_when_there_is_enough)
{
	static char value[60 << 10];
	struct etcd_opts opts = {.inflight_bytes_max = 64 << 10};
	struct kv_req small = kv_op_put(PL_SPAN_LIT("a"), pl_span(value, 20 << 10));
	struct etcd_rig_pending first = {0};
	static struct retry retry;

	retry = (struct retry){.waiter = {.fn = on_room, .ctx = &retry}};
	retry.req = kv_op_put(PL_SPAN_LIT("b"), pl_span(value, 60 << 10));
	pl_list_init(&retry.waiter.link);
	rig_up_with(NULL, &opts);
	T_OK(read_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	faulty.fn = is_silent;
	etcd_rig_start(&rig, &first, &small, 300);
	on_room(&retry);
	T_TRUE(!retry.started);
	etcd_rig_until(&rig, &first.done);
	faulty.fn = NULL;
	etcd_rig_until(&rig, &retry.pending.done);
	T_CODE(retry.pending.code, PL_OK, &retry.pending.err);
	T_TRUE(retry.tries < 5);
	rig_down();
}

T_CASE(a_waiter_outlives_the_client)
{
	struct etcd_opts opts = {.inflight_bytes_max = 64 << 10};
	struct kv_req req;
	static char value[60 << 10];
	struct etcd_rig_pending pending;
	struct kv_waiter waiter = {.fn = on_room};

	req = kv_op_put(PL_SPAN_LIT("b"), pl_span(value, sizeof value));
	rig_up_with(is_silent, &opts);
	etcd_rig_start(&rig, &pending, &req, ETCD_RIG_TIMEOUT_MS);
	pl_list_init(&waiter.link);
	kv_when_room(rig.kv, &waiter);
	etcd_rig_close(&rig, rig.kv);
	rig.kv = NULL;
	pl_list_del(&waiter.link);
	rig_down();
}
