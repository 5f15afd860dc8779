#include <stdio.h>

#include "coord/api/schema/schema.h"
#include "coord/api/schema/schema_types.h"
#include "store/base/json.h"
#include "tests/harness/t.h"

#define EACH_FIELD(field, type_)                                   \
	for (const struct schema_field *(field) = (type_)->fields; \
	     (field)->name != NULL; (field)++)

static const char *where(const struct schema_type *type, const struct schema_field *field)
{
	static char text[256];

	snprintf(text, sizeof text, "%s.%s", type->name, field->name);
	return text;
}

static void names_and_numbers_differ(const struct schema_type *type)
{
	EACH_FIELD(a, type)
	{
		T_TRUE(a->number > 0 || strncmp(type->name, "io.placet", 9) == 0 ||
		       strcmp(a->name, "kind") == 0 ||
		       strcmp(a->name, "apiVersion") == 0);
		for (const struct schema_field *b = a + 1; b->name != NULL; b++) {
			T_TRUE(strcmp(a->name, b->name) != 0);
			if (a->number != 0 && a->number == b->number &&
			    a->inside == b->inside)
				t_fail(__FILE__, __LINE__, "%s: number %u twice",
				       where(type, b), (unsigned)b->number);
			if (a->inside != 0)
				T_TRUE(b->inside != 0 || b->number != a->inside);
		}
	}
}

T_CASE(names_and_numbers_of_a_type_differ)
{
	size_t count;
	const struct schema_type *const *types = schema_types(&count);

	for (size_t i = 0; i < count; i++)
		names_and_numbers_differ(types[i]);
}

T_CASE(types_have_names_words_and_fields)
{
	size_t count;
	const struct schema_type *const *types = schema_types(&count);

	for (size_t i = 0; i < count; i++) {
		size_t fields = 0;

		EACH_FIELD(field, types[i])
		fields++;
		T_TRUE(fields > 0 && fields <= SCHEMA_FIELDS_MAX);
		T_TRUE(types[i]->doc != NULL && types[i]->doc[0] != '\0');
		T_TRUE(strncmp(types[i]->name, "io.", 3) == 0);
		T_TRUE(schema_type_named(types[i]->name) == types[i]);
	}
	T_TRUE(schema_type_named("io.k8s.api.core.v1.Secret") == NULL);
}

/* Every type that a field is of is itself in the list of types. */
T_CASE(objects_have_a_type_that_is_listed)
{
	size_t count;
	const struct schema_type *const *types = schema_types(&count);

	for (size_t i = 0; i < count; i++)
		EACH_FIELD(field, types[i])
		{
			if ((field->kind == SCHEMA_OBJECT) != (field->type != NULL))
				t_fail(__FILE__, __LINE__, "%s", where(types[i], field));
			if (field->type != NULL)
				T_TRUE(schema_type_named(field->type->name) ==
				       field->type);
		}
}

static void has_key(const struct schema_type *type, const struct schema_field *field,
                    struct pl_span key)
{
	const struct schema_field *found = schema_field_find_span(field->type, key);

	if (found == NULL || found->shape != SCHEMA_ONE || found->kind == SCHEMA_OBJECT)
		t_fail(__FILE__, __LINE__, "%s: no key " PL_SPAN_FMT, where(type, field),
		       PL_SPAN_ARG(key));
}

static void keys_exist(const struct schema_type *type, const struct schema_field *field)
{
	const char *at = field->keys;

	T_EQ(field->shape, SCHEMA_LIST);
	T_EQ(field->kind, SCHEMA_OBJECT);
	for (;;) {
		size_t len = strcspn(at, ",");

		has_key(type, field, pl_span(at, len));
		if (at[len] == '\0')
			return;
		at += len + 1;
	}
}

T_CASE(merge_keys_exist_in_the_elements)
{
	size_t count, lists = 0;
	const struct schema_type *const *types = schema_types(&count);

	for (size_t i = 0; i < count; i++)
		EACH_FIELD(field, types[i])
		{
			T_EQ(field->keys != NULL, field->list == SCHEMA_BY_KEY);
			if (field->keys == NULL)
				continue;
			keys_exist(types[i], field);
			lists++;
		}
	T_EQ(lists, 42);
}

T_CASE(lists_maps_and_flags_go_together)
{
	size_t count;
	const struct schema_type *const *types = schema_types(&count);

	for (size_t i = 0; i < count; i++)
		EACH_FIELD(field, types[i])
		{
			const char *at = where(types[i], field);

			if (field->list == SCHEMA_AS_SET &&
			    (field->shape != SCHEMA_LIST || field->kind == SCHEMA_OBJECT))
				t_fail(__FILE__, __LINE__, "%s: no set", at);
			if (field->list == SCHEMA_GRANULAR && field->shape == SCHEMA_LIST)
				t_fail(__FILE__, __LINE__, "%s: a list", at);
			if ((field->flags & SCHEMA_MAY_LACK) != 0 &&
			    (field->flags & SCHEMA_REQUIRED) == 0)
				t_fail(__FILE__, __LINE__, "%s: not required", at);
			if ((field->flags & SCHEMA_USED) != 0 && field->doc == NULL)
				t_fail(__FILE__, __LINE__, "%s: not described", at);
			if (field->choices != NULL && field->kind != SCHEMA_STRING)
				t_fail(__FILE__, __LINE__, "%s: choices", at);
		}
}

static bool is_choice(const struct schema_field *field, const char *text)
{
	for (const char *const *choice = field->choices; *choice != NULL; choice++)
		if (strcmp(*choice, text) == 0)
			return true;
	return false;
}

static void default_fits(const struct schema_type *type, const struct schema_field *field,
                         struct pl_json value)
{
	static const enum pl_json_type of[] = {
		[SCHEMA_OBJECT] = PL_JSON_OBJECT, [SCHEMA_STRING] = PL_JSON_STRING,
		[SCHEMA_INT32] = PL_JSON_NUMBER,  [SCHEMA_INT64] = PL_JSON_NUMBER,
		[SCHEMA_BOOL] = PL_JSON_BOOL,
	};
	const char *text;

	if (field->shape == SCHEMA_LIST)
		value = pl_json_first(value);
	if (field->kind == SCHEMA_INT_OR_STRING)
		return;
	if (pl_json_type(value) != of[field->kind])
		t_fail(__FILE__, __LINE__, "%s: default of another type",
		       where(type, field));
	if (field->choices == NULL)
		return;
	T_OK(pl_json_as_string(value, &text, NULL), NULL);
	if (text[0] != '\0' && !is_choice(field, text))
		t_fail(__FILE__, __LINE__, "%s: default is no choice",
		       where(type, field));
}

T_CASE(defaults_are_json_of_the_fields_kind)
{
	size_t count;
	const struct schema_type *const *types = schema_types(&count);
	struct pl_arena arena;
	struct pl_err err;

	pl_arena_init(&arena, 0, 0);
	for (size_t i = 0; i < count; i++)
		EACH_FIELD(field, types[i])
		{
			struct pl_json value;

			if (field->normal == NULL)
				continue;
			T_OK(pl_json_parse(&arena, pl_span_str(field->normal), NULL,
			                   &value, &err),
			     &err);
			default_fits(types[i], field, value);
		}
	pl_arena_done(&arena);
}

T_CASE(choices_are_sorted_as_messages_list_them)
{
	size_t count;
	const struct schema_type *const *types = schema_types(&count);

	for (size_t i = 0; i < count; i++)
		EACH_FIELD(field, types[i])
	for (const char *const *choice = field->choices;
	     choice != NULL && choice[0] != NULL && choice[1] != NULL; choice++)
		T_TRUE(strcmp(choice[0], choice[1]) < 0);
}

T_CASE(resources_are_found_by_path_and_by_kind)
{
	const struct schema_resource *pods = schema_resource_find(
		PL_SPAN_LIT(""), PL_SPAN_LIT("v1"), PL_SPAN_LIT("pods"));
	char text[128];

	T_TRUE(pods != NULL);
	T_TRUE(pods->type == &schema_core_pod);
	T_STR(schema_api_version(pods, text), "v1");
	T_TRUE(schema_kind_find(PL_SPAN_LIT("v1"), PL_SPAN_LIT("Pod")) == pods);
	T_TRUE(schema_kind_find(PL_SPAN_LIT("apps/v1"), PL_SPAN_LIT("Pod")) == NULL);
	T_TRUE(schema_resource_find(PL_SPAN_LIT(""), PL_SPAN_LIT("v1"),
	                            PL_SPAN_LIT("secrets")) == NULL);
	T_TRUE(schema_resource_find(PL_SPAN_LIT("apps"), PL_SPAN_LIT("v1"),
	                            PL_SPAN_LIT("controllerrevisions")) == NULL);
	T_STR(schema_kind_find(PL_SPAN_LIT("storage.k8s.io/v1"), PL_SPAN_LIT("CSINode"))
	              ->plural,
	      "csinodes");
	T_TRUE(schema_type_of_kind(PL_SPAN_LIT("policy/v1"), PL_SPAN_LIT("Eviction")) ==
	       &schema_policy_eviction);
	T_TRUE(schema_type_of_kind(PL_SPAN_LIT("policy/v1beta1"),
	                           PL_SPAN_LIT("Eviction")) == &schema_policy_eviction);
	T_TRUE(schema_type_of_kind(PL_SPAN_LIT("policy/v2"), PL_SPAN_LIT("Eviction")) ==
	       NULL);
}

/* Each path and each kind stands for one resource; a resource's group comes once. */
T_CASE(resources_differ)
{
	size_t count;
	const struct schema_resource *row = schema_resources(&count);

	for (size_t i = 0; i < count; i++) {
		char text[128];

		schema_api_version(&row[i], text);
		T_TRUE(schema_resource_find(pl_span_str(row[i].group),
		                            pl_span_str(row[i].version),
		                            pl_span_str(row[i].plural)) == &row[i]);
		T_TRUE(schema_kind_find(pl_span_str(text), pl_span_str(row[i].kind)) ==
		       &row[i]);
		for (size_t j = i + 2; j < count; j++)
			if (strcmp(row[i].group, row[j].group) == 0)
				T_STR(row[j - 1].group, row[i].group);
		T_EQ((row[i].subresources & SCHEMA_SUB_STATUS) != 0,
		     schema_field_find(row[i].type, "status") != NULL &&
		             (row[i].verbs & SCHEMA_CREATE) != 0 &&
		             (row[i].verbs & SCHEMA_UPDATE) != 0);
	}
}

T_CASE(members_stand_by_the_number_of_their_fields)
{
	struct pl_json json, member[SCHEMA_FIELDS_MAX];
	struct pl_arena arena;

	pl_arena_init(&arena, 0, 0);
	T_OK(pl_json_parse(&arena,
	                   PL_SPAN_LIT("{\"x\":1,\"name\":\"n\",\"emptyDir\":{}}"), NULL,
	                   &json, NULL),
	     NULL);
	schema_members(&schema_core_volume, json, member);
	EACH_FIELD(field, &schema_core_volume)
	T_TRUE(member[field - schema_core_volume.fields].node ==
	       pl_json_member(json, field->name).node);
	pl_arena_done(&arena);
}

T_CASE(facts_of_some_fields)
{
	const struct schema_field *ports =
		schema_field_find(&schema_core_container, "ports");
	const struct schema_field *field;

	T_EQ(ports->number, 6);
	T_STR(ports->keys, "containerPort,protocol");
	T_TRUE(!schema_field_atomic(ports));
	field = schema_field_find(&schema_core_volume, "emptyDir");
	T_EQ(field->number, 2);
	T_EQ(field->inside, 2);
	field = schema_field_find(&schema_core_pod_spec, "nodeSelector");
	T_TRUE(schema_field_atomic(field));
	field = schema_field_find(&schema_apps_deployment_spec, "selector");
	T_TRUE(schema_field_atomic(field));
	T_TRUE((field->flags & SCHEMA_IMMUTABLE) != 0);
	field = schema_field_find(&schema_core_pod_status, "hostIPs");
	T_STR(field->keys, "ip");
	T_TRUE(schema_field_atomic(field));
	T_TRUE(!schema_field_atomic(schema_field_find(&schema_core_pod, "spec")));
	T_TRUE(!schema_field_atomic(
		schema_field_find(&schema_meta_object_meta, "labels")));
	T_TRUE(schema_field_atomic(
		schema_field_find(&schema_core_pod_spec, "tolerations")));
	T_TRUE(schema_field_find(&schema_core_pod_spec, "nodename") == NULL);
}
