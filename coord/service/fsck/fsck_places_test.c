/* States that are lost or do not parse: the place of their pods follows from the
 * allocs. */
#include "shardsched/records/alloc.h"
#include "tests/support/coord/service/fsck/fsck_fixture.h"

#define UID ",\"uid\":\"u-7\""
#define SINCE "\"since\":\"1970-01-01T00:00:01.000Z\"}"
#define SAYS "\"message\":\"placet fsck: as the alloc of its node says\","
#define BAD "{\"v\":1,\"phase\":\"Lost\"}"

static const struct faulty_rule slow[] = {{.what = FAULTY_SLOW_REQUEST,
                                           .ops = 1u << KV_TXN,
                                           .per_mille = 1000,
                                           .delay_min_ms = 10,
                                           .delay_max_ms = 10}};

static void stands(const char *key, const char *value)
{
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(key)), 0), PL_OK);
	T_EQ(kit.result.get.count, value != NULL);
	if (value != NULL)
		T_SPAN(kit.result.get.records[0].value, pl_span_str(value));
}

/* Listed and bound on n-0, as web/b is. */
static void up_with_uid(void)
{
	up();
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "a"), spec_of("web", "a", UID));
}

static const char place[] =
	"{\"v\":1,\"uid\":\"u-7\",\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":"
	"\"n-0\"," SAYS SINCE;

static void mends_one(void)
{
	int64_t before = memkv_revision(kit.mem);

	repair(true);
	T_EQ(memkv_revision(kit.mem), before);
	T_EQ(m.count[REPAIR_WOULD], 1);
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 1);
	clean();
}

T_CASE(a_bound_pods_state_is_malformed)
{
	static const char *const values[] = {BAD, "", "{", "null"};

	for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++) {
		up_with_uid();
		put_state("web", "a", values[i]);
		finds(FSCK_STATE_MALFORMED, 1);
		mends_one();
		stands(pod_key(KEYS_STATE, "web", "a"), place);
		down();
	}
}

T_CASE(a_bound_pods_state_is_lost)
{
	struct alloc alloc;

	up_with_uid();
	drop(pod_key(KEYS_STATE, "web", "a"));
	finds(FSCK_STATE_MISSING, 1);
	mends_one();
	stands(pod_key(KEYS_STATE, "web", "a"), place);
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(node_key(KEYS_ALLOC, "n-0"))), 0),
	     PL_OK);
	T_OK(alloc_parse(kit.result.get.records[0].value, &kit.arena, &alloc, &kit.err),
	     &kit.err);
	T_EQ(alloc.pods, 2);
	T_EQ(alloc.generation, 5); /* the alloc was right before */
	down();
}

/* Whether the pod was to be placed again is not known, so it is. */
T_CASE(a_leaving_pod_goes_on_leaving)
{
	const char *key;

	for (unsigned lost = 0; lost < 2; lost++) {
		up();
		key = key_in(KEYS_STATE, gang_home(), "db", gang_pod());
		if (lost)
			drop(key);
		else
			(void)kit_put(&kit, key, BAD);
		finds(lost ? FSCK_STATE_MISSING : FSCK_STATE_MALFORMED, 1);
		mends_one();
		stands(key_in(KEYS_STATE, gang_home(), "db", gang_pod()),
		       "{\"v\":1,\"phase\":\"Terminating\",\"next\":\"Pending\","
		       "\"cluster\":\"east\",\"node\":\"n-1\"," SAYS SINCE);
		down();
	}
}

T_CASE(a_pod_that_no_alloc_lists_waits)
{
	up();
	put_state("web", "c", BAD);
	finds(FSCK_STATE_MALFORMED, 1);
	mends_one();
	stands(pod_key(KEYS_STATE, "web", "c"), NULL);
	/* No other key of that pod is left. */
	put_state("web", "x", BAD);
	check();
	T_EQ(r.found[FSCK_STATE_MALFORMED], 1);
	T_EQ(r.found[FSCK_STATE_NO_SPEC], 1);
	mends_one();
	down();
}

T_CASE(an_alloc_that_can_not_be_read_may_list_it)
{
	for (unsigned lost = 0; lost < 2; lost++) {
		up();
		put_state("web", "c", BAD);
		if (lost)
			drop(node_key(KEYS_ALLOC, "n-2"));
		else
			(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"), "{");
		check();
		T_EQ(r.total, 2);
		repair(false);
		T_EQ(m.count[REPAIR_DONE], 1);
		T_EQ(m.count[REPAIR_REFUSED], 1);
		T_TRUE(strstr(m.why, "may list the pod") != NULL);
		stands(pod_key(KEYS_STATE, "web", "c"), BAD);
		check();
		mends_one();
		down();
	}
}

/* Then it can be deleted. */
T_CASE(neither_state_nor_spec_parses)
{
	up_with_uid();
	put_state("web", "a", BAD);
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "a"), "{");
	check();
	T_EQ(r.total, 2);
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 1);
	stands(pod_key(KEYS_STATE, "web", "a"),
	       "{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"n-0\"," SAYS
	               SINCE);
	finds(FSCK_SPEC_MALFORMED, 1);
	down();
}

T_CASE(the_spec_is_gone_too)
{
	up_with_uid();
	put_state("web", "a", BAD);
	drop(pod_key(KEYS_SPEC, "web", "a"));
	check();
	T_EQ(r.found[FSCK_STATE_MALFORMED], 1);
	T_EQ(r.found[FSCK_STATE_NO_SPEC], 1);
	T_EQ(r.total, 2);
	repair(false);
	T_EQ(m.count[REPAIR_REFUSED], 1);
	T_TRUE(strstr(m.why, "placet submit") != NULL);
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "a"), spec_of("web", "a", UID));
	finds(FSCK_STATE_MALFORMED, 1);
	mends_one();
	stands(pod_key(KEYS_STATE, "web", "a"), place);
	down();
	/* The alloc is the last key that names a pod that is gone. */
	up();
	drop(pod_key(KEYS_STATE, "web", "a"));
	drop(pod_key(KEYS_SPEC, "web", "a"));
	finds(FSCK_ALLOC_POD_UNKNOWN, 1);
	mends(1);
}

/* Where it is not leaving; else the first one. The other alloc is repaired after it. */
T_CASE(two_allocs_list_it)
{
	for (unsigned left = 0; left < 2; left++) {
		const char *pod = listed("web", "a", pod_partition("web", "a"));

		up_with_uid();
		(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
		              alloc_of(1, left ? leaving(pod) : pod));
		drop(pod_key(KEYS_STATE, "web", "a"));
		check();
		T_EQ(r.found[FSCK_ALLOC_POD_TWICE], 1);
		T_EQ(r.found[FSCK_STATE_MISSING], 1);
		T_EQ(r.total, 2);
		repair(false);
		T_EQ(m.count[REPAIR_DONE], 1);
		check();
		repair(false);
		T_EQ(m.count[REPAIR_DONE], 1);
		clean();
		if (left)
			stands(pod_key(KEYS_STATE, "web", "a"), place);
		down();
	}
}

/* -- changes during the check ------------------------------------------------------ */

static void bind_elsewhere(void)
{
	put_state("web", "a", state_of("Bound", "n-2", "1"));
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
	              alloc_of(1, listed("web", "a", pod_partition("web", "a"))));
}

static void remove_it(void)
{
	drop(pod_key(KEYS_SPEC, "web", "a"));
	(void)kit_delete(&kit, kv_key(pl_span_str(pod_key(KEYS_STATE, "web", "a"))));
}

static void submit_anew(void)
{
	remove_it();
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "a"), spec_of("web", "a", ""));
}

static void unlist(void)
{
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-0"),
	              alloc_of(1, listed("web", "b", pod_partition("web", "b"))));
}

/* Before it is read, and between reading and writing: what shards decide stays. */
T_CASE(decisions_of_shards_meanwhile_stay)
{
	static const struct {
		void (*act)(void);
		unsigned right, refused;
	} rows[] = {{bind_elsewhere, 1, 0},
	            {remove_it, 0, 1},
	            {submit_anew, 0, 1},
	            {unlist, 0, 1}};

	for (unsigned i = 0; i < 4 * 2 * 2; i++) {
		unsigned row = i / 4, lost = i % 2;

		up_over(slow, 1);
		if (lost)
			drop(pod_key(KEYS_STATE, "web", "a"));
		else
			put_state("web", "a", BAD);
		check();
		faulty_pause(kit.kv, false);
		T_OK(repair_start(false), &kit.err);
		kit_run(&kit, kit.now_ms + (i / 2 % 2 == 0 ? 5 : 15));
		faulty_pause(kit.kv, true);
		rows[row].act();
		run_until(&m.over);
		T_CODE(m.err.code, PL_OK, &m.err);
		T_EQ(m.count[REPAIR_DONE], 0);
		T_EQ(m.count[REPAIR_RIGHT], rows[row].right);
		T_EQ(m.count[REPAIR_REFUSED], rows[row].refused);
		down();
	}
}

/* A pod that waits, and is bound before its state is deleted. */
T_CASE(a_pod_that_was_bound_meanwhile_keeps_its_state)
{
	for (unsigned i = 0; i < 2; i++) {
		up_over(slow, 1);
		put_state("web", "c", BAD);
		check();
		faulty_pause(kit.kv, false);
		T_OK(repair_start(false), &kit.err);
		kit_run(&kit, kit.now_ms + (i == 0 ? 5 : 15));
		faulty_pause(kit.kv, true);
		put_state("web", "c", state_of("Bound", "n-2", "1"));
		run_until(&m.over);
		T_EQ(m.count[REPAIR_DONE], 0);
		T_EQ(m.count[REPAIR_RIGHT], 1);
		stands(pod_key(KEYS_STATE, "web", "c"), state_of("Bound", "n-2", "1"));
		down();
	}
}

/* Bound and damaged again: what the check has seen is outdated. */
T_CASE(a_pod_that_was_bound_and_damaged_meanwhile_is_left)
{
	up_over(slow, 1);
	put_state("web", "c", BAD);
	check();
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
	              alloc_of(1, listed("web", "c", pod_partition("web", "c"))));
	put_state("web", "c", BAD);
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 0);
	T_EQ(m.count[REPAIR_REFUSED], 1);
	T_TRUE(strstr(m.why, "has changed since") != NULL);
	finds(FSCK_STATE_MALFORMED, 1);
	mends_one();
	down();
}

/* -- allocs of pods without state or spec ------------------------------------------ */

static const char with_more[] =
	"{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"%s\",\"memory\":\"%u\",\"pods\":"
	"\"%u\"%s},\"nonzero\":{\"cpu\":\"%s\",\"memory\":\"%u\"},\"ports\":[\"TCP/0.0.0.0/"
	"80\"],\"pods\":{%s}}";

static void put_more(const char *cpu, unsigned pods, const char *list)
{
	char json[TEXT_SIZE];

	(void)snprintf(json, sizeof json, with_more, cpu, 200u << 20, pods,
	               ",\"example.com/gpu\":\"2\"", cpu, 200u << 20, list);
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-0"), json);
}

static const char *both_pods(void)
{
	static char pods[300];
	uint32_t a = pod_partition("web", "a"), b = pod_partition("web", "b");
	const char *first = listed("web", a < b ? "a" : "b", a < b ? a : b);
	const char *second = listed("web", a < b ? "b" : "a", a < b ? b : a);

	T_TRUE(a != b);
	(void)snprintf(pods, sizeof pods, "%s,%s", first, second);
	return pods;
}

/* A pod whose spec is unreadable takes the rest of the sums. */
T_CASE(an_unreadable_spec_does_not_stop_other_repairs)
{
	struct alloc alloc;

	for (unsigned lost = 0; lost < 2; lost++) {
		up();
		if (lost)
			drop(pod_key(KEYS_SPEC, "web", "a"));
		else
			(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "a"), "{");
		put_more("2000m", 2, both_pods());
		put_state("web", "b", state_of("Succeeded", "n-0", "1"));
		check();
		T_EQ(r.found[FSCK_ALLOC_POD_NOT_BOUND], 1);
		T_EQ(r.total, 2);
		repair(false);
		T_EQ(m.count[REPAIR_DONE], 1);
		T_EQ(kit_get_at(&kit, kv_key(pl_span_str(node_key(KEYS_ALLOC, "n-0"))),
		                0),
		     PL_OK);
		T_OK(alloc_parse(kit.result.get.records[0].value, &kit.arena, &alloc,
		                 &kit.err),
		     &kit.err);
		T_EQ(alloc.pods, 1);
		T_SPAN(alloc.pod[0].name, PL_SPAN_LIT("a"));
		T_EQ(alloc.used.cpu_milli, 1500);
		T_EQ(alloc.used.memory, 136 << 20);
		T_EQ(alloc.used.pods, 1);
		T_EQ(alloc.used.nonzero_cpu_milli, 1500);
		T_EQ(alloc.used.scalars, 1);
		T_EQ(alloc.used.scalar[0].amount, 2);
		T_EQ(alloc.ports, 1);
		/* More than that can not be known. */
		check();
		T_EQ(r.total, 1);
		repair(false);
		T_EQ(m.count[REPAIR_DONE] + m.count[REPAIR_RIGHT] +
		             m.count[REPAIR_REFUSED],
		     0);
		down();
	}
}

/* A pod that may be anywhere stays listed by the alloc, whatever else happens to the
 * alloc; and the port of a pod that goes is free. */
T_CASE(a_pod_without_a_state_stays_listed)
{
	static const char with_port[] =
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"b\"},\"spec\":{"
		"\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"ports\":[{"
		"\"containerPort\":80,\"hostPort\":80}]}]}}";
	struct alloc alloc;

	up();
	put_state("web", "a", BAD);
	drop(pod_key(KEYS_SPEC, "web", "a"));
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "b"), with_port);
	put_state("web", "b", state_of("Succeeded", "n-0", "1"));
	put_more("2000m", 2, both_pods());
	check();
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 1);
	T_EQ(m.count[REPAIR_REFUSED], 1);
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(node_key(KEYS_ALLOC, "n-0"))), 0),
	     PL_OK);
	T_OK(alloc_parse(kit.result.get.records[0].value, &kit.arena, &alloc, &kit.err),
	     &kit.err);
	T_EQ(alloc.pods, 1);
	T_SPAN(alloc.pod[0].name, PL_SPAN_LIT("a"));
	T_EQ(alloc.used.cpu_milli, 2000);
	T_EQ(alloc.ports, 0);
	down();
}

/* A reservation is not the pod's. */
T_CASE(a_reservation_is_not_part_of_the_rest)
{
	struct alloc alloc;
	char json[TEXT_SIZE];

	up();
	put_gang("ml", "t", "n-0");
	(void)snprintf(json, sizeof json,
	               "{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"2000m\",\"pods\":"
	               "\"3\"},\"pods\":{%s},\"holds\":[{\"kind\":\"gang\","
	               "\"namespace\":\"ml\",\"name\":\"t\",\"used\":{\"cpu\":\"300m\","
	               "\"pods\":\"1\"},\"until\":\"2026-11-21T09:00:00.000Z\"}]}",
	               both_pods());
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "a"), "{");
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-0"), json);
	put_state("web", "b", state_of("Succeeded", "n-0", "1"));
	check();
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 1);
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(node_key(KEYS_ALLOC, "n-0"))), 0),
	     PL_OK);
	T_OK(alloc_parse(kit.result.get.records[0].value, &kit.arena, &alloc, &kit.err),
	     &kit.err);
	T_EQ(alloc.pods, 1);
	T_EQ(alloc.holds, 1);
	T_EQ(alloc.used.cpu_milli, 1500); /* 1200 of the pod, 300 reserved */
	T_EQ(alloc.used.pods, 2);
	down();
}

/* The rest is not below 0. */
T_CASE(sums_that_are_too_small_leave_nothing)
{
	struct alloc alloc;

	up();
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "a"), "{");
	put_more("300m", 2, both_pods());
	put_state("web", "b", state_of("Terminating", "n-0", "1"));
	check();
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 1);
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(node_key(KEYS_ALLOC, "n-0"))), 0),
	     PL_OK);
	T_OK(alloc_parse(kit.result.get.records[0].value, &kit.arena, &alloc, &kit.err),
	     &kit.err);
	T_EQ(alloc.pods, 2);
	T_EQ(alloc.used.cpu_milli, 500);
	T_EQ(alloc.used.pods, 2);
	down();
}

T_CASE(without_memory_it_ends)
{
	up_with_uid();
	put_more("2000m", 2, both_pods());
	put_state("web", "a", BAD);
	put_state("web", "c", BAD);
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "b"), "{");
	drop(key_in(KEYS_STATE, gang_home(), "db", gang_pod()));
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-1"),
	              alloc_of(2, listed("db", gang_pod(), gang_home())));
	without_memory();
	T_EQ(m.count[REPAIR_WOULD], 4);
	down();
}
