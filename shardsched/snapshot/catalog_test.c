#include <stdio.h>

#include "shardsched/snapshot/assumed.h"
#include "shardsched/snapshot/claim_users.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static struct model model;
static struct pl_arena arena;
static struct parse parse;
static struct catalog catalog;
static struct pl_err err;

static void begin(void)
{
	model_init(&model);
	pl_arena_init(&arena, 0, 0);
	parse = (struct parse){.model = &model, .arena = &arena};
	T_OK(catalog_init(&catalog, &model, &err), &err);
}

static void end(void)
{
	catalog_check(&catalog);
	catalog_done(&catalog);
	pl_arena_done(&arena);
	model_done(&model); /* asserts that nothing is left */
}

static uint32_t id(const char *text)
{
	return strings_find(&model.strings, pl_span_str(text));
}

static struct catalog_key key(const char *namespace, const char *name)
{
	return (struct catalog_key){id(namespace), id(name), 0};
}

#define PUT(noun, ...)                                                                   \
	do {                                                                             \
		struct noun it_;                                                         \
		T_OK(noun##_parse(&parse, PL_SPAN_LIT(#__VA_ARGS__), &it_, &err), &err); \
		T_OK(catalog_put_##noun(&catalog, &it_, &err), &err);                    \
	} while (0)

T_CASE(an_object_is_found_by_its_name)
{
	begin();
	PUT(namespace, {"metadata" : {"name" : "a", "labels" : {"team" : "x"}}});
	PUT(namespace, {"metadata" : {"name" : "b"}});
	T_EQ(catalog.count[CATALOG_NAMESPACE], 2);
	T_EQ(labels_get(catalog_namespace_labels(&catalog, id("a")), id("team")),
	     id("x"));
	T_TRUE(catalog_namespace_labels(&catalog, id("x")) == NULL);
	catalog_drop_namespace(&catalog, (struct catalog_key){0, id("a"), 0});
	T_TRUE(catalog_find_namespace(&catalog, (struct catalog_key){0, id("a"), 0}) ==
	       NULL);
	T_EQ(catalog.count[CATALOG_NAMESPACE], 1);
	end();
}

T_CASE(putting_replaces_in_place)
{
	uint64_t epoch;

	begin();
	PUT(storage_class, {"metadata" : {"name" : "slow"}, "provisioner" : "p"});
	PUT(storage_class, {"metadata" : {"name" : "fast"}, "provisioner" : "p"});
	epoch = catalog.epoch[CATALOG_STORAGE_CLASS];
	PUT(storage_class, {"metadata" : {"name" : "slow"}, "provisioner" : "q"});
	T_TRUE(catalog.epoch[CATALOG_STORAGE_CLASS] > epoch);
	T_EQ(catalog.epoch[CATALOG_CLAIM], 0);
	T_EQ(catalog.count[CATALOG_STORAGE_CLASS], 2);
	T_EQ(catalog_next_storage_class(&catalog, NULL)->provisioner, id("q"));
	end();
}

T_CASE(workloads_of_one_name_differ_in_kind)
{
	struct workload it;

	begin();
	for (unsigned kind = 0; kind < 4; kind++) {
		T_OK(workload_parse(&parse, kind,
		                    PL_SPAN_LIT("{\"metadata\":{\"namespace\":\"n\","
		                                "\"name\":\"w\"}}"),
		                    &it, &err),
		     &err);
		T_OK(catalog_put_workload(&catalog, &it, &err), &err);
	}
	T_EQ(catalog.count[CATALOG_WORKLOAD], 4);
	T_EQ(catalog_find_workload(&catalog, (struct catalog_key){id("n"), id("w"),
	                                                          WORKLOAD_REPLICA_SET})
	             ->kind,
	     WORKLOAD_REPLICA_SET);
	end();
}

T_CASE(objects_of_a_namespace_come_in_order)
{
	const struct budget *it = NULL;

	begin();
	PUT(budget, {"metadata" : {"namespace" : "n", "name" : "a"}});
	PUT(budget, {"metadata" : {"namespace" : "m", "name" : "b"}});
	PUT(budget, {"metadata" : {"namespace" : "n", "name" : "c"}});
	PUT(budget, {"metadata" : {"namespace" : "n", "name" : "a"}});
	it = catalog_next_in_budget(&catalog, id("n"), NULL);
	T_EQ(it->name, id("a"));
	it = catalog_next_in_budget(&catalog, id("n"), it);
	T_EQ(it->name, id("c"));
	T_TRUE(catalog_next_in_budget(&catalog, id("n"), it) == NULL);
	catalog_drop_budget(&catalog, key("m", "b"));
	T_TRUE(catalog_next_in_budget(&catalog, 12345, NULL) == NULL);
	end();
}

T_CASE(volumes_are_found_by_class_or_by_claim)
{
	begin();
	PUT(volume, {"metadata" : {"name" : "v"}, "spec" : {"storageClassName" : "c"}});
	T_TRUE(catalog_next_open_volume(&catalog, id("c"), NULL) != NULL);
	PUT(volume, {
		"metadata" : {"name" : "v"},
		"spec" : {
			"storageClassName" : "c",
			"claimRef" : {"namespace" : "n", "name" : "p"}
		}
	});
	T_TRUE(catalog_next_open_volume(&catalog, id("c"), NULL) == NULL);
	T_EQ(catalog_next_claimed_volume(&catalog, key("n", "p"), NULL)->name, id("v"));
	PUT(csi_capacity,
	    {"metadata" : {"namespace" : "n", "name" : "x"}, "storageClassName" : "c"});
	T_EQ(catalog_next_capacity(&catalog, id("c"), NULL)->name, id("x"));
	end();
}

/* -- claims ------------------------------------------------------------------------- */

static struct pod pod;

static void make_pod(void)
{
	T_OK(pod_parse(&parse,
	               PL_SPAN_LIT(
			       "{\"metadata\":{\"namespace\":\"n\",\"name\":\"p\"},"
			       "\"spec\":{\"containers\":[{\"name\":\"c\"}],\"volumes\":["
			       "{\"name\":\"a\",\"persistentVolumeClaim\":{\"claimName\":"
			       "\"one\"}},{\"name\":\"b\",\"persistentVolumeClaim\":{"
			       "\"claimName\":\"two\"}},{\"name\":\"c\","
			       "\"persistentVolumeClaim\":{\"claimName\":\"c-p\"}}]}}"),
	               &pod, &err),
	     &err);
}

/* NOLINTBEGIN(bugprone-macro-parentheses): it is JSON */
#define CLAIM(name, mode)                                                     \
	PUT(claim, {                                                          \
		"metadata" : {"namespace" : "n", "name" : name, "uid" : "u"}, \
		"spec" : {"accessModes" : [mode]}                             \
	})
/* NOLINTEND(bugprone-macro-parentheses) */

T_CASE(claims_know_their_users)
{
	begin();
	make_pod();
	CLAIM("one", "ReadWriteOncePod");
	CLAIM("two", "ReadWriteOnce");
	T_OK(claims_pod_add(&catalog, pod.spec, pod.name, &err), &err);
	T_EQ(catalog.claim_use_epoch, 1);
	T_OK(claims_pod_add(&catalog, pod.spec, pod.name, &err), &err);
	T_EQ(claims_users(&catalog, key("n", "one")), 2);
	T_EQ(claims_users(&catalog, key("n", "two")), 2);
	T_EQ(claims_users(&catalog, key("n", "c-p")), 2);
	T_OK(claims_pod_add(&catalog, pod.spec, id("u"), &err), &err);
	T_EQ(claims_users(&catalog, key("n", "one")), 3);
	T_EQ(claims_users(&catalog, key("n", "c-p")), 2);
	T_EQ(claims_users(&catalog, key("n", "c-u")), 1);
	claims_pod_remove(&catalog, pod.spec, id("u"));
	T_EQ(claims_users(&catalog, key("n", "c-u")), 0);
	claims_pod_remove(&catalog, pod.spec, pod.name);
	T_EQ(catalog.claim_use_epoch, 1);
	claims_pod_remove(&catalog, pod.spec, pod.name);
	T_EQ(claims_users(&catalog, key("n", "one")), 0);
	T_EQ(catalog.claim_use_epoch, 2);
	pod_drop(&model, &pod);
	end();
}

static enum pl_code use_some(void)
{
	enum pl_code code = claims_pod_add(&catalog, pod.spec, pod.name, &err);

	if (code == PL_OK)
		claims_pod_remove(&catalog, pod.spec, pod.name);
	T_EQ(claims_users(&catalog, key("n", "one")), 0);
	T_EQ(claims_users(&catalog, key("n", "two")), 0);
	T_EQ(claims_users(&catalog, key("n", "c-p")), 0);
	return code;
}

T_CASE(without_memory_no_claim_is_used)
{
	begin();
	make_pod();
	t_torture(use_some, false);
	pod_drop(&model, &pod);
	end();
}

/* -- assumptions -----------------------------------------------------------------------
 */

static struct assumed_pod me, you;

static void volume_put(bool taken)
{
	if (taken)
		PUT(volume, {
			"metadata" : {"name" : "v"},
			"spec" : {
				"storageClassName" : "c",
				"claimRef" : {"namespace" : "n", "name" : "one"}
			}
		});
	else
		PUT(volume,
		    {"metadata" : {"name" : "v"}, "spec" : {"storageClassName" : "c"}});
}

static enum pl_code take(struct assumed_pod who)
{
	struct assumed it = {.claim = key("n", "one"), .volume = id("v")};

	return assumed_add(&catalog, who, &it, &err);
}

static bool taken(void)
{
	bool open = catalog_next_open_volume(&catalog, id("c"), NULL) != NULL;
	bool claimed =
		catalog_next_claimed_volume(&catalog, key("n", "one"), NULL) != NULL;

	T_TRUE(open != claimed);
	catalog_check(&catalog);
	return claimed;
}

static void begin_taking(void)
{
	begin();
	CLAIM("one", "ReadWriteOnce");
	CLAIM("two", "ReadWriteOnce");
	volume_put(false);
	me = (struct assumed_pod){id("n"), id("one"), 0};
	you = (struct assumed_pod){id("n"), id("two"), 0};
}

T_CASE(assumed_volume_is_in_use_until_forgotten)
{
	struct assumed other;

	begin_taking();
	T_OK(take(me), &err);
	T_TRUE(taken());
	T_EQ(catalog_find_volume(&catalog, (struct catalog_key){0, id("v"), 0})
	             ->claim_uid,
	     id("u"));
	other = (struct assumed){.claim = key("n", "two"), .volume = id("v")};
	T_CODE(assumed_add(&catalog, you, &other, &err), PL_CONFLICT, NULL);
	T_EQ(assumed_get(&catalog, me, 0)->volume, id("v"));
	T_TRUE(assumed_get(&catalog, me, 1) == NULL);
	assumed_forget(&catalog, me);
	T_TRUE(!taken());
	T_OK(assumed_add(&catalog, you, &other, &err), &err);
	end();
}

T_CASE(pods_that_share_a_claim_share_its_assumption)
{
	begin_taking();
	T_OK(take(me), &err);
	T_OK(take(you), &err);
	assumed_forget(&catalog, me);
	T_TRUE(taken());
	assumed_forget(&catalog, you);
	T_TRUE(!taken());
	end();
}

T_CASE(object_without_a_decision_keeps_its_assumption)
{
	begin_taking();
	T_OK(take(me), &err);
	volume_put(false);
	T_TRUE(taken());
	assumed_forget(&catalog, me);
	T_TRUE(!taken());
	end();
}

T_CASE(object_with_a_decision_ends_its_assumption)
{
	begin_taking();
	T_OK(take(me), &err);
	volume_put(true);
	assumed_forget(&catalog, me);
	T_TRUE(taken());
	end();
}

T_CASE(committed_assumption_stays_until_the_object_comes)
{
	begin_taking();
	T_OK(take(me), &err);
	assumed_commit(&catalog, me);
	T_TRUE(assumed_get(&catalog, me, 0) == NULL);
	volume_put(false);
	T_TRUE(taken());
	volume_put(true);
	volume_put(false);
	T_TRUE(!taken());
	end();
}

T_CASE(object_that_was_put_again_has_no_assumption)
{
	begin_taking();
	T_OK(take(me), &err);
	catalog_drop_volume(&catalog, (struct catalog_key){0, id("v"), 0});
	volume_put(false);
	T_TRUE(!taken());
	T_OK(take(you), &err);
	assumed_forget(&catalog, me);
	T_TRUE(taken());
	end();
}

T_CASE(a_node_is_assumed_for_a_claim)
{
	struct assumed it;
	uint32_t node;

	begin_taking();
	T_OK(strings_add(&model.strings, PL_SPAN_LIT("node"), &node), &err);
	it = (struct assumed){.claim = key("n", "one"), .node = node};
	T_OK(assumed_add(&catalog, me, &it, &err), &err);
	T_EQ(catalog_find_claim(&catalog, key("n", "one"))->selected_node, node);
	CLAIM("one", "ReadWriteOnce");
	T_EQ(catalog_find_claim(&catalog, key("n", "one"))->selected_node, node);
	assumed_forget(&catalog, me);
	T_EQ(catalog_find_claim(&catalog, key("n", "one"))->selected_node, 0);
	it.claim = key("n", "none");
	T_CODE(assumed_add(&catalog, me, &it, &err), PL_NOTFOUND, NULL);
	strings_unref(&model.strings, node);
	end();
}

/* -- everything at random, and without memory ----------------------------- */

enum { NAMES = 12, STEPS = 4000 };

static struct pl_rng rng;
static uint32_t who[4];

static enum pl_code hold_names(void)
{
	static const char *const text[] = {"n", "w", "x", "y"};
	enum pl_code code = PL_OK;

	memset(who, 0, sizeof who);
	for (unsigned i = 0; i < 4 && code == PL_OK; i++)
		code = strings_add(&model.strings, pl_span_str(text[i]), &who[i]);
	return code;
}

static void let_names_go(void)
{
	for (unsigned i = 0; i < 4; i++)
		strings_unref(&model.strings, who[i]);
}

static uint32_t pick(uint32_t below)
{
	return (uint32_t)pl_rng_below(&rng, below);
}

static enum pl_code random_volume(unsigned name)
{
	struct volume it;
	enum pl_code code;
	const char *json = pl_arena_printf(
		&arena,
		"{\"metadata\":{\"name\":\"v%u\"},\"spec\":{\"storageClassName\":\"c%u\"%s}}",
		name, pick(3),
		pick(2) == 0 ? ""
			     : ",\"claimRef\":{\"namespace\":\"n\",\"name\":\"p1\"}");

	code = json == NULL ? PL_NOMEM
	                    : volume_parse(&parse, pl_span_str(json), &it, &err);
	return code == PL_OK ? catalog_put_volume(&catalog, &it, &err) : code;
}

static enum pl_code random_claim(unsigned name)
{
	struct claim it;
	enum pl_code code;
	const char *json = pl_arena_printf(
		&arena,
		"{\"metadata\":{\"namespace\":\"n\",\"name\":\"p%u\"},\"spec\":{%s}}",
		name, pick(3) == 0 ? "\"volumeName\":\"v1\"" : "");

	code = json == NULL ? PL_NOMEM
	                    : claim_parse(&parse, pl_span_str(json), &it, &err);
	return code == PL_OK ? catalog_put_claim(&catalog, &it, &err) : code;
}

static enum pl_code random_assumption(unsigned name)
{
	struct assumed it = {.claim = key("n", pick(2) == 0 ? "p1" : "p2")};
	struct assumed_pod by = {0, who[pick(4)], 0};
	char text[8];
	enum pl_code code;

	(void)snprintf(text, sizeof text, "v%u", name);
	if (pick(2) == 0)
		it.volume = id(text);
	if (it.volume == 0)
		it.node = id("n");
	if (it.volume == 0 && it.node == 0)
		return PL_OK;
	code = assumed_add(&catalog, by, &it, &err);
	return code == PL_NOMEM ? code : PL_OK;
}

static enum pl_code random_step(void)
{
	unsigned name = pick(NAMES);
	char text[8];

	(void)snprintf(text, sizeof text, "%c%u", pick(2) == 0 ? 'v' : 'p', name);
	switch (pick(6)) {
	case 0:
		return random_volume(name);
	case 1:
		return random_claim(name);
	case 2:
		catalog_drop_volume(&catalog, (struct catalog_key){0, id(text), 0});
		return PL_OK;
	case 3:
		catalog_drop_claim(&catalog, key("n", text));
		return PL_OK;
	case 4:
		(pick(2) == 0 ? assumed_commit : assumed_forget)(
			&catalog, (struct assumed_pod){0, who[pick(4)], 0});
		return PL_OK;
	default:
		return random_assumption(name);
	}
}

/* The chains are compared with a walk over all objects. */
static void compare_chains(void)
{
	for (unsigned class = 0; class < 3; class ++) {
		const struct volume *it = NULL;
		unsigned chained = 0, counted = 0;
		char text[8];

		(void)snprintf(text, sizeof text, "c%u", class);
		while ((it = catalog_next_open_volume(&catalog, id(text), it)) != NULL)
			chained++;
		while ((it = catalog_next_volume(&catalog, it)) != NULL)
			counted += it->class == id(text) && it->claim_name == 0;
		T_EQ(chained, counted);
	}
}

T_CASE_SECONDS(chains_are_right_on_random_histories, 60)
{
	begin();
	T_OK(hold_names(), NULL);
	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < STEPS; i++) {
		enum pl_code code = random_step();

		T_CODE(code, PL_OK, &err);
		catalog_check(&catalog);
		compare_chains();
		pl_arena_reset(&arena);
	}
	let_names_go();
	end();
}

static enum pl_code some_steps(void)
{
	enum pl_code code, first = PL_OK;

	model_init(&model);
	pl_arena_init(&arena, 0, 0);
	parse = (struct parse){.model = &model, .arena = &arena};
	code = catalog_init(&catalog, &model, &err);
	code = code == PL_OK ? hold_names() : code;
	pl_rng_init(&rng, 7);
	for (unsigned i = 0; i < 200 && code == PL_OK; i++) {
		enum pl_code step = random_step();

		first = first == PL_OK ? step : first;
		catalog_check(&catalog);
	}
	catalog_done(&catalog);
	let_names_go();
	pl_arena_done(&arena);
	model_done(&model);
	return code == PL_OK ? first : code;
}

T_CASE_SECONDS(nothing_is_lost_without_memory, 60)
{
	t_torture(some_steps, true);
}
