#include "shardsched/snapshot/view.h"
#include "store/base/fault.h"
#include "tests/support/shardsched/snapshot/snapshot_rig.h"

#define POD_OF(app, rest)                                                      \
	"{'metadata':{'name':'p','namespace':'n','labels':{'app':'" app "'}}," \
	"'spec':{'containers':[{'name':'c'}]" rest "}}"
#define TERM(app, key)                                                     \
	"{'labelSelector':{'matchLabels':{'app':'" app "'}},'topologyKey'" \
	":'" key "'}"
#define ANTI(term)                                                                \
	",'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringE" \
	"xecution':[" term "]}}"

static struct tally *tally_of(const struct pod *pod, struct matcher **matcher)
{
	const struct pod_term *term = spec_anti_affinity(pod->spec)[0].term;
	struct tally *tally;

	T_OK(matcher_open_terms(&snapshot, &term, 1, matcher, &err), &err);
	T_OK(tally_open(&snapshot, *matcher, term->topology_key, &tally, &err), &err);
	return tally;
}

static uint32_t in_value(const struct tally *tally, const char *value)
{
	return tally->in_domain[label_column_find(tally->column, id(value))];
}

T_CASE(pods_are_counted_by_node_and_domain)
{
	struct matcher *matcher;
	struct tally *tally;
	struct pod asks;
	uint32_t a, b, c, first, second;

	begin();
	a = put_node("{'metadata':{'name':'a','labels':{'zone':'1'}}}");
	b = put_node("{'metadata':{'name':'b','labels':{'zone':'1'}}}");
	c = put_node("{'metadata':{'name':'c'}}");
	first = put_pod(a, POD_OF("x", ""));
	asks = pod_from(POD_OF("x", ANTI(TERM("x", "zone"))));
	tally = tally_of(&asks, &matcher);
	T_EQ(matcher->pods, 1);
	T_TRUE(matcher->on_node == NULL);
	second = put_pod(b, POD_OF("x", ""));
	(void)put_pod(c, POD_OF("x", ""));
	(void)put_pod(c, POD_OF("y", ""));
	T_EQ(in_value(tally, "1"), 2);
	T_EQ(tally->others, 1);
	T_EQ(tally_inside(tally), 2);
	tally_refresh(&snapshot, tally);
	T_EQ(tally_nodes(tally)[0], 3);
	snapshot_pod_remove(&snapshot, first);
	T_TRUE(tally_nodes(tally) != NULL);
	snapshot_probe(&snapshot);
	snapshot_pod_lift(&snapshot, second);
	T_TRUE(tally_nodes(tally) == NULL);
	snapshot_pod_restore(&snapshot, second);
	T_EQ(tally_nodes(tally)[0], 3);
	snapshot_probe_end(&snapshot);
	snapshot_pod_remove(&snapshot, second);
	T_TRUE(tally_nodes(tally) == NULL);
	change_node(c, "{'metadata':{'name':'c','labels':{'zone':'2'}}}");
	T_EQ(in_value(tally, "2"), 1);
	T_EQ(tally->others, 0);
	tally_refresh(&snapshot, tally);
	T_EQ(tally_nodes(tally)[0], 4);
	tally_close(&snapshot, tally);
	matcher_close(&snapshot, matcher);
	pod_drop(&model, &asks);
	snapshot_check(&snapshot);
	/* The pod still counts, and its view is found again. */
	snapshot_pod_remove(&snapshot, snapshot.row[c].first_pod);
	snapshot_pod_remove(&snapshot, snapshot.row[c].first_pod);
	end();
}

T_CASE(many_changed_domains_are_refreshed_at_once)
{
	struct matcher *matcher;
	struct tally *tally;
	struct pod asks;
	char name[128];

	begin();
	asks = pod_from(POD_OF("x", ANTI(TERM("x", "zone"))));
	for (unsigned i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof name,
		               "{'metadata':{'name':'n%u','labels':{'zone':'%u'}}}", i,
		               i % 20);
		(void)put_node(name);
	}
	tally = tally_of(&asks, &matcher);
	for (unsigned i = 0; i < 20; i++)
		if (i != 7)
			(void)put_pod(i, POD_OF("x", ""));
	T_TRUE(tally_nodes(tally) == NULL);
	tally_refresh(&snapshot, tally);
	T_EQ(tally_nodes(tally)[0],
	     UINT64_C(0xffffffffff) & ~(UINT64_C(1) << 7) & ~(UINT64_C(1) << 27));
	tally_close(&snapshot, tally);
	matcher_close(&snapshot, matcher);
	pod_drop(&model, &asks);
	for (unsigned i = 0; i < 20; i++)
		if (i != 7)
			snapshot_pod_remove(&snapshot, snapshot.row[i].first_pod);
	end();
}

T_CASE(terminating_pods_count_for_terms_and_not_for_spreading)
{
	struct pod pod;
	struct matcher *spread, *terms;
	struct tally *tally;
	uint32_t node, placed;

	begin();
	node = put_node("{'metadata':{'name':'a','labels':{'zone':'1'}}}");
	pod = pod_from(POD_OF("x", ANTI(TERM("x", "zone"))));
	tally = tally_of(&pod, &terms);
	T_OK(matcher_open_spread(&snapshot, pod.spec->namespace,
	                         spec_anti_affinity(pod.spec)[0].term->selector, &spread,
	                         &err),
	     &err);
	placed = put_pod(node, POD_OF("x", ""));
	T_EQ(spread->pods, 1);
	T_EQ(spread->on_node[node], 1);
	snapshot_pod_terminate(&snapshot, placed);
	T_EQ(spread->pods, 0);
	T_EQ(terms->pods, 1);
	snapshot_probe(&snapshot);
	snapshot_pod_lift(&snapshot, placed);
	T_EQ(terms->pods, 0);
	T_EQ(spread->pods, 0);
	snapshot_pod_restore(&snapshot, placed);
	snapshot_probe_end(&snapshot);
	T_EQ(terms->pods, 1);
	snapshot_pod_remove(&snapshot, placed);
	matcher_close(&snapshot, spread);
	matcher_close(&snapshot, terms);
	tally_close(&snapshot, tally);
	pod_drop(&model, &pod);
	end();
}

T_CASE(carried_rules_concern_the_classes_they_find)
{
	struct spec_view *x, *y;
	struct pod one, two;
	uint32_t a, placed;

	begin();
	a = put_node("{'metadata':{'name':'a','labels':{'zone':'1'}}}");
	one = pod_from(POD_OF("x", ""));
	two = pod_from(POD_OF("y", ""));
	T_OK(view_open(&snapshot, one.spec, &x, &err), &err);
	placed = put_pod(a, POD_OF("z", ANTI(TERM("x", "zone"))));
	T_OK(view_open(&snapshot, two.spec, &y, &err), &err);
	T_EQ(y->concerns_count, 0);
	T_EQ(x->concerns_count, 1);
	T_EQ(x->concerns[0]->kind, CARRIER_ANTI);
	T_EQ(x->concerns[0]->inside, 1);
	change_node(a, "{'metadata':{'name':'a'}}");
	T_EQ(x->concerns[0]->inside, 0);
	T_EQ(x->concerns[0]->pods, 1);
	snapshot_pod_remove(&snapshot, placed);
	T_EQ(x->concerns_count, 0);
	view_close(&snapshot, x);
	view_close(&snapshot, y);
	pod_drop(&model, &one);
	pod_drop(&model, &two);
	end();
}

#define BY_SPACE                                                                         \
	"{'namespaceSelector':{'matchExpressions':[{'key':'env','operator':'NotIn','val" \
	"ues':['prod']}]},'labelSelector':{},'topologyKey':'zone'}"

static struct namespace namespace_from(const char *text)
{
	struct parse parse = {.model = &model, .arena = &arena};
	struct namespace namespace;
	char room[4096];

	T_OK(namespace_parse(&parse, json_of(room, text), &namespace, &err), &err);
	pl_arena_reset(&arena);
	return namespace;
}

static void put_namespace(const char *text)
{
	struct namespace namespace = namespace_from(text);

	T_OK(snapshot_namespace_put(&snapshot, &namespace, &err), &err);
}

T_CASE(labels_of_namespaces_are_followed)
{
	struct matcher *matcher;
	struct spec_view *view;
	struct tally *tally;
	struct pod asks;
	uint32_t node;

	begin();
	node = put_node("{'metadata':{'name':'a','labels':{'zone':'1'}}}");
	(void)put_pod(node, POD_OF("x", ANTI(BY_SPACE)));
	asks = pod_from(POD_OF("x", ANTI(BY_SPACE)));
	tally = tally_of(&asks, &matcher);
	T_OK(view_open(&snapshot, asks.spec, &view, &err), &err);
	/* A namespace that is not there is not selected; but to a carried rule it is
	 * one without labels. */
	T_EQ(matcher->pods, 0);
	T_EQ(view->concerns_count, 1);
	put_namespace("{'metadata':{'name':'n'}}");
	T_EQ(matcher->pods, 1);
	T_EQ(tally_inside(tally), 1);
	put_namespace("{'metadata':{'name':'n','labels':{'env':'prod'}}}");
	T_EQ(matcher->pods, 0);
	T_EQ(view->concerns_count, 0);
	put_namespace("{'metadata':{'name':'n','labels':{'env':'test'}}}");
	T_EQ(view->concerns_count, 1);
	T_OK(snapshot_namespace_drop(&snapshot, id("n"), &err), &err);
	T_EQ(matcher->pods, 0);
	T_EQ(view->concerns_count, 1);
	view_close(&snapshot, view);
	tally_close(&snapshot, tally);
	matcher_close(&snapshot, matcher);
	pod_drop(&model, &asks);
	snapshot_pod_remove(&snapshot, snapshot.row[node].first_pod);
	end();
}

T_CASE(equal_rules_share_a_matcher_whatever_their_topology)
{
	struct matcher *first, *second;
	struct tally *one, *two;
	struct pod zone, host;

	begin();
	zone = pod_from(POD_OF("x", ANTI(TERM("x", "zone"))));
	host = pod_from(POD_OF("x", ANTI(TERM("x", "host"))));
	one = tally_of(&zone, &first);
	two = tally_of(&host, &second);
	T_TRUE(first == second);
	T_TRUE(one != two);
	tally_close(&snapshot, one);
	tally_close(&snapshot, two);
	matcher_close(&snapshot, first);
	matcher_close(&snapshot, second);
	pod_drop(&model, &zone);
	pod_drop(&model, &host);
	end();
}

T_CASE(rules_without_users_stay_in_bounds)
{
	begin();
	for (unsigned i = 0; i < 3000; i++) {
		struct matcher *matcher;
		struct tally *tally;
		struct pod pod;
		char text[1024];

		(void)snprintf(text, sizeof text,
		               POD_OF("x", ANTI("{'labelSelector':{'matchLabels':{'i':"
		                                "'%u'}},'topologyKey':'zone'}")),
		               i);
		pod = pod_from(text);
		tally = tally_of(&pod, &matcher);
		tally_close(&snapshot, tally);
		matcher_close(&snapshot, matcher);
		pod_drop(&model, &pod);
	}
	T_TRUE(model.intern[MODEL_POD_TERMS].count <= 2048);
	end();
}

/* Repeats it until it works; one allocation that fails may be one to do without. */
static void each_may_fail(enum pl_code (*run)(void *ctx), void *ctx)
{
	enum pl_code code = PL_NOMEM;
	uint64_t nth = 0;

	while (code != PL_OK) {
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, ++nth);
		code = run(ctx);
		T_TRUE(code == PL_NOMEM || code == PL_OK);
		T_TRUE(code == PL_OK || pl_fault_fired(PL_FAULT_ALLOC));
		pl_fault_reset();
		snapshot_check(&snapshot);
	}
	T_TRUE(nth > 1);
}

static enum pl_code add_node(void *ctx)
{
	uint32_t slot;

	return snapshot_node_add(&snapshot, 0, ctx, &slot, &err);
}

T_CASE(nodes_and_domains_without_memory_change_nothing)
{
	struct matcher *matcher;
	struct tally *tally;
	struct pod asks;
	char name[128];

	begin();
	asks = pod_from(POD_OF("x", ANTI(TERM("x", "host"))));
	tally = tally_of(&asks, &matcher);
	for (unsigned i = 0; i <= SNAPSHOT_PAD; i++) {
		struct node node;

		(void)snprintf(name, sizeof name,
		               "{'metadata':{'name':'n%u','labels':{'host':'n%u'}}}", i,
		               i);
		node = node_from(name);
		if (i == 0 || i == SNAPSHOT_PAD)
			each_may_fail(add_node, &node);
		else
			(void)put_node(name);
		node_drop(&model, &node);
		if (i == 0)
			(void)put_pod(0, POD_OF("x", ANTI(TERM("x", "host"))));
	}
	T_EQ(in_value(tally, "n0"), 1);
	T_EQ(tally_nodes(tally)[0], 1);
	tally_close(&snapshot, tally);
	matcher_close(&snapshot, matcher);
	pod_drop(&model, &asks);
	snapshot_pod_remove(&snapshot, snapshot.row[0].first_pod);
	end();
}

static enum pl_code settle(void *ctx)
{
	(void)ctx;
	return view_reconcile(&snapshot, &err);
}

T_CASE(namespace_labels_without_memory_are_applied_later)
{
	static const char *const app[] = {"a", "b", "c", "d", "e", "f"};
	struct matcher *matcher[6];
	struct spec_view *view;
	struct namespace namespace;
	struct pod pod;
	char text[1024];

	begin();
	(void)put_node("{'metadata':{'name':'a','labels':{'zone':'1'}}}");
	pod = pod_from(POD_OF("x", ANTI("{'labelSelector':{},'namespaceSelector':{'match"
	                                "Labels':{'env':'dev'}},'topologyKey':'zone'}")));
	for (unsigned i = 0; i < 6; i++) {
		struct pod other;

		(void)snprintf(text, sizeof text,
		               POD_OF("x", ANTI("{'labelSelector':{'matchExpressions':[{"
		                                "'key':'app','operator':'NotIn','values':"
		                                "['%s']}]},'namespaceSelector':{'matchLab"
		                                "els':{'env':'dev'}},'topologyKey':"
		                                "'zone'}")),
		               app[i]);
		other = pod_from(text);
		T_OK(matcher_open_terms(&snapshot,
		                        (const struct pod_term *const[]){
						spec_anti_affinity(other.spec)[0].term},
		                        1, &matcher[i], &err),
		     &err);
		(void)put_pod(0, text);
		pod_drop(&model, &other);
	}
	T_OK(view_open(&snapshot, pod.spec, &view, &err), &err);
	T_EQ(view->concerns_count, 0);
	namespace = namespace_from("{'metadata':{'name':'n','labels':{'env':'dev'}}}");
	T_OK(catalog_put_namespace(&snapshot.catalog, &namespace, &err), &err);
	T_TRUE(!view_is_reconciled(&snapshot));
	each_may_fail(settle, NULL);
	T_TRUE(view_is_reconciled(&snapshot));
	T_EQ(view->concerns_count, 7);
	for (unsigned i = 0; i < 6; i++) {
		T_EQ(matcher[i]->pods, 6);
		matcher_close(&snapshot, matcher[i]);
	}
	view_close(&snapshot, view);
	pod_drop(&model, &pod);
	while (snapshot.row[0].first_pod != SNAPSHOT_NONE)
		snapshot_pod_remove(&snapshot, snapshot.row[0].first_pod);
	end();
}

static enum pl_code open_all(const struct pod *pod, const struct pod_on_node *carrier)
{
	const struct pod_term *term = spec_anti_affinity(pod->spec)[0].term;
	struct matcher *matcher;
	struct spec_view *view;
	struct tally *tally;
	enum pl_code code;
	uint32_t placed;

	code = view_open(&snapshot, pod->spec, &view, &err);
	if (code != PL_OK)
		return code;
	code = matcher_open_terms(&snapshot, &term, 1, &matcher, &err);
	if (code == PL_OK) {
		code = tally_open(&snapshot, matcher, term->topology_key, &tally, &err);
		matcher_close(&snapshot, matcher);
	}
	if (code == PL_OK) {
		code = snapshot_pod_add(&snapshot, 0, carrier, &placed, &err);
		if (code == PL_OK)
			snapshot_pod_remove(&snapshot, placed);
		tally_close(&snapshot, tally);
	}
	view_close(&snapshot, view);
	return code;
}

T_CASE(each_allocation_of_an_open_may_fail)
{
	struct pod_on_node there;
	struct pod pod, other;
	enum pl_code code = PL_NOMEM;
	uint64_t nth = 0;

	begin();
	(void)put_node("{'metadata':{'name':'a','labels':{'zone':'1'}}}");
	(void)put_pod(0, POD_OF("x", ANTI(BY_SPACE)));
	pod = pod_from(POD_OF("x", ANTI(BY_SPACE)));
	other = pod_from(POD_OF("x", ANTI(TERM("x", "zone"))));
	there = on_node(&other);
	while (code != PL_OK) {
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, ++nth);
		code = open_all(&pod, &there);
		T_CODE(code, pl_fault_fired(PL_FAULT_ALLOC) ? PL_NOMEM : PL_OK, &err);
		pl_fault_reset();
		snapshot_check(&snapshot);
	}
	T_TRUE(nth > 5);
	snapshot_pod_remove(&snapshot, snapshot.row[0].first_pod);
	pod_drop(&model, &pod);
	pod_drop(&model, &other);
	end();
}
