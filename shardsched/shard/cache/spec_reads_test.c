/* Specs read by key. */
#include "shardsched/shard/cache/cache.h"
#include "tests/support/shardsched/shard/rules_stale_rig.h"

static unsigned gets_in_ms(uint64_t ms)
{
	unsigned gets = 0;

	for (uint64_t end = rig.now_ms + ms; rig.now_ms < end; rig.now_ms += 50) {
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
			gets += rig.out[i].used ? (unsigned)rig.out[i].req.txn.then_count
			                        : 0;
			if (rig.out[i].used)
				(void)rig_answer(&rig, i);
		}
	}
	return gets;
}

/* 20 nodes list 100 pods each whose specs are missing. They are read in turn, and one
 * that is put right is found, even the last. */
T_CASE(missing_specs_are_read_in_turn)
{
	enum { NODES = 20, PODS = 100, SOME = 1024 + PODS };

	static char json[4096];
	char key[64], name[16];
	unsigned gets;

	begin(1);
	for (unsigned n = 0; n < NODES; n++) {
		size_t len = (size_t)snprintf(
			json, sizeof json,
			"{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"100000m\",\"pods\":"
			"\"100\"},\"nonzero\":{\"memory\":\"20971520000\"},\"pods\":{"
			"\"0001\":{\"web\":[");

		(void)snprintf(name, sizeof name, "m-%02u", n);
		put_node(1, name, "z");
		for (unsigned i = 0; i < PODS; i++)
			len += (size_t)snprintf(json + len, sizeof json - len,
			                        "%s\"c-%02u-%02u\"", i == 0 ? "" : ",", n,
			                        i);
		(void)snprintf(json + len, sizeof json - len, "]}}}");
		(void)snprintf(key, sizeof key, "/alloc/0001/east/%s", name);
		rig_put(&rig, key, json);
	}
	hear_view();
	T_TRUE(gets_in_ms(1000) >= NODES * PODS);
	for (unsigned n = 0; n < 3; n++) {
		gets = gets_in_ms(5000);
		T_TRUE(gets >= SOME - PODS && gets <= SOME + 2 * NODES);
	}
	put_pod("/schedules/0001/web/c-19-99/spec", "c-19-99", "", "\"priority\":0");
	put_pod("/schedules/0001/web/c-00-00/spec", "c-00-00", "", "\"priority\":0");
	T_TRUE(gets_in_ms(10000) <= 2 * (SOME + 2 * NODES));
	T_TRUE(pod_find(rig.sched, 1, PL_SPAN_LIT("web"), PL_SPAN_LIT("c-00-00"))->spec !=
	       NULL);
	T_TRUE(pod_find(rig.sched, 1, PL_SPAN_LIT("web"), PL_SPAN_LIT("c-19-99"))->spec !=
	       NULL);
	rig_close(&rig);
}
