/* A pod that does not go into a txn even alone, or that can not be written at all, is
 * reported, and holds up no other pod. */
#include "tests/support/shardsched/shard/termination_rig.h"

enum { LONG = 80 };

static void up_with(const char *alloc)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "32");
	if (alloc != NULL)
		rig_put(&rig, "/alloc/0000/east/n-1", alloc);
	rig_own(&rig, 0);
	rig_own(&rig, 1);
}

/* A long name. */
static const char *long_name(char *out)
{
	memset(out, 'x', LONG);
	out[LONG] = 0;
	return out;
}

/* -- too much for the store -------------------------------------------------------- */

T_CASE(what_does_not_fit_alone_is_reported)
{
	up_with(NULL);
	sched_set_limits(rig.sched, (struct kv_limits){.request_bytes = 900});
	rig_pod(&rig, 1, "a", "1", "");
	later();
	T_STR(phase_of("a"), "");
	T_TRUE(rig.troubles > 0);
	T_TRUE(strstr(rig.said, "east/n-1: one pod does not go into a transaction") !=
	       NULL);
	/* As soon as the store takes more. */
	sched_set_limits(rig.sched, (struct kv_limits){0});
	later();
	T_STR(phase_of("a"), "Bound");
	down();
}

T_CASE(a_pod_that_fits_does_not_wait_for_one_that_does_not)
{
	char name[LONG + 1];

	up_with(NULL);
	sched_set_limits(rig.sched, (struct kv_limits){.request_bytes = 1300});
	rig_pod(&rig, 1, long_name(name), "1", "");
	rig_pod(&rig, 1, "a", "1", "");
	rig_pod(&rig, 1, "b", "1", "");
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Bound");
	T_STR(phase_of("b"), "Bound");
	T_STR(phase_of(name), "");
	T_TRUE(rig.troubles > 0);
	down();
}

T_CASE(a_pod_that_can_leave_does_not_wait_for_one_that_can_not)
{
	char name[LONG + 1];

	up_with(NULL);
	rig_pod(&rig, 1, long_name(name), "1", "");
	rig_pod(&rig, 1, "a", "1", "");
	rig_run_idle(&rig);
	T_STR(phase_of(name), "Bound");
	sched_set_limits(rig.sched, (struct kv_limits){.request_bytes = 1400});
	put_request(name, (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_NOT});
	put_request("a", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_NOT});
	rig_pod(&rig, 1, "b", "1", "");
	rig_run_idle(&rig);
	T_STR(phase_of(name), "Bound");
	T_STR(phase_of("a"), "Terminating");
	T_STR(phase_of("b"), "Bound");
	T_TRUE(rig.troubles > 0);
	sched_set_limits(rig.sched, (struct kv_limits){0});
	later();
	T_STR(phase_of(name), "Terminating");
	down();
}

/* -- what can not be written ------------------------------------------------------- */

static void port_pod(const char *ip)
{
	char json[1024];

	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"a\",\"uid\":\"u-a\"},"
		"\"spec\":{\"priority\":0,\"containers\":[{\"name\":\"c\",\"ports\":[{"
		"\"containerPort\":80,\"hostPort\":80,\"hostIP\":\"%s\"}],"
		"\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
		ip);
	rig_put(&rig, "/schedules/0001/web/a/spec", json);
}

static void an_address(const char *ip, bool malformed)
{
	up_with(NULL);
	port_pod(ip);
	rig_pod(&rig, 1, "b", "1", "");
	rig_run_idle(&rig);
	T_STR(phase_of("b"), "Bound");
	T_STR(phase_of("a"), malformed ? "" : "Bound");
	T_EQ(rig.malformed, malformed);
	T_EQ(rig.troubles, 0);
	if (malformed)
		T_TRUE(strstr(rig.said, "spec.containers[0].ports[0].hostIP: want an IP "
		                        "address") != NULL);
	rig_close(&rig);
}

T_CASE(an_address_that_no_alloc_can_have_is_malformed)
{
	char text[512];

	memset(text, '1', sizeof text);
	text[254] = 0;
	an_address("10.0.0.1/24", true);
	an_address("a\\\"b", true);
	an_address("a\\u0001", true);
	an_address(text, true);
	text[253] = 0;
	an_address(text, false);
	an_address("fe80::1%eth0", false);
	an_address("localhost", false);
}

T_CASE(a_resource_that_no_alloc_can_have_makes_its_pod_malformed)
{
	up_with(NULL);
	rig_put(&rig, "/schedules/0001/web/a/spec",
	        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"a\",\"uid\":\"u-a\"},\"spec\":"
	        "{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"x/y\\\"z\":"
	        "\"1\",\"a\\u0001b\":\"2\",\"cpu\":\"1\"}}}]}}");
	rig_pod(&rig, 1, "b", "1", "");
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "");
	T_STR(phase_of("b"), "Bound");
	T_EQ(rig.malformed, 1);
	T_TRUE(strstr(rig.said, "spec.containers[0].resources.requests[x/y\"z]") != NULL);
	T_EQ(rig.troubles, 0);
	rig_close(&rig);
}

/* Nothing can be added to a counter that is at its maximum. */
static void a_counter(const char *alloc, const char *member)
{
	up_with(alloc);
	rig_node(&rig, 0, "n-2", "4");
	rig_pod(&rig, 1, "a", "1", "");
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "a"), "n-2");
	T_EQ(rig.malformed, 1);
	T_TRUE(strstr(rig.said, member) != NULL);
	rig_close(&rig);
}

T_CASE(an_alloc_that_can_not_be_written_any_more_is_malformed)
{
	a_counter("{\"v\":1,\"generation\":\"9223372036854775807\"}", "generation: ");
	a_counter("{\"v\":1,\"generation\":3,\"left\":\"9223372036854775807\"}",
	          "left: ");
}

/* -- what the store refuses -------------------------------------------------------- */

/* Fails every txn that puts the node's alloc. */
static unsigned fail_all(enum pl_code code)
{
	unsigned count = 0;

	rig_views(&rig);
	rig_deliver_all(&rig);
	rig_run(&rig);
	for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
		if (!rig.out[i].used ||
		    !rig_out_puts(&rig.out[i], "/alloc/0000/east/n-1"))
			continue;
		count++;
		rig_fail(&rig, i, code);
	}
	return count;
}

/* No pod is there that could be tried again after a pause. */
static void is_released_after_a_pause(const char *hold, enum pl_code code)
{
	char alloc[512];
	unsigned tries = 0;

	(void)snprintf(
		alloc, sizeof alloc,
		"{\"v\":1,\"generation\":7,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
		"\"holds\":[{%s,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
		"\"until\":\"2020-01-01T00:00:00.000Z\"}]}",
		hold);
	up_with(alloc);
	for (int i = 0; i < 100 && tries == 0; i++) {
		rig.now_ms += 1000;
		tries = fail_all(code);
	}
	for (int i = 0; i < 50; i++)
		tries += fail_all(code);
	T_EQ(tries, 1);
	for (int i = 0; i < 4; i++) {
		rig.now_ms += 5000;
		rig_run_idle(&rig);
	}
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 0);
	down();
}

T_CASE(a_refused_release_is_tried_again_after_a_pause)
{
	static const enum pl_code codes[] = {PL_FENCED, PL_LIMIT, PL_INVALID};

	for (unsigned i = 0; i < 3; i++) {
		is_released_after_a_pause(
			"\"kind\":\"gang\",\"namespace\":\"web\",\"name\":\"g\"",
			codes[i]);
		is_released_after_a_pause("\"kind\":\"nominated\",\"namespace\":\"web\","
		                          "\"name\":\"v\",\"at\":1",
		                          codes[i]);
	}
}

/* The store says that the txn never will be taken: its pods are tried in other company,
 * and at last alone. */
T_CASE(a_txn_refused_for_good_is_not_sent_again_as_it_is)
{
	unsigned tries = 0;

	up_with(NULL);
	rig_pod(&rig, 1, "a", "1", "");
	rig_pod(&rig, 1, "b", "1", "");
	for (int i = 0; i < 50; i++)
		tries += fail_all(PL_INVALID);
	T_TRUE(tries > 2 && tries < 12); /* half as many, each time */
	T_TRUE(rig.troubles > 0);
	later();
	T_STR(phase_of("a"), "Bound");
	T_STR(phase_of("b"), "Bound");
	down();
}

T_CASE(a_term_that_does_not_go_into_a_registry_is_reported)
{
	up_with(NULL);
	sched_set_limits(rig.sched, (struct kv_limits){.request_bytes = 700});
	rig_put(&rig, "/schedules/0001/web/a/spec",
	        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"a\",\"uid\":\"u-a\","
	        "\"labels\":{\"app\":\"a\"}},\"spec\":{\"topologySpreadConstraints\":[{"
	        "\"maxSkew\":1,\"topologyKey\":\"zone\",\"whenUnsatisfiable\":"
	        "\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":{\"app\":\"a\"}}}],"
	        "\"containers\":[{\"name\":\"c\"}]}}");
	rig_run_idle(&rig);
	T_TRUE(strstr(rig.said, "a registry does not fit into a transaction") != NULL);
	T_TRUE(sched_deadline_ms(rig.sched) > rig.now_ms);
	rig_close(&rig);
}
