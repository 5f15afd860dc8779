/* Random objects, and the patches that kubectl computes between them: a patch leads from
 * one to the other, and what the server has added meanwhile stays. */
#include <cjson/cJSON.h>
#include <stdio.h>

#include "coord/api/patch/patch_kit.h"
#include "coord/api/patch/schema_kit.h"
#include "coord/api/patch/strategic_merge.h"
#include "store/base/rng.h"

static struct pl_arena arena;
static struct pl_err err;
static struct pl_rng rng;

static struct cJSON *random_text(void)
{
	char text[8];

	(void)snprintf(text, sizeof text, "v%d", (int)pl_rng_below(&rng, 3));
	return json_new_str(&arena, text);
}

static void set(struct cJSON *object, const char *name, struct cJSON *value)
{
	T_TRUE(json_set(&arena, object, name, value));
}

static void shuffle(int *values, int count)
{
	for (int i = count - 1; i > 0; i--) {
		int j = (int)pl_rng_below(&rng, (uint64_t)i + 1), old = values[i];

		values[i] = values[j];
		values[j] = old;
	}
}

/* A list of elements with different names, in random order, with a member or without. */
/* NOLINTNEXTLINE(misc-no-recursion): elements of a deep list have lists that are not */
static struct cJSON *random_list(char prefix, bool deep)
{
	struct cJSON *list = json_new_array(&arena);
	int numbers[6] = {0, 1, 2, 3, 4, 5};
	uint64_t count = pl_rng_below(&rng, 6);

	shuffle(numbers, 6);
	for (uint64_t i = 0; i < count; i++) {
		struct cJSON *element = json_new_object(&arena);
		char name[8];

		(void)snprintf(name, sizeof name, "%c%d", prefix, numbers[i]);
		set(element, "name", json_new_str(&arena, name));
		if (pl_rng_below(&rng, 2) == 0)
			set(element, deep ? "image" : "value", random_text());
		if (deep && pl_rng_below(&rng, 2) == 0)
			set(element, "env", random_list('e', false));
		T_TRUE(json_append(list, element));
	}
	return list;
}

static struct cJSON *random_scalars(char prefix)
{
	struct cJSON *list = json_new_array(&arena);
	int numbers[6] = {0, 1, 2, 3, 4, 5};
	uint64_t count = pl_rng_below(&rng, 6);

	shuffle(numbers, 6);
	for (uint64_t i = 0; i < count; i++) {
		char name[8];

		(void)snprintf(name, sizeof name, "%c%d", prefix, numbers[i]);
		T_TRUE(json_append(list, json_new_str(&arena, name)));
	}
	return list;
}

static struct cJSON *random_pod(void)
{
	struct cJSON *pod = json_new_object(&arena), *meta = json_new_object(&arena),
		     *spec = json_new_object(&arena), *labels = json_new_object(&arena);

	set(pod, "metadata", meta);
	set(pod, "spec", spec);
	set(meta, "finalizers", random_scalars('f'));
	set(meta, "labels", labels);
	for (char name[] = "a"; name[0] < 'e'; name[0]++)
		if (pl_rng_below(&rng, 2) == 0)
			set(labels, name, random_text());
	set(spec, "containers", random_list('c', true));
	if (pl_rng_below(&rng, 2) == 0)
		set(spec, "nodeName", random_text());
	return pod;
}

/* -- patches as kubectl makes them ------------------------------------------------------- */

static const char *name_of(const struct cJSON *element)
{
	return cJSON_IsObject(element) ? json_get(element, "name")->valuestring
	                               : element->valuestring;
}

static struct cJSON *named(const struct cJSON *list, const char *name)
{
	for (struct cJSON *node = list->child; node != NULL; node = node->next)
		if (strcmp(name_of(node), name) == 0)
			return node;
	return NULL;
}

static struct pl_json value_of(const struct cJSON *node)
{
	return (struct pl_json){.node = node};
}

static struct cJSON *difference(const struct cJSON *from, const struct cJSON *to);

static void diff_scalars(struct cJSON *patch, const struct cJSON *from,
                         const struct cJSON *to)
{
	struct cJSON *added = json_new_array(&arena), *gone = json_new_array(&arena);

	for (struct cJSON *node = to->child; node != NULL; node = node->next)
		if (named(from, name_of(node)) == NULL)
			T_TRUE(json_append(added, json_new_copy(&arena, value_of(node))));
	for (struct cJSON *node = from->child; node != NULL; node = node->next)
		if (named(to, name_of(node)) == NULL)
			T_TRUE(json_append(gone, json_new_copy(&arena, value_of(node))));
	if (added->child != NULL)
		set(patch, to->string, added);
	if (gone->child != NULL)
		set(patch, "$deleteFromPrimitiveList/finalizers", gone);
	set(patch, "$setElementOrder/finalizers", json_new_copy(&arena, value_of(to)));
}

static struct cJSON *only_name(const struct cJSON *element)
{
	struct cJSON *object = json_new_object(&arena);

	set(object, "name", json_new_str(&arena, name_of(element)));
	return object;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the schema */
static void diff_objects(struct cJSON *patch, const struct cJSON *from,
                         const struct cJSON *to)
{
	struct cJSON *changed = json_new_array(&arena), *order = json_new_array(&arena);
	char name[64];

	for (struct cJSON *node = to->child; node != NULL; node = node->next) {
		struct cJSON *old = named(from, name_of(node)), *change;

		T_TRUE(json_append(order, only_name(node)));
		if (old == NULL) {
			T_TRUE(json_append(changed,
			                   json_new_copy(&arena, value_of(node))));
			continue;
		}
		change = difference(old, node);
		set(change, "name", json_new_str(&arena, name_of(node)));
		if (change->child->next != NULL)
			T_TRUE(json_append(changed, change));
	}
	for (struct cJSON *node = from->child; node != NULL; node = node->next) {
		struct cJSON *gone = only_name(node);

		set(gone, "$patch", json_new_str(&arena, "delete"));
		if (named(to, name_of(node)) == NULL)
			T_TRUE(json_append(changed, gone));
	}
	if (changed->child != NULL)
		set(patch, to->string, changed);
	(void)snprintf(name, sizeof name, "$setElementOrder/%s", to->string);
	set(patch, name, order);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the schema */
static void diff_member(struct cJSON *patch, const struct cJSON *old,
                        const struct cJSON *node)
{
	if (old != NULL && json_equal(value_of(old), value_of(node)))
		return;
	if (old == NULL || (!cJSON_IsObject(node) && !cJSON_IsArray(node)))
		set(patch, node->string, json_new_copy(&arena, value_of(node)));
	else if (cJSON_IsObject(node))
		set(patch, node->string, difference(old, node));
	else if (strcmp(node->string, "finalizers") == 0)
		diff_scalars(patch, old, node);
	else
		diff_objects(patch, old, node);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the schema */
static struct cJSON *difference(const struct cJSON *from, const struct cJSON *to)
{
	struct cJSON *patch = json_new_object(&arena);

	for (struct cJSON *node = from->child; node != NULL; node = node->next)
		if (json_get(to, node->string) == NULL)
			set(patch, node->string, json_new_null(&arena));
	for (struct cJSON *node = to->child; node != NULL; node = node->next)
		diff_member(patch, json_get(from, node->string), node);
	return patch;
}

/* -- the server's own additions ---------------------------------------------------------- */

static void add_element(struct cJSON *list, const char *name)
{
	struct cJSON *element = json_new_object(&arena);

	set(element, "name", json_new_str(&arena, name));
	set(element, "image", json_new_str(&arena, "injected"));
	T_TRUE(json_insert(list, pl_rng_below(&rng, json_length(list) + 1), element));
}

static void inject(struct cJSON *pod)
{
	struct cJSON *containers = json_get(json_get(pod, "spec"), "containers");

	set(json_get(json_get(pod, "metadata"), "labels"), "server",
	    json_new_str(&arena, "1"));
	add_element(containers, "s1");
	add_element(containers, "s2");
}

/* The object without what the server has added. */
static void remove_injected(struct cJSON *pod)
{
	struct cJSON *containers = json_get(json_get(pod, "spec"), "containers");
	struct cJSON *one = named(containers, "s1"), *two = named(containers, "s2");

	T_TRUE(one != NULL && two != NULL);
	json_detach(containers, one);
	json_detach(containers, two);
	T_TRUE(json_remove(json_get(json_get(pod, "metadata"), "labels"), "server"));
}

static struct json_tree tree_of(struct cJSON *root)
{
	struct json_tree tree = kit_tree(&arena, "{}");

	json_tree_set_root(&tree, root);
	return tree;
}

static void check_round(bool injected)
{
	struct json_tree live = tree_of(random_pod()), target = tree_of(random_pod());
	struct json_tree patch = tree_of(difference(live.root, target.root));
	const char *before, *text;

	if (injected)
		inject(live.root);
	before = kit_text(&arena, json_tree_root(&live));
	text = kit_text(&arena, json_tree_root(&patch));
	T_OK(strategic_merge_apply(&live, &kit_pod, json_tree_root(&patch), &err), &err);
	if (injected)
		remove_injected(live.root);
	if (!json_equal(json_tree_root(&live), json_tree_root(&target)))
		t_fail(__FILE__, __LINE__, "%s\n%s\ngives %s\nwant %s", before, text,
		       kit_text(&arena, json_tree_root(&live)),
		       kit_text(&arena, json_tree_root(&target)));
	pl_arena_done(&arena);
}

T_CASE(a_patch_between_two_objects_leads_from_one_to_the_other)
{
	pl_rng_init(&rng, t_seed());
	for (int round = 0; round < 1500; round++)
		check_round(false);
}

T_CASE(what_the_server_has_added_stays)
{
	pl_rng_init(&rng, t_seed() + 1);
	for (int round = 0; round < 1500; round++)
		check_round(true);
}
