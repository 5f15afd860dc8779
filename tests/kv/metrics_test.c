#include "store/base/fault.h"
#include "store/kv/metrics.h"
#include "tests/support/store/memkv/kit.h"

T_CASE(quantiles_are_at_most_an_eighth_high)
{
	static struct histogram h;

	T_EQ(histogram_quantile_us(&h, 500), 0);
	for (uint64_t us = 1; us <= 100000; us++)
		histogram_add(&h, us);
	T_EQ(h.count, 100000);
	T_EQ(h.max_us, 100000);
	for (uint32_t q = 1; q <= 1000; q++) {
		uint64_t got = histogram_quantile_us(&h, q), want = q * UINT64_C(100);

		T_TRUE(got >= want && got <= want + want / 8 + 1);
	}
	T_EQ(histogram_quantile_us(&h, 1000), 100000);
	T_EQ(histogram_at_most(&h, 1023), 1023);
	T_EQ(histogram_at_most(&h, 65535), 65535);
	histogram_add(&h, UINT64_MAX / 4); /* longer than any call */
	T_TRUE(histogram_quantile_us(&h, 1000) == UINT64_MAX / 4);
}

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
	T_EQ(m->op[KV_PUT].took.max_us, 700);
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

static void check_text(const char *name, struct pl_buf *buf)
{
	T_EQ(pl_buf_add(buf, pl_span("\n", 2)), PL_OK);
	t_golden(name, (const char *)buf->at);
	pl_buf_done(buf);
}

T_CASE(metrics_print_as_prometheus_and_json)
{
	struct kit kit;
	const struct kv_metrics *m = measured(&kit);
	struct pl_buf buf;

	(void)kit_put(&kit, "key", "value");
	T_EQ(kit_lease(&kit, KV_LEASE_KEEP, 5, 0), PL_NOLEASE);
	pl_buf_init(&buf, 1 << 20);
	T_EQ(kv_metrics_prometheus(m, "shard=\"a\"", &buf), PL_OK);
	check_text("kv_metrics/labels.txt", &buf);
	pl_buf_init(&buf, 1 << 20);
	T_EQ(kv_metrics_prometheus(m, NULL, &buf), PL_OK);
	check_text("kv_metrics/plain.txt", &buf);
	pl_buf_init(&buf, 1 << 20);
	T_EQ(kv_metrics_json(m, &buf), PL_OK);
	check_text("kv_metrics/json.txt", &buf);
	pl_buf_init(&buf, 100);
	T_EQ(kv_metrics_json(m, &buf), PL_LIMIT);
	pl_buf_done(&buf);
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
