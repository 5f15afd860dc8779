#include <stdlib.h>

#include "coord/api/schema/schema_kit.h"
#include "coord/api/schema/schema_protobuf.h"

/* -- protobuf by hand ------------------------------------------------------------------------ */

static uint8_t room[1 << 16];
static size_t used;

static struct pl_span keep(const uint8_t *at, size_t len)
{
	uint8_t *copy = room + used;

	T_TRUE(used + len <= sizeof room);
	if (len > 0)
		memcpy(copy, at, len);
	used += len;
	return pl_span(copy, len);
}

static size_t put_varint(uint8_t *at, uint64_t value)
{
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		at[len++] = (uint8_t)(value | 0x80);
	at[len++] = (uint8_t)value;
	return len;
}

/* A field of bytes: a text, or a message. */
static struct pl_span sub(uint32_t number, struct pl_span content)
{
	uint8_t out[4096];
	size_t len = put_varint(out, number << 3 | 2);

	len += put_varint(out + len, content.len);
	T_TRUE(len + content.len <= sizeof out);
	if (content.len > 0)
		memcpy(out + len, content.at, content.len);
	return keep(out, len + content.len);
}

static struct pl_span text(uint32_t number, const char *content)
{
	return sub(number, pl_span_str(content));
}

static struct pl_span num(uint32_t number, int64_t value)
{
	uint8_t out[32];
	size_t len = put_varint(out, number << 3);

	len += put_varint(out + len, (uint64_t)value);
	return keep(out, len);
}

static struct pl_span join_all(const struct pl_span *parts, size_t count)
{
	uint8_t out[8192];
	size_t len = 0;

	for (size_t i = 0; i < count; i++) {
		T_TRUE(len + parts[i].len <= sizeof out);
		if (parts[i].len > 0)
			memcpy(out + len, parts[i].at, parts[i].len);
		len += parts[i].len;
	}
	return keep(out, len);
}
#define JOIN(...)                                       \
	join_all((const struct pl_span[]){__VA_ARGS__}, \
	         sizeof((const struct pl_span[]){__VA_ARGS__}) / sizeof(struct pl_span))

static struct pl_span body_of(const char *api_version, const char *kind,
                              struct pl_span raw)
{
	return JOIN(pl_span("k8s\0", 4),
	            sub(1, JOIN(text(1, api_version), text(2, kind))), sub(2, raw),
	            text(3, ""), text(4, ""));
}

/* -- cases ------------------------------------------------------------------------------------ */

static struct schema_protobuf out;
static struct pl_err err;

static enum pl_code decode(struct pl_span body)
{
	enum pl_code code;

	kit_reset();
	code = schema_protobuf_decode(&kit_arena, body, NULL, NULL, &out, &err);
	used = 0;
	return code;
}

static void decoded(struct pl_span body, const char *want)
{
	T_OK(decode(body), &err);
	T_STR(kit_text(json_tree_root(&out.tree)), want);
}

static void refused(struct pl_span body, enum pl_code want, const char *why)
{
	T_CODE(decode(body), want, &err);
	T_STR(err.msg, why);
}

T_CASE(a_namespace_as_kubectl_sends_it)
{
	decoded(body_of("v1", "Namespace",
	                JOIN(sub(1, JOIN(text(1, "team-a"), text(2, ""), text(3, ""),
	                                 text(4, ""), text(5, ""), text(6, ""), num(7, 0),
	                                 sub(8, PL_SPAN_LIT("")))),
	                     sub(2, PL_SPAN_LIT("")), sub(3, text(1, "")))),
	        "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'team-a'},'spec':{},"
	        "'status':{}}");
}

T_CASE(every_kind_of_value)
{
	struct pl_span pod = JOIN(
		sub(1, JOIN(text(1, "a"), sub(8, JOIN(num(1, 1000000000), num(2, 5))),
	                    sub(11, JOIN(text(1, "app"), text(2, "web"))), num(10, 30),
	                    sub(17, JOIN(text(1, "kubectl"), text(6, "FieldsV1"),
	                                 sub(7, text(1, "{\"f:spec\":{}}")))))),
		sub(2,
	            JOIN(sub(1, JOIN(text(1, "v"),
	                             sub(2, sub(2, JOIN(text(1, "Memory"),
	                                                sub(2, text(1, "1Gi"))))))),
	                 sub(2,
	                     JOIN(text(1, "c"), text(2, "i"),
	                          sub(6, JOIN(text(1, ""), num(2, 0), num(3, 80))),
	                          sub(8, JOIN(sub(2, JOIN(text(1, "cpu"),
	                                                  sub(2, text(1, "1")))),
	                                      sub(2, JOIN(text(1, "memory"),
	                                                  sub(2, text(1, "2Gi")))))),
	                          sub(10,
	                              JOIN(sub(1,
	                                       sub(2,
	                                           JOIN(text(1, "/"),
	                                                sub(2, JOIN(num(1, 1), num(2, 0),
	                                                            text(3, "http")))))),
	                                   num(2, 7))),
	                          num(16, 1))),
	                 num(4, 0), num(11, 0), num(25, -5), num(30, 0),
	                 sub(14, JOIN(num(1 + 1, 1000), num(4, 1), num(4, 2))))));

	decoded(body_of("v1", "Pod", pod),
	        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'a','creationTimestamp':"
	        "'2001-09-09T01:46:40Z','labels':{'app':'web'},'deletionGracePeriodSeconds':30,"
	        "'managedFields':[{'manager':'kubectl','fieldsType':'FieldsV1','fieldsV1':"
	        "{'f:spec':{}}}]},'spec':{'volumes':[{'name':'v','emptyDir':{'medium':'Memory',"
	        "'sizeLimit':'1Gi'}}],'containers':[{'name':'c','image':'i','ports':"
	        "[{'containerPort':80}],'resources':{'requests':{'cpu':'1','memory':'2Gi'}},"
	        "'livenessProbe':{'httpGet':{'path':'/','port':'http'},'initialDelaySeconds':7},"
	        "'stdin':true}],'terminationGracePeriodSeconds':0,'priority':-5,"
	        "'enableServiceLinks':false,'securityContext':{'runAsUser':1000,"
	        "'supplementalGroups':[1,2]}}}");
	T_EQ(out.unknown, 0);
	T_TRUE(out.type == &schema_core_pod);
}

T_CASE(bytes_and_numbers_that_are_packed)
{
	decoded(body_of("v1", "ConfigMap",
	                JOIN(sub(3, JOIN(text(1, "a"), text(2, ""))),
	                     sub(3, JOIN(text(1, "b"), text(2, "x"))),
	                     sub(3, JOIN(text(1, "c"), text(2, "xy"))),
	                     sub(3, JOIN(text(1, "d"), text(2, "xyz"))),
	                     sub(3, text(1, "e")), sub(2, text(1, "k")))),
	        "{'apiVersion':'v1','kind':'ConfigMap','binaryData':{'a':'','b':'eA==','c':'eHk=',"
	        "'d':'eHl6','e':''},'data':{'k':''}}");
	decoded(body_of("batch/v1", "Job",
	                sub(2,
	                    sub(11,
	                        sub(1, sub(2, JOIN(text(1, "c"), text(2, "In"),
	                                           sub(3, pl_span("\1\2\xac\2", 4)))))))),
	        "{'apiVersion':'batch/v1','kind':'Job','spec':{'podFailurePolicy':{'rules':"
	        "[{'onExitCodes':{'containerName':'c','operator':'In','values':[1,2,300]}}]}}}");
}

T_CASE(the_last_of_equal_keys_counts_and_messages_add_up)
{
	decoded(body_of("v1", "ConfigMap",
	                JOIN(sub(2, JOIN(text(1, "a"), text(2, "1"))),
	                     sub(2, JOIN(text(1, "b"), text(2, "2"))),
	                     sub(2, JOIN(text(1, "a"), text(2, "3"))),
	                     sub(1, text(1, "n")), sub(1, text(3, "m")))),
	        "{'apiVersion':'v1','kind':'ConfigMap','data':{'b':'2','a':'3'},'metadata':"
	        "{'name':'n','namespace':'m'}}");
}

T_CASE(a_kind_decides_the_type)
{
	struct pl_span options =
		JOIN(num(1, 0), sub(2, text(1, "u")), text(4, "Background"));

	decoded(body_of("apps/v1", "DeleteOptions", options),
	        "{'apiVersion':'apps/v1','kind':'DeleteOptions','gracePeriodSeconds':0,"
	        "'preconditions':{'uid':'u'},'propagationPolicy':'Background'}");
	refused(body_of("v1", "Secret", PL_SPAN_LIT("")), PL_NOTFOUND,
	        "no kind \"Secret\" is registered for version \"v1\"");
	T_SPAN(out.kind, PL_SPAN_LIT("Secret"));
}

T_CASE(fields_that_no_type_has_are_counted)
{
	decoded(body_of("v1", "Pod",
	                JOIN(text(99, "x"), num(98, 1), sub(2, num(1000, 1)))),
	        "{'apiVersion':'v1','kind':'Pod','spec':{}}");
	T_EQ(out.unknown, 3);
}

T_CASE(bodies_that_are_refused)
{
	struct pl_span pod = body_of("v1", "Pod", sub(2, text(3, "Never")));

	refused(PL_SPAN_LIT("{}"), PL_INVALID,
	        "provided data does not appear to be a protobuf message, expected prefix "
	        "[107 56 115 0]");
	refused(pl_span("k8s\0\xff", 5), PL_INVALID,
	        "the protobuf envelope is malformed");
	refused(pl_span(pod.at, pod.len - 3), PL_INVALID,
	        "the protobuf envelope is malformed");
	refused(JOIN(pl_span("k8s\0", 4), text(4, "application/json"), text(2, "{}")),
	        PL_INVALID, "the protobuf envelope is malformed");
	refused(body_of("v1", "Pod", sub(2, pl_span("\x1a\x09x", 3))), PL_INVALID,
	        "spec: the message is cut or malformed");
	refused(body_of("v1", "Pod", sub(2, num(2, 1))), PL_INVALID,
	        "spec.containers: the field has another wire type");
	refused(body_of("v1", "Pod", sub(2, text(3, "\xff"))), PL_INVALID,
	        "spec.restartPolicy: want text in UTF-8");
	refused(body_of("v1", "Pod", sub(2, sub(3, pl_span("a\0b", 3)))), PL_INVALID,
	        "spec.restartPolicy: want text in UTF-8");
	refused(body_of("v1", "Pod", sub(2, num(25, INT64_C(1) << 40))), PL_INVALID,
	        "spec.priority: the number is too large");
	refused(body_of("v1", "Pod", sub(2, num(5, INT64_C(1) << 60))), PL_INVALID,
	        "spec.activeDeadlineSeconds: the number is too large");
	refused(body_of("v1", "Pod",
	                sub(2, sub(32, JOIN(text(1, "cpu"), sub(2, text(1, "x")))))),
	        PL_INVALID, "spec.overhead[cpu]: want a quantity");
	refused(body_of("v1", "Pod", sub(1, sub(8, num(1, INT64_C(1) << 50)))),
	        PL_INVALID, "metadata.creationTimestamp: want a time");
	refused(body_of("v1", "Pod", sub(1, sub(17, sub(7, text(1, "{"))))), PL_INVALID,
	        "metadata.managedFields.fieldsV1: want JSON");
	refused(body_of("v1", "Pod", pl_span("\x13\x14", 2)), PL_INVALID,
	        "object: the message is cut or malformed");
}

/* A byte or two make a value of many bytes. */
T_CASE(values_are_limited)
{
	static const struct pl_json_limits limits = {1 << 20, 32, 100};
	static uint8_t many[8192];
	struct pl_span body;
	size_t len = 0;

	while (len + 2 < 1000) {
		many[len++] = 2 << 3 | 2;
		many[len++] = 0;
	}
	kit_reset();
	body = body_of("v1", "Pod", sub(2, pl_span(many, len)));
	T_CODE(schema_protobuf_decode(&kit_arena, body, NULL, &limits, &out, &err),
	       PL_LIMIT, &err);
	used = 0;
	T_STR(err.msg, "spec.containers: too many values");
}

T_CASE(a_small_arena_is_told_by_protobuf)
{
	unsigned enough = 0;

	for (size_t max = 64; max < 8192; max += 32) {
		struct pl_span body =
			body_of("v1", "ConfigMap",
		                JOIN(sub(2, JOIN(text(1, "a"), text(2, "1"))),
		                     sub(2, JOIN(text(1, "a"), text(2, "3"))),
		                     sub(1, text(1, "n"))));
		struct pl_arena arena;
		enum pl_code code;

		pl_arena_init(&arena, 64, max);
		code = schema_protobuf_decode(&arena, body, NULL, NULL, &out, &err);
		T_TRUE(code == PL_OK || code == PL_NOMEM);
		enough += code == PL_OK;
		used = 0;
		pl_arena_done(&arena);
	}
	T_TRUE(enough > 0);
}

/* -- what kubectl 1.35 sent ------------------------------------------------------------------- */

static struct pl_span recorded(const char *name)
{
	static uint8_t bytes[1 << 16];
	const char *top = getenv("T_ROOT");
	char path[512];
	size_t len;
	FILE *file;

	snprintf(path, sizeof path, "%s/tests/fuzz/corpus/api_protobuf/kubectl-%s",
	         top == NULL ? "." : top, name);
	file = fopen(path, "rb");
	if (file == NULL)
		t_fail(__FILE__, __LINE__, "no file %s", path);
	len = fread(bytes, 1, sizeof bytes, file);
	T_EQ(fclose(file), 0);
	return pl_span(bytes, len);
}

T_CASE(bodies_of_kubectl)
{
	static const char *const names[] = {
		"namespaces",     "configmaps",           "deployments",     "jobs",
		"cronjobs",       "poddisruptionbudgets", "priorityclasses", "services",
		"serviceaccounts"};
	static char all[65536];
	size_t len = 0;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		T_OK(decode(recorded(names[i])), &err);
		T_EQ(out.unknown, 0);
		T_OK(schema_decode(&out.tree, out.type, &kit_report), NULL);
		T_EQ(kit_report.unknown_count, 0);
		len += (size_t)snprintf(all + len, sizeof all - len, "%s\n",
		                        kit_text(json_tree_root(&out.tree)));
	}
	t_golden("api/protobuf_of_kubectl.txt", all);
}
