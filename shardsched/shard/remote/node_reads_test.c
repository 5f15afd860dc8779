/* The specs on the nodes of a remote list are read as far as they are needed. */
#include "store/keys/partition.h"
#include "tests/support/shardsched/shard/remote_rig.h"

enum { THERE = 40, FIRST = 16 };

static const char *name_of(const char *what, unsigned i)
{
	static char text[4][16];
	static unsigned next;
	char *name = text[next++ % 4];

	(void)snprintf(name, 16, "%s-%02u", what, i);
	return name;
}

/* Nodes of equal size, with a pod of another shard on each. */
static void begin_there(void)
{
	begin();
	for (unsigned i = 0; i < THERE; i++) {
		rig_node(&rig, 3, name_of("n", i), "4");
		rig_pod(&rig, 2, name_of("on", i), "500m", "");
		alloc_lists(3, name_of("n", i), 2, name_of("on", i));
	}
	put_digest(3, "4000m");
	rig_run_idle(&rig);
}

static unsigned known(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < THERE; i++) {
		const struct sched_pod *pod = pod_find(rig.sched, 2, PL_SPAN_LIT("web"),
		                                       pl_span_str(name_of("on", i)));

		count += pod != NULL && pod->spec != NULL;
	}
	return count;
}

/* THERE: on none of them. */
static unsigned placed_on(const char *pod)
{
	for (unsigned i = 0; i < THERE; i++)
		if (is_on(pod, name_of("n", i)))
			return i;
	return THERE;
}

T_CASE(some_listed_nodes_are_read_and_take_the_pod)
{
	begin_there();
	rig_pod(&rig, 0, "small", "1", "");
	rig_pod(&rig, 0, "large", "3500m", "");
	rig_run_idle(&rig);
	T_TRUE(placed_on("large") < THERE);
	T_EQ(known(), FIRST);
	/* The nodes that were read suffice for equal pods, as long as there is room. */
	for (unsigned i = 0; i < FIRST - 1; i++)
		rig_pod(&rig, 0, name_of("more", i), "3500m", "");
	rig_run_idle(&rig);
	T_TRUE(placed_on("more-14") < THERE);
	T_EQ(known(), FIRST);
	rig_pod(&rig, 0, "last", "3500m", "");
	rig_run_idle(&rig);
	T_TRUE(placed_on("last") < THERE);
	T_EQ(known(), 2 * FIRST);
	rig_close(&rig);
}

/* By what allocs say is used, by labels, and by taints. */
T_CASE(nodes_that_seem_to_fit_are_read_first)
{
	begin_there();
	for (unsigned i = 0; i < THERE; i++) {
		char key[128], value[256];

		if (i == 33)
			continue;
		(void)snprintf(key, sizeof key, "/alloc/0003/east/%s", name_of("n", i));
		(void)snprintf(
			value, sizeof value,
			"{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"3500m\","
			"\"pods\":\"1\"},\"nonzero\":{\"cpu\":\"3500m\",\"memory\":"
			"\"209715200\"},\"pods\":{\"0002\":{\"web\":[\"%s\"]}}}",
			name_of("on", i));
		rig_put(&rig, key, value);
		rig_pod(&rig, 2, name_of("on", i), "3500m", "");
	}
	rig_pod(&rig, 0, "small", "1", "");
	rig_pod(&rig, 0, "large", "3500m", "");
	rig_run_idle(&rig);
	T_EQ(placed_on("large"), 33);
	T_EQ(known(), 1);
	rig_pod(&rig, 0, "chosen", "3200m",
	        ",\"nodeSelector\":{\"host\":\"n-07\"}"); /* n-07 has 500m */
	rig_run_idle(&rig);
	T_EQ(placed_on("chosen"), THERE);
	rig_close(&rig);
}

/* Only the specs tell of a port that is in use nearly everywhere. */
T_CASE(more_nodes_are_read_when_the_first_do_not_suffice)
{
	static const char port[] =
		",\"hostNetwork\":true,\"containers\":[{\"name\":\"c\",\"ports\":[{"
		"\"containerPort\":80,\"hostPort\":80}],\"resources\":{\"requests\":{"
		"\"cpu\":\"%s\"}}}]";
	char key[128], json[512], more[256];

	begin_there();
	for (unsigned i = 0; i < THERE; i++) {
		if (i == 39)
			continue;
		(void)snprintf(key, sizeof key, "/schedules/0002/web/%s/spec",
		               name_of("on", i));
		(void)snprintf(more, sizeof more, port, "500m");
		(void)snprintf(json, sizeof json,
		               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\","
		               "\"uid\":\"u-%s\"},\"spec\":{\"priority\":0%s}}",
		               name_of("on", i), name_of("on", i), more);
		rig_put(&rig, key, json);
	}
	(void)snprintf(more, sizeof more, port, "3500m");
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"large\","
	               "\"uid\":\"u\"},\"spec\":{\"priority\":0%s}}",
	               more);
	rig_pod(&rig, 0, "small", "1", "");
	rig_put(&rig, "/schedules/0000/web/large/spec", json);
	rig_run_idle(&rig);
	T_EQ(placed_on("large"), 39);
	rig_close(&rig);
}

T_CASE(a_pod_that_fits_nowhere_gets_a_status_when_all_is_read)
{
	int phase;

	begin_there();
	rig_pod(&rig, 0, "small", "1", "");
	rig_pod(&rig, 0, "huge", "3800m", "");
	rig_run_idle(&rig);
	rig.now_ms += 5000;
	rig_run_idle(&rig);
	(void)rig_state(&rig, 0, "huge", &phase);
	T_EQ(phase, STATE_PENDING);
	T_EQ(known(), THERE);
	T_TRUE(strstr(rig_value(&rig, "/schedules/0000/web/huge/state"), "41 nodes") !=
	       NULL);
	rig_close(&rig);
}

/* A node that has a reservation of the shard has to be known whole. */
T_CASE(a_node_with_an_own_reservation_is_read)
{
	char key[128], value[256];
	uint32_t partition = 0;
	unsigned i = THERE;

	while (partition != 3)
		T_OK(partition_of_node(PL_SPAN_LIT("east"),
		                       pl_span_str(name_of("n", --i)), RIG_PARTITIONS,
		                       &partition, &rig.err),
		     &rig.err);
	begin_there();
	rig_pod(&rig, 0, "ours", "500m", "");
	(void)snprintf(key, sizeof key, "/alloc/0003/east/%s", name_of("n", i));
	(void)snprintf(value, sizeof value,
	               "{\"v\":1,\"generation\":3,\"used\":{\"cpu\":\"1000m\",\"pods\":"
	               "\"2\"},\"nonzero\":{\"memory\":\"419430400\"},\"pods\":{\"0000\":"
	               "{\"web\":[\"ours\"]},\"0002\":{\"web\":[\"%s\"]}}}",
	               name_of("on", i));
	rig_put(&rig, key, value);
	(void)snprintf(
		value, sizeof value,
		"{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"%s\","
		"\"since\":\"2026-11-21T09:00:00.000Z\",\"ask\":\"delete\","
		"\"ended\":\"Gone\"}",
		name_of("n", i));
	rig_put(&rig, "/schedules/0000/web/ours/state", value);
	for (unsigned n = 0; n < 40; n++) {
		rig_run_idle(&rig);
		rig.now_ms += 500;
	}
	T_EQ(rig_alloc(&rig, 3, name_of("n", i)).pods, 1);
	T_EQ(known(), 1);
	rig_close(&rig);
}

/* All nodes count for rules. */
T_CASE(the_fleet_view_reads_all)
{
	begin_there();
	rig_pod(&rig, 0, "small", "1", "");
	rig_pod(&rig, 0, "large", "3500m", "");
	rig_run_idle(&rig);
	T_EQ(known(), FIRST);
	fleet_view_acquire(rig.sched);
	rig_run_idle(&rig);
	T_EQ(known(), THERE);
	fleet_view_release(rig.sched);
	rig_close(&rig);
}
