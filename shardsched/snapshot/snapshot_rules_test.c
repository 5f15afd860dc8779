/*
 * Random histories with rules: nodes change domains under their pods, columns grow, pods
 * are lifted and restored, namespaces get other labels, and rules come into use and go.
 * snapshot_check counts everything from scratch.
 */
#include "store/base/rng.h"
#include "tests/support/shardsched/snapshot/snapshot_rig.h"

enum {
	NODES = 1300, /* the columns grow twice */
	PODS = 1500,
	KINDS = 30,
	LOOKS = 400,
	OPEN = 12,
	STEPS = 40000,
};

struct place {
	bool there;
	uint32_t name, slot;
	unsigned pods;
};

struct one_pod {
	bool there, lifted;
	unsigned node;
	uint32_t placed;
};

/* The views that are open for a class of one kind. */
struct opened {
	bool there;
	struct spec_view *view;
	struct matcher *matcher;
	struct tally *tally;
};

static struct {
	struct pl_rng rng;
	struct pod kind[KINDS];
	struct node look[LOOKS];
	struct place node[NODES];
	struct one_pod pod[PODS];
	struct opened open[OPEN];
	unsigned nodes_most;
} w;

static unsigned any(unsigned below)
{
	return (unsigned)pl_rng_below(&w.rng, below);
}

static bool chance(unsigned percent)
{
	return any(100) < percent;
}

/* -- objects ----------------------------------------------------------------------- */

static const char *const keys[3] = {"zone", "rack", "host"};
static char text[4096];

#define ADD(...) snprintf(text + strlen(text), sizeof text - strlen(text), __VA_ARGS__)

static void add_term(void)
{
	static const char *const namespaces[4] = {
		"", "'namespaces':['x','y'],", "'namespaceSelector':{},",
		"'namespaceSelector':{'matchLabels':{'team':'red'}},"};

	ADD("{%s'labelSelector':{'matchLabels':{'app':'a%u'}},'topologyKey':'%s'}",
	    namespaces[any(4)], any(4), keys[any(3)]);
}

static void add_rules(const char *name)
{
	ADD("'%s':{'requiredDuringSchedulingIgnoredDuringExecution':[", name);
	if (chance(50))
		add_term();
	ADD("],'preferredDuringSchedulingIgnoredDuringExecution':[");
	if (chance(30)) {
		ADD("{'weight':%u,'podAffinityTerm':", 1 + any(3));
		add_term();
		ADD("}");
	}
	ADD("]}");
}

static struct pod make_kind(void)
{
	text[0] = '\0';
	ADD("{'metadata':{'name':'p','namespace':'%c','labels':{'app':'a%u'}},'spec':{"
	    "'affinity':{",
	    "xyz"[any(3)], any(4));
	add_rules("podAffinity");
	ADD(",");
	add_rules("podAntiAffinity");
	ADD("},'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'%s',"
	    "'whenUnsatisfiable':'DoNotSchedule','labelSelector':{'matchLabels':{'app':"
	    "'a%u'}}}],'containers':[{'name':'c','image':'i'}]}}",
	    keys[any(3)], any(4));
	return pod_from(text);
}

static struct node make_look(void)
{
	static const unsigned values[3] = {3, 8, 300};

	text[0] = '\0';
	ADD("{'metadata':{'name':'n','labels':{'other':'1'");
	for (unsigned i = 0; i < 3; i++)
		if (chance(85))
			ADD(",'%s':'v%u'", keys[i], any(values[i]));
	ADD("}}}");
	return node_from(text);
}

static void set_up(void)
{
	pl_rng_init(&w.rng, t_seed());
	for (unsigned i = 0; i < KINDS; i++)
		w.kind[i] = make_kind();
	for (unsigned i = 0; i < LOOKS; i++)
		w.look[i] = make_look();
	for (unsigned i = 0; i < NODES; i++) {
		char name[16];

		snprintf(name, sizeof name, "n%u", i);
		T_OK(strings_add(&model.strings, pl_span_str(name), &w.node[i].name),
		     NULL);
	}
}

/* -- steps ------------------------------------------------------------------------- */

static void come_or_change(struct place *node)
{
	struct node object = w.look[any(LOOKS)];

	object.name = node->name;
	if (node->there)
		T_OK(snapshot_node_change(&snapshot, node->slot, &object, &err), &err);
	else
		T_OK(snapshot_node_add(&snapshot, 0, &object, &node->slot, &err), &err);
	node->there = true;
}

static void step_node(void)
{
	struct place *node = &w.node[any(w.nodes_most)];

	if (!node->there || node->pods > 0 || chance(50)) {
		come_or_change(node);
		return;
	}
	snapshot_node_remove(&snapshot, node->slot);
	node->there = false;
}

static void put(struct one_pod *pod, unsigned at)
{
	struct pod_on_node there = on_node(&w.kind[any(KINDS)]);

	there.flags = chance(10) ? PLACED_TERMINATING : 0;
	T_OK(snapshot_pod_add(&snapshot, w.node[at].slot, &there, &pod->placed, &err),
	     &err);
	pod->there = true;
	pod->node = at;
	w.node[at].pods++;
}

static void take_away(struct one_pod *pod)
{
	snapshot_pod_remove(&snapshot, pod->placed);
	pod->there = false;
	w.node[pod->node].pods--;
}

static void step_pod(void)
{
	struct one_pod *pod = &w.pod[any(PODS)];
	unsigned at = any(w.nodes_most);

	if (pod->there && chance(30))
		snapshot_pod_terminate(&snapshot, pod->placed);
	else if (pod->there)
		take_away(pod);
	else if (w.node[at].there)
		put(pod, at);
}

static void step_probe(void)
{
	struct one_pod *lifted[8], *added = NULL;
	unsigned count = 0, at = any(w.nodes_most);

	snapshot_probe(&snapshot);
	for (unsigned i = 0; i < 40 && count < 8; i++) {
		struct one_pod *pod = &w.pod[any(PODS)];

		if (pod->lifted || (!pod->there && (added != NULL || !w.node[at].there)))
			continue;
		if (!pod->there) {
			added = pod;
			put(pod, at);
		} else if (pod != added) {
			snapshot_pod_lift(&snapshot, pod->placed);
			pod->lifted = true;
			lifted[count++] = pod;
		}
	}
	if (chance(5))
		snapshot_check(&snapshot);
	if (added != NULL)
		take_away(added);
	while (count > 0) {
		snapshot_pod_restore(&snapshot, lifted[--count]->placed);
		lifted[count]->lifted = false;
	}
	snapshot_probe_end(&snapshot);
}

static void close_one(struct opened *open)
{
	tally_close(&snapshot, open->tally);
	matcher_close(&snapshot, open->matcher);
	view_close(&snapshot, open->view);
	*open = (struct opened){0};
}

static void step_open(void)
{
	struct opened *open = &w.open[any(OPEN)];
	const struct spec *spec = w.kind[any(KINDS)].spec;
	const struct spec_term *term = spec_anti_affinity(spec);
	const struct spec_spread *spread = spec_spreads(spec);
	uint32_t key = spread->topology_key;

	if (open->there) {
		close_one(open);
		return;
	}
	T_OK(view_open(&snapshot, spec, &open->view, &err), &err);
	if (spec->template->anti_affinity.count > 0 && chance(50)) {
		key = term->term->topology_key;
		T_OK(matcher_open_terms(&snapshot, &term->term, 1, &open->matcher, &err),
		     &err);
	} else {
		T_OK(matcher_open_spread(&snapshot, spec->namespace, spread->selector,
		                         &open->matcher, &err),
		     &err);
	}
	T_OK(tally_open(&snapshot, open->matcher, key, &open->tally, &err), &err);
	open->there = true;
}

static void step_namespace(void)
{
	struct parse parse = {.model = &model, .arena = &arena};
	struct namespace namespace;
	char name[2] = {"xyz"[any(3)], '\0'};

	if (chance(30)) {
		T_OK(snapshot_namespace_drop(&snapshot, id(name), &err), &err);
		return;
	}
	text[0] = '\0';
	ADD("{\"metadata\":{\"name\":\"%s\",\"labels\":{\"team\":\"%s\"}}}", name,
	    chance(50) ? "red" : "blue");
	T_OK(namespace_parse(&parse, pl_span_str(text), &namespace, &err), &err);
	pl_arena_reset(&arena);
	T_OK(snapshot_namespace_put(&snapshot, &namespace, &err), &err);
}

static void step(void)
{
	unsigned what = any(1000);

	if (what < 250)
		step_node();
	else if (what < 900)
		step_pod();
	else if (what < 960)
		step_probe();
	else if (what < 980)
		step_open();
	else if (what < 985)
		step_namespace();
}

static void run(unsigned steps, unsigned nodes)
{
	w.nodes_most = nodes;
	for (unsigned i = 0; i < steps; i++) {
		step();
		if (i % 250 == 0)
			snapshot_check(&snapshot);
	}
	snapshot_check(&snapshot);
}

static void tear_down(void)
{
	for (unsigned i = 0; i < OPEN; i++)
		if (w.open[i].there)
			close_one(&w.open[i]);
	for (unsigned i = 0; i < KINDS; i++)
		pod_drop(&model, &w.kind[i]);
	for (unsigned i = 0; i < LOOKS; i++)
		node_drop(&model, &w.look[i]);
	for (unsigned i = 0; i < NODES; i++)
		strings_unref(&model.strings, w.node[i].name);
}

T_CASE_SECONDS(rules_are_counted_right, 60)
{
	begin();
	set_up();
	run(STEPS / 2, 40);
	for (unsigned i = 0; i < NODES; i++)
		if (!w.node[i].there)
			come_or_change(&w.node[i]);
	T_TRUE(snapshot.capacity >= NODES);
	run(STEPS / 2, NODES);
	tear_down();
	end();
}
