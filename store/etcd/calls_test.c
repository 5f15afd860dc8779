/* Calls against a real etcd that stops, dies, and comes back. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/harness/t.h"
#include "tests/support/store/etcd/etcd_rig.h"

static struct etcd_rig rig;

static struct kv_req put_of(const char *key, size_t size)
{
	static char bytes[8 << 20];

	T_TRUE(size <= sizeof bytes);
	return kv_op_put(pl_span_str(key), pl_span(bytes, size));
}

static void send_signal(unsigned member, int signum)
{
	T_OK(etcd_launch_signal(rig.launch, member, signum, &rig.err), &rig.err);
}

T_CASE(a_write_to_a_stopped_server_ends_as_unknown)
{
	struct kv_req put = put_of("a", 10);

	etcd_rig_up(&rig, NULL, NULL);
	(void)etcd_rig_put(&rig, "b", "x");
	send_signal(0, SIGSTOP);
	T_CODE(etcd_rig_call(&rig, &put, 300, NULL), PL_UNKNOWN, &rig.err);
	T_EQ(rig.err.cause, PL_TIMEOUT);
	send_signal(0, SIGCONT);
	/* the key is there or not: the outcome was unknown */
	(void)etcd_rig_get(&rig, "a");
	etcd_rig_down(&rig);
}

T_CASE(a_write_to_a_dead_server_ends_as_not_applied)
{
	struct kv_req put = put_of("a", 10);

	etcd_rig_up(&rig, NULL, NULL);
	(void)etcd_rig_put(&rig, "b", "x");
	send_signal(0, SIGKILL);
	etcd_rig_run_ms(&rig, 200);
	T_CODE(etcd_rig_call(&rig, &put, 300, NULL), PL_UNAVAIL, &rig.err);
	T_OK(etcd_launch_restart(rig.launch, 0, &rig.err), &rig.err);
	T_TRUE(etcd_rig_get(&rig, "a") == NULL);
	(void)etcd_rig_put(&rig, "a", "z");
	T_STR(etcd_rig_get(&rig, "a"), "z");
	etcd_rig_down(&rig);
}

T_CASE(a_read_waits_for_a_server_that_comes_back)
{
	struct kv_req get = kv_op_get(kv_key(PL_SPAN_LIT("b")));
	struct etcd_rig_pending pending;

	etcd_rig_up(&rig, NULL, NULL);
	(void)etcd_rig_put(&rig, "b", "x");
	send_signal(0, SIGKILL);
	etcd_rig_start(&rig, &pending, &get, ETCD_RIG_TIMEOUT_MS);
	T_OK(etcd_launch_restart(rig.launch, 0, &rig.err), &rig.err);
	etcd_rig_until(&rig, &pending.done);
	T_CODE(pending.code, PL_OK, &pending.err);
	etcd_rig_down(&rig);
}

T_CASE_SECONDS(reads_and_writes_go_on_when_any_member_stops_or_dies, 60)
{
	struct etcd_launch_opts three = {
		.members = 3, .heartbeat_ms = 20, .election_ms = 200};
	struct kv_req get = kv_op_get(kv_key(PL_SPAN_LIT("b")));

	etcd_rig_up(&rig, &three, NULL);
	(void)etcd_rig_put(&rig, "b", "x");
	for (unsigned member = 0; member < 3; member++) {
		send_signal(member, SIGSTOP);
		T_OK(etcd_rig_call(&rig, &get, ETCD_RIG_TIMEOUT_MS, NULL), &rig.err);
		(void)etcd_rig_put(&rig, "b", "y");
		send_signal(member, SIGCONT);
	}
	for (unsigned member = 0; member < 3; member++) {
		send_signal(member, SIGKILL);
		T_OK(etcd_rig_call(&rig, &get, ETCD_RIG_TIMEOUT_MS, NULL), &rig.err);
		T_OK(etcd_launch_restart(rig.launch, member, &rig.err), &rig.err);
		T_OK(etcd_rig_call(&rig, &get, ETCD_RIG_TIMEOUT_MS, NULL), &rig.err);
	}
	T_TRUE(etcd_stats(rig.kv).failovers > 0);
	etcd_rig_down(&rig);
}

static void on_room(void *ctx)
{
	*(bool *)ctx = true;
}

T_CASE(more_than_the_bound_is_refused_until_there_is_room)
{
	struct etcd_opts small = {.inflight_bytes_max = 64 << 10};
	struct kv_req put = put_of("a", 30 << 10);
	struct etcd_rig_pending pending[3];
	struct kv_waiter waiter = {.fn = on_room};
	bool room = false;

	etcd_rig_up(&rig, NULL, &small);
	etcd_rig_start(&rig, &pending[0], &put, ETCD_RIG_TIMEOUT_MS);
	etcd_rig_start(&rig, &pending[1], &put, ETCD_RIG_TIMEOUT_MS);
	T_CODE(kv_start(rig.kv, &put, 100, etcd_rig_on_pending, &pending[2], NULL,
	                &rig.err),
	       PL_BUSY, &rig.err);
	T_TRUE(kv_room(rig.kv) < 30 << 10);
	pl_list_init(&waiter.link);
	waiter.ctx = &room;
	kv_when_room(rig.kv, &waiter);
	T_TRUE(!room);
	etcd_rig_until(&rig, &room);
	etcd_rig_start(&rig, &pending[2], &put, ETCD_RIG_TIMEOUT_MS);
	for (unsigned i = 0; i < 3; i++) {
		etcd_rig_until(&rig, &pending[i].done);
		T_CODE(pending[i].code, PL_OK, &pending[i].err);
	}
	T_EQ(kv_room(rig.kv), 64 << 10);
	etcd_rig_down(&rig);
}

static enum pl_code try_txn(size_t ops, size_t value_size)
{
	struct kv_req *puts = calloc(ops, sizeof *puts);
	struct kv_req req = {.op = KV_TXN, .txn = {.then = puts, .then_count = ops}};
	char(*keys)[24] = calloc(ops, sizeof *keys);
	enum pl_code code;

	for (size_t i = 0; i < ops; i++) {
		(void)snprintf(keys[i], sizeof keys[i], "k%zu", i);
		puts[i] = put_of(keys[i], value_size);
	}
	code = etcd_rig_call(&rig, &req, ETCD_RIG_TIMEOUT_MS, NULL);
	free(keys);
	free(puts);
	return code;
}

static void limits_case(const char *ops_flag, const char *bytes_flag, uint32_t ops,
                        uint32_t bytes)
{
	const char *args[] = {ops_flag, bytes_flag, NULL};
	struct etcd_launch_opts launch = {.members = 1, .extra_args = args};
	uint64_t calls;

	etcd_rig_up(&rig, &launch, NULL);
	(void)etcd_rig_put(&rig, "a", "x");
	T_EQ(kv_limits(rig.kv).txn_ops, ops);
	T_EQ(kv_limits(rig.kv).request_bytes, bytes);
	T_OK(try_txn(ops, 1), &rig.err);
	calls = etcd_stats(rig.kv).calls;
	T_CODE(try_txn(ops + 1, 1), PL_LIMIT, &rig.err);
	T_OK(try_txn(1, bytes - 1024), &rig.err);
	T_CODE(try_txn(1, bytes), PL_LIMIT, &rig.err);
	T_EQ(etcd_stats(rig.kv).calls, calls + 1); /* refused before they were sent */
	etcd_rig_down(&rig);
}

T_CASE(finds_the_limits_of_the_server)
{
	limits_case("--max-txn-ops=128", "--max-request-bytes=1572864", 128, 1572864);
	limits_case("--max-txn-ops=777", "--max-request-bytes=3000000", 777, 3000000);
	limits_case("--max-txn-ops=50", "--max-request-bytes=65536", 50, 65536);
}

T_CASE(a_call_is_held_to_the_limits_even_before_they_are_known)
{
	etcd_rig_up(&rig, NULL, NULL);
	T_EQ(kv_limits(rig.kv).txn_ops, 0);
	T_CODE(try_txn(2000, 1), PL_LIMIT, &rig.err);
	etcd_rig_down(&rig);
}

T_CASE(cancel_reports_whether_the_request_was_sent)
{
	struct kv_req put = put_of("a", 10), get = kv_op_get(kv_key(PL_SPAN_LIT("a")));
	struct etcd_rig_pending queued, write, read;

	etcd_rig_up(&rig, NULL, NULL);
	etcd_rig_start(&rig, &queued, &put, ETCD_RIG_TIMEOUT_MS); /* no connection yet */
	kv_cancel(rig.kv, queued.call);
	T_TRUE(!queued.done);
	etcd_rig_until(&rig, &queued.done);
	T_CODE(queued.code, PL_CANCELED, &queued.err);
	(void)etcd_rig_put(&rig, "b", "x");
	send_signal(0, SIGSTOP);
	etcd_rig_start(&rig, &write, &put, ETCD_RIG_TIMEOUT_MS);
	etcd_rig_start(&rig, &read, &get, ETCD_RIG_TIMEOUT_MS);
	etcd_rig_run_ms(&rig, 20); /* the calls are sent */
	kv_cancel(rig.kv, write.call);
	kv_cancel(rig.kv, read.call);
	etcd_rig_until(&rig, &write.done);
	etcd_rig_until(&rig, &read.done);
	T_CODE(write.code, PL_UNKNOWN, &write.err);
	T_CODE(read.code, PL_CANCELED, &read.err);
	send_signal(0, SIGCONT);
	etcd_rig_down(&rig);
}

T_CASE(closing_ends_everything_that_is_in_flight)
{
	struct kv_req put = put_of("a", 10);
	struct kv_req keepalive = {.op = KV_LEASE_KEEP, .lease = {.id = 77}};
	struct etcd_rig_pending pending[20], keepalive_pending;
	struct etcd_rig_watch watch;

	etcd_rig_up(&rig, NULL, NULL);
	etcd_rig_watch(&rig, &watch, "a", 0);
	send_signal(0, SIGSTOP);
	for (unsigned i = 0; i < 20; i++)
		etcd_rig_start(&rig, &pending[i], &put, ETCD_RIG_TIMEOUT_MS);
	etcd_rig_start(&rig, &keepalive_pending, &keepalive, ETCD_RIG_TIMEOUT_MS);
	etcd_rig_close(&rig, rig.kv);
	rig.kv = NULL;
	for (unsigned i = 0; i < 20; i++)
		T_TRUE(pending[i].done &&
		       (pending[i].code == PL_CANCELED || pending[i].code == PL_UNKNOWN));
	T_TRUE(keepalive_pending.done && watch.ended);
	T_EQ(watch.err.code, PL_CANCELED);
	send_signal(0, SIGCONT);
	etcd_rig_down(&rig);
}

T_CASE(a_client_that_never_connected_closes)
{
	struct etcd_opts nowhere = {.endpoints = "http://127.0.0.1:1"};

	T_EQ(uv_loop_init(&rig.loop), 0);
	pl_arena_init(&rig.arena, 0, 0);
	rig.kv = etcd_rig_open(&rig, &nowhere);
	etcd_rig_down(&rig);
}

T_CASE(wrong_endpoints_are_refused_at_once_or_named_in_the_error)
{
	struct etcd_opts bad = {.endpoints = "nonsense:x"};
	struct etcd_opts nowhere = {.endpoints = "http://127.0.0.1:1"};
	struct kv_req get = kv_op_get(kv_key(PL_SPAN_LIT("a")));
	struct kv *kv = NULL;

	T_EQ(uv_loop_init(&rig.loop), 0);
	T_CODE(etcd_open(&rig.loop, &bad, &kv, &rig.err), PL_INVALID, &rig.err);
	pl_arena_init(&rig.arena, 0, 0);
	rig.kv = etcd_rig_open(&rig, &nowhere);
	T_CODE(etcd_rig_call(&rig, &get, 200, NULL), PL_UNAVAIL, &rig.err);
	T_TRUE(strstr(rig.err.msg, "127.0.0.1:1") != NULL);
	etcd_rig_down(&rig);
}

static void on_down(void *ctx, const struct pl_err *err)
{
	struct pl_err *first = ctx;

	if (first->code == PL_OK)
		*first = *err;
}

/* The limits are found without ending any call. */
T_CASE(a_failed_connection_is_reported_at_once)
{
	struct pl_err first = {0};
	struct etcd_opts nowhere = {
		.endpoints = "http://127.0.0.1:1", .on_down = on_down, .ctx = &first};

	T_EQ(uv_loop_init(&rig.loop), 0);
	pl_arena_init(&rig.arena, 0, 0);
	rig.kv = etcd_rig_open(&rig, &nowhere);
	T_EQ(first.code, PL_OK);
	while (first.code == PL_OK)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	T_EQ(first.code, PL_UNAVAIL);
	T_STR(first.msg, "127.0.0.1:1: connect: connection refused");
	etcd_rig_down(&rig);
}

T_CASE(a_full_store_is_its_own_error)
{
	const char *args[] = {"--quota-backend-bytes=1000000", NULL};
	struct etcd_launch_opts launch = {.members = 1, .extra_args = args};
	struct kv_req put = put_of("a", 200 << 10);
	enum pl_code code = PL_OK;

	etcd_rig_up(&rig, &launch, NULL);
	for (unsigned i = 0; i < 50 && code == PL_OK; i++)
		code = etcd_rig_call(&rig, &put, ETCD_RIG_TIMEOUT_MS, NULL);
	/* etcd applies the write that fills it, and answers it like the ones that it
	 * refuses. */
	T_CODE(code, PL_UNKNOWN, &rig.err);
	T_EQ(rig.err.cause, PL_NOSPACE);
	T_TRUE(strstr(rig.err.msg, "defragment") != NULL);
	T_TRUE(etcd_rig_get(&rig, "a") != NULL); /* reading still works */
	etcd_rig_down(&rig);
}
