/* Specs read by key from a store that does not return many at once. */
#include "tests/support/shardsched/shard/remote_rig.h"

enum { GUESTS = 60, TAKES = 24 };

static unsigned refused;

static void answer(unsigned i)
{
	if (rig.out[i].req.txn.then_count > TAKES &&
	    rig.out[i].req.txn.compare_count == 0) {
		refused++;
		rig_fail(&rig, i, PL_TIMEOUT);
	} else {
		(void)rig_answer(&rig, i);
	}
}

static void guests(void)
{
	static char json[4096];
	char name[16];
	size_t len = (size_t)snprintf(
		json, sizeof json,
		"{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"%um\",\"pods\":\"%u\"},"
		"\"nonzero\":{\"cpu\":\"%um\",\"memory\":\"%llu\"},\"pods\":{\"0001\":{\"web\":[",
		GUESTS * 10, GUESTS, GUESTS * 10, GUESTS * 209715200ULL);

	for (unsigned i = 0; i < GUESTS; i++) {
		(void)snprintf(name, sizeof name, "c-%02u", i);
		rig_pod(&rig, 1, name, "10m", "");
		len += (size_t)snprintf(json + len, sizeof json - len, "%s\"%s\"",
		                        i == 0 ? "" : ",", name);
	}
	(void)snprintf(json + len, sizeof json - len, "]}}}");
	rig_put(&rig, "/alloc/0000/east/mine", json);
}

static const char *placed(void (*fn)(unsigned))
{
	static char where[128];

	rig_open(&rig, NULL);
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = 128});
	rig_node(&rig, 0, "mine", "4");
	guests();
	rig_own(&rig, 0);
	rig_pod(&rig, 0, "p", "1", "");
	refused = 0;
	for (unsigned i = 0; i < 1200; i++) {
		rig_round(&rig, fn);
		rig.now_ms += 100;
	}
	(void)snprintf(where, sizeof where, "%s", rig_where(&rig, 0, "p"));
	rig_close(&rig);
	return where;
}

T_CASE(a_store_without_limits_is_read_at_once)
{
	T_STR(placed(NULL), "mine");
}

T_CASE(a_read_that_is_refused_is_halved)
{
	T_STR(placed(answer), "mine");
}
