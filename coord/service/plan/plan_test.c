#include "coord/service/explain/pod_explain.h"
#include "coord/service/plan/plan.h"
#include "store/keys/partition.h"
#include "tests/harness/torture.h"
#include "tests/support/store/memkv/kit.h"

enum { PARTITIONS = 8, TEXT_SIZE = 1 << 18, GIVEN_MAX = PLAN_PODS_MAX };

static struct kit kit;
static struct service service;
static struct plan_opts opts;
static struct pl_span given[GIVEN_MAX + 1];
static unsigned dones, progresses;
static struct pl_err failure;
static char text[TEXT_SIZE];
static uint32_t verdicts[PLAN_VERDICTS];
static int64_t revision;

/* -- the store -------------------------------------------------------------------- */

static void put(const char *kind, uint32_t partition, const char *rest, const char *value)
{
	char key[160];

	(void)snprintf(key, sizeof key, "/%s/%04u/%s", kind, partition, rest);
	(void)kit_put(&kit, key, value);
}

static void node(const char *cluster, const char *name, const char *cpu,
                 const char *alloc)
{
	char rest[100], json[400];
	uint32_t partition;

	T_OK(partition_of_node(pl_span_str(cluster), pl_span_str(name), PARTITIONS,
	                       &partition, NULL),
	     NULL);
	(void)snprintf(rest, sizeof rest, "%s/%s", cluster, name);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\",\"labels\":{"
	               "\"kubernetes.io/hostname\":\"%s\"}},\"status\":{\"allocatable\":{"
	               "\"cpu\":\"%s\",\"memory\":\"8Gi\",\"pods\":\"10\"}}}",
	               name, name, cpu);
	put("nodes", partition, rest, json);
	put("alloc", partition, rest,
	    alloc == NULL ? "{\"v\":1,\"generation\":1}" : alloc);
}

/* In the test's arena. meta and more are members of metadata and spec, each with a comma
 * at its end. */
static struct pl_span pod(const char *name, const char *cpu, const char *meta,
                          const char *more)
{
	char *json = pl_arena_printf(
		&kit.arena,
		"{\"metadata\":{%s\"namespace\":\"shop\",\"name\":\"%s\"},\"spec\":{%s"
		"\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
		"\"requests\":{\"cpu\":\"%s\"}}}]}}",
		meta, name, more, cpu);

	T_TRUE(json != NULL);
	return pl_span_str(json);
}

static void give(struct pl_span json)
{
	T_TRUE(opts.pod_count <= GIVEN_MAX);
	given[opts.pod_count++] = json;
}

static void put_pod(const char *name, const char *cpu, const char *more,
                    const char *state)
{
	struct pl_span json = pod(name, cpu, "", more);
	char rest[100];

	(void)snprintf(rest, sizeof rest, "shop/%s/spec", name);
	put("schedules", 0, rest, (const char *)json.at);
	(void)snprintf(rest, sizeof rest, "shop/%s/state", name);
	if (state != NULL)
		put("schedules", 0, rest, state);
}

/* -- a plan ----------------------------------------------------------------------- */

static void on_progress(void *ctx, int64_t at, const char *what, uint64_t count)
{
	(void)ctx;
	(void)at;
	(void)what;
	(void)count;
	progresses++;
}

static void on_done(void *ctx, const struct plan *plan, const struct pl_err *err)
{
	struct pl_json_out out;
	struct pl_buf buf;

	(void)ctx;
	T_TRUE((plan == NULL) == (err != NULL));
	dones++;
	failure = err == NULL ? (struct pl_err){0} : *err;
	text[0] = 0;
	if (err != NULL)
		return;
	revision = plan->revision;
	memcpy(verdicts, plan->verdicts, sizeof verdicts);
	pl_buf_init(&buf, sizeof text - 1);
	pl_json_out_init(&out, &buf);
	plan_json(plan, &out);
	if (pl_json_out_done(&out) == PL_OK && buf.len > 0)
		memcpy(text, buf.at, buf.len);
	text[buf.len] = 0;
	pl_buf_done(&buf);
}

static void up(void)
{
	kit_open(&kit, NULL);
	service = (struct service){
		.kv = kit.kv, .partitions = PARTITIONS, .timeout_ms = 1000};
	opts = (struct plan_opts){
		.pods = given, .progress = on_progress, .done = on_done};
	node("east", "n-1", "4", NULL);
}

static enum pl_code plan(void)
{
	struct plan_op *op;

	dones = 0;
	T_OK(plan_start(&service, &opts, &op, &kit.err), &kit.err);
	T_EQ(dones, 0);
	kit_until(&kit, kit.now_ms + 1000);
	T_EQ(dones, 1);
	return failure.code;
}

static enum pl_code refused(void)
{
	struct plan_op *op;

	failure = (struct pl_err){0};
	return plan_start(&service, &opts, &op, &failure);
}

static void says(const char *words)
{
	if (strstr(text, words) == NULL)
		t_fail(__FILE__, __LINE__, "want %s in %s", words, text);
}

/* The text of that pod in the plan says this, too. */
static void says_of(const char *name, const char *words)
{
	char head[100];
	const char *at, *end, *found;

	(void)snprintf(head, sizeof head, "{\"namespace\":\"shop\",\"name\":\"%s\"",
	               name);
	at = strstr(text, head);
	T_TRUE(at != NULL);
	end = strstr(at + 1, "{\"namespace\"");
	found = strstr(at, words);
	if (found == NULL || (end != NULL && found > end))
		t_fail(__FILE__, __LINE__, "want %s of %s in %s", words, name, text);
}

/* -- cases ------------------------------------------------------------------------ */

T_CASE(pods_take_room_from_those_after_them)
{
	int64_t before;

	up();
	give(pod("a", "3", "", ""));
	give(pod("b", "2", "", ""));
	give(pod("c", "1", "", ""));
	before = kit_put(&kit, "/x", "y");
	T_CODE(plan(), PL_OK, &failure);
	T_EQ(revision, before);
	says("\"kind\":\"Plan\"");
	says("\"fits\":false");
	says_of("a", "\"verdict\":\"placed\",\"cluster\":\"east\",\"node\":\"n-1\"");
	says_of("b", "\"verdict\":\"unschedulable\"");
	says_of("b",
	        "\"reason\":\"fit.cpu\",\"message\":\"Insufficient cpu\",\"nodes\":1,"
	        "\"only\":1");
	says_of("c", "\"verdict\":\"placed\"");
	T_EQ(kit_put(&kit, "/x", "z"), before + 1); /* nothing was written */
	kit_close(&kit);
}

T_CASE(ports_and_rules_of_planned_pods_count)
{
	static const char apart[] =
		"\"affinity\":{\"podAntiAffinity\":{"
		"\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":"
		"\"kubernetes.io/hostname\",\"labelSelector\":{\"matchLabels\":{"
		"\"app\":\"w\"}}}]}},";
	static const char port[] =
		"\"initContainers\":[],\"hostNetwork\":false,\"containers\":[{\"name\":\"p\","
		"\"image\":\"i\",\"ports\":[{\"containerPort\":80,\"hostPort\":80}]}]}}";
	char *json;

	up();
	node("east", "n-2", "4", NULL);
	give(pod("a", "1", "\"labels\":{\"app\":\"w\"},", apart));
	give(pod("b", "1", "\"labels\":{\"app\":\"w\"},", apart));
	give(pod("c", "1", "\"labels\":{\"app\":\"w\"},", apart));
	for (int name = 'p'; name <= 'r'; name++) {
		json = pl_arena_printf(&kit.arena,
		                       "{\"metadata\":{\"namespace\":\"shop\",\"name\":"
		                       "\"%c\"},\"spec\":{%s",
		                       name, port);
		give(pl_span_str(json));
	}
	T_CODE(plan(), PL_OK, &failure);
	T_EQ(verdicts[PLAN_PLACED], 4);
	says_of("c", "\"reason\":\"pod.anti-affinity\"");
	says_of("r", "\"reason\":\"node.ports\"");
	kit_close(&kit);
}

/* A pod that was placed since may be what an equal one waited for. */
T_CASE(an_equal_pod_is_decided_again_when_another_was_placed)
{
	static const char near[] =
		"\"affinity\":{\"podAffinity\":{"
		"\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":"
		"\"kubernetes.io/hostname\",\"labelSelector\":{\"matchLabels\":{"
		"\"app\":\"w\"}}}]}},";

	up();
	give(pod("before", "1", "", near));
	give(pod("w", "1", "\"labels\":{\"app\":\"w\"},", ""));
	give(pod("after", "1", "", near));
	T_CODE(plan(), PL_OK, &failure);
	says_of("before", "\"reason\":\"pod.affinity\"");
	says_of("after", "\"verdict\":\"placed\"");
	kit_close(&kit);
}

T_CASE(a_gang_is_placed_whole_or_not_at_all)
{
	static const char three[] = "\"annotations\":{\"placet.io/gang\":\"g\","
				    "\"placet.io/gang-min\":\"3\"},";
	static const char two[] = "\"annotations\":{\"placet.io/gang\":\"h\","
				  "\"placet.io/gang-min\":\"2\"},";
	static const char many[] = "\"annotations\":{\"placet.io/gang\":\"i\","
				   "\"placet.io/gang-min\":\"5\"},";

	up();
	give(pod("g-0", "2", three, ""));
	give(pod("h-0", "1", two, ""));
	give(pod("g-1", "2", three, ""));
	give(pod("g-2", "2", three, ""));
	give(pod("h-1", "1", two, ""));
	give(pod("i-0", "1", many, ""));
	give(pod("z", "2", "", ""));
	T_CODE(plan(), PL_OK, &failure);
	says_of("g-0", "\"verdict\":\"unschedulable\",\"gang\":\"g\","
	               "\"message\":\"no room for 3 of 3 members: g-2\"");
	says_of("g-1", "\"plugin\":\"NodeResourcesFit\",\"reason\":\"gang.room\","
	               "\"nodes\":1");
	says_of("h-1", "\"verdict\":\"placed\"");
	says_of("i-0", "the gang wants 5 members, and 1 are known");
	says_of("z", "\"verdict\":\"placed\"");
	T_EQ(verdicts[PLAN_PLACED], 3);
	kit_close(&kit);
}

/* A member that runs counts for the minimum. */
T_CASE(members_on_nodes_count_for_their_gang)
{
	static const char two[] = "\"annotations\":{\"placet.io/gang\":\"g\","
				  "\"placet.io/gang-min\":\"2\"},";
	struct pl_span json;

	up();
	node("east", "n-2", "4",
	     "{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
	     "\"pods\":{\"0000\":{\"shop\":[\"g-0\"]}}}");
	json = pod("g-0", "1", two, "");
	put("schedules", 0, "shop/g-0/spec", (const char *)json.at);
	give(pod("g-1", "1", two, ""));
	give(json);
	T_CODE(plan(), PL_OK, &failure);
	says_of("g-1", "\"verdict\":\"placed\"");
	says_of("g-0", "\"verdict\":\"present\",\"cluster\":\"east\",\"node\":\"n-2\"");
	says("\"fits\":true");
	kit_close(&kit);
}

T_CASE(a_cluster_that_is_lost_is_planned_again_first)
{
	const struct pl_span lost[] = {PL_SPAN_LIT("west")};

	up();
	node("west", "w-1", "8",
	     "{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"7000m\",\"pods\":\"4\"},"
	     "\"pods\":{\"0000\":{\"shop\":[\"bad\",\"gone\",\"high\",\"low\"]}}}");
	put("schedules", 0, "shop/bad/spec", "what");
	put_pod("gone", "4", "\"priority\":9,",
	        "{\"v\":1,\"uid\":\"u\",\"phase\":\"Terminating\",\"cluster\":\"west\","
	        "\"node\":\"w-1\",\"shard\":\"s\",\"epoch\":\"1\",\"since\":"
	        "\"2026-11-21T09:00:00.000Z\"}");
	put_pod("high", "2", "\"priority\":5,", NULL);
	put_pod("low", "1", "", NULL);
	give(pod("new", "2", "", ""));
	T_CODE(plan(), PL_OK, &failure);
	says("\"fits\":true");
	opts.without = lost;
	opts.withouts = 1;
	T_CODE(plan(), PL_OK, &failure);
	says("\"nodes\":1,\"nodesAdded\":0,\"nodesWithout\":1");
	says("\"pods\":4,\"displaced\":3");
	says("\"pods\":[{\"namespace\":\"shop\",\"name\":\"high\",\"verdict\":\"placed\","
	     "\"cluster\":\"east\",\"node\":\"n-1\",\"displacedFrom\":\"west/w-1\"},"
	     "{\"namespace\":\"shop\",\"name\":\"low\",\"verdict\":\"placed\"");
	says_of("bad", "\"verdict\":\"refused\",\"displacedFrom\":\"west/w-1\"");
	says_of("new", "\"verdict\":\"unschedulable\"");
	T_TRUE(strstr(text, "\"gone\"") == NULL);
	kit_close(&kit);
}

T_CASE(nodes_can_be_added)
{
	const struct plan_nodes add[] = {
		{.count = 2, .shape = PL_SPAN_LIT("cpu=8,memory=32Gi")},
		{.count = 1,
	         .json = PL_SPAN_LIT("{\"metadata\":{\"name\":\"gpu\",\"labels\":{"
	                             "\"gpu\":\"yes\",\"kubernetes.io/hostname\":\"x\"}},"
	                             "\"status\":{\"allocatable\":{\"cpu\":\"1\","
	                             "\"memory\":\"1Gi\",\"pods\":\"1\"}}}"),
	         .cluster = PL_SPAN_LIT("east")}};

	up();
	node("east", "gpu-0", "1", NULL);
	give(pod("big", "6", "", ""));
	give(pod("also", "6", "", ""));
	give(pod("gpu", "1", "", "\"nodeSelector\":{\"gpu\":\"yes\"},"));
	give(pod("host", "1", "",
	         "\"nodeSelector\":{\"kubernetes.io/hostname\":\"added-1\"},"));
	T_CODE(plan(), PL_OK, &failure);
	T_EQ(verdicts[PLAN_PLACED], 0);
	opts.add = add;
	opts.adds = 2;
	T_CODE(plan(), PL_OK, &failure);
	says("\"fits\":true,\"nodes\":5,\"nodesAdded\":3");
	says_of("big", "\"cluster\":\"added\"");
	says_of("big", "\"added\":true");
	says_of("gpu", "\"cluster\":\"east\",\"node\":\"gpu-1\"");
	says_of("host", "\"node\":\"added-1\"");
	kit_close(&kit);
}

static void refuses_nodes(const struct plan_nodes *nodes, const char *words)
{
	opts.add = nodes;
	opts.adds = 1;
	T_TRUE(refused() != PL_OK);
	if (strstr(failure.msg, words) == NULL)
		t_fail(__FILE__, __LINE__, "want %s in %s", words, failure.msg);
}

T_CASE(options_are_checked)
{
	const struct pl_span bad[] = {PL_SPAN_LIT("West")};

	up();
	refuses_nodes(&(struct plan_nodes){.shape = PL_SPAN_LIT("cpu=1")},
	              "add[0]: count: want 1 or more");
	refuses_nodes(&(struct plan_nodes){.count = 1}, "add[0]: want either");
	refuses_nodes(&(struct plan_nodes){.count = 1, .shape = PL_SPAN_LIT("cpu")},
	              "add[0]: shape: want RESOURCE=AMOUNT");
	refuses_nodes(&(struct plan_nodes){.count = 1, .shape = PL_SPAN_LIT("a=1,a=2")},
	              "a comes twice");
	refuses_nodes(&(struct plan_nodes){.count = PLAN_NODES_MAX + 1,
	                                   .shape = PL_SPAN_LIT("cpu=1")},
	              "more than 100000 nodes");
	refuses_nodes(&(struct plan_nodes){.count = 1,
	                                   .shape = PL_SPAN_LIT("cpu=1"),
	                                   .cluster = PL_SPAN_LIT("No!")},
	              "add[0]: cluster");
	opts.adds = 0;
	opts.without = bad;
	opts.withouts = 1;
	T_CODE(refused(), PL_INVALID, &failure);
	opts.withouts = 0;
	opts.at_revision = -1;
	T_CODE(refused(), PL_INVALID, &failure);
	opts.at_revision = 0;
	opts.pod_count = PLAN_PODS_MAX + 1;
	T_CODE(refused(), PL_LIMIT, &failure);
	kit_close(&kit);
}

T_CASE(malformed_nodes_and_pods_are_refused_with_their_field)
{
	const struct plan_nodes add[] = {{.count = 1, .shape = PL_SPAN_LIT("cpu=lots")}};

	up();
	give(PL_SPAN_LIT("what"));
	give(pod("named", "1", "", "\"nodeName\":\"n-1\","));
	give(pod("other", "1", "", "\"schedulerName\":\"other\","));
	give(pod("gated", "1", "", "\"schedulingGates\":[{\"name\":\"wait\"}],"));
	give(pod("twice", "1", "", ""));
	give(pod("twice", "1", "", ""));
	T_CODE(plan(), PL_OK, &failure);
	T_EQ(verdicts[PLAN_REFUSED], 3);
	says_of("named", "spec.nodeName");
	says_of("other", "spec.schedulerName: no shard schedules for 'other'");
	says_of("gated", "\"verdict\":\"gated\"");
	says_of("gated", "\"reason\":\"pod.gated\"");
	says("\"verdict\":\"present\",\"cluster\":\"east\",\"node\":\"n-1\",\"message\":\"it "
	     "comes twice in the plan\"");
	opts.add = add;
	opts.adds = 1;
	T_CODE(plan(), PL_INVALID, &failure);
	T_TRUE(strstr(failure.msg, "add[0]: ") != NULL);
	T_TRUE(strstr(failure.msg, "cpu") != NULL);
	kit_close(&kit);
}

T_CASE(the_store_can_be_seen_as_it_was)
{
	int64_t before;

	up();
	give(pod("a", "4", "", ""));
	before = kit_put(&kit, "/x", "y");
	node("east", "n-1", "1", NULL);
	T_CODE(plan(), PL_OK, &failure);
	T_EQ(verdicts[PLAN_PLACED], 0);
	opts.at_revision = before;
	T_CODE(plan(), PL_OK, &failure);
	T_EQ(verdicts[PLAN_PLACED], 1);
	T_EQ(revision, before);
	opts.at_revision = before + 100;
	T_CODE(plan(), PL_FUTURE, &failure);
	(void)kit_compact(&kit, before + 1);
	opts.at_revision = before;
	T_CODE(plan(), PL_COMPACTED, &failure);
	T_TRUE(strstr(failure.msg, "was compacted") != NULL);
	kit_close(&kit);
}

T_CASE(what_preemption_would_do_is_told)
{
	up();
	node("east", "n-1", "4",
	     "{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"4000m\",\"pods\":\"1\"},"
	     "\"pods\":{\"0000\":{\"shop\":[\"low\"]}}}");
	put_pod("low", "4", "", NULL);
	give(pod("high", "4", "", "\"priority\":5,"));
	give(pod("higher", "4", "", "\"priority\":5,"));
	T_CODE(plan(), PL_OK, &failure);
	says_of("high", "\"verdict\":\"unschedulable\"");
	says_of("high",
	        "\"preemption\":{\"cluster\":\"east\",\"node\":\"n-1\",\"victims\":1}");
	says_of("higher", "\"preemption\":{\"cluster\":\"east\"");
	kit_close(&kit);
}

/* -- as an explanation says ------------------------------------------------------- */

static char explained[TEXT_SIZE];

static void on_explained(void *ctx, const struct pod_explanation *pod_explanation,
                         const struct explain *explain, const struct pl_err *err)
{
	size_t len = 0;

	(void)ctx;
	T_OK(err == NULL ? PL_OK : err->code, err);
	T_TRUE(pod_explanation->nowhere);
	for (uint32_t i = 0; i < explain->reasons; i++)
		len += (size_t)snprintf(
			explained + len, sizeof explained - len, "%s,%u,%u;",
			reason_word((enum reason_code)explain->reason[i].reason.code),
			explain->reason[i].nodes, explain->reason[i].only);
	dones++;
}

static char planned[TEXT_SIZE];

static void on_planned(void *ctx, const struct plan *it, const struct pl_err *err)
{
	size_t len = 0;

	(void)ctx;
	T_OK(err == NULL ? PL_OK : err->code, err);
	T_EQ(it->pods, 1);
	for (uint32_t i = 0; i < it->pod[0].reasons->count; i++)
		len += (size_t)snprintf(planned + len, sizeof planned - len, "%s,%u,%u;",
		                        it->pod[0].reasons->at[i].code,
		                        it->pod[0].reasons->at[i].nodes,
		                        it->pod[0].reasons->at[i].only);
	dones++;
}

T_CASE(reasons_are_those_of_an_explanation)
{
	const struct pod_explain_opts ask = {
		.pod = {PL_SPAN_LIT("shop"), PL_SPAN_LIT("web")}, .done = on_explained};
	struct pod_explain *explain;
	struct plan_op *op;
	uint32_t partition;
	struct pl_span json;

	up();
	for (unsigned i = 0; i < 5; i++) {
		char name[8];

		(void)snprintf(name, sizeof name, "m-%u", i);
		node(i < 2 ? "east" : "west", name, i % 2 == 0 ? "2" : "16", NULL);
	}
	json = pod("web", "8", "", "\"nodeSelector\":{\"gpu\":\"yes\"},");
	T_OK(partition_of_pod(PL_SPAN_LIT("shop"), PL_SPAN_LIT("web"), PARTITIONS,
	                      &partition, NULL),
	     NULL);
	put("schedules", partition, "shop/web/spec", (const char *)json.at);
	dones = 0;
	T_OK(pod_explain_start(&service, &ask, &explain, &kit.err), &kit.err);
	give(json);
	opts.done = on_planned;
	T_OK(plan_start(&service, &opts, &op, &kit.err), &kit.err);
	kit_until(&kit, kit.now_ms + 1000);
	T_EQ(dones, 2);
	T_STR(planned, explained);
	T_STR(planned, "node.affinity,6,2;fit.cpu,4,0;");
	kit_close(&kit);
}

/* -- life -------------------------------------------------------------------------- */

/* Another user of the loop, who comes to his turn between slices. */
static struct pl_timer ticker;
static unsigned ticks;

static void on_tick(void *ctx)
{
	(void)ctx;
	ticks++;
	if (dones == 0)
		pl_timer_set(&ticker, kit.now_ms);
}

T_CASE(others_come_to_their_turn_between_slices)
{
	char name[16];

	up();
	for (unsigned i = 0; i < 3 * PLAN_SLICE_PODS; i++) {
		(void)snprintf(name, sizeof name, "p-%u", i);
		give(pod(name, "1", "", ""));
	}
	T_EQ(pl_timer_init(&ticker, kv_timers(kit.kv), on_tick, NULL), PL_OK);
	pl_timer_set(&ticker, kit.now_ms);
	ticks = progresses = 0;
	T_CODE(plan(), PL_OK, &failure);
	T_TRUE(ticks > 6); /* pods are read in three slices, and decided in three */
	T_TRUE(progresses >= 3);
	T_EQ(verdicts[PLAN_PLACED], 4);
	T_EQ(verdicts[PLAN_UNSCHEDULABLE], 3 * PLAN_SLICE_PODS - 4);
	pl_timer_done(&ticker);
	kit_close(&kit);
}

T_CASE(cancel_ends_a_plan_through_done)
{
	up();
	give(pod("a", "1", "", ""));
	for (unsigned turns = 0;; turns++) {
		struct plan_op *op;

		dones = 0;
		T_OK(plan_start(&service, &opts, &op, &kit.err), &kit.err);
		for (unsigned i = 0; i < turns && dones == 0; i++)
			memkv_run(kit.mem, kit.now_ms);
		if (dones > 0)
			break;
		plan_cancel(op);
		T_EQ(dones, 0);
		kit_until(&kit, kit.now_ms + 1000);
		T_EQ(dones, 1);
		T_CODE(failure.code, PL_CANCELED, &failure);
	}
	T_CODE(failure.code, PL_OK, &failure);
	kit_close(&kit);
}

static enum pl_code plan_all(void)
{
	struct plan_op *op;

	dones = 0;
	if (plan_start(&service, &opts, &op, &failure) != PL_OK)
		return failure.code;
	kit_until(&kit, kit.now_ms + 1000);
	T_EQ(dones, 1);
	return failure.code;
}

T_CASE(a_failed_allocation_ends_a_plan)
{
	static const char two[] = "\"annotations\":{\"placet.io/gang\":\"g\","
				  "\"placet.io/gang-min\":\"2\"},";
	const struct pl_span lost[] = {PL_SPAN_LIT("west")};
	const struct plan_nodes add[] = {{.count = 1, .shape = PL_SPAN_LIT("cpu=8")}};

	up();
	node("west", "w-1", "8",
	     "{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
	     "\"pods\":{\"0000\":{\"shop\":[\"on\"]}}}");
	put_pod("on", "1", "", NULL);
	give(pod("a", "1", "", ""));
	give(pod("b", "64", "", ""));
	give(pod("g-0", "1", two, ""));
	give(pod("g-1", "1", two, ""));
	opts.without = lost;
	opts.withouts = 1;
	opts.add = add;
	opts.adds = 1;
	t_torture(plan_all, true);
	kit_close(&kit);
}
