#include "tests/support/store/etcd/faulty_etcd_rig.h"

struct etcd_rig rig;
struct faulty_etcd faulty;

void rig_up_with(faulty_etcd_fn *fn, const struct etcd_opts *opts)
{
	struct etcd_opts mine = {0};

	if (opts != NULL)
		mine = *opts;
	memset(&rig, 0, sizeof rig);
	T_EQ(uv_loop_init(&rig.loop), 0);
	pl_arena_init(&rig.arena, 1 << 16, 0);
	faulty_etcd_start(&faulty, &rig.loop);
	faulty.fn = fn;
	mine.endpoints = faulty.endpoint;
	rig.kv = etcd_rig_open(&rig, &mine);
}

void rig_up(faulty_etcd_fn *fn)
{
	rig_up_with(fn, NULL);
}

void rig_down(void)
{
	if (rig.kv != NULL)
		etcd_rig_close(&rig, rig.kv);
	rig.kv = NULL;
	faulty_etcd_stop(&faulty);
	etcd_rig_down(&rig);
}

enum pl_code read_key(uint64_t timeout_ms)
{
	struct kv_req req = kv_op_get(kv_key(PL_SPAN_LIT("a")));

	return etcd_rig_call(&rig, &req, timeout_ms, NULL);
}

enum pl_code write_key(uint64_t timeout_ms)
{
	struct kv_req req = kv_op_put(PL_SPAN_LIT("a"), PL_SPAN_LIT("x"));

	return etcd_rig_call(&rig, &req, timeout_ms, NULL);
}

enum pl_code keep_lease(uint64_t timeout_ms)
{
	struct kv_req req = {.op = KV_LEASE_KEEP, .lease = {.id = 7}};

	return etcd_rig_call(&rig, &req, timeout_ms, NULL);
}

void check_recovered(void)
{
	struct etcd_rig_watch watch;

	faulty.fn = NULL;
	faulty.mute = false;
	T_OK(read_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	T_OK(write_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	T_OK(keep_lease(ETCD_RIG_TIMEOUT_MS), &rig.err);
	etcd_rig_watch(&rig, &watch, "w/", 0);
	etcd_rig_unwatch(&rig, &watch);
	while (kv_limits(rig.kv).txn_ops == 0) {
		etcd_rig_run_ms(&rig, 50);
		T_OK(read_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	}
	T_EQ(kv_limits(rig.kv).txn_ops, 128);
	T_EQ(kv_limits(rig.kv).request_bytes, 1572864);
}

bool is_unary(const struct faulty_etcd_call *call)
{
	return !faulty_etcd_is(call, "Watch") && !faulty_etcd_is(call, "LeaseKeepAlive");
}

bool answers_404(struct faulty_etcd *it, struct faulty_etcd_call *call,
                 struct pl_span message)
{
	(void)it;
	(void)message;
	faulty_etcd_http(call, "404", "text/html");
	return true;
}

bool is_silent(struct faulty_etcd *it, struct faulty_etcd_call *call,
               struct pl_span message)
{
	(void)it;
	(void)call;
	(void)message;
	return true;
}
