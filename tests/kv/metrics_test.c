#include "store/base/fault.h"
#include "store/kv/metrics.h"
#include "tests/support/store/memkv/kit.h"

static uint64_t fake_us;

static uint64_t fake_clock(void *ctx)
{
	(void)ctx;
	return fake_us += 700;
}

static const struct kv_metrics *measured(struct kit *kit)
{
	struct kv_metrics_opts opts = {.now_us = fake_clock};

	kit_open(kit, NULL);
	T_EQ(kv_metrics_open(kit->kv, &opts, &kit->kv, NULL), PL_OK);
	return kv_metrics_of(kit->kv);
}

T_CASE(calls_and_watches_are_counted)
{
	static struct kit_watch watch;
	struct kit kit;
	const struct kv_metrics *m = measured(&kit);
	struct kv_watch_req req = {.keys = kv_all_keys()};
	struct kv_compare no = kv_if_present(kit_key("none"));
	struct kv_req txn = {.op = KV_TXN, .txn = {.compares = &no, .compare_count = 1}};

	T_EQ(kit_watch(&kit, &watch, &req), PL_OK);
	memkv_run(kit.mem, 0);
	(void)kit_put(&kit, "key", "value");
	T_EQ(kit_get_at(&kit, kv_all_keys(), 0), PL_OK);
	T_EQ(kit_get_at(&kit, kv_all_keys(), 99), PL_FUTURE);
	T_EQ(kit_call(&kit, &txn), PL_OK);
	T_EQ(m->op[KV_PUT].started, 1);
	T_EQ(m->op[KV_PUT].ended[PL_OK], 1);
	T_EQ(m->op[KV_PUT].bytes_out, 8);
	T_EQ(m->op[KV_PUT].took_us.sum, 700);
	T_EQ(m->op[KV_PUT].took_us.count, 1);
	T_EQ(m->op[KV_GET].started, 2);
	T_EQ(m->op[KV_GET].bytes_in, 8);
	T_EQ(m->op[KV_GET].ended[PL_FUTURE], 1);
	T_EQ(m->op[KV_GET].in_flight, 0);
	T_EQ(m->compares_failed, 1);
	T_EQ(m->watch.events, 1);
	T_EQ(m->watch.open, 1);
	T_EQ(m->watch.resumes, 0);
	kv_unwatch(kit.kv, watch.watch);
	memkv_run(kit.mem, 0);
	T_EQ(m->watch.open, 0);
	T_EQ(m->watch.ended[PL_CANCELED], 1);
	kit_close(&kit);
}

T_CASE(start_fails_without_memory)
{
	struct kit kit;
	const struct kv_metrics *m = measured(&kit);
	struct kv_req req = kv_op_get(kv_all_keys());

	for (uint64_t nth = 1;; nth++) {
		enum pl_code code;

		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = kv_start(kit.kv, &req, 1000, kit_on_done, &kit, NULL, NULL);
		pl_fault_arm(PL_FAULT_ALLOC, 0);
		memkv_run(kit.mem, 0);
		if (code == PL_OK)
			break;
		T_EQ(code, PL_NOMEM);
		T_EQ(m->op[KV_GET].refused, nth);
	}
	T_EQ(m->op[KV_GET].in_flight, 0);
	kit_close(&kit);
}
