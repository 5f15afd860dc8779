/* Rules between pods and about nodes: violations, and conditions that came later. */
#include "tests/support/coord/service/fsck/fsck_fixture.h"

static void put_hosted(const char *name, const char *host, const char *zone,
                       const char *spec)
{
	char json[TEXT_SIZE];

	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"name\":\"%s\",\"labels\":{"
		"\"kubernetes.io/hostname\":\"%s\",\"zone\":\"%s\"}},\"spec\":{%s},"
		"\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\","
		"\"pods\":\"10\"}}}",
		name, host, zone, spec);
	(void)kit_put(&kit, node_key(KEYS_NODE, name), json);
	put_shape();
}

static void put_labeled(const char *name, const char *zone, const char *spec)
{
	put_hosted(name, name, zone, spec);
}

/* A pod of app, with further fields in its spec, which is submitted and then bound. */
static void put_spec(const char *name, const char *app, const char *more)
{
	char json[TEXT_SIZE];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"labels\":{"
	               "\"app\":\"%s\"}},\"spec\":{%s\"containers\":[{\"name\":\"c\","
	               "\"image\":\"i\"}]}}",
	               name, app, more);
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", name), json);
}

static void place(const char *name, const char *node)
{
	put_state("web", name, state_of("Bound", node, "1"));
}

static void put_pod(const char *name, const char *app, const char *more, const char *node)
{
	put_spec(name, app, more);
	place(name, node);
}

/* The pod stands in the partition of its gang. relabels: a node that is moved to zone
 * a before the pod's state says Bound; or NULL. */
static void place_gang_pod(const char *name, const char *json, const char *node,
                           const char *relabels)
{
	const struct partition_group group = {.namespace = PL_SPAN_LIT("web"),
	                                      .gang = PL_SPAN_LIT("t")};
	uint32_t home, named = pod_partition("web", name);
	char pointer[POINTER_TEXT_SIZE + 1] = "";

	T_OK(partition_of_group(&group, PARTITIONS, &home, NULL), NULL);
	(void)kit_put(&kit, key_in(KEYS_SPEC, home, "web", name), json);
	if (relabels != NULL)
		put_labeled(relabels, "a", "");
	(void)kit_put(&kit, key_in(KEYS_STATE, home, "web", name),
	              state_of("Bound", node, "1"));
	if (home == named)
		return;
	pointer[pointer_text(home, pointer).len] = 0;
	(void)kit_put(&kit, key_in(KEYS_SPEC, named, "web", name), pointer);
}

#define TERM(app, key)                                        \
	"{\"labelSelector\":{\"matchLabels\":{\"app\":\"" app \
	"\"}},\"topologyKey\":\"" key "\"}"
#define AFFINITY(kind, terms)   \
	"\"affinity\":{\"" kind \
	"\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[" terms "]}},"
#define APART(app, key) AFFINITY("podAntiAffinity", TERM(app, key))
#define NEAR(app, key) AFFINITY("podAffinity", TERM(app, key))
#define HOST "kubernetes.io/hostname"
#define SPREAD(app, key)                                                       \
	"\"topologySpreadConstraints\":[{\"labelSelector\":{\"matchLabels\":{" \
	"\"app\":\"" app "\"}},\"maxSkew\":1,\"topologyKey\":\"" key           \
	"\",\"whenUnsatisfiable\":\"DoNotSchedule\"}],"

/* Nodes n-0 and n-1 in zone a, n-2 in b; nothing on them. */
static void up_empty(void)
{
	kit_open(&kit, NULL);
	for (unsigned i = 0; i < 3; i++) {
		char name[8];

		(void)snprintf(name, sizeof name, "n-%u", i);
		put_labeled(name, i < 2 ? "a" : "b", "");
		(void)kit_put(&kit, node_key(KEYS_ALLOC, name),
		              "{\"v\":1,\"generation\":1}");
	}
}

/* Derives allocs and registries from the pods; then there is this finding, and no
 * other. */
static void settles(enum fsck_code code, unsigned count)
{
	check();
	repair(false);
	check();
	r.total -= r.found[FSCK_TERM_LATER];
	if (r.found[code] != count || r.total != count)
		t_fail(__FILE__, __LINE__, "want %u of %s, found:\n%s", count,
		       fsck_code_word(code), r.text);
}

static void violations(unsigned count)
{
	T_EQ(fsck_core_counts(fsck_core(fsck))->violations, count);
}

T_CASE(anti_affinity)
{
	up_empty();
	put_pod("a", "x", APART("x", "zone"), "n-0");
	put_pod("b", "x", APART("x", "zone"), "n-2");
	settles(FSCK_RULES_APART, 0);
	/* In the same zone, on another node: both pods are reported. */
	place("b", "n-1");
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"), "{\"v\":1,\"generation\":1}");
	settles(FSCK_RULES_APART, 2);
	violations(2);
	down();
}

/* Whichever came first, the pod that keeps others away or the other one. */
T_CASE(anti_affinity_in_either_order)
{
	for (unsigned order = 0; order < 2; order++) {
		up_empty();
		if (order == 0)
			put_pod("a", "x", APART("y", "zone"), "n-0");
		put_pod("b", "y", "", "n-1");
		if (order == 1)
			put_pod("a", "x", APART("y", "zone"), "n-0");
		settles(FSCK_RULES_APART, 1);
		violations(1);
		T_TRUE(strstr(r.text, "/web/a/state") != NULL);
		down();
	}
}

T_CASE(anti_affinity_on_one_host)
{
	up_empty();
	put_pod("a", "x", APART("x", HOST), "n-0");
	put_pod("b", "x", APART("x", HOST), "n-1");
	settles(FSCK_RULES_APART, 0);
	put_pod("c", "x", "", "n-0");
	settles(FSCK_RULES_APART, 1);
	down();
}

/* As nodes of two clusters may be. */
T_CASE(nodes_of_one_name_in_two_clusters_are_two_hosts)
{
	up_empty();
	put_hosted("n-1", "n-0", "a", "");
	put_hosted("n-2", "n-0", "b", "");
	put_pod("a", "x", APART("x", HOST), "n-0");
	put_pod("b", "x", APART("x", HOST), "n-1");
	settles(FSCK_RULES_APART, 0);
	put_pod("c", "z", NEAR("x", HOST), "n-2");
	settles(FSCK_RULES_AFFINITY, 1);
	down();
}

T_CASE(spread_over_hosts_of_one_name)
{
	up_empty();
	put_hosted("n-1", "n-0", "a", "");
	put_pod("c", "y", SPREAD("y", HOST), "n-1");
	put_pod("d", "y", SPREAD("y", HOST), "n-1");
	settles(FSCK_RULES_SPREAD, 1);
	T_TRUE(strstr(r.text, "2 in its kubernetes.io/hostname n-0, 0 where") != NULL);
	down();
}

/* A node without the label is in no domain. */
T_CASE(anti_affinity_over_a_key_that_nodes_do_not_have)
{
	up_empty();
	put_pod("a", "x", APART("x", "rack"), "n-0");
	put_pod("b", "x", APART("x", "rack"), "n-0");
	settles(FSCK_RULES_APART, 0);
	down();
}

/* No shard broke the rule: a node has moved to another zone since. */
T_CASE(anti_affinity_broken_since_a_node_was_relabelled)
{
	up_empty();
	put_pod("a", "x", APART("x", "zone"), "n-0");
	put_pod("b", "x", "", "n-2");
	put_labeled("n-2", "a", "");
	settles(FSCK_RULES_APART_SINCE, 1);
	violations(0);
	/* A pod that came after that should not have been placed there. */
	put_pod("c", "x", "", "n-1");
	settles(FSCK_RULES_APART, 1);
	violations(1);
	down();
}

/* When a pod with a derived state was bound is not known. */
T_CASE(anti_affinity_with_a_pod_whose_state_was_lost)
{
	up_empty();
	put_pod("a", "x", APART("x", "zone"), "n-0");
	put_pod("b", "x", "", "n-2");
	settles(FSCK_RULES_APART, 0);
	put_labeled("n-2", "a", "");
	drop(pod_key(KEYS_STATE, "web", "a"));
	settles(FSCK_RULES_APART_SINCE, 1);
	violations(0);
	down();
}

T_CASE(anti_affinity_broken_since_a_pod_was_edited)
{
	up_empty();
	put_pod("a", "x", APART("x", "zone"), "n-0");
	put_pod("b", "y", "", "n-1");
	settles(FSCK_RULES_APART, 0);
	put_spec("b", "x", "");
	settles(FSCK_RULES_APART_SINCE, 1);
	violations(0);
	down();
}

/* After a request to leave the time of the bind is not known any more; the creation of
 * the state is the earliest. */
T_CASE(anti_affinity_with_a_pod_that_was_asked_to_leave)
{
	static const char asked[] =
		"{\"v\":1,\"phase\":\"Bound\",\"ask\":\"evict\",\"cluster\":\"east\","
		"\"node\":\"n-0\",\"shard\":\"s\",\"epoch\":\"1\","
		"\"since\":\"2026-11-21T09:00:00.000Z\"}";

	up_empty();
	put_spec("a", "x", "");
	put_state("web", "a", state_of("Pending", NULL, "1"));
	put_labeled("n-0", "a", "");
	place("a", "n-0");
	put_pod("b", "x", APART("x", "zone"), "n-1");
	put_state("web", "a", asked);
	settles(FSCK_RULES_APART, 1);
	down();
	up_empty();
	put_spec("a", "x", "");
	put_state("web", "a", state_of("Pending", NULL, "1"));
	put_pod("b", "x", APART("x", "zone"), "n-1");
	put_labeled("n-0", "a", "");
	place("a", "n-0");
	settles(FSCK_RULES_APART, 1); /* a came after b */
	put_state("web", "a", asked);
	settles(FSCK_RULES_APART_SINCE, 1); /* a may have been there before */
	down();
}

T_CASE(affinity)
{
	up_empty();
	put_pod("a", "x", NEAR("y", "zone"), "n-0");
	put_pod("b", "y", "", "n-1");
	settles(FSCK_RULES_AFFINITY, 0);
	place("b", "n-2");
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-1"), "{\"v\":1,\"generation\":1}");
	settles(FSCK_RULES_AFFINITY, 1);
	violations(0);
	/* The first pod of its kind is near itself. */
	put_pod("a", "y", NEAR("y", "zone"), "n-0");
	settles(FSCK_RULES_AFFINITY, 0);
	down();
}

/* All terms have to match the same pods, each in its own domain. */
T_CASE(affinity_by_two_terms)
{
	static const char both[] =
		AFFINITY("podAffinity", TERM("y", "zone") "," TERM("y", HOST));

	up_empty();
	put_pod("b", "y", "", "n-1");
	put_pod("a", "x", both, "n-1");
	settles(FSCK_RULES_AFFINITY, 0);
	place("a", "n-0");
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-1"), "{\"v\":1,\"generation\":1}");
	settles(FSCK_RULES_AFFINITY, 1);
	down();
}

T_CASE(spread)
{
	up_empty();
	put_pod("a", "x", SPREAD("x", "zone"), "n-0");
	put_pod("b", "x", SPREAD("x", "zone"), "n-2");
	put_pod("c", "x", SPREAD("x", "zone"), "n-1");
	settles(FSCK_RULES_SPREAD, 0);
	put_state("web", "b", state_of("Succeeded", "n-2", "1"));
	settles(FSCK_RULES_SPREAD, 1);
	violations(0);
	/* A node with a taint that pods do not tolerate counts; a node that they do not
	 * want does not. */
	put_labeled("n-2", "b", "\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]");
	settles(FSCK_RULES_SPREAD, 1);
	put_pod("a", "x", SPREAD("x", "zone") "\"nodeSelector\":{\"zone\":\"a\"},",
	        "n-0");
	put_pod("c", "x", SPREAD("x", "zone") "\"nodeSelector\":{\"zone\":\"a\"},",
	        "n-1");
	settles(FSCK_RULES_SPREAD, 0);
	down();
}

T_CASE(spread_over_hosts)
{
	up_empty();
	put_pod("a", "x", SPREAD("x", HOST), "n-0");
	put_pod("b", "x", SPREAD("x", HOST), "n-1");
	settles(FSCK_RULES_SPREAD, 0);
	put_pod("c", "x", "", "n-1");
	settles(FSCK_RULES_SPREAD, 1);
	put_pod("d", "x", "", "n-2");
	settles(FSCK_RULES_SPREAD, 0);
	down();
}

static void put_port(const char *name, const char *port, const char *ip, const char *node)
{
	char json[TEXT_SIZE];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\"},\"spec\":{"
	               "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"ports\":[{"
	               "\"containerPort\":80,\"hostPort\":%s,\"hostIP\":\"%s\"}]}]}}",
	               name, port, ip);
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", name), json);
	place(name, node);
}

T_CASE(host_ports)
{
	up_empty();
	put_port("a", "80", "10.0.0.1", "n-0");
	put_port("b", "80", "10.0.0.2", "n-0");
	put_port("c", "81", "0.0.0.0", "n-0");
	put_port("d", "80", "0.0.0.0", "n-1");
	settles(FSCK_RULES_PORTS, 0);
	put_port("d", "80", "0.0.0.0", "n-0");
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-1"), "{\"v\":1,\"generation\":1}");
	settles(FSCK_RULES_PORTS, 1);
	violations(1);
	put_port("b", "80", "10.0.0.1", "n-0");
	settles(FSCK_RULES_PORTS, 2);
	down();
}

T_CASE(nodes_that_pods_do_not_want)
{
	static const char required[] =
		"\"affinity\":{\"nodeAffinity\":{"
		"\"requiredDuringSchedulingIgnoredDuringExecution\":{"
		"\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"zone\","
		"\"operator\":\"In\",\"values\":[\"b\"]}]}]}}},";
	static const char selector[] = "\"nodeSelector\":{\"zone\":\"b\"},";
	static const char tolerates[] =
		"\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"}],";
	static const char taint[] =
		"\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]";

	up_empty();
	put_pod("a", "x", selector, "n-2");
	put_pod("b", "x", required, "n-2");
	put_pod("c", "x", "", "n-2");
	settles(FSCK_RULES_NODE, 0);
	/* The node has changed since: reported once. */
	put_labeled("n-2", "c", "");
	settles(FSCK_RULES_NODE_SINCE, 1);
	T_TRUE(strstr(r.text, "2 pods") != NULL);
	violations(0);
	put_labeled("n-2", "b", taint);
	settles(FSCK_RULES_NODE_SINCE, 1);
	T_TRUE(strstr(r.text, "3 pods") != NULL);
	put_pod("a", "x", tolerates, "n-2");
	put_pod("c", "x", tolerates, "n-2");
	place("b", "n-2");
	settles(FSCK_RULES_NODE, 1);
	T_TRUE(strstr(r.text, "taint") != NULL);
	down();
}

/* The room may have been reserved before. */
T_CASE(pods_of_gangs_on_nodes_that_they_do_not_want)
{
	char json[TEXT_SIZE];

	up_empty();
	put_labeled("n-0", "a", "\"unschedulable\":true");
	put_labeled("n-2", "b", "");
	for (unsigned i = 0; i < 2; i++) {
		(void)snprintf(json, sizeof json,
		               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"w-%u\","
		               "\"annotations\":{\"placet.io/gang\":\"t\"}},\"spec\":{"
		               "\"nodeSelector\":{\"zone\":\"a\"},\"containers\":[{"
		               "\"name\":\"c\",\"image\":\"i\"}]}}",
		               i);
		place_gang_pod(i == 0 ? "w-0" : "w-1", json, i == 0 ? "n-0" : "n-2",
		               NULL);
	}
	settles(FSCK_RULES_NODE_SINCE, 1);
	violations(0);
	down();
}

/* A change after the gang was submitted may have come after it was bound. */
T_CASE(pods_of_gangs_with_pods_that_they_keep_away)
{
	static const char json[] =
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"w-0\","
		"\"annotations\":{\"placet.io/gang\":\"t\"}},\"spec\":{" APART(
			"x",
			"zone") "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}";

	for (unsigned i = 0; i < 2; i++) {
		up_empty();
		put_pod("a", "x", "", "n-2");
		place_gang_pod("w-0", json, i == 0 ? "n-0" : "n-2",
		               i == 0 ? "n-2" : NULL);
		settles(i == 0 ? FSCK_RULES_APART_SINCE : FSCK_RULES_APART, 1);
		down();
	}
}

T_CASE(pods_on_a_cordoned_node)
{
	up_empty();
	put_pod("a", "x", "", "n-0");
	put_labeled("n-0", "a", "\"unschedulable\":true");
	settles(FSCK_RULES_NODE, 0); /* pods that are there stay */
	put_pod("b", "x", "", "n-0");
	put_pod("c", "x",
	        "\"tolerations\":[{\"key\":\"node.kubernetes.io/unschedulable\","
	        "\"operator\":\"Exists\"}],",
	        "n-0");
	settles(FSCK_RULES_NODE, 1);
	T_TRUE(strstr(r.text, "/web/b/state") != NULL);
	down();
}

/* The labels of a replica itself are left out of the class until a rule asks for them. */
T_CASE(labels_of_replicas_are_seen)
{
	static const char label[] = "statefulset.kubernetes.io/pod-name";
	char json[TEXT_SIZE], rule[TEXT_SIZE];

	up_empty();
	for (unsigned i = 0; i < 2; i++) {
		char name[8];

		(void)snprintf(name, sizeof name, "s-%u", i);
		(void)snprintf(json, sizeof json,
		               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\","
		               "\"labels\":{\"app\":\"s\",\"%s\":\"%s\"}},\"spec\":{"
		               "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
		               name, label, name);
		(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", name), json);
		place(name, i == 0 ? "n-0" : "n-2");
	}
	(void)snprintf(rule, sizeof rule,
	               AFFINITY("podAntiAffinity",
	                        "{\"labelSelector\":{\"matchLabels\":{\"%s\":\"s-1\"}},"
	                        "\"topologyKey\":\"zone\"}"),
	               label);
	put_pod("a", "x", rule, "n-1");
	settles(FSCK_RULES_APART, 0);
	put_pod("b", "x", rule, "n-2");
	settles(FSCK_RULES_APART, 1);
	T_TRUE(strstr(r.text, "/web/b/state") != NULL);
	down();
}

/* Away from pods of app y in namespaces of team a. */
#define APART_FROM_TEAM                                                              \
	AFFINITY(                                                                    \
		"podAntiAffinity",                                                   \
		"{\"topologyKey\":\"zone\",\"namespaceSelector\":{\"matchLabels\":{" \
		"\"team\":\"a\"}},\"labelSelector\":{\"matchLabels\":{\"app\":\"y\"}}}")

static void put_namespace(const char *team)
{
	char json[TEXT_SIZE];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"web\",\"labels\":{\"team\":\"%s\"}}}",
	               team);
	(void)kit_put(&kit, "/objects/core/namespaces/web", json);
	(void)kit_put(&kit, "/objects/core/namespaces", "{\"v\":1}");
}

/* Rules go by the labels of stored Namespaces; what came together before the labels
 * changed is a condition only. */
T_CASE(labels_of_namespaces)
{
	for (unsigned late = 0; late < 2; late++) {
		up_empty();
		if (late == 0)
			put_namespace("a");
		put_pod("a", "x", APART_FROM_TEAM, "n-0");
		put_pod("b", "y", "", "n-1");
		settles(FSCK_RULES_APART, late == 0);
		if (late == 1) {
			put_namespace("a");
			settles(FSCK_RULES_APART_SINCE, 1);
		}
		down();
	}
}
