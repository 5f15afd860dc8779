/* Specs, states and pointers that are damaged: each code, and its repair. */
#include "tests/support/coord/service/fsck/fsck_fixture.h"

/* Host ports, other resources, requests of nothing, a pod that has ended and takes no
 * room. */
T_CASE(pods_of_other_kinds)
{
	static const char spec[] =
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"c\"},\"spec\":{"
		"\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"ports\":[{"
		"\"containerPort\":80,\"hostPort\":80},{\"containerPort\":53,"
		"\"hostPort\":53,\"protocol\":\"UDP\",\"hostIP\":\"10.0.0.1\"}],"
		"\"resources\":{\"limits\":{\"example.com/gpu\":\"1\"}}}]}}";

	up();
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "c"), spec);
	put_state("web", "c", state_of("Bound", "n-2", "1"));
	finds(FSCK_STATE_UNLISTED, 1);
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 1);
	clean();
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(node_key(KEYS_ALLOC, "n-2"))), 0),
	     PL_OK);
	T_TRUE(strstr(kit_show(&kit),
	              "\"used\":{\"pods\":\"1\",\"example.com/gpu\":\"1\"},\"nonzero\":{"
	              "\"cpu\":\"100m\",\"memory\":\"209715200\"},\"ports\":["
	              "\"TCP/0.0.0.0/80\",\"UDP/10.0.0.1/53\"],") != NULL);
	put_state("web", "c", state_of("Failed", "n-2", "1"));
	finds(FSCK_ALLOC_POD_NOT_BOUND, 1);
	mends(1);
}

T_CASE(spec_malformed)
{
	up();
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "a"), "{\"metadata\":[]}");
	finds(FSCK_SPEC_MALFORMED, 1);
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "a"), spec_of("web", "z", ""));
	finds(FSCK_SPEC_MALFORMED, 1);
	/* Readable, but refused at submission: no shard would place it. */
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "a"),
	              "{\"metadata\":{\"namespace\":\"web\",\"name\":\"a\"},\"spec\":{"
	              "\"tolerations\":[{\"key\":\"gpu\",\"effect\":\"noschedule\"}],"
	              "\"containers\":[{\"name\":\"c\"}]}}");
	finds(FSCK_SPEC_MALFORMED, 1);
	mends_not();
}

T_CASE(pod_in_another_partition)
{
	uint32_t other = (pod_partition("web", "x") + 1) % PARTITIONS;

	up();
	(void)kit_put(&kit, key_in(KEYS_SPEC, other, "web", "x"),
	              spec_of("web", "x", ""));
	check();
	T_EQ(r.found[FSCK_POD_PARTITION], 1);
	T_EQ(r.found[FSCK_POINTER_MISSING], 1);
	T_EQ(r.total, 2);
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 0);
	T_TRUE(strstr(m.why, "belongs elsewhere") != NULL);
	down();
}

T_CASE(two_pods_of_one_name)
{
	uint32_t named = pod_partition("db", gang_pod()), other = 0;

	while (other == named || other == gang_home())
		other++;
	up();
	(void)kit_put(&kit, key_in(KEYS_SPEC, other, "db", gang_pod()),
	              spec_of("db", gang_pod(), GANG));
	check();
	T_EQ(r.found[FSCK_POD_TWICE], 1);
	T_EQ(r.found[FSCK_POD_PARTITION], 1);
	mends_not();
}

T_CASE(pointer_that_leads_nowhere)
{
	uint32_t named = pod_partition("web", "p");
	char pointer[100];

	up();
	(void)snprintf(pointer, sizeof pointer, "{\"v\":1,\"at\":%u}",
	               (named + 1) % PARTITIONS);
	(void)kit_put(&kit, key_in(KEYS_SPEC, named, "web", "p"), pointer);
	finds(FSCK_POINTER_NOWHERE, 1);
	mends_not();
}

T_CASE(pointer_that_is_lost_or_wrong)
{
	uint32_t orphan = 0;
	char pointer[100];

	up();
	drop(pod_key(KEYS_SPEC, "db", gang_pod()));
	finds(FSCK_POINTER_MISSING, 1);
	mends(1);
	up();
	orphan = (gang_home() + 1) % PARTITIONS;
	(void)snprintf(pointer, sizeof pointer, "{\"v\":1,\"at\":%u}", orphan);
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "db", gang_pod()), pointer);
	check();
	T_EQ(r.found[FSCK_POINTER_MISSING], 1);
	T_EQ(r.found[FSCK_POINTER_NOWHERE], 1);
	mends(1);
}

T_CASE(a_pointer_does_not_take_another_pods_place)
{
	up();
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "db", gang_pod()),
	              spec_of("db", gang_pod(), ""));
	finds(FSCK_POINTER_MISSING, 1);
	repair(false);
	T_EQ(m.count[REPAIR_REFUSED], 1);
	T_TRUE(strstr(m.why, "another pod has the name") != NULL);
	down();
}

T_CASE(state_without_pod)
{
	up();
	put_state("web", "x", state_of("Pending", NULL, "1"));
	finds(FSCK_STATE_NO_SPEC, 1);
	put_state("db", gang_pod(), state_of("Pending", NULL, "1"));
	finds(FSCK_STATE_NO_SPEC, 2);
	mends_not();
}

T_CASE(state_on_a_node_that_is_not_there)
{
	up();
	put_state("web", "c", state_of("Bound", "n-9", "1"));
	finds(FSCK_STATE_NO_NODE, 1);
	mends_not();
}

T_CASE(state_that_no_alloc_lists)
{
	up();
	put_state("web", "c", state_of("Bound", "n-2", "1"));
	finds(FSCK_STATE_UNLISTED, 1);
	mends(1);
}

T_CASE(epochs_that_no_owner_had)
{
	char key[100], epoch[32];
	int64_t owner;

	up();
	put_state("web", "c", state_of("Pending", NULL, "999999"));
	finds(FSCK_STATE_EPOCH, 1);
	(void)snprintf(key, sizeof key, "/partitions/%04u/owner",
	               pod_partition("web", "c"));
	(void)kit_delete(&kit, kv_key(pl_span_str(key)));
	owner = kit_put(&kit, key, "{\"v\":1,\"shard\":\"s\"}");
	(void)kit_put(&kit, key, "{\"v\":1,\"shard\":\"s\"}");
	(void)snprintf(epoch, sizeof epoch, "%" PRId64, owner);
	put_state("web", "c", state_of("Pending", NULL, epoch));
	clean();
	/* The partition has had no owner since. */
	(void)snprintf(epoch, sizeof epoch, "%" PRId64, owner + 1);
	put_state("web", "c", state_of("Pending", NULL, epoch));
	finds(FSCK_STATE_EPOCH, 1);
	down();
}
