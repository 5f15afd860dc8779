#include <stdio.h>
#include <stdlib.h>

#include "coord/api/schema/openapi.h"
#include "coord/api/schema/openapi_v3.h"
#include "store/base/json.h"
#include "store/base/json_out.h"
#include "store/etcd/wire.h"
#include "tests/harness/torture.h"

static struct openapi *made;
static struct pl_arena arena;
static struct pl_err err;

static void make(void)
{
	T_OK(openapi_new("0.1.0", &made, &err), &err);
}

static struct pl_json parsed(struct pl_span text)
{
	static const struct pl_json_limits limits = {8 << 20, 48, 2000000};
	struct pl_json json;

	T_OK(pl_json_parse(&arena, text, &limits, &json, &err), &err);
	return json;
}

static struct pl_json v3_of(const char *path)
{
	struct pl_span document, hash;

	T_TRUE(openapi_v3_find(made, pl_span_str(path), &document, &hash));
	T_EQ(hash.len, OPENAPI_HASH_SIZE - 1);
	return parsed(document);
}

/* Follows names in a document, with "|" between them. */
static struct pl_json at(struct pl_json json, const char *path)
{
	char part[256];

	for (;;) {
		size_t len = strcspn(path, "|");

		snprintf(part, sizeof part, "%.*s", (int)len, path);
		json = pl_json_member(json, part);
		if (json.node == NULL)
			t_fail(__FILE__, __LINE__, "there is no %s", path);
		if (path[len] == '\0')
			return json;
		path += len + 1;
	}
}

static const char *text_at(struct pl_json json, const char *path)
{
	static char text[16384];
	struct pl_json_out out;
	struct pl_buf buf;

	pl_buf_init(&buf, sizeof text - 1);
	pl_json_out_init(&out, &buf);
	pl_json_out_value(&out, at(json, path));
	T_OK(pl_json_out_done(&out), NULL);
	memcpy(text, buf.at, buf.len);
	text[buf.len] = '\0';
	pl_buf_done(&buf);
	return text;
}

static void is(struct pl_json json, const char *path, const char *want)
{
	T_STR(text_at(json, path), want);
}

/* -- references -------------------------------------------------------------------------- */

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the document */
static size_t check_refs(struct pl_json value, struct pl_json schemas, const char *prefix)
{
	const char *text;
	size_t found = 0;

	if (strcmp(pl_json_key(value), "$ref") == 0 &&
	    pl_json_as_string(value, &text, NULL) == PL_OK) {
		T_TRUE(strncmp(text, prefix, strlen(prefix)) == 0);
		if (pl_json_member(schemas, text + strlen(prefix)).node == NULL)
			t_fail(__FILE__, __LINE__, "%s names nothing", text);
		return 1;
	}
	PL_JSON_EACH (item, value)
		found += check_refs(item, schemas, prefix);
	return found;
}

T_CASE(every_reference_names_a_schema)
{
	struct openapi_group groups[OPENAPI_GROUPS_MAX];
	struct pl_json json;
	size_t count = openapi_v3_groups(groups);

	make();
	json = parsed(openapi_v2(made));
	T_TRUE(check_refs(json, at(json, "definitions"), "#/definitions/") > 900);
	T_TRUE(count > 5);
	for (size_t i = 0; i < count; i++) {
		json = v3_of(groups[i].path);
		T_TRUE(check_refs(json, at(json, "components|schemas"),
		                  "#/components/schemas/") > 10);
	}
}

/* -- version 2 --------------------------------------------------------------------------------- */

#define DEFINITION(name) "definitions|io.k8s.api." name

T_CASE(version_2_has_types_and_merge_keys)
{
	struct pl_json json;

	make();
	json = parsed(openapi_v2(made));
	is(json, DEFINITION("core.v1.Container|properties|ports"),
	   "{\"description\":\"Ports that the container listens on.\",\"type\":\"array\","
	   "\"items\":{\"$ref\":\"#/definitions/io.k8s.api.core.v1.ContainerPort\"},"
	   "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"containerPort\","
	   "\"protocol\"],\"x-kubernetes-patch-merge-key\":\"containerPort\","
	   "\"x-kubernetes-patch-strategy\":\"merge\"}");
	is(json,
	   DEFINITION("core.v1.PodSpec|properties|volumes|x-kubernetes-patch-strategy"),
	   "\"merge,retainKeys\"");
	is(json,
	   DEFINITION("core.v1.PodSpec|properties|nodeSelector|x-kubernetes-map-type"),
	   "\"atomic\"");
	is(json, DEFINITION("core.v1.PodSpec|properties|affinity|$ref"),
	   "\"#/definitions/io.k8s.api.core.v1.Affinity\"");
	is(json, DEFINITION("core.v1.PodSpec|required"), "[\"containers\"]");
	is(json,
	   DEFINITION("apps.v1.DeploymentSpec|properties|strategy|"
	              "x-kubernetes-patch-strategy"),
	   "\"retainKeys\"");
	is(json,
	   DEFINITION("policy.v1.PodDisruptionBudgetSpec|properties|selector|"
	              "x-kubernetes-patch-strategy"),
	   "\"replace\"");
	is(json, DEFINITION("core.v1.ResourceRequirements|properties|limits"),
	   "{\"description\":\"What may be used at most.\",\"type\":\"object\","
	   "\"additionalProperties\":{\"$ref\":\"#/definitions/"
	   "io.k8s.apimachinery.pkg.api.resource.Quantity\"}}");
	is(json,
	   DEFINITION("core.v1.PodStatus|properties|hostIPs|x-kubernetes-list-type"),
	   "\"atomic\"");
	is(json,
	   DEFINITION(
		   "core.v1.PodStatus|properties|hostIPs|x-kubernetes-patch-merge-key"),
	   "\"ip\"");
	is(json, DEFINITION("core.v1.Pod|x-kubernetes-group-version-kind"),
	   "[{\"group\":\"\",\"kind\":\"Pod\",\"version\":\"v1\"}]");
	is(json, DEFINITION("apps.v1.DeploymentList|x-kubernetes-group-version-kind"),
	   "[{\"group\":\"apps\",\"kind\":\"DeploymentList\",\"version\":\"v1\"}]");
	is(json, "swagger", "\"2.0\"");
}

static bool has_param(struct pl_json operation, const char *name)
{
	PL_JSON_EACH (param, at(operation, "parameters")) {
		const char *text = "";

		T_OK(pl_json_string(param, "name", PL_JSON_REQUIRED, &text, NULL), NULL);
		if (strcmp(text, name) == 0)
			return true;
	}
	return false;
}

/* kubectl looks at the patch of each kind for what it may ask. */
T_CASE(patches_say_their_kind_and_parameters)
{
	static const char *const paths[] = {
		"/api/v1/namespaces/{namespace}/pods/{name}", "/api/v1/nodes/{name}",
		"/apis/apps/v1/namespaces/{namespace}/deployments/{name}",
		"/apis/scheduling.k8s.io/v1/priorityclasses/{name}"};
	struct pl_json json;

	make();
	json = parsed(openapi_v2(made));
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct pl_json patch = at(at(at(json, "paths"), paths[i]), "patch");

		T_TRUE(has_param(patch, "dryRun"));
		T_TRUE(has_param(patch, "fieldValidation"));
		T_TRUE(has_param(patch, "fieldManager"));
		T_TRUE(has_param(patch, "force"));
		T_TRUE(has_param(patch, "body"));
	}
	is(json,
	   "paths|/apis/apps/v1/namespaces/{namespace}/deployments/{name}|patch|"
	   "x-kubernetes-group-version-kind",
	   "{\"group\":\"apps\",\"kind\":\"Deployment\",\"version\":\"v1\"}");
	is(json,
	   "paths|/api/v1/namespaces/{namespace}/pods/{name}/eviction|post|operationId",
	   "\"createCoreV1NamespacedPodEviction\"");
	is(json, "paths|/apis/storage.k8s.io/v1/csinodes|get|operationId",
	   "\"listStorageV1CSINode\"");
}

/* One line an operation: method, action, path, id. */
T_CASE(all_operations)
{
	static char text[65536];
	struct pl_json json;
	size_t len = 0;

	make();
	json = parsed(openapi_v2(made));
	PL_JSON_EACH (path, at(json, "paths"))
		PL_JSON_EACH (operation, path) {
			const char *action, *id;

			if (pl_json_type(operation) != PL_JSON_OBJECT)
				continue;
			T_OK(pl_json_string(operation, "x-kubernetes-action",
			                    PL_JSON_REQUIRED, &action, NULL),
			     NULL);
			T_OK(pl_json_string(operation, "operationId", PL_JSON_REQUIRED,
			                    &id, NULL),
			     NULL);
			len += (size_t)snprintf(text + len, sizeof text - len,
			                        "%s %s %s %s\n", pl_json_key(operation),
			                        action, pl_json_key(path), id);
			T_TRUE(len < sizeof text);
		}
	t_golden("api/openapi_operations.txt", text);
}

/* Ids are names of functions in clients that are made from the document. */
T_CASE(ids_of_operations_differ)
{
	struct pl_json json;
	const char *ids[1024];
	size_t count = 0;

	make();
	json = parsed(openapi_v2(made));
	PL_JSON_EACH (path, at(json, "paths"))
		PL_JSON_EACH (operation, path) {
			if (pl_json_type(operation) != PL_JSON_OBJECT)
				continue;
			T_TRUE(count < 1024);
			T_OK(pl_json_string(operation, "operationId", PL_JSON_REQUIRED,
			                    &ids[count], NULL),
			     NULL);
			for (size_t i = 0; i < count; i++)
				T_TRUE(strcmp(ids[i], ids[count]) != 0);
			count++;
		}
	T_TRUE(count > 200);
}

/* -- protobuf ----------------------------------------------------------------------------------- */

static struct pl_span field_of(struct pl_span message, uint32_t number, size_t *count)
{
	struct wire_reader reader = wire_reader(message);
	struct pl_span last = {NULL, 0};
	struct wire_field field = {0};

	*count = 0;
	while (wire_next(&reader, &field))
		if (field.tag >> 3 == number) {
			last = field.bytes;
			++*count;
		}
	T_TRUE(!reader.bad);
	return last;
}

static struct pl_span named(struct pl_span message, uint32_t number, const char *name)
{
	struct wire_reader reader = wire_reader(message);
	struct wire_field field = {0};
	size_t count;

	while (wire_next(&reader, &field))
		if (field.tag >> 3 == number &&
		    pl_span_eq(field_of(field.bytes, 1, &count), pl_span_str(name)))
			return field_of(field.bytes, 2, &count);
	t_fail(__FILE__, __LINE__, "no %s", name);
	return (struct pl_span){0};
}

T_CASE(protobuf_says_what_json_says)
{
	struct pl_span document, definitions, schema, port, text;
	struct pl_json json;
	size_t count;

	make();
	json = parsed(openapi_v2(made));
	document = openapi_v2_as_protobuf(made);
	T_SPAN(field_of(document, 1, &count), PL_SPAN_LIT("2.0"));
	definitions = field_of(document, 9, &count);
	T_EQ(count, 1);
	field_of(definitions, 1, &count);
	T_EQ(count, pl_json_count(at(json, "definitions")));
	field_of(field_of(document, 8, &count), 2, &count);
	T_EQ(count, pl_json_count(at(json, "paths")));
	schema = named(definitions, 1, "io.k8s.api.core.v1.Container");
	T_SPAN(field_of(field_of(schema, 22, &count), 1, &count), PL_SPAN_LIT("object"));
	T_SPAN(field_of(schema, 19, &count), PL_SPAN_LIT("name"));
	port = named(field_of(schema, 25, &count), 1, "ports");
	text = field_of(field_of(field_of(port, 23, &count), 1, &count), 1, &count);
	T_SPAN(text, PL_SPAN_LIT("#/definitions/io.k8s.api.core.v1.ContainerPort"));
	text = field_of(named(port, 31, "x-kubernetes-patch-merge-key"), 2, &count);
	T_SPAN(text, PL_SPAN_LIT("\"containerPort\""));
}

/* -- version 3 ------------------------------------------------------------------------------------- */

#define SCHEMA(name) "components|schemas|io.k8s.api." name

T_CASE(version_3_has_defaults_and_choices)
{
	struct pl_json json;

	make();
	json = v3_of("api/v1");
	is(json, SCHEMA("core.v1.PodSpec|properties|restartPolicy"),
	   "{\"description\":\"When ended containers are started again.\",\"type\":\"string\","
	   "\"enum\":[\"Always\",\"Never\",\"OnFailure\"],\"default\":\"Always\"}");
	is(json, SCHEMA("core.v1.PodSpec|properties|affinity"),
	   "{\"description\":\"Rules about nodes and other pods.\",\"allOf\":[{\"$ref\":"
	   "\"#/components/schemas/io.k8s.api.core.v1.Affinity\"}]}");
	is(json, "components|schemas|io.k8s.apimachinery.pkg.api.resource.Quantity|oneOf",
	   "[{\"type\":\"string\"},{\"type\":\"number\"}]");
	is(json,
	   "paths|/api/v1/namespaces/{namespace}/pods/{name}|patch|requestBody|content|"
	   "application/apply-patch+yaml",
	   "{\"schema\":{\"$ref\":\"#/components/schemas/"
	   "io.k8s.apimachinery.pkg.apis.meta.v1.Patch\"}}");
	T_TRUE(has_param(at(json, "paths|/api/v1/nodes/{name}|patch"),
	                 "fieldValidation"));
	is(json, "paths|/api/v1/nodes|get|x-kubernetes-group-version-kind",
	   "{\"group\":\"\",\"kind\":\"Node\",\"version\":\"v1\"}");
}

T_CASE(a_group_has_its_own_types_only)
{
	struct pl_span document, hash;
	struct pl_json json;

	make();
	json = v3_of("apis/scheduling.k8s.io/v1");
	T_TRUE(pl_json_member(at(json, "components|schemas"), "io.k8s.api.core.v1.Pod")
	               .node == NULL);
	T_TRUE(at(json, SCHEMA("scheduling.v1.PriorityClassList")).node != NULL);
	T_TRUE(!openapi_v3_find(made, PL_SPAN_LIT("apis/none/v1"), &document, &hash));
}

T_CASE(the_index_names_every_document_by_its_hash)
{
	struct pl_span document, hash;
	struct pl_json paths;
	char want[256];

	make();
	paths = at(parsed(openapi_v3(made)), "paths");
	T_TRUE(pl_json_count(paths) > 5);
	PL_JSON_EACH (row, paths) {
		const char *path = pl_json_key(row);

		T_TRUE(openapi_v3_find(made, pl_span_str(path), &document, &hash));
		snprintf(want, sizeof want, "\"/openapi/v3/%s?hash=" PL_SPAN_FMT "\"",
		         path, PL_SPAN_ARG(hash));
		T_STR(text_at(row, "serverRelativeURL"), want);
	}
}

/* -- memory ----------------------------------------------------------------------------------------- */

static enum pl_code make_once(void)
{
	struct openapi *openapi = NULL;
	enum pl_code code = openapi_new("0.1.0", &openapi, &err);

	openapi_free(openapi);
	return code;
}

/* Thousands of allocations: those of the first document, and some of each other one. */
T_CASE_SECONDS(a_failure_of_memory_is_told, 60)
{
	for (uint64_t nth = 1; nth < 40000; nth += nth < 40 ? 1 : nth / 3) {
		enum pl_code code;

		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = make_once();
		T_EQ(code, pl_fault_fired(PL_FAULT_ALLOC) ? PL_NOMEM : PL_OK);
	}
	pl_fault_reset();
}
