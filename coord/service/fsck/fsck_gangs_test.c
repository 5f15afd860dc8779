/* Records of gangs, and reservations: each code, and its repair. */
#include "tests/support/coord/service/fsck/fsck_fixture.h"

/* Adds a reservation on n-2: for web/c, which waits, or for gang ml/t. */
static void put_held(const char *kind, const char *namespace, const char *name)
{
	char json[TEXT_SIZE];

	(void)snprintf(
		json, sizeof json,
		"{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"500m\"},\"holds\":[{"
		"\"kind\":%s,\"namespace\":\"%s\",\"name\":\"%s\",\"used\":{"
		"\"cpu\":\"500m\"},\"until\":\"2026-11-21T09:00:00.000Z\"}]}",
		kind, namespace, name);
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"), json);
}

static const char *nominated(const char *name)
{
	static char text[40];

	(void)snprintf(text, sizeof text, "\"nominated\",\"at\":%u",
	               pod_partition("web", name));
	return text;
}

static bool shows(const char *key, const char *text)
{
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(key)), 0), PL_OK);
	return strstr(kit_show(&kit), text) != NULL;
}

T_CASE(gang_malformed)
{
	up();
	(void)kit_put(&kit, "/gangs/ml/t", "{\"v\":1,\"phase\":\"lost\"}");
	finds(FSCK_GANG_MALFORMED, 1);
	/* A record that does not parse may reserve anything. */
	put_held("\"gang\"", "ml", "t");
	finds(FSCK_GANG_MALFORMED, 1);
	mends_not();
}

T_CASE(a_reservation_for_a_gang_that_is_not_placed_there)
{
	up();
	put_held("\"gang\"", "ml", "t");
	finds(FSCK_GANG_HOLD, 1);
	put_gang("ml", "t", "n-2");
	clean();
	put_gang("ml", "t", "n-1");
	finds(FSCK_GANG_HOLD, 1);
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 1);
	T_TRUE(!shows(node_key(KEYS_ALLOC, "n-2"), "holds"));
	clean();
	down();
}

T_CASE(the_reservation_of_a_gang_without_a_record_is_released)
{
	up();
	put_held("\"gang\"", "ml", "t");
	finds(FSCK_GANG_HOLD, 1);
	mends(1);
}

/* The record is written between the check and the repair. */
T_CASE(a_gang_that_came_meanwhile_keeps_its_reservation)
{
	up();
	put_held("\"gang\"", "ml", "t");
	finds(FSCK_GANG_HOLD, 1);
	put_gang("ml", "t", "n-2");
	repair(false);
	T_EQ(m.count[REPAIR_RIGHT], 1);
	T_EQ(m.count[REPAIR_DONE], 0);
	T_TRUE(shows(node_key(KEYS_ALLOC, "n-2"), "holds"));
	down();
}

T_CASE(a_record_that_holds_nothing_past_its_deadline)
{
	up();
	put_gang("ml", "t", "n-2");
	clean(); /* the fixture's clock is long before that */
	wall_ms = INT64_C(4102444800000);
	finds(FSCK_GANG_OVERDUE, 1);
	T_EQ(fsck_core_counts(fsck_core(fsck))->violations, 0);
	put_held("\"gang\"", "ml", "t");
	clean();
	mends_not();
	wall_ms = 1000;
}

T_CASE(a_gang_that_is_bound_and_not_listed_past_its_deadline)
{
	up();
	put_gang_as("bound", "ml", "t", "n-2");
	put_held("\"gang\"", "ml", "t");
	clean();
	wall_ms = INT64_C(4102444800000);
	finds(FSCK_GANG_OVERDUE, 1);
	T_EQ(fsck_core_counts(fsck_core(fsck))->violations, 0);
	mends_not();
	wall_ms = 1000;
}

T_CASE(fewer_than_the_minimum_are_bound)
{
	static const char more[] = ",\"annotations\":{\"placet.io/gang\":\"t\","
				   "\"placet.io/gang-min\":\"2\"}";

	up();
	(void)kit_put(&kit, key_in(KEYS_SPEC, gang_home(), "db", gang_pod()),
	              spec_of("db", gang_pod(), more));
	finds(FSCK_GANG_PARTLY, 1);
	T_EQ(fsck_core_counts(fsck_core(fsck))->violations, 0);
	/* The gang is being placed. */
	put_gang("db", "t", "n-2");
	clean();
	mends_not();
}

T_CASE(a_reservation_for_a_pod_that_does_not_wait)
{
	up();
	put_held(nominated("c"), "web", "c");
	clean();
	put_state("web", "c", state_of("Pending", NULL, "1"));
	clean();
	put_state("web", "c", "{");
	finds(FSCK_STATE_MALFORMED, 1); /* the pod may be waiting */
	put_state("web", "c", state_of("Failed", "n-0", "1"));
	finds(FSCK_HOLD_ORPHAN, 1);
	T_EQ(fsck_core_counts(fsck_core(fsck))->violations, 0);
	mends(1);
	up();
	put_held(nominated("x"), "web", "x");
	finds(FSCK_HOLD_ORPHAN, 1);
	mends(1);
	/* The same name in another partition is another pod. */
	up();
	put_held("\"nominated\",\"at\":1", "web", "a");
	finds(FSCK_HOLD_ORPHAN, 1);
	mends(1);
}

static const char nominated_state[] =
	"{\"v\":1,\"uid\":\"u-c\",\"phase\":\"Pending\",\"nominated\":{\"cluster\":"
	"\"east\",\"node\":\"%s\"},\"shard\":\"a\",\"reason\":\"preempting\","
	"\"since\":\"2026-11-21T09:00:00.000Z\"}";

static const char *nominated_for(const char *node)
{
	static char text[TEXT_SIZE];

	(void)snprintf(text, sizeof text, nominated_state, node);
	return text;
}

T_CASE(a_pod_that_is_nominated_without_a_reservation)
{
	up();
	put_held(nominated("c"), "web", "c");
	put_state("web", "c", nominated_for("n-2"));
	clean();
	put_held(nominated("x"), "web", "x");
	check();
	T_EQ(r.found[FSCK_STATE_NOMINATED], 1);
	T_EQ(r.found[FSCK_HOLD_ORPHAN], 1);
	T_EQ(fsck_core_counts(fsck_core(fsck))->violations, 0);
	mends(2);
	/* Another node, or one that does not exist. */
	up();
	put_held(nominated("c"), "web", "c");
	put_state("web", "c", nominated_for("n-1"));
	finds(FSCK_STATE_NOMINATED, 1);
	mends(1);
	up();
	put_state("web", "c", nominated_for("n-77"));
	finds(FSCK_STATE_NOMINATED, 1);
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 1);
	T_TRUE(!shows(key_in(KEYS_STATE, pod_partition("web", "c"), "web", "c"),
	              "nominated"));
	T_TRUE(shows(key_in(KEYS_STATE, pod_partition("web", "c"), "web", "c"),
	             "preempting"));
	down();
	/* The reservation exists when the repair comes. */
	up();
	put_state("web", "c", nominated_for("n-2"));
	finds(FSCK_STATE_NOMINATED, 1);
	put_held(nominated("c"), "web", "c");
	repair(false);
	T_EQ(m.count[REPAIR_RIGHT], 1);
	T_EQ(m.count[REPAIR_DONE], 0);
	down();
}

/* The pod waits again when the repair comes. */
T_CASE(a_pod_that_waits_again_keeps_its_reservation)
{
	up();
	put_state("web", "c", state_of("Failed", "n-0", "1"));
	put_held(nominated("c"), "web", "c");
	finds(FSCK_HOLD_ORPHAN, 1);
	put_state("web", "c", state_of("Pending", NULL, "1"));
	repair(false);
	T_EQ(m.count[REPAIR_RIGHT], 1);
	T_EQ(m.count[REPAIR_DONE], 0);
	down();
}
