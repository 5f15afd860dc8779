/* Unknown fields in objects that contain pods. */
#include <stdio.h>
#include <string.h>

#include "coord/service/input/unknown_fields.h"
#include "tests/harness/torture.h"

static char told[2048];

static void on_unknown(void *ctx, const char *path, const char *like)
{
	size_t len = strlen(told);

	(void)ctx;
	(void)snprintf(told + len, sizeof told - len, "%s%s%s%s", len == 0 ? "" : ", ",
	               path, like == NULL ? "" : " for ", like == NULL ? "" : like);
}

static const char *look(enum expand_source source, const char *json)
{
	told[0] = 0;
	unknown_fields_find(source, pl_span_str(json), on_unknown, NULL);
	return told;
}

T_CASE(known_fields_are_not_reported)
{
	T_STR(look(EXPAND_POD,
	           "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\","
	           "\"labels\":{\"any\":\"thing\"}},\"spec\":{\"nodeSelector\":{\"x\":\"y\"},"
	           "\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"}],"
	           "\"volumes\":[{\"name\":\"v\",\"emptyDir\":{\"what\":1}}],"
	           "\"containers\":[{\"name\":\"c\",\"env\":[{\"nam\":1}],\"resources\":"
	           "{\"requests\":{\"cpu\":\"1\",\"x.io/gpu\":\"2\"}}}]},\"status\":{\"a\":1}}"),
	      "");
	T_STR(look(EXPAND_NOTHING, "{\"spek\":1}"), "");
}

T_CASE(each_field_is_reported_with_its_path_and_a_suggestion)
{
	T_STR(look(EXPAND_POD, "{ \"spec\" : { \"nodeSelectr\" : { } , \"x\" : [ { } ] ,"
	                       " \"Tolerations\" : null, \"priorityClass\":\"high\" } }"),
	      "spec.nodeSelectr for nodeSelector, spec.x, spec.Tolerations for tolerations,"
	      " spec.priorityClass");
	T_STR(look(EXPAND_POD,
	           "{\"spec\":{\"containers\":[{},{\"resources\":{\"request\":{}}},7,"
	           "{\"Image\":\"\"}]}}"),
	      "spec.containers[1].resources.request for requests,"
	      " spec.containers[3].Image for image");
	T_STR(look(EXPAND_DEPLOYMENT,
	           "{\"spec\":{\"replica\":2,\"template\":{\"spec\":{\"affinity\":{"
	           "\"podAntiAffinty\":{},\"podAffinity\":{"
	           "\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
	           "\"topologykey\":\"zone\"}]}}}}}}"),
	      "spec.replica for replicas,"
	      " spec.template.spec.affinity.podAntiAffinty for podAntiAffinity,"
	      " spec.template.spec.affinity.podAffinity."
	      "requiredDuringSchedulingIgnoredDuringExecution[0].topologykey"
	      " for topologyKey");
	T_STR(look(EXPAND_BUDGET, "{\"spec\":{\"minAvailble\":1}}"),
	      "spec.minAvailble for minAvailable");
	T_STR(look(EXPAND_CLASS, "{\"vlaue\":1}"), "vlaue for value");
}

/* Others' annotations are theirs. */
T_CASE(our_own_annotations_are_known_where_pods_have_them)
{
	char text[UNKNOWN_FIELD_TEXT_SIZE];

	T_STR(look(EXPAND_POD,
	           "{\"metadata\":{\"annotations\":{\"placet.io/gang\":\"g\","
	           "\"placet.io/gang-min\":\"2\",\"placet.io/gang-domain\":\"zone\","
	           "\"gang-mn\":\"2\",\"x.io/gang-mn\":\"\"}}}"),
	      "");
	T_STR(look(EXPAND_POD,
	           "{\"metadata\":{\"annotations\":{\"placet.io/gang-mn\":\"2\","
	           "\"placet.io/quorum\":\"2\"}}}"),
	      "metadata.annotations.placet.io/gang-mn for placet.io/gang-min,"
	      " metadata.annotations.placet.io/quorum");
	T_STR(look(EXPAND_JOB, "{\"metadata\":{\"annotations\":{\"a\":\"\","
	                       "\"placet.io/gang\":\"g\"}},\"spec\":{\"template\":{"
	                       "\"metadata\":{\"annotations\":{\"placet.io/gagn\":\"g\","
	                       "\"placet.io/gang\":\"g\"}}}}}"),
	      "metadata.annotations.placet.io/gang for spec.template.metadata.annotations,"
	      " spec.template.metadata.annotations.placet.io/gagn for placet.io/gang");
	unknown_field_text(text, "metadata.annotations.placet.io/gang-mn",
	                   "placet.io/gang-min");
	T_STR(text, "metadata.annotations.placet.io/gang-mn: unknown annotation; is "
	            "placet.io/gang-min meant?");
}

/* A misplaced value has no type with fields. */
T_CASE(any_input_is_scanned_without_failure)
{
	T_STR(look(EXPAND_POD, "{}"), "");
	T_STR(look(EXPAND_POD, "{\"spec\":7,\"metadata\":\"}{\"}"), "");
	T_STR(look(EXPAND_POD, "{\"spec\":[{\"containers\":{\"nme\":\"c\"}}]}"),
	      "spec[0].containers.nme for name");
	T_STR(look(EXPAND_POD, "{\"x\":1,\"\":1,\"a\\\"b\":2}"), "x, , a\\\"b");
}

T_CASE(a_path_is_bounded)
{
	char json[1024], name[600];

	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = 0;
	(void)snprintf(json, sizeof json, "{\"spec\":{\"%s\":1,\"os\":{}}}", name);
	T_EQ(strlen(look(EXPAND_POD, json)), UNKNOWN_FIELD_PATH_SIZE - 1);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the table */
static void check_order(const struct known_fields_shape *shape)
{
	for (uint32_t i = 0; i < shape->count; i++) {
		const struct known_fields_field *field = &shape->field[i];

		T_TRUE(i == 0 || strcmp(shape->field[i - 1].name, field->name) < 0);
		T_TRUE(known_fields_find(shape, pl_span_str(field->name)) == field);
		if (field->of != NULL)
			check_order(field->of);
	}
}

T_CASE(the_table_is_in_order)
{
	for (unsigned source = 0; source < EXPAND_NOTHING; source++) {
		T_TRUE(known_fields_of((enum expand_source)source) != NULL);
		check_order(known_fields_of((enum expand_source)source));
	}
}
