/* Registries, locks of terms, and /groups/nodes: each code, and its repair. */
#include "shardsched/model/parse.h"
#include "shardsched/records/rule_term.h"
#include "tests/support/coord/service/fsck/fsck_fixture.h"

enum { ANTI, NEAR, SPREAD, GLOBAL, KINDS };

static const char *const rules[KINDS] = {
	[ANTI] =
		"\"affinity\":{\"podAntiAffinity\":{"
		"\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"labelSelector\":{"
		"\"matchLabels\":{\"app\":\"x\"}},\"topologyKey\":\"zone\"}]}},",
	[NEAR] =
		"\"affinity\":{\"podAffinity\":{"
		"\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"labelSelector\":{"
		"\"matchLabels\":{\"app\":\"x\"}},\"topologyKey\":\"zone\"}]}},",
	[SPREAD] = "\"topologySpreadConstraints\":[{\"labelSelector\":{"
		   "\"matchLabels\":{\"app\":\"x\"}},\"maxSkew\":1,\"topologyKey\":"
		   "\"zone\",\"whenUnsatisfiable\":\"DoNotSchedule\"}],",
	[GLOBAL] = "\"affinity\":{\"podAntiAffinity\":{"
		   "\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
		   "\"labelSelector\":{\"matchLabels\":{\"app\":\"x\"}},"
		   "\"namespaces\":[\"db\"],\"topologyKey\":\"zone\"}]}},",
};

static char id[RULE_ID_SIZE], pod_text[TEXT_SIZE];

static const char *carrier(const char *name, unsigned kind)
{
	static char json[TEXT_SIZE];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\"},\"spec\":{"
	               "%s\"containers\":[{\"name\":\"c\",\"image\":\"i\","
	               "\"resources\":{\"requests\":{\"cpu\":\"500m\",\"memory\":"
	               "\"64Mi\"}}}]}}",
	               name, rules[kind]);
	return json;
}

/* Writes the pod's term into id and pod_text. */
static void name_term(unsigned kind)
{
	struct parse parse = {.arena = &kit.arena};
	struct rule_terms terms;
	struct model model;
	struct pod pod = {0};

	model_init(&model);
	parse.model = &model;
	T_OK(pod_parse(&parse, pl_span_str(carrier("c", kind)), &pod, &kit.err),
	     &kit.err);
	T_OK(rule_terms_of(&model, pod.spec, &kit.arena, &terms, &kit.err), &kit.err);
	T_EQ(terms.count, 1);
	memcpy(id, terms.term[0].id, sizeof id);
	(void)snprintf(pod_text, sizeof pod_text, PL_SPAN_FMT,
	               PL_SPAN_ARG(terms.term[0].pod));
	pod_drop(&model, &pod);
	model_done(&model);
}

static const char *lock_key(void)
{
	static char key[100];

	(void)snprintf(key, sizeof key, "/groups/web/%s", id);
	return key;
}

static const char *registry_key(unsigned kind)
{
	return kind == GLOBAL ? "/groups/registry" : "/groups/web/registry";
}

static void put_registry(unsigned kind)
{
	static const char *const words[KINDS] = {"anti-affinity", "affinity", "spread",
	                                         "anti-affinity"};
	static char json[TEXT_SIZE + 200];

	(void)snprintf(json, sizeof json,
	               "{\"v\":1,\"terms\":{\"%s\":{\"kind\":\"%s\",\"pod\":%s}}}", id,
	               words[kind], pod_text);
	(void)kit_put(&kit, registry_key(kind), json);
}

/* web/c carries the term; it has a place on n-2, or none. */
static void up_with(unsigned kind, bool placed)
{
	up();
	name_term(kind);
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "c"), carrier("c", kind));
	put_registry(kind);
	(void)kit_put(&kit, lock_key(), "{\"v\":1,\"shard\":\"s\"}");
	if (!placed)
		return;
	put_state("web", "c", state_of("Bound", "n-2", "1"));
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
	              alloc_of(1, listed("web", "c", pod_partition("web", "c"))));
}

static bool is_there(const char *key)
{
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(key)), 0), PL_OK);
	return kit.result.get.count > 0;
}

T_CASE(what_is_registered_is_clean)
{
	for (unsigned kind = 0; kind < KINDS; kind++) {
		up_with(kind, false);
		clean();
		down();
		up_with(kind, true);
		check();
		/* The nodes of the fixture have no zones. */
		T_EQ(r.total, r.found[FSCK_RULES_AFFINITY]);
		down();
	}
}

T_CASE(a_term_that_a_bound_pod_carries_is_registered_again)
{
	for (unsigned kind = 0; kind < KINDS; kind++) {
		bool needed = kind == ANTI || kind == GLOBAL;

		up_with(kind, true);
		drop(registry_key(kind));
		check();
		T_EQ(r.found[FSCK_TERM_UNREGISTERED], needed ? 1 : 0);
		T_EQ(r.found[FSCK_TERM_LATER], needed ? 0 : 1);
		T_EQ(fsck_core_counts(fsck_core(fsck))->violations, needed ? 1 : 0);
		if (!needed) {
			down();
			continue;
		}
		drop(lock_key());
		mends(1);
	}
}

T_CASE(a_term_that_waiting_pods_carry_comes_later)
{
	for (unsigned kind = 0; kind < KINDS; kind++) {
		up_with(kind, false);
		drop(registry_key(kind));
		drop(lock_key());
		finds(FSCK_TERM_LATER, 1);
		T_EQ(fsck_core_counts(fsck_core(fsck))->violations, 0);
		mends_not();
	}
}

T_CASE(registry_malformed)
{
	up_with(ANTI, true);
	(void)kit_put(&kit, registry_key(ANTI), "{\"v\":1,\"terms\":[]}");
	check();
	T_EQ(r.found[FSCK_REGISTRY_MALFORMED], 1);
	T_EQ(r.found[FSCK_TERM_UNREGISTERED], 1);
	T_EQ(r.total, 2);
	mends(1);
	/* No pod needs the term, so the registry becomes empty. */
	up_with(SPREAD, false);
	(void)kit_put(&kit, registry_key(SPREAD), "{");
	check();
	T_EQ(r.found[FSCK_REGISTRY_MALFORMED], 1);
	T_EQ(r.found[FSCK_TERM_LATER], 1);
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 1);
	finds(FSCK_TERM_LATER, 1);
	down();
}

T_CASE(a_term_that_is_not_what_its_pod_carries)
{
	up_with(ANTI, true);
	id[strlen(id) - 1] = id[strlen(id) - 1] == '0' ? '1' : '0';
	put_registry(ANTI);
	check();
	T_EQ(r.found[FSCK_REGISTRY_TERM], 1);
	T_EQ(r.found[FSCK_TERM_UNREGISTERED], 1);
	T_EQ(r.total, 2);
	mends(1);
}

T_CASE(a_term_in_the_wrong_registry)
{
	up_with(GLOBAL, true);
	put_registry(ANTI);
	finds(FSCK_REGISTRY_TERM, 1);
	mends(1);
}

T_CASE(a_term_that_no_pod_carries_goes)
{
	for (unsigned kind = 0; kind < KINDS; kind++) {
		up_with(kind, false);
		drop(pod_key(KEYS_SPEC, "web", "c"));
		finds(FSCK_TERM_UNUSED, 1);
		T_EQ(fsck_core_counts(fsck_core(fsck))->violations, 0);
		repair(false);
		T_EQ(m.count[REPAIR_DONE], 1);
		T_TRUE(!is_there(lock_key()));
		clean();
		down();
	}
}

/* A missing lock does not show what was placed since. */
T_CASE(a_lock_that_is_missing_is_made_before_its_term_goes)
{
	up_with(ANTI, false);
	drop(pod_key(KEYS_SPEC, "web", "c"));
	drop(lock_key());
	check();
	T_EQ(r.found[FSCK_LOCK_MISSING], 1);
	T_EQ(r.found[FSCK_TERM_UNUSED], 1);
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 1);
	T_TRUE(is_there(lock_key()));
	finds(FSCK_TERM_UNUSED, 1);
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 1);
	T_TRUE(!is_there(lock_key()));
	clean();
	down();
}

/* A pod was bound under the term and has put the lock; and a registry that has changed
 * is read again. */
T_CASE(a_term_that_is_carried_again_stays)
{
	up_with(ANTI, false);
	drop(pod_key(KEYS_SPEC, "web", "c"));
	finds(FSCK_TERM_UNUSED, 1);
	(void)kit_put(&kit, lock_key(), "{\"v\":1,\"shard\":\"s\"}");
	repair(false);
	T_EQ(m.count[REPAIR_RIGHT], 1);
	T_EQ(m.count[REPAIR_DONE], 0);
	T_TRUE(is_there(lock_key()));
	down();
}

/* A pod that does not parse may carry any term. */
T_CASE(nothing_goes_while_a_pod_can_not_be_read)
{
	up_with(ANTI, false);
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "c"), "{");
	finds(FSCK_SPEC_MALFORMED, 1);
	mends_not();
}

T_CASE(locks)
{
	up_with(ANTI, true);
	(void)kit_put(&kit, lock_key(), "[]");
	finds(FSCK_LOCK_MALFORMED, 1);
	mends(1);
	up_with(ANTI, true);
	drop(lock_key());
	finds(FSCK_LOCK_MISSING, 1);
	mends(1);
	up_with(ANTI, false); /* a pod waits to register it */
	drop(registry_key(ANTI));
	(void)kit_put(&kit, lock_key(), "[]");
	check();
	T_EQ(r.found[FSCK_LOCK_MALFORMED], 1);
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 1);
	T_TRUE(!is_there(lock_key()));
	down();
	up_with(ANTI, false);
	drop(registry_key(ANTI));
	drop(pod_key(KEYS_SPEC, "web", "c"));
	finds(FSCK_LOCK_UNUSED, 1);
	T_EQ(fsck_core_counts(fsck_core(fsck))->violations, 0);
	mends(1);
}

/* The term is registered between the check and the repair. */
T_CASE(the_lock_of_a_term_that_is_registered_meanwhile_stays)
{
	up_with(ANTI, false);
	drop(registry_key(ANTI));
	drop(pod_key(KEYS_SPEC, "web", "c"));
	(void)kit_put(&kit, lock_key(), "{\"v\":1}");
	finds(FSCK_LOCK_UNUSED, 1);
	put_registry(ANTI);
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 0);
	T_TRUE(is_there(lock_key()));
	down();
}

T_CASE(nodes_that_are_newer_than_groups_nodes)
{
	up();
	(void)kit_put(&kit, node_key(KEYS_NODE, "n-2"),
	              "{\"metadata\":{\"name\":\"n-2\"}}");
	finds(FSCK_SHAPE_BEHIND, 1);
	mends(1);
	up();
	drop("/groups/nodes");
	finds(FSCK_SHAPE_BEHIND, 1);
	repair(true);
	put_shape();
	repair(false);
	T_EQ(m.count[REPAIR_RIGHT], 1);
	clean();
	down();
}

/* More than fit into one transaction. */
T_CASE(many_terms_go_in_several_transactions)
{
	enum { MANY = 70 };
	static char json[MANY * 600];
	char key[100], value[16];
	size_t len = (size_t)snprintf(json, sizeof json, "{\"v\":1,\"terms\":{");

	up();
	for (unsigned i = 0; i < MANY; i++) {
		struct parse parse = {.arena = &kit.arena};
		struct rule_terms terms;
		struct model model;
		struct pod pod = {0};
		char spec[TEXT_SIZE];

		(void)snprintf(value, sizeof value, "x%u", i);
		(void)snprintf(spec, sizeof spec,
		               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"p\"},"
		               "\"spec\":{\"topologySpreadConstraints\":[{"
		               "\"labelSelector\":{\"matchLabels\":{\"app\":\"%s\"}},"
		               "\"maxSkew\":1,\"topologyKey\":\"zone\","
		               "\"whenUnsatisfiable\":\"DoNotSchedule\"}]}}",
		               value);
		model_init(&model);
		parse.model = &model;
		T_OK(pod_parse(&parse, pl_span_str(spec), &pod, &kit.err), &kit.err);
		T_OK(rule_terms_of(&model, pod.spec, &kit.arena, &terms, &kit.err),
		     &kit.err);
		len += (size_t)snprintf(json + len, sizeof json - len,
		                        "%s\"%s\":{\"kind\":\"spread\",\"pod\":%.*s}",
		                        i == 0 ? "" : ",", terms.term[0].id,
		                        PL_SPAN_ARG(terms.term[0].pod));
		(void)snprintf(key, sizeof key, "/groups/web/%s", terms.term[0].id);
		(void)kit_put(&kit, key, "{\"v\":1}");
		pod_drop(&model, &pod);
		model_done(&model);
	}
	(void)snprintf(json + len, sizeof json - len, "}}");
	(void)kit_put(&kit, "/groups/web/registry", json);
	finds(FSCK_TERM_UNUSED, MANY);
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 3);
	T_EQ(m.count[REPAIR_REFUSED], 0);
	clean();
	down();
}
