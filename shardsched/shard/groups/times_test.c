/*
 * Rules, where what is known of a node or of a pod is of another time than the view. The
 * pod a, ours, is to be where somebody bears app=x; n-1 is ours and n-2 of another shard,
 * both in one zone; b, of another's partition, stands on n-2.
 */
#include "shardsched/shard/inner.h"
#include "shardsched/shard/sched_rig.h"

#define STATE "/schedules/0000/web/a/state"
#define NODE_2 "/nodes/0001/east/n-2"
#define ALLOC_2 "/alloc/0001/east/n-2"
#define SPEC_B "/schedules/0001/web/b/spec"
#define STATE_B "/schedules/0001/web/b/state"
#define SHAPE "/groups/nodes"

static struct rig rig;
static char lock[128]; /* of the term that looks for app=x */

static void put_alloc(uint32_t p, const char *node, unsigned generation, bool b)
{
	char key[64], json[256];

	(void)snprintf(key, sizeof key, "/alloc/%04u/east/%s", p, node);
	(void)snprintf(
		json, sizeof json, "{\"v\":1,\"generation\":%u%s}", generation,
		b ? ",\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},\"nonzero\":{"
		    "\"memory\":\"209715200\"},\"pods\":{\"0001\":{\"web\":[\"b\"]}}"
		  : "");
	rig_set(&rig.store, pl_span_str(key), pl_span_str(json));
}

static void put_node(uint32_t p, const char *name)
{
	char key[64], json[512];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"zone\":\"z\"}},"
	               "\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"64Gi\","
	               "\"pods\":\"110\"}}}",
	               name);
	(void)snprintf(key, sizeof key, "/nodes/%04u/east/%s", p, name);
	rig_put(&rig, key, json);
	put_alloc(p, name, 1, false);
	rig_set(&rig.store, PL_SPAN_LIT(SHAPE), PL_SPAN_LIT("{\"v\":1}"));
}

static void put_a(const char *where)
{
	char json[640];

	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"a\",\"uid\":"
		"\"u-a\"},\"spec\":{%s\"affinity\":{\"podAffinity\":{"
		"\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
		"\"topologyKey\":\"zone\",\"labelSelector\":{\"matchLabels\":{"
		"\"app\":\"x\"}}}]}},\"containers\":[{\"name\":\"c\",\"resources\":"
		"{\"requests\":{\"cpu\":\"1\"}}}]}}",
		where);
	rig_put(&rig, "/schedules/0000/web/a/spec", json);
}

static void put_b(const char *app)
{
	char json[320];

	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"b\",\"uid\":"
		"\"u-b-%s\",\"labels\":{\"app\":\"%s\"}},\"spec\":{\"containers\":"
		"[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
		app, app);
	rig_put(&rig, SPEC_B, json);
}

static void bump(bool is_x)
{
	if (is_x)
		rig_set(&rig.store, pl_span_str(lock), PL_SPAN_LIT("{\"v\":1}"));
}

/* As the shard does that binds it. */
static void bind_b(const char *node, unsigned generation, bool is_x)
{
	char state[256];

	(void)snprintf(state, sizeof state,
	               "{\"v\":1,\"uid\":\"u-b-%s\",\"phase\":\"Bound\",\"cluster\":"
	               "\"east\",\"node\":\"%s\",\"shard\":\"west-0\",\"epoch\":\"1\","
	               "\"attempts\":1,\"since\":\"2025-11-21T09:00:00Z\"}",
	               is_x ? "x" : "y", node);
	rig_put(&rig, STATE_B, state);
	put_alloc(1, node, generation, true);
	bump(is_x);
}

static bool is_bound(void)
{
	return strstr(rig_value(&rig, STATE), "\"Bound\"") != NULL;
}

static void wait_ms(uint64_t ms)
{
	for (uint64_t end = rig.now_ms + ms; rig.now_ms < end; rig.now_ms += 50)
		rig_settle(&rig);
}

/* Whatever it does by what it has heard, and what it asks, but not by what it watches. */
static void go_on_deaf(void)
{
	for (unsigned n = 0; n < 50; n++) {
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig.out[i].used)
				(void)rig_answer(&rig, i);
		rig.now_ms += 20;
	}
}

static void find_lock(void)
{
	static const char prefix[] = "/groups/web/";

	for (uint32_t i = 0; i < rig.store.keys; i++) {
		struct pl_span key = rig.store.key[i].key;

		if (pl_span_starts(key, pl_span_str(prefix)) &&
		    !pl_span_eq(key, PL_SPAN_LIT("/groups/web/registry")))
			(void)snprintf(lock, sizeof lock, "%.*s", PL_SPAN_ARG(key));
	}
	T_TRUE(lock[0] != '\0');
}

/* The term is registered; a can go nowhere yet, and the view is held for it. */
static void begin(void)
{
	rig_open(&rig, NULL);
	put_node(0, "n-1");
	put_node(1, "n-2");
	rig_own(&rig, 0);
	put_a("\"nodeSelector\":{\"no\":\"where\"},");
	wait_ms(3000);
	find_lock();
	T_TRUE(rig.viewed[SCHED_WHOLE]);
}

static void let_a_go(void)
{
	put_a("");
	(void)rig_deliver(&rig, 0, SCHED_SCHEDULES, UINT32_MAX);
}

/* A list of its partition has n-2 with b, and is slow: by the time that it comes the node
 * has gone, b waits again, and the view has told that. */
T_CASE(a_node_that_has_gone_does_not_come_back_by_an_older_list)
{
	struct kv_record node, alloc;

	begin();
	put_b("x");
	bind_b("n-2", 2, true);
	visit_want(rig.sched, 1);
	rig_run(&rig);
	T_TRUE(rig.visit[1]);
	node = *rig_get(&rig.store, PL_SPAN_LIT(NODE_2));
	alloc = *rig_get(&rig.store, PL_SPAN_LIT(ALLOC_2));
	(void)rig_view_deliver(&rig, SCHED_WHOLE, UINT32_MAX);
	go_on_deaf();
	rig_del(&rig, NODE_2);
	rig_unset(&rig.store, PL_SPAN_LIT(STATE_B));
	bump(true);
	rig_unset(&rig.store, PL_SPAN_LIT(ALLOC_2));
	rig_set(&rig.store, PL_SPAN_LIT(SHAPE), PL_SPAN_LIT("{\"v\":1}"));
	rig_deliver_all(&rig);
	rig.visit[1] = false;
	sched_visit_records(rig.sched, 1, &alloc, 1);
	sched_visit_records(rig.sched, 1, &node, 1);
	sched_visit_end(rig.sched, 1, alloc.mod_revision);
	sched_check(rig.sched);
	let_a_go();
	go_on_deaf();
	T_TRUE(!is_bound());
	rig_close(&rig);
}
