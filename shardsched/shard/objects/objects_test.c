/* Cluster objects of the store, and what pods are decided by them. */
#include "shardsched/shard/inner.h"
#include "tests/support/shardsched/shard/sched_rig.h"

#define LOCK "/objects/core/namespaces"
#define NAMESPACE(name) LOCK "/" name

static struct rig rig;

static const char *key_of(const char *namespace, const char *name, const char *what)
{
	static char key[96];

	(void)snprintf(key, sizeof key, "/schedules/0000/%s/%s/%s", namespace, name,
	               what);
	return key;
}

static void put_app(const char *namespace, const char *name, const char *app,
                    const char *more)
{
	char json[1024];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"uid\":"
	               "\"u-%s-%s\",\"labels\":{\"app\":\"%s\"}},\"spec\":{%s"
	               "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
	               "\"cpu\":\"1\"}}}]}}",
	               namespace, name, namespace, name, app, more);
	rig_put(&rig, key_of(namespace, name, "spec"), json);
}

static void put_pod(const char *namespace, const char *name, const char *more)
{
	put_app(namespace, name, name, more);
}

/* "": the pod has no node. */
static const char *node_of(const char *namespace, const char *name)
{
	static char node[2][16];
	static unsigned turn;
	const char *at =
		strstr(rig_value(&rig, key_of(namespace, name, "state")), "\"node\":\"");

	turn = 1 - turn;
	(void)snprintf(node[turn], sizeof node[turn], "%.3s", at == NULL ? "" : at + 8);
	return node[turn];
}

/* As the API writes it: with the lock of the labels. */
static void put_namespace(const char *name, const char *team)
{
	char key[64], json[256];

	(void)snprintf(key, sizeof key, LOCK "/%s", name);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"team\":\"%s\"}}}",
	               name, team);
	rig_put(&rig, key, json);
	rig_set(&rig.store, PL_SPAN_LIT(LOCK), PL_SPAN_LIT("{\"v\":1}"));
}

static void del_namespace(const char *name)
{
	char key[64];

	(void)snprintf(key, sizeof key, LOCK "/%s", name);
	rig_del(&rig, key);
	rig_set(&rig.store, PL_SPAN_LIT(LOCK), PL_SPAN_LIT("{\"v\":1}"));
}

/* Beside (affinity), or away from, pods of app db in namespaces of team a. */
#define RULE(which, key)                                                                \
	"\"affinity\":{\"" which "\":{\"requiredDuringSchedulingIgnoredDuringExecution" \
	"\":[{\"topologyKey\":\"" key "\",\"namespaceSelector\":{\"matchLabels\":{"     \
	"\"team\":\"a\"}},\"labelSelector\":{\"matchLabels\":{\"app\":\"db\"}}}]}},"
#define BESIDE RULE("podAffinity", "host")
#define AWAY RULE("podAntiAffinity", "host")
#define AWAY_ON_NODE RULE("podAntiAffinity", "kubernetes.io/hostname")

static void wait_ms(uint64_t ms)
{
	for (uint64_t end = rig.now_ms + ms; rig.now_ms < end; rig.now_ms += 50)
		rig_run_idle(&rig);
}

static void put_node(const char *name)
{
	char key[64], json[512];

	rig.store.revision++;
	(void)snprintf(key, sizeof key, "/nodes/0000/east/%s", name);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"host\":\"%s\","
	               "\"kubernetes.io/hostname\":\"%s\"}},\"status\":{\"allocatable\":{"
	               "\"cpu\":\"8\",\"memory\":\"64Gi\",\"pods\":\"110\"}}}",
	               name, name, name);
	rig_set(&rig.store, pl_span_str(key), pl_span_str(json));
	(void)snprintf(key, sizeof key, "/alloc/0000/east/%s", name);
	rig_set(&rig.store, pl_span_str(key), PL_SPAN_LIT("{\"v\":1,\"generation\":1}"));
	rig_set(&rig.store, PL_SPAN_LIT("/groups/nodes"), PL_SPAN_LIT("{\"v\":1}"));
}

/* data/db is on n-2. */
static void begin(void)
{
	rig_open(&rig, NULL);
	put_node("n-1");
	put_node("n-2");
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	put_pod("data", "db", "\"nodeSelector\":{\"host\":\"n-2\"},");
	wait_ms(50);
	T_STR(node_of("data", "db"), "n-2");
}

/* -- namespaces ---------------------------------------------------------------------- */

T_CASE(labels_of_a_stored_namespace_count)
{
	begin();
	put_pod("web", "x", BESIDE);
	wait_ms(2000);
	T_STR(node_of("web", "x"), "");
	put_namespace("data", "b");
	wait_ms(2000);
	T_STR(node_of("web", "x"), "");
	put_namespace("data", "a");
	wait_ms(2000);
	T_STR(node_of("web", "x"), "n-2");
	rig_close(&rig);
}

T_CASE(a_namespace_that_goes_has_no_labels)
{
	begin();
	put_namespace("data", "a");
	wait_ms(50);
	del_namespace("data");
	put_pod("web", "x", BESIDE);
	wait_ms(500);
	T_STR(node_of("web", "x"), "");
	rig_close(&rig);
}

/* As do those that a list does not bring any more. */
T_CASE(a_list_ends_namespaces)
{
	begin();
	put_namespace("data", "a");
	wait_ms(50);
	sched_view_lost(rig.sched, SCHED_OF_NAMESPACE);
	del_namespace("data");
	rig_view_list(&rig, SCHED_OF_NAMESPACE);
	put_pod("web", "x", BESIDE);
	wait_ms(500);
	T_STR(node_of("web", "x"), "");
	rig_close(&rig);
}

static unsigned outstanding(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		count += rig.out[i].used;
	return count;
}

/* Runs until the pod's state is in a txn that is not answered. */
static unsigned decide_without_answer(const char *key)
{
	for (unsigned round = 0; round < 100; round++) {
		rig_views(&rig);
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
			if (!rig.out[i].used)
				continue;
			if (rig_out_puts(&rig.out[i], key))
				return i;
			(void)rig_answer(&rig, i);
		}
		rig_deliver_all(&rig);
		rig.now_ms += 50;
	}
	t_fail(__FILE__, __LINE__, "not decided");
	return 0;
}

/* The labels change while the decision is under way: it is not committed, and nothing is
 * tried again before the shard knows the labels. */
static void stale_labels(const char *name, const char *rule, const char *before,
                         const char *after, bool early)
{
	char key[96];
	unsigned out;

	begin();
	put_namespace("data", before);
	wait_ms(50);
	put_pod("web", name, rule);
	(void)snprintf(key, sizeof key, "%s", key_of("web", name, "state"));
	out = decide_without_answer(key);
	put_namespace("data", after);
	if (early)
		rig_deliver_all(&rig);
	T_TRUE(!rig_answer(&rig, out));
	for (unsigned i = 0; i < 20 && !early; i++, rig.now_ms += 50) {
		rig_run(&rig);
		T_EQ(outstanding(), 0u);
	}
	wait_ms(1000);
	T_STR(node_of("web", name), "");
	rig_close(&rig);
}

T_CASE(a_decision_by_old_labels_is_not_committed)
{
	stale_labels("x", BESIDE, "a", "b", false);
	stale_labels("x", BESIDE, "a", "b", true);
}

T_CASE(so_is_one_that_no_lock_of_a_term_protects)
{
	/* without the nodeSelector n-1 may be chosen anyhow */
	static const char rule[] = "\"nodeSelector\":{\"host\":\"n-2\"}," AWAY_ON_NODE;

	stale_labels("x", rule, "b", "a", false);
	stale_labels("x", rule, "b", "a", true);
}

/* A pod that a rule of others finds by the labels of its namespace. */
T_CASE(pods_that_labels_bring_under_a_rule)
{
	char key[96];
	unsigned out;

	begin();
	put_namespace("data", "b");
	put_pod("web", "x", "\"nodeSelector\":{\"host\":\"n-1\"}," AWAY);
	wait_ms(1000);
	T_STR(node_of("web", "x"), "n-1");
	put_namespace("late", "b");
	wait_ms(50);
	put_pod("late", "db", "\"nodeSelector\":{\"host\":\"n-1\"},");
	(void)snprintf(key, sizeof key, "%s", key_of("late", "db", "state"));
	out = decide_without_answer(key);
	put_namespace("late", "a");
	T_TRUE(!rig_answer(&rig, out));
	wait_ms(1000);
	T_STR(node_of("late", "db"), "");
	put_namespace("late", "b");
	wait_ms(1000);
	T_STR(node_of("late", "db"), "n-1");
	rig_close(&rig);
}

/* The lock was deleted by hand: decisions go on once the namespaces were listed. */
T_CASE(a_lock_that_is_gone)
{
	char key[96];
	unsigned out;

	begin();
	put_namespace("data", "a");
	wait_ms(50);
	put_pod("web", "x", BESIDE);
	(void)snprintf(key, sizeof key, "%s", key_of("web", "x", "state"));
	out = decide_without_answer(key);
	rig_del(&rig, LOCK);
	T_TRUE(!rig_answer(&rig, out));
	wait_ms(1000);
	T_STR(node_of("web", "x"), "n-2");
	rig_close(&rig);
}

/* Nothing is compared while no rule reads labels. */
T_CASE(labels_that_do_not_matter)
{
	char key[96];
	unsigned out;

	begin();
	put_namespace("data", "a");
	wait_ms(50);
	put_pod("web", "x", "");
	(void)snprintf(key, sizeof key, "%s", key_of("web", "x", "state"));
	out = decide_without_answer(key);
	put_namespace("data", "b");
	T_TRUE(rig_answer(&rig, out));
	rig_close(&rig);
}

/* -- volumes ------------------------------------------------------------------------- */

#define CLAIM "/objects/core/persistentvolumeclaims/web/c"
#define VOLUME "/objects/core/persistentvolumes/v"

static void put_volume(const char *host)
{
	char json[1024];

	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"name\":\"v\"},\"spec\":{\"capacity\":{\"storage\":\"1Gi"
		"\"},\"accessModes\":[\"ReadWriteOnce\"],\"csi\":{\"driver\":\"d\","
		"\"volumeHandle\":\"h\"},\"claimRef\":{\"namespace\":\"web\",\"name\":"
		"\"c\"},\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{"
		"\"matchExpressions\":[{\"key\":\"host\",\"operator\":\"In\",\"values\":["
		"\"%s\"]}]}]}}},\"status\":{\"phase\":\"Bound\"}}",
		host);
	rig_put(&rig, VOLUME, json);
}

static void put_claim(void)
{
	rig_put(&rig, CLAIM,
	        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"c\",\"annotations\":{"
	        "\"pv.kubernetes.io/bind-completed\":\"yes\"}},\"spec\":{\"volumeName\":"
	        "\"v\",\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{"
	        "\"storage\":\"1Gi\"}}},\"status\":{\"phase\":\"Bound\"}}");
}

#define WITH_CLAIM \
	"\"volumes\":[{\"name\":\"c\",\"persistentVolumeClaim\":{\"claimName\":\"c\"}}],"

T_CASE(a_claim_and_its_volume)
{
	begin();
	put_pod("web", "x", WITH_CLAIM);
	wait_ms(500);
	T_STR(node_of("web", "x"), "");
	put_volume("n-3");
	wait_ms(500);
	put_claim();
	wait_ms(1000);
	T_STR(node_of("web", "x"), "");
	put_volume("n-2");
	wait_ms(1000);
	T_STR(node_of("web", "x"), "n-2");
	rig_close(&rig);
}

/* -- bad objects --------------------------------------------------------------------- */

T_CASE(malformed_objects_are_set_aside)
{
	begin();
	put_volume("n-2");
	put_claim();
	wait_ms(50);
	rig_put(&rig, CLAIM, "{\"metadata\":{\"namespace\":\"web\",\"name\":\"d\"}}");
	put_pod("web", "x", WITH_CLAIM);
	wait_ms(500);
	T_EQ(rig.malformed, 1u);
	T_TRUE(strstr(rig.said, CLAIM ": metadata.name: want 'c', as the key says") !=
	       NULL);
	rig_put(&rig, NAMESPACE("data"), "{\"metadata\":");
	wait_ms(50);
	T_EQ(rig.malformed, 2u);
	T_TRUE(strstr(rig.said, NAMESPACE("data") ": ") != NULL);
	T_STR(node_of("web", "x"), "");
	put_claim();
	wait_ms(1000);
	T_STR(node_of("web", "x"), "n-2");
	rig_close(&rig);
}

/* -- the views ----------------------------------------------------------------------- */

T_CASE(nothing_is_decided_before_objects_are_listed)
{
	rig_open(&rig, NULL);
	put_node("n-1");
	for (unsigned i = SCHED_OBJECT_FIRST; i < SCHED_VIEWS; i++)
		rig.viewed[i] = true; /* the rig does not list them */
	rig_own(&rig, 0);
	put_pod("web", "x", "");
	wait_ms(500);
	T_STR(node_of("web", "x"), "");
	for (unsigned i = SCHED_OBJECT_FIRST; i < SCHED_VIEWS; i++)
		rig_view_list(&rig, (enum sched_view)i);
	wait_ms(50);
	T_STR(node_of("web", "x"), "n-1");
	rig_close(&rig);
}

T_CASE(a_shard_without_partitions_follows_none)
{
	begin();
	put_namespace("data", "a");
	put_volume("n-2");
	put_claim();
	wait_ms(50);
	T_EQ(rig.sched->snapshot.catalog.count[CATALOG_CLAIM], 1u);
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_lost(&rig, p);
	wait_ms(50);
	T_TRUE(!sched_view_wanted(rig.sched, SCHED_OF_CLAIM));
	T_EQ(rig.sched->snapshot.catalog.count[CATALOG_CLAIM], 0u);
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	put_pod("web", "x", BESIDE WITH_CLAIM);
	wait_ms(1000);
	T_STR(node_of("web", "x"), "n-2");
	rig_close(&rig);
}

/* The state was put together with the lock of the term that web/x carries. */
static bool puts_the_lock(const char *state)
{
	const struct kv_record *record = rig_get(&rig.store, pl_span_str(state));

	T_TRUE(record != NULL);
	for (uint32_t i = 0; i < rig.store.keys; i++)
		if (pl_span_starts(rig.store.key[i].key,
		                   PL_SPAN_LIT("/groups/web/affinity-")) &&
		    rig.store.key[i].mod_revision == record->mod_revision)
			return true;
	return false;
}

/* The nth allocation while changes come in fails; they are listed again. */
static bool changes_without_memory(uint64_t nth)
{
	bool fired;

	begin();
	put_pod("web", "x", BESIDE);
	put_app("data", "late", "db", "\"nodeSelector\":{\"host\":\"n-3\"},");
	put_app("gone", "late", "db", "\"nodeSelector\":{\"host\":\"n-4\"},");
	wait_ms(100);
	put_namespace("gone", "a");
	put_volume("n-2");
	rig_deliver_all(&rig);
	put_namespace("data", "a");
	del_namespace("gone");
	put_claim();
	pl_fault_reset();
	pl_fault_arm(PL_FAULT_ALLOC, nth);
	rig_deliver_all(&rig);
	fired = pl_fault_fired(PL_FAULT_ALLOC);
	pl_fault_reset();
	put_pod("web", "y", WITH_CLAIM);
	wait_ms(2000);
	T_STR(node_of("web", "x"), "n-2");
	T_STR(node_of("web", "y"), "n-2");
	put_node("n-3");
	wait_ms(2000);
	/* the term selects one of the late ones */
	T_TRUE(puts_the_lock(key_of("data", "late", "state")));
	put_node("n-4");
	wait_ms(2000);
	T_TRUE(!puts_the_lock(key_of("gone", "late", "state")));
	T_EQ(rig.malformed, 0u);
	rig_close(&rig);
	return fired;
}

T_CASE(objects_that_were_not_kept_are_listed_again)
{
	uint64_t nth = 1;

	while (changes_without_memory(nth))
		nth++;
	T_TRUE(nth > 10);
}
