/* The samples that collectors make of what the parts count. */
#include <stdio.h>

#include "coord/metrics/collect.h"
#include "store/metrics/exposition.h"
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

static uint64_t fake_ns;

static uint64_t fake_clock(void *ctx)
{
	(void)ctx;
	return fake_ns += 1000;
}

static struct metric_set *set_new(void)
{
	struct metric_set *set;

	T_EQ(metrics_set_new(&set, NULL), PL_OK);
	return set;
}

static void check(struct metric_set *set, const char *golden)
{
	struct pl_buf text;

	T_EQ(metric_set_dropped(set), 0);
	pl_buf_init(&text, 1 << 20);
	T_EQ(exposition_write(set, EXPOSITION_PROMETHEUS, &text), PL_OK);
	T_EQ(pl_buf_add(&text, pl_span("", 1)), PL_OK);
	t_golden(golden, (const char *)text.at);
	pl_buf_done(&text);
	metric_set_free(set);
}

/* Two pods that fit, one that does not, one that is gated. */
T_CASE(a_shard_that_has_scheduled)
{
	struct metric_set *set = set_new();

	rig_open(&rig, &(struct sched_opts){.clock = fake_clock});
	rig_node(&rig, 0, "n-1", "4");
	rig_node(&rig, 0, "n-2", "4");
	rig_pod(&rig, 0, "a", "4", "");
	rig_pod(&rig, 0, "b", "1", "");
	rig_pod(&rig, 0, "big", "9", "");
	rig_pod(&rig, 0, "gated", "1", ",\"schedulingGates\":[{\"name\":\"wait\"}]");
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	collect_sched(set, PL_SPAN_LIT("s-0"), rig.sched);
	rig_close(&rig);
	check(set, "metrics/collect_sched.txt");
}

T_CASE(a_client_of_etcd)
{
	struct kv_metrics metrics = {.compares_failed = 2};
	struct etcd_stats stats = {.retries = 1, .reconnects = 2, .tokens = 3};
	struct metric_set *set = set_new();

	metrics.op[KV_TXN].started = 5;
	metrics.op[KV_TXN].in_flight = 1;
	metrics.op[KV_TXN].ended[PL_OK] = 3;
	metrics.op[KV_TXN].ended[PL_UNKNOWN] = 1;
	metrics.op[KV_TXN].bytes_out = 1000;
	histogram_add(&metrics.op[KV_TXN].took_us, 3000);
	metrics.op[KV_LEASE_GRANT].refused = 1;
	metrics.watch.open = 7;
	metrics.watch.ended[PL_COMPACTED] = 1;
	collect_kv(set, PL_SPAN_LIT("shard"), &metrics);
	collect_etcd(set, PL_SPAN_LIT("shard"), &stats);
	check(set, "metrics/collect_kv.txt");
}

static void note(struct metric_set *set, struct shard_note note)
{
	collect_note(set, &note);
}

T_CASE(notes_of_a_shard)
{
	struct metric_set *set = set_new();

	note(set, (struct shard_note){.what = SHARD_UP});
	note(set, (struct shard_note){.what = SHARD_OWN});
	note(set, (struct shard_note){.what = SHARD_OWN});
	note(set, (struct shard_note){.what = SHARD_LOST, .why = CLAIMS_FENCED});
	note(set, (struct shard_note){.what = SHARD_LEAD, .role = "balancer"});
	note(set, (struct shard_note){.what = SHARD_LEAD, .role = "janitor"});
	note(set, (struct shard_note){.what = SHARD_FOLLOW, .role = "janitor"});
	note(set, (struct shard_note){.what = SHARD_BALANCED, .moves = 3});
	note(set, (struct shard_note){.what = SHARD_TROUBLE, .part = "roster"});
	check(set, "metrics/collect_notes.txt");
}

/* Every note is counted somewhere, or known to be none. */
T_CASE(no_kind_of_note_is_forgotten)
{
	for (int what = SHARD_META; what <= SHARD_CLOSED; what++) {
		struct metric_set *set = set_new();
		unsigned cells = 0;

		note(set, (struct shard_note){.what = (enum shard_what)what,
		                              .role = "janitor",
		                              .part = "roster"});
		for (unsigned i = 0; i < METRICS; i++)
			cells += metric_set_next(set, i, NULL) != NULL;
		T_TRUE((cells > 0) == (what != SHARD_META && what != SHARD_CLOSED));
		metric_set_free(set);
	}
}
