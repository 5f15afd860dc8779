/* Objects as people write them, and the pods that are made of them. */
#include <stdio.h>

#include "shardsched/expand/expand.h"
#include "shardsched/expand/stable_uid.h"
#include "store/base/json.h"
#include "tests/harness/torture.h"

static struct expand expand;
static struct pl_err err;
static char told[1 << 16];

static const char bare[] =
	"{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"web\"},\n"
	" \"spec\": {\"containers\": [{\"name\": \"c\", \"image\": \"i\", \"args\": [\"c c\"]}]}}";

#define BARE(name, more)                                           \
	"{\"kind\":\"Pod\",\"metadata\":{" more "\"name\":\"" name \
	"\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"
#define TEMPLATE(labels, more)                                                       \
	"\"template\":{\"metadata\":{\"creationTimestamp\":null,\"labels\":{" labels \
	"}},\"spec\":{" more "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"
#define WORKLOAD(kind, more, labels, spec)                                  \
	"{\"kind\":\"" kind "\",\"metadata\":{\"name\":\"web\"},\"spec\":{" \
	"\"selector\":{\"matchLabels\":{\"app\":\"web\"}}," more            \
	TEMPLATE(labels, spec) "}}"
#define APP "\"app\":\"web\""

static enum pl_code begin(const char *json)
{
	struct pl_span text = pl_span_str(json);

	err = (struct pl_err){0};
	return expand_begin(&expand, expand_source_of(text), text, &err);
}

/* Every pod's name, and what its JSON is, a line each. */
static const char *pods(const char *json)
{
	struct expand_pod pod;
	size_t len = 0;

	T_OK(begin(json), &err);
	told[0] = 0;
	while (expand_next(&expand, &pod, &err) == PL_OK) {
		T_SPAN(model_text(&expand.model, pod.pod->name), pod.name);
		len += (size_t)snprintf(told + len, sizeof told - len, "%.*s/%.*s %.*s\n",
		                        PL_SPAN_ARG(pod.namespace), PL_SPAN_ARG(pod.name),
		                        PL_SPAN_ARG(pod.json));
	}
	T_EQ(err.code, PL_OK);
	return told;
}

static void has(const char *words)
{
	if (strstr(told, words) == NULL)
		t_fail(__FILE__, __LINE__, "no '%s' in:\n%s", words, told);
}

static unsigned lines(void)
{
	unsigned count = 0;

	for (const char *at = told; *at != 0; at++)
		count += *at == '\n';
	return count;
}

static void refused(const char *json, const char *words)
{
	struct expand_pod pod;

	T_CODE(begin(json), PL_INVALID, &err);
	if (strstr(err.msg, words) == NULL)
		T_STR(err.msg, words);
	T_EQ(expand_next(&expand, &pod, &err), PL_NOTFOUND);
}

static void up(void)
{
	expand_init(&expand, PL_SPAN_LIT("default"));
}

T_CASE(pod_is_written_without_white_space_and_with_a_uid)
{
	char first[4096];

	up();
	(void)snprintf(first, sizeof first, "%s", pods(bare));
	T_TRUE(strncmp(first, "default/web {\"apiVersion\":\"v1\",\"kind\":\"Pod\",",
	               44) == 0);
	has("\"namespace\":\"default\"");
	has("\"args\":[\"c c\"]");
	has("\"uid\":\"");
	T_STR(pods(bare), first);
	expand_done(&expand);
}

T_CASE(server_fields_are_left_out_and_unknown_fields_stay)
{
	up();
	(void)pods("{\"kind\":\"Pod\",\"metadata\":{\"name\":\"web\",\"uid\":\"u-1\","
	           "\"namespace\":\"shop\",\"resourceVersion\":\"7\",\"odd\":1},"
	           "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]},"
	           "\"status\":{\"phase\":\"Running\"},\"more\":[ 1, 2 ]}");
	T_STR(told, "shop/web {\"kind\":\"Pod\",\"metadata\":{\"name\":\"web\","
	            "\"uid\":\"u-1\",\"namespace\":\"shop\",\"odd\":1},"
	            "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]},"
	            "\"more\":[1,2],\"apiVersion\":\"v1\"}\n");
	expand_done(&expand);
}

T_CASE(deployment_becomes_a_replica_set_with_pods)
{
	char first[1 << 13];

	up();
	(void)snprintf(first, sizeof first, "%s",
	               pods(WORKLOAD("Deployment", "\"replicas\":3,", APP, "")));
	T_EQ(lines(), 3);
	t_golden("expand/deployment.txt", told);
	/* White space and the number of replicas do not change the hash, the template
	 * does. */
	(void)pods(WORKLOAD("Deployment", "\"replicas\" : 3 , ", APP, ""));
	T_STR(told, first);
	(void)pods(WORKLOAD("Deployment", "\"replicas\":3,", APP, "\"priority\":1,"));
	T_TRUE(strncmp(told, first, 23) != 0);
	(void)pods(WORKLOAD("Deployment", "\"replicas\":0,", APP, ""));
	T_EQ(lines(), 0);
	expand_done(&expand);
}

T_CASE(other_controllers_own_their_pods)
{
	up();
	(void)pods(WORKLOAD("ReplicaSet", "\"replicas\":2,", APP, ""));
	t_golden("expand/replicaset.txt", told);
	(void)pods(WORKLOAD("StatefulSet", "\"replicas\":2,\"ordinals\":{\"start\":5},",
	                    APP, ""));
	t_golden("expand/statefulset.txt", told);
	(void)pods(WORKLOAD("Job",
	                    "\"completions\":2,\"parallelism\":7,\"completionMode\":"
	                    "\"Indexed\",",
	                    "", ""));
	t_golden("expand/job.txt", told);
	(void)pods(WORKLOAD("Job", "\"parallelism\":4,", "", ""));
	T_EQ(lines(), 4);
	(void)pods(WORKLOAD("Job", "\"suspend\":true,", "", ""));
	T_EQ(lines(), 0);
	expand_done(&expand);
}

T_CASE(each_pod_is_valid_and_has_its_own_uid)
{
	struct expand_pod pod;
	char last[64] = "";

	up();
	T_OK(begin(WORKLOAD("StatefulSet", "\"replicas\":40,", APP, "")), &err);
	while (expand_next(&expand, &pod, &err) == PL_OK) {
		struct pl_json root, meta;
		struct pl_arena arena;
		const char *uid;

		pl_arena_init(&arena, 0, 0);
		T_OK(pl_json_parse(&arena, pod.json, NULL, &root, &err), &err);
		T_OK(pl_json_object(root, "metadata", PL_JSON_REQUIRED, &meta, &err),
		     &err);
		T_OK(pl_json_string(meta, "uid", PL_JSON_REQUIRED, &uid, &err), &err);
		T_EQ(strlen(uid), UID_SIZE - 1);
		T_EQ(uid[14], '5');
		T_TRUE(strchr("89ab", uid[19]) != NULL);
		T_TRUE(strcmp(uid, last) != 0);
		(void)snprintf(last, sizeof last, "%s", uid);
		pl_arena_done(&arena);
	}
	expand_done(&expand);
}

T_CASE(priorities_come_from_classes_in_the_input)
{
	up();
	refused(WORKLOAD("ReplicaSet", "", APP, "\"priorityClassName\":\"gold\","),
	        "ReplicaSet default/web: spec.template.spec.priorityClassName: want its");
	T_OK(expand_class(&expand,
	                  PL_SPAN_LIT("{\"metadata\":{\"name\":\"gold\"},\"value\":70,"
	                              "\"preemptionPolicy\":\"Never\"}"),
	                  &err),
	     &err);
	(void)pods(WORKLOAD("ReplicaSet", "", APP, "\"priorityClassName\":\"gold\","));
	has("\"priority\":70");
	has("\"preemptionPolicy\":\"Never\"");
	refused(WORKLOAD("ReplicaSet", "", APP,
	                 "\"priority\":3,\"priorityClassName\":\"gold\","),
	        "spec.template.spec.priority: want 70");
	(void)pods(WORKLOAD("ReplicaSet", "", APP,
	                    "\"priority\":3,\"priorityClassName\":\"other\","));
	has("\"priority\":3");
	T_OK(expand_class(&expand,
	                  PL_SPAN_LIT("{\"metadata\":{\"name\":\"all\"},\"value\":-5,"
	                              "\"globalDefault\":true}"),
	                  &err),
	     &err);
	(void)pods(bare);
	has("\"priority\":-5");
	has("\"priorityClassName\":\"all\"");
	(void)pods(WORKLOAD("ReplicaSet", "", APP,
	                    "\"priorityClassName\":\"system-node-critical\","));
	has("\"priority\":2000001000");
	expand_done(&expand);
}

T_CASE(invalid_object_is_refused_with_its_name_and_field)
{
	up();
	refused("{\"kind\":\"Pod\"}", "Pod: metadata.name: want a name");
	refused("{\"kind\":\"Pod\",\"metadata\":{\"generateName\":\"a-\"}}",
	        "metadata.name: want a name");
	refused("{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}",
	        "Pod default/a: spec.containers");
	refused("{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"\\\"\"}}",
	        "metadata.namespace");
	refused("{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"nodeName\":"
	        "\"n\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
	        "Pod default/a: spec.nodeName: want none");
	refused(WORKLOAD("Deployment", "\"replicas\":-1,", APP, ""), "spec.replicas");
	refused(WORKLOAD("Deployment", "\"replicas\":9999999,", APP, ""),
	        "spec.replicas: want 0 to 2000000");
	refused(WORKLOAD("Deployment", "\"replicas\":\"3\",", APP, ""), "spec.replicas");
	refused(WORKLOAD("Deployment", "", "\"app\":\"other\"", ""),
	        "Deployment default/web: spec.selector: want it to match");
	refused("{\"kind\":\"StatefulSet\",\"metadata\":{\"name\":\"a\"},\"spec\":{}}",
	        "spec.selector");
	refused("{\"kind\":\"Job\",\"metadata\":{\"name\":\"a\"},\"spec\":{}}",
	        "Job default/a: spec.template: want one");
	refused(WORKLOAD("StatefulSet", "\"volumeClaimTemplates\":[{}],", APP, ""),
	        "spec.volumeClaimTemplates");
	refused(WORKLOAD("ReplicaSet", "", APP, "\"hostNetwork\":3,"),
	        "spec.template.spec.hostNetwork");
	refused("{\"kind\":\"ReplicaSet\",\"metadata\":{\"name\":\"a\",\"uid\":\"\\\"\"},"
	        "\"spec\":{}}",
	        "metadata.uid");
	expand_done(&expand);
}

/* A Pod that is not read again gives the same pods as if it were. */
T_CASE(equal_pods_are_validated_once)
{
	static const char *const objects[] = {
		BARE("a", ""),
		BARE("b", ""),
		BARE("b", "\"uid\":\"u-1\","),
		BARE("c", ""),
		BARE("No", ""),
		BARE("d", ""),
		BARE("e", "\"name\":\"f\","),
		BARE("g\\u0061", ""),
		BARE("h", "\"namespace\":\"shop\","),
		BARE("i", "\"namespace\":\"\","),
		BARE("j", "\"namespace\":null,"),
		BARE("k", ""),
		"{\"kind\":\"Pod\"}",
		BARE("l", "\"labels\":{\"a\":\"b\"},"),
	};
	unsigned good = 0;

	up();
	for (unsigned i = 0; i < sizeof objects / sizeof objects[0]; i++) {
		struct pl_span text = pl_span_str(objects[i]);
		struct expand_pod pod, other;
		struct expand fresh;
		struct pl_err why = {0};
		enum pl_code code = begin(objects[i]);

		expand_init(&fresh, PL_SPAN_LIT("default"));
		T_CODE(expand_begin(&fresh, EXPAND_POD, text, &why), code, &err);
		T_STR(err.msg, why.msg);
		if (code == PL_OK) {
			T_OK(expand_next(&expand, &pod, &err), &err);
			T_OK(expand_next(&fresh, &other, &why), &why);
			T_SPAN(pod.json, other.json);
			T_SPAN(pod.namespace, other.namespace);
			T_SPAN(model_text(&expand.model, pod.pod->name), other.name);
			good++;
		}
		T_EQ(expand_next(&expand, &pod, &err), PL_NOTFOUND);
		expand_done(&fresh);
	}
	T_EQ(good, 11);
	expand_done(&expand);
}

T_CASE(kinds_are_distinguished_by_api_group)
{
	T_EQ(expand_source_of(PL_SPAN_LIT("{\"kind\":\"Pod\"}")), EXPAND_POD);
	T_EQ(expand_source_of(PL_SPAN_LIT("{\"kind\":\"Service\"}")), EXPAND_NOTHING);
	T_EQ(expand_source_of(PL_SPAN_LIT("{}")), EXPAND_NOTHING);
	T_EQ(expand_source_of(PL_SPAN_LIT("{\"kind\":7,\"apiVersion\":[]}")),
	     EXPAND_NOTHING);
	T_EQ(expand_source_of(PL_SPAN_LIT(
		     "{\"kind\":\"Job\",\"apiVersion\":\"batch.volcano.sh/v1\"}")),
	     EXPAND_NOTHING);
	T_EQ(expand_source_of(
		     PL_SPAN_LIT("{\"kind\":\"Job\",\"apiVersion\":\"batch/v1\"}")),
	     EXPAND_JOB);
}

static enum pl_code tortured(void)
{
	struct expand_pod pod;
	enum pl_code code;

	up();
	code = expand_class(
		&expand, PL_SPAN_LIT("{\"metadata\":{\"name\":\"gold\"},\"value\":70}"),
		&err);
	if (code == PL_OK)
		code = begin(WORKLOAD("Deployment", "\"replicas\":2,", APP,
		                      "\"priorityClassName\":\"gold\","));
	while (code == PL_OK)
		code = expand_next(&expand, &pod, &err);
	expand_done(&expand);
	return code == PL_NOTFOUND ? PL_OK : code;
}

T_CASE(memory_may_run_out_anywhere)
{
	t_torture(tortured, false);
}
