/* Labels that tell replicas apart stand beside classes while selectors that ask for them
 * come and go. Verdicts agree with a second engine in which these labels are always in
 * the class. */
#include <stdarg.h>

#include "shardsched/engine/engine_int.h"
#include "store/base/rng.h"
#include "tests/support/shardsched/engine/engine_rig.h"

enum {
	NODES = 6,
	NAMES = 10,
	HELD = 6,
	EPISODES = 50,
	CALM = 60,
	STEPS = 120,
	TEXT = 4096
};
enum { BESIDE, WITHIN, ENGINES };

static struct engine_rig rigs[ENGINES];
static struct pl_rng rng;
static struct pod held[HELD][ENGINES]; /* pods that were read some time ago */
static bool calm;                      /* no new selector asks for labels of replicas */
static char text[TEXT];
static size_t len;

struct counts {
	unsigned placed, none, preempted, fewer, joins;
};
static struct counts counts;

static unsigned below(unsigned bound)
{
	return (unsigned)pl_rng_below(&rng, bound);
}

static bool one_in(unsigned of)
{
	return below(of) == 0;
}

__attribute__((format(printf, 1, 2))) static void add(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it was begun above */
	len += (size_t)vsnprintf(text + len, TEXT - len, format, args);
	va_end(args);
	T_TRUE(len < TEXT);
}

/* -- objects, at random ------------------------------------------------------------------ */

static const char *const keys[] = {"statefulset.kubernetes.io/pod-name",
                                   "apps.kubernetes.io/pod-index",
                                   "batch.kubernetes.io/job-completion-index", "set"};
enum { POD_NAME, POD_INDEX, JOB_INDEX, SET, KEYS };

static void add_value(unsigned key)
{
	if (key == POD_NAME)
		add("\"p-%u\"", below(NAMES));
	else if (key == SET)
		add("\"%s\"", one_in(2) ? "db" : "mq");
	else
		add("\"%u\"", below(4));
}

static void add_row(void)
{
	static const char *const ops[] = {"In", "NotIn", "Exists", "DoesNotExist"};
	unsigned key = calm ? SET : below(KEYS), op = below(one_in(6) ? 4 : 2);

	add("{\"key\":\"%s\",\"operator\":\"%s\"", keys[key], ops[op]);
	if (op < 2) {
		add(",\"values\":[");
		add_value(key);
		if (one_in(3)) {
			add(",");
			add_value(key);
		}
		add("]");
	}
	add("}");
}

static void add_selector(void)
{
	add("{\"matchExpressions\":[");
	add_row();
	if (one_in(3)) {
		add(",");
		add_row();
	}
	add("]}");
}

static void add_topology(void)
{
	add("\"topologyKey\":\"%s\"", one_in(2) ? "zone" : "kubernetes.io/hostname");
}

static void add_term(void)
{
	add("{\"labelSelector\":");
	add_selector();
	add(",");
	add_topology();
	if (one_in(4))
		add(",\"namespaceSelector\":{}");
	add("}");
}

static void add_affinity(void)
{
	const char *kind = one_in(3) ? "podAffinity" : "podAntiAffinity";

	add(",\"affinity\":{\"%s\":{", kind);
	if (one_in(2)) {
		add("\"requiredDuringSchedulingIgnoredDuringExecution\":[");
		add_term();
	} else {
		add("\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":7,"
		    "\"podAffinityTerm\":");
		add_term();
		add("}");
	}
	add("]}}");
}

static void add_spread(void)
{
	add(",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"whenUnsatisfiable\":\"%s\","
	    "\"labelSelector\":",
	    one_in(2) ? "DoNotSchedule" : "ScheduleAnyway");
	add_selector();
	if (one_in(3))
		add(",\"matchLabelKeys\":[\"%s\"]", keys[calm ? SET : below(KEYS)]);
	add(",");
	add_topology();
	add("}]");
}

/* Labels as controllers set them, and sometimes as no controller does. */
static void add_labels(unsigned name)
{
	unsigned kind = below(8);

	add("\"labels\":{");
	if (!one_in(5))
		add("\"set\":\"%s\",", name % 2 == 0 ? "db" : "mq");
	if (kind < 4)
		add("\"%s\":\"p-%u\",", keys[POD_NAME], one_in(9) ? 0 : name);
	if (kind < 3)
		add("\"%s\":\"%u\",", keys[POD_INDEX], name / 3);
	if (kind == 4 || kind == 0)
		add("\"%s\":\"%u\",", keys[JOB_INDEX], one_in(2) ? name / 3 : 1);
	if (text[len - 1] == ',')
		len--;
	add("}");
}

static void add_space(void)
{
	add("\"namespace\":\"%s\"", one_in(4) ? "t" : "s");
}

static void make_pod(const char *where)
{
	unsigned name = below(NAMES);

	len = 0;
	add("{\"metadata\":{\"name\":\"p-%u\",\"uid\":\"u-%u\",", name, name);
	add_space();
	add(",");
	add_labels(name);
	if (one_in(8))
		add(",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"");
	add("},\"spec\":{\"priority\":%u", below(3));
	if (where[0] == 'n' && one_in(6)) {
		add(",\"containers\":[]},\"status\":{\"nominatedNodeName\":\"%s\"}}",
		    where);
		return;
	}
	if (where[0] == 'n')
		add(",\"nodeName\":\"%s\"", where);
	switch (below(4)) {
	case 0:
		add_affinity();
		break;
	case 1:
		add_spread();
		break;
	default:
		break;
	}
	add(",\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":"
	    "\"%um\"}}}]}}",
	    300 * (1 + below(3)));
}

static enum engine_kind make_object(void)
{
	unsigned n = below(3), key = calm ? SET : below(KEYS);

	len = 0;
	add("{\"metadata\":{\"name\":\"o%u\",", n);
	add_space();
	add("},\"spec\":{\"selector\":");
	if (one_in(2)) {
		add("{\"%s\":", keys[key]);
		add_value(key);
		add("}}}");
		return ENGINE_SERVICE;
	}
	add_selector();
	add("},\"status\":{\"disruptionsAllowed\":%u}}", below(2));
	return one_in(2) ? ENGINE_BUDGET : ENGINE_REPLICA_SET;
}

/* -- both of them ------------------------------------------------------------------------ */

static void put(enum engine_kind kind)
{
	for (unsigned i = 0; i < ENGINES; i++)
		rig_put(&rigs[i], kind, text);
}

static void drop(enum engine_kind kind, const char *prefix, unsigned n)
{
	const char *namespace = one_in(4) ? "t" : "s";
	char name[16];

	(void)snprintf(name, sizeof name, "%s%u", prefix, n);
	for (unsigned i = 0; i < ENGINES; i++)
		(void)rig_drop(&rigs[i], kind, namespace, name);
}

static void put_node(void)
{
	unsigned n = below(NODES);

	len = 0;
	add("{\"metadata\":{\"name\":\"n%u\",\"labels\":{\"zone\":\"z%u\","
	    "\"kubernetes.io/hostname\":\"n%u\"}},\"status\":{\"capacity\":{\"cpu\":"
	    "\"1\",\"memory\":\"8Gi\",\"pods\":\"9\"}}}",
	    n, n % 3, n);
	put(ENGINE_NODE);
}

static void read_pods(struct pod out[ENGINES])
{
	for (unsigned i = 0; i < ENGINES; i++) {
		pl_arena_reset(&rigs[i].arena);
		out[i] = rig_parse(&rigs[i], text);
	}
}

static void drop_pods(struct pod pods[ENGINES])
{
	for (unsigned i = 0; i < ENGINES; i++)
		pod_drop(engine_model(rigs[i].engine), &pods[i]);
}

static struct pl_span victim(unsigned i, const struct engine_decision *decision,
                             uint32_t n)
{
	const struct snapshot *snapshot = engine_snapshot(rigs[i].engine);
	uint32_t number = decision->preempt.victim[n];

	return model_text(snapshot->model, snapshot->placed[number].name);
}

static void compare_preemption(const struct engine_decision decisions[ENGINES])
{
	const struct preempt_outcome *a = &decisions[BESIDE].preempt,
				     *b = &decisions[WITHIN].preempt;

	T_EQ(a->code, b->code);
	if (a->code != VERDICT_SUCCESS) { /* both wait for the same */
		T_EQ(a->refused_by | decisions[BESIDE].outcome.refused_by,
		     b->refused_by | decisions[WITHIN].outcome.refused_by);
		return;
	}
	counts.preempted++;
	T_EQ(a->node, b->node);
	T_EQ(a->violations, b->violations);
	T_EQ(a->victims, b->victims);
	for (uint32_t n = 0; n < a->victims; n++)
		T_SPAN(victim(BESIDE, &decisions[BESIDE], n),
		       victim(WITHIN, &decisions[WITHIN], n));
}

static void compare(const struct engine_decision decisions[ENGINES])
{
	const struct cycle_outcome *a = &decisions[BESIDE].outcome,
				   *b = &decisions[WITHIN].outcome;

	T_EQ(a->result, b->result);
	T_EQ(a->pre.code, b->pre.code);
	T_EQ(a->feasible, b->feasible);
	T_EQ(a->refused_by, b->refused_by);
	T_MEM(a->refused, b->refused, sizeof a->refused);
	if (a->result == CYCLE_NODE) {
		counts.placed++;
		T_EQ(a->node, b->node);
		T_EQ(a->total, b->total);
		T_EQ(a->best, b->best);
	} else {
		counts.none++;
	}
	T_EQ(decisions[BESIDE].tried_preemption, decisions[WITHIN].tried_preemption);
	if (decisions[BESIDE].tried_preemption && a->result == CYCLE_NONE)
		compare_preemption(decisions);
}

static void decide(const struct pod pods[ENGINES], bool assume)
{
	uint64_t draw = pl_rng_next(&rng);
	struct engine_decision decisions[ENGINES];
	uint32_t identity = rigs[BESIDE].engine->identity_pods;

	for (unsigned i = 0; i < ENGINES; i++)
		T_OK(engine_decide_with(rigs[i].engine, &pods[i], draw, &decisions[i],
		                        &rigs[i].err),
		     &rigs[i].err);
	compare(decisions);
	counts.joins += identity - rigs[BESIDE].engine->identity_pods;
	for (unsigned i = 0; assume && i < ENGINES; i++)
		if (decisions[i].outcome.result == CYCLE_NODE)
			(void)!engine_assume(rigs[i].engine, &pods[i],
			                     decisions[i].outcome.node, NULL,
			                     &rigs[i].err);
}

/* A pod that was read a while ago. */
static void decide_held(void)
{
	unsigned n = below(HELD);

	if (held[n][0].spec != NULL)
		decide(held[n], one_in(2));
	drop_pods(held[n]);
	make_pod("");
	read_pods(held[n]);
}

static void decide_new(void)
{
	struct pod pods[ENGINES];

	make_pod("");
	read_pods(pods);
	decide(pods, one_in(2));
	drop_pods(pods);
}

static void step(void)
{
	char where[16];

	switch (below(12)) {
	case 0:
		put_node();
		break;
	case 1:
		if (one_in(4))
			drop(ENGINE_NODE, "n", below(NODES));
		break;
	case 2:
		put(make_object());
		break;
	case 3:
		drop(one_in(2)   ? ENGINE_SERVICE
		     : one_in(2) ? ENGINE_BUDGET
		                 : ENGINE_REPLICA_SET,
		     "o", below(3));
		break;
	case 4:
	case 5:
		drop(ENGINE_POD, "p-", below(NAMES));
		break;
	case 6:
	case 7:
		(void)snprintf(where, sizeof where, "n%u", below(NODES));
		make_pod(where);
		put(ENGINE_POD);
		break;
	case 8:
		decide_held();
		break;
	default:
		decide_new();
		break;
	}
}

/* A budget in a namespace without pods asks for all labels. */
static void ask_for_all(struct engine_rig *rig)
{
	for (unsigned key = 0; key < SET; key++) {
		len = 0;
		add("{\"metadata\":{\"name\":\"all-%u\",\"namespace\":\"none\"},\"spec\":{"
		    "\"selector\":{\"matchExpressions\":[{\"key\":\"%s\",\"operator\":"
		    "\"Exists\"}]}}}",
		    key, keys[key]);
		rig_put(rig, ENGINE_BUDGET, text);
	}
}

static void count_classes(void)
{
	const struct intern *few =
		&engine_model(rigs[BESIDE].engine)->intern[MODEL_SPECS];
	const struct intern *many =
		&engine_model(rigs[WITHIN].engine)->intern[MODEL_SPECS];

	T_TRUE(rigs[WITHIN].engine->identity_pods == 0);
	counts.fewer += few->count < many->count;
}

/* Selectors are kept for a while after their last user, so each episode starts with new
 * engines. */
static void episode(void)
{
	for (unsigned i = 0; i < ENGINES; i++)
		rig_open(&rigs[i], &(struct engine_opts){.seed = 1});
	ask_for_all(&rigs[WITHIN]);
	for (unsigned i = 0; i < STEPS; i++) {
		calm = i < CALM;
		step();
		count_classes();
		if (i % 16 == 0)
			snapshot_check(engine_snapshot(rigs[BESIDE].engine));
	}
	for (unsigned n = 0; n < HELD; n++)
		drop_pods(held[n]);
	for (unsigned i = 0; i < ENGINES; i++)
		rig_close(&rigs[i]);
}

T_CASE_SECONDS(verdicts_equal_those_with_all_labels_in_the_class, 60)
{
	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < EPISODES; i++)
		episode();
	T_REACHED(counts.placed > 200 && counts.none > 200);
	T_REACHED(counts.preempted > 20);
	T_REACHED(counts.fewer > 1000);
	T_REACHED(counts.joins > 100);
}
