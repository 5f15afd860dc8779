#include "store/etcd/liar_rig.h"

struct rig rig;
struct liar liar;

void up_with(liar_fn *fn, const struct etcd_opts *opts)
{
	struct etcd_opts mine = {0};

	if (opts != NULL)
		mine = *opts;
	memset(&rig, 0, sizeof rig);
	T_EQ(uv_loop_init(&rig.loop), 0);
	pl_arena_init(&rig.arena, 1 << 16, 0);
	liar_up(&liar, &rig.loop);
	liar.fn = fn;
	mine.endpoints = liar.endpoint;
	rig.kv = rig_open(&rig, &mine);
}

void up(liar_fn *fn)
{
	up_with(fn, NULL);
}

void down(void)
{
	if (rig.kv != NULL)
		rig_close(&rig, rig.kv);
	rig.kv = NULL;
	liar_down(&liar);
	rig_down(&rig);
}

enum pl_code get(uint64_t timeout_ms)
{
	struct kv_req req = kv_op_get(kv_key(PL_SPAN_LIT("a")));

	return rig_call(&rig, &req, timeout_ms, NULL);
}

enum pl_code put(uint64_t timeout_ms)
{
	struct kv_req req = kv_op_put(PL_SPAN_LIT("a"), PL_SPAN_LIT("x"));

	return rig_call(&rig, &req, timeout_ms, NULL);
}

enum pl_code keep(uint64_t timeout_ms)
{
	struct kv_req req = {.op = KV_LEASE_KEEP, .lease = {.id = 7}};

	return rig_call(&rig, &req, timeout_ms, NULL);
}

void recovers(void)
{
	struct rig_watch watch;

	liar.fn = NULL;
	liar.mute = false;
	T_OK(get(RIG_TIMEOUT_MS), &rig.err);
	T_OK(put(RIG_TIMEOUT_MS), &rig.err);
	T_OK(keep(RIG_TIMEOUT_MS), &rig.err);
	rig_watch(&rig, &watch, "w/", 0);
	rig_unwatch(&rig, &watch);
	while (kv_limits(rig.kv).txn_ops == 0) {
		rig_run_ms(&rig, 50);
		T_OK(get(RIG_TIMEOUT_MS), &rig.err);
	}
	T_EQ(kv_limits(rig.kv).txn_ops, 128);
	T_EQ(kv_limits(rig.kv).request_bytes, 1572864);
}

bool is_unary(const struct liar_call *call)
{
	return !liar_is(call, "Watch") && !liar_is(call, "LeaseKeepAlive");
}

bool says_404(struct liar *it, struct liar_call *call, struct pl_span message)
{
	(void)it;
	(void)message;
	liar_http(call, "404", "text/html");
	return true;
}

bool is_silent(struct liar *it, struct liar_call *call, struct pl_span message)
{
	(void)it;
	(void)call;
	(void)message;
	return true;
}
