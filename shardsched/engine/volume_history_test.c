/*
 * Claims, volumes and what they depend on change at random, and pods reserve volumes and
 * give them back. Three engines see the same: one caches results by class, one does not,
 * and in the third no claim is named after its pod. They must decide alike.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "shardsched/framework/binding.h"
#include "shardsched/snapshot/assumed.h"
#include "store/base/rng.h"
#include "tests/support/shardsched/engine/engine_rig.h"

enum {
	NODES = 70,
	VOLUMES = 16,
	CLAIMS = 10,
	PODS = 40,
	KINDS = 16,
	STEPS = 12000,
	HISTORIES = 5
};
enum { ENGINES = 3, RENAMED = 2, BINDINGS = 4, MOOD = 60 };

static struct engine_rig rigs[ENGINES];
static struct pl_rng rng;
static unsigned decided, given, reserved, owners;

static unsigned pick(unsigned below)
{
	return (unsigned)pl_rng_below(&rng, below);
}

/* With quotes written as ' */
__attribute__((format(printf, 1, 2))) static const char *json(const char *format, ...)
{
	static char text[RIG_JSON_SIZE];
	va_list args;

	va_start(args, format);
	T_TRUE((size_t)vsnprintf(text, sizeof text, format, args) < sizeof text);
	va_end(args);
	for (char *at = text; *at != '\0'; at++)
		if (*at == '\'')
			*at = '"';
	return text;
}

/* The text as that engine sees it: "c-b1", which is named after the pod b1, or "c.b1". */
static const char *seen_by(unsigned engine, const char *text)
{
	static char seen[RIG_JSON_SIZE];

	if (engine != RENAMED)
		return text;
	(void)snprintf(seen, sizeof seen, "%s", text);
	for (char *at = strstr(seen, "c-"); at != NULL; at = strstr(at, "c-"))
		at[1] = '.';
	return seen;
}

static void put(enum engine_kind kind, const char *text)
{
	for (unsigned i = 0; i < ENGINES; i++)
		rig_put(&rigs[i], kind, seen_by(i, text));
}

static void drop_named(enum engine_kind kind, const char *namespace, const char *name)
{
	for (unsigned i = 0; i < ENGINES; i++)
		if (rig_drop(&rigs[i], kind, namespace, seen_by(i, name)) != PL_OK)
			T_EQ(rigs[i].err.code, PL_NOTFOUND);
}

static void drop(enum engine_kind kind, const char *namespace, const char *prefix,
                 unsigned n)
{
	char name[16];

	(void)snprintf(name, sizeof name, "%s%u", prefix, n);
	drop_named(kind, namespace, name);
}

/* The claim of a pod that is to be bound, or is. */
static const char *claim_name(unsigned n)
{
	static char name[2][16];
	static unsigned at;
	char *out = name[at++ % 2];

	(void)snprintf(out, 16, "c-%c%u", n < BINDINGS ? 'b' : 'q', n);
	return out;
}

/* -- what happens ------------------------------------------------------------------------ */

static void change_node(unsigned n)
{
	put(ENGINE_NODE,
	    json("{'metadata':{'name':'n%u','labels':{'kubernetes.io/hostname':'n%u',"
	         "'topology.kubernetes.io/zone':'z%u'}},'status':{'capacity':{'cpu':'9',"
	         "'memory':'9Gi','pods':'99'}}}",
	         n, n, pick(3)));
}

static void change_volume(unsigned n)
{
	static const char *const reach[] = {"", "'kubernetes.io/hostname'",
	                                    "'topology.kubernetes.io/zone'"};
	unsigned by = pick(3);

	if (pick(4) == 0) {
		drop(ENGINE_VOLUME, "", "v", n);
		return;
	}
	put(ENGINE_VOLUME,
	    json("{'metadata':{'name':'v%u','labels':{'topology.kubernetes.io/zone':'z%u'}},"
	         "'spec':{'csi':{'driver':'d','volumeHandle':'h%u'},'storageClassName':'c%u',"
	         "'accessModes':['ReadWriteOnce','ReadWriteOncePod'],'capacity':{'storage':"
	         "'%u'}%s%s%s%s%s},'status':{'phase':'Available'}}",
	         n, pick(3), n, pick(2), 1 + pick(4),
	         by == 0 ? ""
	                 : ",'nodeAffinity':{'required':{'nodeSelectorTerms':[{"
	                   "'matchExpressions':[{'key':",
	         reach[by], by == 0 ? "" : ",'operator':'In','values':[",
	         by == 1 ? "'n1','n2','n69'" : (by == 2 ? "'z1'" : ""),
	         by == 0 ? "" : "]}]}]}}"));
}

static void change_claim(unsigned n)
{
	unsigned sort = pick(6);

	if (sort == 0) {
		drop_named(ENGINE_CLAIM, "s", claim_name(n));
		return;
	}
	put(ENGINE_CLAIM,
	    json("{'metadata':{'namespace':'s','name':'%s','uid':'u%u','annotations':{%s}},"
	         "'spec':{'storageClassName':'c%u','accessModes':['%s'],'resources':{"
	         "'requests':{'storage':'%u'}}%s%u%s}}",
	         claim_name(n), n,
	         sort == 1 ? "'pv.kubernetes.io/bind-completed':'yes'" : "", n % 2,
	         n < 4 ? "ReadWriteOncePod" : "ReadWriteOnce", 1 + pick(3),
	         sort == 1 ? ",'volumeName':'v" : ",'x':'", pick(VOLUMES), "'"));
}

static void change_class(unsigned n)
{
	put(ENGINE_STORAGE_CLASS,
	    json("{'metadata':{'name':'c%u'},'provisioner':'%s','volumeBindingMode':"
	         "'WaitForFirstConsumer'%s}",
	         n, n == 0 ? "kubernetes.io/no-provisioner" : "d",
	         pick(2) == 0
	                 ? ""
	                 : ",'allowedTopologies':[{'matchLabelExpressions':[{'key':"
	                   "'topology.kubernetes.io/zone','values':['z1','z2']}]}]"));
}

static void change_csi(unsigned sort, unsigned n)
{
	switch (sort) {
	case 0:
		put(ENGINE_CSI_NODE,
		    json("{'metadata':{'name':'n%u'},'spec':{'drivers':[{'name':'d',"
		         "'allocatable':{'count':%u}}]}}",
		         n, pick(3)));
		break;
	case 1:
		put(ENGINE_CSI_DRIVER,
		    json("{'metadata':{'name':'d'},'spec':{'storageCapacity':%s}}",
		         pick(2) == 0 ? "true" : "false"));
		break;
	default:
		put(ENGINE_CSI_CAPACITY,
		    json("{'metadata':{'namespace':'s','name':'k%u'},'storageClassName':"
		         "'c1','capacity':'%u','nodeTopology':{'matchLabels':{"
		         "'topology.kubernetes.io/zone':'z%u'}}}",
		         pick(4), pick(4), pick(3)));
	}
}

/* Pods of a kind differ only in their claim, when each has a claim of its own. */
static const char *pod_json(const char *prefix, unsigned name, unsigned kind,
                            const char *node)
{
	char own[16], disk[16];

	(void)snprintf(own, sizeof own, "c-%s%u", prefix, name);
	(void)snprintf(disk, sizeof disk, "d%u", kind % 7);
	return json("{'metadata':{'namespace':'s','name':'%s%u','uid':'%s%u'},'spec':{%s"
	            "'containers':[{'name':'c'}],'volumes':[{'name':'x',"
	            "'persistentVolumeClaim':{'claimName':'%s'}},{'name':'y',%s%s'}}]}}",
	            prefix, name, prefix, name, node,
	            kind % 2 == 0 ? own : claim_name(kind % CLAIMS),
	            kind % 3 == 0 ? "'awsElasticBlockStore':{'volumeID':'"
	                          : "'persistentVolumeClaim':{'claimName':'",
	            kind % 3 == 0 ? disk : claim_name(kind % 7));
}

static void change_pod(unsigned n)
{
	char node[32];

	if (pick(2) == 0) {
		drop(ENGINE_POD, "s", "q", n);
		return;
	}
	(void)snprintf(node, sizeof node, "'nodeName':'n%u',", pick(NODES / 4));
	put(ENGINE_POD, pod_json("q", n, n % KINDS, node));
}

/* -- what is decided --------------------------------------------------------------------- */

struct answer {
	struct cycle_outcome outcome;
	struct pod pod;
};

static void decide(const char *text, struct answer *out)
{
	for (unsigned i = 0; i < ENGINES; i++) {
		struct engine_decision decision;

		out[i].pod = rig_parse(&rigs[i], seen_by(i, text));
		owners += (out[i].pod.spec->flags & SPEC_BY_NAME) != 0;
		T_OK(engine_decide(rigs[i].engine, &out[i].pod, &decision, &rigs[i].err),
		     &rigs[i].err);
		out[i].outcome = decision.outcome;
	}
}

static const char *sentence(unsigned engine, const struct cycle_outcome *outcome)
{
	static char text[ENGINES][256];
	struct pl_buf out = {.max = 256};

	T_OK(reason_print(&engine_model(rigs[engine].engine)->strings,
	                  &outcome->pre.reason[0], &out),
	     NULL);
	(void)snprintf(text[engine], 256, "%.*s", PL_SPAN_ARG(pl_buf_span(&out)));
	pl_buf_done(&out);
	return text[engine];
}

static void compare_two(unsigned engine, const struct cycle_outcome *a,
                        const struct cycle_outcome *b)
{
	T_EQ(a->result, b->result);
	T_EQ(a->node, b->node);
	T_EQ(a->feasible, b->feasible);
	T_EQ(a->refused_by, b->refused_by);
	T_EQ(a->pre.code, b->pre.code);
	T_EQ(memcmp(a->refused, b->refused, sizeof a->refused), 0);
	if (a->result != CYCLE_NONE)
		T_EQ(a->total, b->total);
	T_EQ(a->pre.count, b->pre.count);
	if (a->pre.count > 0)
		T_STR(seen_by(engine, sentence(0, a)), sentence(engine, b));
}

static void compare(const struct answer *answer)
{
	for (unsigned i = 1; i < ENGINES; i++)
		compare_two(i, &answer[0].outcome, &answer[i].outcome);
	decided++;
	given += answer[0].outcome.result == CYCLE_NODE;
}

struct bound {
	bool is;
	struct fw_class *class[ENGINES];
	struct binding binding[ENGINES];
};

static struct bound bound[BINDINGS];

static void end_binding(unsigned n)
{
	for (unsigned i = 0; i < ENGINES; i++) {
		(void)binding_cancel(&bound[n].binding[i]);
		T_EQ(bound[n].binding[i].state, BINDING_UNDONE);
		engine_release(rigs[i].engine, bound[n].class[i]);
	}
	drop(ENGINE_POD, "s", "b", n);
	bound[n].is = false;
}

static void start_binding(unsigned n, const struct answer *answer)
{
	for (unsigned i = 0; i < ENGINES; i++) {
		const struct pod *pod = &answer[i].pod;
		struct pod_self self = {
			.name = pod->name, .uid = pod->uid, .nominated = SNAPSHOT_NONE};
		struct engine *engine = rigs[i].engine;

		T_OK(engine_assume(engine, pod, answer[i].outcome.node, NULL,
		                   &rigs[i].err),
		     &rigs[i].err);
		T_OK(engine_class(engine, pod->spec, &bound[n].class[i], &rigs[i].err),
		     &rigs[i].err);
		T_EQ(binding_start(&bound[n].binding[i], engine_cycle(engine),
		                   bound[n].class[i], &self, answer[i].outcome.node, 0),
		     BINDING_ALLOWED);
		reserved += assumed_get(&engine_snapshot(engine)->catalog,
		                        (struct assumed_pod){pod->spec->namespace,
		                                             pod->name, pod->uid},
		                        0) != NULL;
	}
	bound[n].is = true;
}

static void decide_one(void)
{
	unsigned n = pick(BINDINGS);
	struct answer answer[ENGINES];

	if (bound[n].is) {
		end_binding(n);
		return;
	}
	decide(pod_json("b", n, pick(KINDS), ""), answer);
	compare(answer);
	if (answer[0].outcome.result == CYCLE_NODE && pick(2) == 0)
		start_binding(n, answer);
	for (unsigned i = 0; i < ENGINES; i++) {
		pod_drop(engine_model(rigs[i].engine), &answer[i].pod);
		pl_arena_reset(&rigs[i].arena);
	}
}

/* One kind of change at a time, so that no change hides that another one was missed. */
static void step(unsigned mood)
{
	if (pick(3) > 0) {
		decide_one();
		return;
	}
	switch (mood) {
	case 0:
		change_node(pick(NODES));
		break;
	case 1:
		change_volume(pick(VOLUMES));
		break;
	case 2:
		change_claim(pick(CLAIMS));
		break;
	case 3:
		change_class(pick(2));
		break;
	case 4:
	case 5:
	case 6:
		change_csi(mood - 4, pick(NODES / 4));
		break;
	case 7:
		change_pod(pick(PODS));
		break;
	default: /* bindings change enough */
		decide_one();
	}
}

static void fill(void)
{
	for (unsigned i = 0; i < 2; i++)
		change_class(i);
	for (unsigned i = 0; i < NODES; i++)
		change_node(i);
	for (unsigned i = 0; i < VOLUMES; i++)
		change_volume(i);
	for (unsigned i = 0; i < CLAIMS; i++)
		change_claim(i);
}

static void live(void)
{
	for (unsigned i = 0; i < ENGINES; i++)
		rig_open(&rigs[i], &(struct engine_opts){.no_cache = i == 1});
	fill();
	for (unsigned i = 0, mood = 0; i < STEPS; i++) {
		mood = i % MOOD == 0 ? pick(9) : mood;
		step(mood);
	}
	for (unsigned i = 0; i < BINDINGS; i++)
		if (bound[i].is)
			end_binding(i);
	for (unsigned i = 0; i < ENGINES; i++) {
		catalog_check(&engine_snapshot(rigs[i].engine)->catalog);
		rig_close(&rigs[i]);
	}
}

T_CASE_SECONDS(cached_results_of_pods_with_volumes_are_true, 120)
{
	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < HISTORIES; i++)
		live();
	T_REACHED(decided > STEPS);
	T_REACHED(given > decided / 20 && given < decided);
	T_REACHED(reserved > 100);
	T_REACHED(owners > decided / 2);
}

T_CASE(claim_in_use_refuses_unchanged_nodes)
{
	struct answer answer[ENGINES];

	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < ENGINES; i++)
		rig_open(&rigs[i], &(struct engine_opts){.no_cache = i == 1});
	for (unsigned i = 0; i < NODES; i++)
		change_node(i);
	put(ENGINE_VOLUME, json("{'metadata':{'name':'v'}}"));
	put(ENGINE_CLAIM,
	    json("{'metadata':{'namespace':'s','name':'c-b0','annotations':{"
	         "'pv.kubernetes.io/bind-completed':'yes'}},'spec':{'volumeName':'v',"
	         "'accessModes':['ReadWriteOncePod']}}"));
	for (unsigned used = 0; used < 2; used++) {
		decide(pod_json("b", 0, 14, ""), answer);
		compare(answer);
		T_EQ(answer[0].outcome.feasible, used == 0 ? NODES : 0);
		for (unsigned i = 0; i < ENGINES; i++)
			pod_drop(engine_model(rigs[i].engine), &answer[i].pod);
		put(ENGINE_POD, pod_json("q", 0, 14, "'nodeName':'n1',"));
	}
	for (unsigned i = 0; i < ENGINES; i++)
		rig_close(&rigs[i]);
}
