/* Reservations on nodes. */
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

/* 4 cpu, of which a pod of a partition without owner has one; and these reservations. */
static void node_with(const char *used, const char *holds)
{
	char value[1024];

	if (rig_value(&rig, "/nodes/0000/east/n-1")[0] == 0) {
		rig_node(&rig, 0, "n-1", "4");
		rig_priority = strstr(holds, "gang") == NULL ? -5 : 0;
		rig_pod(&rig, 3, "old", "1", "");
		rig_priority = 0;
	}
	(void)snprintf(value, sizeof value,
	               "{\"v\":1,\"generation\":7,\"used\":{%s},"
	               "\"nonzero\":{\"cpu\":\"%dm\",\"memory\":\"%d\"},"
	               "\"pods\":{\"0003\":{\"web\":[\"old\"]}}%s}",
	               used, (int)strtol(strstr(used, "cpu\":\"") + 6, NULL, 10),
	               strstr(holds, "nominated") == NULL ? 209715200 : 419430400, holds);
	rig_put(&rig, "/alloc/0000/east/n-1", value);
}

#define UNTIL "\"until\":\"2026-11-21T09:00:00.000Z\""
#define GANG(cpu)                                                                  \
	",\"holds\":[{\"kind\":\"gang\",\"namespace\":\"ml\",\"name\":\"train1\"," \
	"\"used\":{\"cpu\":\"" cpu "\",\"pods\":\"2\"}," UNTIL "}]"
#define RECORD(phase)                                                                   \
	"{\"v\":1,\"phase\":\"" phase "\",\"shard\":\"east-7\",\"epoch\":\"12\"," UNTIL \
	",\"nodes\":[{\"at\":0,\"cluster\":\"east\",\"node\":\"n-1\",\"pods\":{"        \
	"\"w-0\":\"40\",\"w-1\":\"41\"}}]}"

/* For a pod that asks for that much cpu and nothing else. */
#define NOMINATED(name, at, cpu)                                                                                                \
	",\"leaving\":{\"0003\":{\"web\":[\"old\"]}},\"holds\":[{\"kind\":\"nominated\",\"namespace\":\"web\",\"name\":\"" name \
	"\",\"at\":" at ",\"used\":{\"cpu\":\"" cpu                                                                             \
	"\",\"pods\":\"1\"},\"nonzero\":{\"cpu\":\"" cpu                                                                        \
	"\",\"memory\":\"209715200\"}," UNTIL "}]"

static void own_two(void)
{
	rig_own(&rig, 0);
	rig_own(&rig, 1);
}

static int phase_of(uint32_t p, const char *name)
{
	int phase;

	(void)rig_state(&rig, p, name, &phase);
	return phase;
}

T_CASE(a_gang_reservation_closes_its_node)
{
	struct alloc alloc;

	rig_open(&rig, NULL);
	rig_put(&rig, "/gangs/ml/train1", RECORD("reserving"));
	node_with("\"cpu\":\"3000m\",\"pods\":\"3\"", GANG("2000m"));
	own_two();
	rig_pod(&rig, 1, "big", "2", "");
	rig_pod(&rig, 1, "small", "1", "");
	rig_run_idle(&rig);
	rig.now_ms += 20000;
	rig_run_idle(&rig);
	/* The room that is left beside it is not used either: it is not known what will
	 * run there. */
	T_TRUE(phase_of(1, "big") != STATE_BOUND && phase_of(1, "small") != STATE_BOUND);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 1);
	rig_put(&rig, "/gangs/ml/train1", RECORD("aborting"));
	rig_run_idle(&rig);
	rig.now_ms += 20000;
	rig_run_idle(&rig);
	T_EQ(phase_of(1, "big"), STATE_BOUND);
	T_EQ(phase_of(1, "small"), STATE_BOUND);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 0);
	T_EQ(alloc.used.cpu_milli, 4000);
	T_EQ(alloc.used.pods, 3);
	T_EQ(rig.malformed, 0);
	rig_close(&rig);
}

/* The node's owner releases it if no record has been known for a while. */
T_CASE(a_reservation_without_a_record_is_released)
{
	rig_open(&rig, NULL);
	node_with("\"cpu\":\"3000m\",\"pods\":\"3\"", GANG("2000m"));
	own_two();
	rig_run_idle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 1);
	rig.now_ms += 1000;
	rig_run_idle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 1);
	rig.now_ms += 2000;
	rig_run_idle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 0);
	T_EQ(rig_alloc(&rig, 0, "n-1").used.cpu_milli, 1000);
	rig_close(&rig);
}

T_CASE(room_that_a_gang_gives_back_is_used_at_once)
{
	rig_open(&rig, NULL);
	node_with("\"cpu\":\"3000m\",\"pods\":\"3\"", GANG("2000m"));
	own_two();
	rig_pod(&rig, 1, "big", "2", "");
	rig_run_idle(&rig);
	T_EQ(phase_of(1, "big"), STATE_PENDING);
	node_with("\"cpu\":\"1000m\",\"pods\":\"1\"", "");
	rig.now_ms += 20000;
	rig_run_idle(&rig);
	T_EQ(phase_of(1, "big"), STATE_BOUND);
	T_EQ(rig_alloc(&rig, 0, "n-1").used.cpu_milli, 3000);
	rig_close(&rig);
}

T_CASE(a_nominated_pod_is_placed_and_its_nomination_goes)
{
	struct alloc alloc;

	rig_open(&rig, NULL);
	node_with("\"cpu\":\"4000m\",\"pods\":\"2\"", NOMINATED("mine", "1", "3000m"));
	own_two();
	rig_pod(&rig, 1, "other", "1", "");
	rig_run_idle(&rig);
	/* There is no such pod: the reservation is for nothing, and goes. */
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 0);
	T_EQ(phase_of(1, "other"), STATE_BOUND);
	rig_close(&rig);

	rig_open(&rig, NULL);
	node_with("\"cpu\":\"4000m\",\"pods\":\"2\"", NOMINATED("mine", "1", "3000m"));
	rig_pod(&rig, 1, "mine", "3", "");
	rig_pod(&rig, 1, "other", "1", "");
	own_two();
	rig_run_idle(&rig);
	T_EQ(phase_of(1, "mine"), STATE_BOUND);
	T_EQ(phase_of(1, "other"), STATE_PENDING);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 0);
	T_EQ(alloc.pods, 2);
	T_EQ(alloc.used.cpu_milli, 4000);
	T_EQ(alloc.used.pods, 2);
	rig_close(&rig);
}

/* The pod's spec is read by key; until then its reservation counts for all pods. */
T_CASE(a_remote_pods_nomination_is_left_alone)
{
	struct alloc alloc;

	rig_open(&rig, NULL);
	node_with("\"cpu\":\"4000m\",\"pods\":\"2\"", NOMINATED("theirs", "2", "3000m"));
	rig_pod(&rig, 2, "theirs", "3", ",\"schedulerName\":\"default-scheduler\"");
	own_two();
	rig_pod(&rig, 1, "other", "1", "");
	rig_run_idle(&rig);
	T_EQ(phase_of(1, "other"), STATE_PENDING);
	/* Pods of higher priority do not see nominations. */
	rig_put(&rig, "/schedules/0001/web/high/spec",
	        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"high\",\"uid\":\"h\"},"
	        "\"spec\":{\"priority\":9,\"containers\":[{\"name\":\"c\",\"resources\":{"
	        "\"requests\":{\"cpu\":\"2\"}}}]}}");
	rig_run_idle(&rig);
	T_EQ(phase_of(1, "high"), STATE_BOUND);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.pods, 3);
	T_EQ(alloc.holds, 0);
	T_EQ(alloc.used.cpu_milli, 4000);
	rig_close(&rig);
}

static void gone_when(const char *spec)
{
	rig_open(&rig, NULL);
	node_with("\"cpu\":\"5000m\",\"pods\":\"2\"", NOMINATED("mine", "1", "4000m"));
	rig_pod(&rig, 1, "mine", "4", "");
	own_two();
	rig_run_idle(&rig);
	T_EQ(phase_of(1, "mine"), STATE_PENDING);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 1);
	if (spec == NULL) {
		rig_del(&rig, "/schedules/0001/web/mine/state");
		rig_del(&rig, "/schedules/0001/web/mine/spec");
	} else {
		rig_put(&rig, "/schedules/0001/web/mine/spec", spec);
	}
	rig_run_idle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 0);
	T_EQ(rig_alloc(&rig, 0, "n-1").used.cpu_milli, 1000);
	T_EQ(rig.malformed, 0);
	rig_close(&rig);
}

T_CASE(a_nomination_goes_with_its_pod)
{
	char json[1024];

	gone_when(NULL);
	(void)snprintf(json, sizeof json, "%s", rig_pod_json("mine", "5", ""));
	gone_when(json);
	(void)snprintf(json, sizeof json, "%s",
	               rig_pod_json("mine", "4", ",\"nodeName\":\"x\""));
	gone_when(json);
}

T_CASE(a_nomination_goes_when_its_pod_is_placed_elsewhere)
{
	rig_open(&rig, NULL);
	node_with("\"cpu\":\"5000m\",\"pods\":\"2\"", NOMINATED("mine", "1", "4000m"));
	rig_pod(&rig, 1, "mine", "4", "");
	own_two();
	rig_run_idle(&rig);
	T_EQ(phase_of(1, "mine"), STATE_PENDING);
	rig_node(&rig, 1, "n-2", "4");
	rig_run_idle(&rig);
	rig.now_ms += 20000;
	rig_run_idle(&rig);
	T_EQ(phase_of(1, "mine"), STATE_BOUND);
	T_EQ(rig_alloc(&rig, 1, "n-2").pods, 1);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 0);
	rig_close(&rig);
}

/* Runs until that key is to be put, and does not answer it; so the txn that puts the
 * other key remains. All else is answered. */
static void until_put(const char *key, const char *other)
{
	bool out = false;

	for (unsigned n = 0; n < 300 && !out; n++) {
		rig.now_ms += 100;
		rig_views(&rig);
		rig_run(&rig);
		(void)rig_remote_list_all(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
			out = out || rig_out_puts(&rig.out[i], key);
			if (rig.out[i].used && !rig_out_puts(&rig.out[i], key) &&
			    !rig_out_puts(&rig.out[i], other))
				(void)rig_answer(&rig, i);
		}
		rig_deliver_all(&rig);
	}
	T_TRUE(out);
}

static void answer(const char *key)
{
	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		if (rig_out_puts(&rig.out[i], key))
			(void)rig_answer(&rig, i);
	rig_deliver_all(&rig);
}

/* The next pod takes the room of a reservation that goes. So the reservation goes in the
 * same txn, even while the state of its pod, which tells of it, is in a txn. */
T_CASE(room_that_is_given_up_is_used_once)
{
	static const char alloc[] = "/alloc/0000/east/n-1",
			  state[] = "/schedules/0001/web/mine/state";
	int phase;

	rig_open(&rig, NULL);
	node_with("\"cpu\":\"4500m\",\"pods\":\"2\"", NOMINATED("mine", "1", "3500m"));
	rig_pod(&rig, 1, "mine", "3500m", "");
	rig_put(&rig, state,
	        "{\"v\":1,\"uid\":\"u-mine\",\"phase\":\"Pending\",\"nominated\":{"
	        "\"cluster\":\"east\",\"node\":\"n-1\"},\"shard\":\"east-0\","
	        "\"epoch\":\"1\",\"since\":\"2026-11-21T09:00:00.000Z\"}");
	own_two();
	rig_run_idle(&rig);
	rig_priority = 9;
	rig_pod(&rig, 1, "high", "500m", "");
	rig_priority = 0;
	rig_deliver_all(&rig);
	until_put(alloc, state);
	rig_pod(&rig, 1, "mine", "9", ",\"preemptionPolicy\":\"Never\"");
	rig_deliver_all(&rig);
	until_put(state, alloc);
	rig_pod(&rig, 1, "low", "2500m", "");
	rig_deliver_all(&rig);
	answer(alloc);
	until_put(alloc, state);
	answer(alloc);
	T_EQ(phase_of(1, "low"), STATE_BOUND);
	T_EQ(rig_alloc(&rig, 0, "n-1").used.cpu_milli, 4000);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 0);
	rig_run_idle(&rig);
	T_EQ(rig_state(&rig, 1, "mine", &phase).nominated_node.len, 0);
	T_EQ(rig.malformed, 0);
	rig_close(&rig);
}

/* Nothing is known of the pod until a txn is answered that was made before its partition
 * came: that does not mean that the pod needs no reservation. */
T_CASE(a_pod_that_is_not_known_yet_keeps_its_nomination)
{
	static const char alloc[] = "/alloc/0000/east/n-1";

	rig_open(&rig, NULL);
	node_with("\"cpu\":\"4500m\",\"pods\":\"2\"", NOMINATED("mine", "1", "3500m"));
	rig_pod(&rig, 1, "mine", "3500m", "");
	rig_own(&rig, 0);
	rig_run(&rig);
	T_TRUE(rig.out[0].used); /* of all pods that it lists or reserves for */
	rig_own(&rig, 1);
	for (unsigned n = 0; n < 20; n++) {
		rig.now_ms += 100;
		rig_views(&rig);
		rig_run(&rig);
		(void)rig_remote_list_all(&rig);
		answer(alloc);
		T_EQ(rig_alloc(&rig, 0, "n-1").generation, 7);
	}
	rig_run_idle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").generation, 7);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 1);
	T_EQ(rig.malformed, 0);
	rig_close(&rig);
}

/* The release fails against another writer, and is made again, once. */
T_CASE(a_release_that_conflicts_is_made_again)
{
	struct alloc alloc;

	rig_open(&rig, NULL);
	node_with("\"cpu\":\"5000m\",\"pods\":\"2\"", NOMINATED("mine", "1", "4000m"));
	own_two();
	rig_run(&rig);
	T_TRUE(rig.out[0].used || rig.out[1].used);
	node_with("\"cpu\":\"5000m\",\"pods\":\"2\"", NOMINATED("mine", "1", "4000m"));
	rig_run_idle(&rig);
	rig.now_ms += 2000;
	rig_run_idle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 0);
	T_EQ(alloc.generation, 8);
	T_EQ(alloc.used.cpu_milli, 1000);
	rig_close(&rig);
}

T_CASE(a_reservation_of_no_partition_is_malformed)
{
	rig_open(&rig, NULL);
	node_with("\"cpu\":\"4000m\",\"pods\":\"2\"", NOMINATED("mine", "77", "3000m"));
	own_two();
	rig_run_idle(&rig);
	T_TRUE(rig.malformed > 0);
	T_TRUE(strstr(rig.said, "no such partition") != NULL);
	rig_close(&rig);
}

static void up(void)
{
	rig_open(&rig, NULL);
	rig_put(&rig, "/gangs/ml/train1", RECORD("reserving"));
	node_with("\"cpu\":\"3000m\",\"pods\":\"3\"", GANG("2000m"));
	own_two();
	rig_run_idle(&rig);
}

T_CASE(a_lost_partition_forgets_its_reservations)
{
	up();
	rig_lost(&rig, 0);
	rig_run_idle(&rig);
	rig_own(&rig, 0);
	rig_pod(&rig, 1, "small", "1", "");
	rig_run_idle(&rig);
	T_TRUE(phase_of(1, "small") != STATE_BOUND);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 1);
	rig_close(&rig);
}
