#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "shardsched/model/parse.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static struct model model;
static struct pl_arena arena;
static struct pl_err err;
static struct field_errors errors;

static void begin(void)
{
	model_init(&model);
	pl_arena_init(&arena, 1 << 16, 0);
}

static void end(void)
{
	pl_arena_done(&arena);
	model_done(&model); /* asserts that nothing is left */
}

static enum pl_code try_pod(const char *json, bool validate, struct pod *out)
{
	struct parse parse = {
		.model = &model, .arena = &arena, .errors = validate ? &errors : NULL};
	enum pl_code code = pod_parse(&parse, pl_span_str(json), out, &err);

	pl_arena_reset(&arena);
	return code;
}

static struct pod pod_of(const char *json)
{
	struct pod pod;

	T_OK(try_pod(json, false, &pod), &err);
	return pod;
}

static uint32_t id(const char *text)
{
	return strings_find(&model.strings, pl_span_str(text));
}

/* A pod with these members in metadata and spec beside the usual ones. */
#define POD(meta, spec)                                                \
	"{\"metadata\":{\"name\":\"p\",\"namespace\":\"default\"" meta \
	"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"app:1\"}]" spec "}}"
#define ASKS(list) \
	"{\"name\":\"c\",\"image\":\"a\",\"resources\":{\"requests\":{" list "}}}"
#define CONTAINERS(list)                                                      \
	"{\"metadata\":{\"name\":\"p\",\"namespace\":\"default\"},\"spec\":{" \
	"\"containers\":[" list "]"

T_CASE(requests_are_added_up_as_the_scheduler_does)
{
	struct pod pod;

	begin();
	pod = pod_of(CONTAINERS(
		ASKS("\"cpu\":\"1n\",\"memory\":\"1500m\"") "," ASKS("\"cpu\":\"100m\",\"example.com/gpu\":\"2\"") "," ASKS(
			"\"cpu\":0,\"memory\":0,\"foo\":\"9\"")) ",\"initContainers\":[" ASKS("\"cpu\":\"50m\",\"ephemeral-storage\":\"1Ki\"") "],"
	                                                                                                                                       "\"overhead\":{\"cpu\":\"10m\"}}}");
	T_EQ(pod.spec->requests->cpu_milli, 1 + 100 + 10);
	T_EQ(pod.spec->requests->memory, 2);
	T_EQ(pod.spec->requests->storage, 1024);
	T_EQ(pod.spec->requests->count, 1);
	T_EQ(resources_get(pod.spec->requests, id("example.com/gpu")), 2);
	/* No cpu is missing. The second container requests no memory, nor does the init
	 * container, which requests no more than that alone. */
	T_EQ(spec_nonzero_cpu_milli(pod.spec), 111);
	T_EQ(spec_nonzero_memory(pod.spec), 200 * 1024 * 1024 + 2);
	pod_drop(&model, &pod);

	pod = pod_of(POD("", ""));
	T_EQ(pod.spec->requests->cpu_milli, 0);
	T_EQ(spec_nonzero_cpu_milli(pod.spec), 100);
	pod_drop(&model, &pod);
	end();
}

T_CASE(each_amount_is_rounded_before_the_sum)
{
	struct pod pod;

	begin();
	pod = pod_of(CONTAINERS(ASKS("\"cpu\":\"1n\"") "," ASKS("\"cpu\":\"1u\"")) "}}");
	T_EQ(pod.spec->requests->cpu_milli, 2);
	pod_drop(&model, &pod);
	end();
}

T_CASE(limits_become_requests_and_host_networks_take_their_ports)
{
	struct pod pod;

	begin();
	pod = pod_of("{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\"},\"spec\":{"
	             "\"hostNetwork\":true,\"containers\":[{\"name\":\"c\",\"image\":"
	             "\"reg:5000/x\",\"resources\":{\"limits\":{\"cpu\":\"2\",\"memory\":"
	             "\"1Gi\"},\"requests\":{\"cpu\":\"1\"}},\"ports\":[{"
	             "\"containerPort\":80},{\"containerPort\":53,\"hostPort\":53,"
	             "\"protocol\":\"UDP\",\"hostIP\":\"10.0.0.1\"}]}]}}");
	T_EQ(pod.spec->requests->cpu_milli, 1000);
	T_EQ(pod.spec->requests->memory, 1 << 30);
	T_EQ(pod.spec->template->ports.count, 2);
	T_EQ(spec_ports(pod.spec)[0].port, 80);
	T_EQ(spec_ports(pod.spec)[0].ip, id("0.0.0.0"));
	T_EQ(spec_ports(pod.spec)[1].protocol, SPEC_UDP);
	T_EQ(spec_ports(pod.spec)[1].ip, id("10.0.0.1"));
	T_EQ(spec_images(pod.spec)[0], id("reg:5000/x:latest"));
	pod_drop(&model, &pod);
	end();
}

T_CASE(pods_with_equal_specs_share_their_class)
{
	struct pod a, b, c;

	begin();
	a = pod_of(POD(",\"uid\":\"1\"", ",\"nodeSelector\":{\"x\":\"y\",\"z\":\"\"}"));
	b = pod_of(
		"{\"spec\":{\"nodeSelector\":{\"z\":\"\",\"x\":\"y\"},\"dnsPolicy\":\"Default\","
		"\"containers\":[{\"image\":\"app:1\",\"name\":\"other\"}],\"nodeName\":\"n1\"},"
		"\"metadata\":{\"namespace\":\"default\",\"name\":\"q\",\"uid\":\"2\"}}");
	c = pod_of(POD("", ",\"nodeSelector\":{\"x\":\"y\"}"));
	T_TRUE(a.spec == b.spec);
	T_TRUE(a.spec != c.spec);
	T_TRUE(a.name != b.name && a.uid != b.uid);
	T_EQ(b.node, id("n1"));
	T_EQ(a.spec->item.refs, 2);
	pod_drop(&model, &a);
	pod_drop(&model, &b);
	pod_drop(&model, &c);
	end();
}

#define OF_SET(name, claim)                                                          \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"default\"},\"spec\":{" \
	"\"containers\":[{\"name\":\"c\",\"image\":\"app:1\"}],\"volumes\":[{"       \
	"\"name\":\"data\",\"persistentVolumeClaim\":{\"claimName\":\"" claim "\"}}]}}"

T_CASE(replicas_with_their_own_claims_share_their_class)
{
	struct pod a, b, c;
	const struct spec_volume *volume;

	begin();
	a = pod_of(OF_SET("db-0", "data-db-0"));
	b = pod_of(OF_SET("db-1", "data-db-1"));
	c = pod_of(OF_SET("db-2", "data-db-1"));
	T_TRUE(a.spec == b.spec && a.spec != c.spec);
	volume = spec_volumes(a.spec);
	T_SPAN(model_text(&model, volume->id), PL_SPAN_LIT("data-*"));
	T_EQ(volume->own, 1);
	T_EQ(a.spec->flags, SPEC_BY_NAME);
	T_EQ(id("data-db-0"), 0);
	T_EQ(spec_volumes(c.spec)->own, 0);
	T_EQ(spec_volumes(c.spec)->id, id("data-db-1"));
	T_EQ(c.spec->flags, 0);
	pod_drop(&model, &a);
	pod_drop(&model, &b);
	pod_drop(&model, &c);
	end();
}

T_CASE(fields_that_scheduling_reads_are_kept)
{
	struct pod pod;
	const struct spec_spread *spread;

	begin();
	pod = pod_of(POD(
		",\"labels\":{\"app\":\"web\",\"sla\":\"gold\",\"hash\":\"h1\"},"
		"\"annotations\":{\"placet.io/gang\":\"g\",\"placet.io/gang-min\":\"3\","
		"\"placet.io/gang-domain\":\"zone\"},"
		"\"creationTimestamp\":\"1970-01-01T00:00:01Z\",\"ownerReferences\":[{"
		"\"kind\":\"Node\",\"name\":\"n\",\"uid\":\"u0\"},{\"kind\":\"ReplicaSet\","
		"\"name\":\"rs\",\"uid\":\"u1\",\"controller\":true}]",
		",\"priority\":-5,\"preemptionPolicy\":\"Never\",\"schedulingGates\":[{"
		"\"name\":\"a\"},{\"name\":\"b\"}],\"topologySpreadConstraints\":[{"
		"\"maxSkew\":2,\"topologyKey\":\"zone\",\"whenUnsatisfiable\":"
		"\"DoNotSchedule\",\"minDomains\":4,\"nodeTaintsPolicy\":\"Honor\","
		"\"matchLabelKeys\":[\"hash\",\"none\"],\"labelSelector\":{\"matchLabels\":"
		"{\"app\":\"web\"}}}],\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}},{"
		"\"name\":\"w\",\"ephemeral\":{\"volumeClaimTemplate\":{}}},{\"name\":\"r\","
		"\"rbd\":{\"monitors\":[\"m1\",\"m2\"],\"image\":\"i\",\"readOnly\":true}}]"));
	T_EQ(pod.spec->sla, SPEC_SLA_GOLD);
	T_EQ(pod.spec->template->gang, id("g"));
	T_EQ(pod.spec->template->gang_min, 3);
	T_EQ(pod.spec->template->gang_domain, id("zone"));
	T_TRUE(!pod.preempted);
	T_EQ(pod.spec->template->owner_kind, id("ReplicaSet"));
	T_EQ(spec_owner_uid(pod.spec), id("u1"));
	T_EQ(pod.spec->priority, -5);
	T_EQ(pod.spec->flags, SPEC_NEVER_PREEMPTS | SPEC_BY_NAME);
	T_EQ(pod.created_ms, 1000);
	T_EQ(pod.spec->template->gates.count, 2);
	T_EQ(spec_gates(pod.spec)[1], id("b"));
	spread = &spec_spreads(pod.spec)[0];
	T_EQ(spread->max_skew, 2);
	T_EQ(spread->min_domains, 4);
	T_TRUE(spread->hard && spread->affinity && spread->taints);
	T_EQ(spread->selector->count, 2); /* app, and hash from the pod's own labels */
	T_TRUE(selector_matches(&model.strings, spread->selector, pod.spec->labels));
	T_EQ(pod.spec->volumes, 2);
	T_EQ(spec_volumes(pod.spec)[0].kind, DRAFT_EPHEMERAL);
	T_EQ(spec_volumes(pod.spec)[0].name, id("w"));
	T_EQ(spec_volumes(pod.spec)[0].id, id("*-w"));
	T_EQ(spec_pool(pod.spec, &spec_volumes(pod.spec)[1]), id("rbd"));
	T_EQ(spec_volumes(pod.spec)[1].monitors, 2);
	T_EQ(spec_monitors(pod.spec, &spec_volumes(pod.spec)[1])[1], id("m2"));
	pod_drop(&model, &pod);
	end();
}

static void refused(const char *json, enum pl_code code, const char *words)
{
	struct pod pod = {0};

	T_CODE(try_pod(json, true, &pod), code, &err);
	if (strstr(err.msg, words) == NULL)
		t_fail(__FILE__, __LINE__, "'%s' is not in '%s'", words, err.msg);
	T_TRUE(pod.spec == NULL);
}

T_CASE(invalid_pod_is_refused_with_the_path)
{
	begin();
	refused("[]", PL_INVALID, "want an object");
	refused("{\"metadata\":{\"labels\":[]}}", PL_INVALID, "metadata.labels");
	refused("{\"metadata\":{\"labels\":{\"a\":1}}}", PL_INVALID, "metadata.labels.a");
	refused("{\"spec\":{\"priority\":2147483648}}", PL_INVALID, "spec.priority");
	refused("{\"spec\":{\"priority\":\"1\"}}", PL_INVALID, "spec.priority");
	refused("{\"metadata\":{\"creationTimestamp\":\"now\"}}", PL_INVALID,
	        "metadata.creationTimestamp");
	refused("{\"spec\":{\"containers\":[{\"name\":\"c\",\"ports\":[{},{\"hostIP\":"
	        "\"10.0.0.1/24\"}]}]}}",
	        PL_INVALID, "spec.containers[0].ports[1].hostIP: want an IP address");
	refused(CONTAINERS(ASKS("\"cpu\":\"1x\"")) "}}", PL_INVALID,
	        "spec.containers[0].resources.requests.cpu");
	refused(CONTAINERS(ASKS(
			"\"memory\":\"9223372036854775807\"") ","
	                                                      "{\"name\":\"d\",\"image\":\"a\",\"resources\":{\"requests\":{"
	                                                      "\"memory\":\"9223372036854775807\"}}}") "}}",
	        PL_LIMIT, "spec.containers: requests of memory");
	refused(CONTAINERS(ASKS("\"cpu\":\"9223372036854775807\"")) "}}", PL_LIMIT,
	        "requests of cpu");
	refused(CONTAINERS(ASKS("\"memory\":\"9223372036854775808\"")) "}}", PL_LIMIT,
	        "requests.memory");
	refused(POD(",\"labels\":{\"a\":\"-\"}", ""), PL_INVALID, "metadata.labels");
	refused(POD(",\"annotations\":{\"placet.io/gang-min\":\"3\"}", ""), PL_INVALID,
	        "metadata.annotations[placet.io/gang-min]");
	refused(POD(",\"annotations\":{\"placet.io/gang\":\"g\",\"placet.io/gang-min\":\"0\"}",
	            ""),
	        PL_INVALID, "metadata.annotations[placet.io/gang-min]");
	refused(POD(",\"annotations\":{\"placet.io/gang-domain\":\"zone\"}", ""),
	        PL_INVALID, "metadata.annotations[placet.io/gang-domain]");
	refused(POD(",\"annotations\":{\"placet.io/gang\":\"g\",\"placet.io/gang-domain\":"
	            "\"a/\"}",
	            ""),
	        PL_INVALID, "metadata.annotations[placet.io/gang-domain]");
	end();
}

T_CASE(preempted_pod_is_recognised)
{
	static const struct {
		const char *conditions;
		bool preempted;
	} cases[] = {
		{"[]", false},
		{"[{\"type\":\"Ready\",\"status\":\"True\"},{\"type\":\"DisruptionTarget\","
	         "\"status\":\"True\",\"reason\":\"PreemptionByScheduler\"}]",
	         true},
		{"[{\"type\":\"DisruptionTarget\",\"status\":\"False\",\"reason\":"
	         "\"PreemptionByScheduler\"}]",
	         false},
		{"[{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":"
	         "\"EvictionByEvictionAPI\"}]",
	         false},
	};

	begin();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char json[512];
		struct pod pod;

		(void)snprintf(
			json, sizeof json,
			"{\"metadata\":{\"name\":\"p\"},\"status\":{\"conditions\":%s}}",
			cases[i].conditions);
		T_OK(try_pod(json, false, &pod), &err);
		T_EQ(pod.preempted, cases[i].preempted);
		pod_drop(&model, &pod);
	}
	end();
}

static char big[4 << 20];
static size_t big_len;

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): two lines above */
	big_len += (size_t)vsnprintf(big + big_len, sizeof big - big_len, fmt, args);
	va_end(args);
	T_TRUE(big_len < sizeof big);
}

T_CASE(amounts_that_are_too_large_are_refused_with_the_path)
{
	begin();
	big_len = 0;
	say("{\"metadata\":{\"labels\":{");
	for (int i = 0; i < 10000; i++)
		say("%s\"k%d\":\"\"", i == 0 ? "" : ",", i);
	say("}}}");
	refused(big, PL_LIMIT, "metadata.labels: has 10000 entries");

	big_len = 0;
	for (int i = 0; i < 100000; i++)
		say("{\"a\":");
	refused(big, PL_LIMIT, "");

	big_len = 0;
	say("{\"metadata\":{\"name\":\"");
	for (int i = 0; i < 3500000; i += 10)
		say("aaaaaaaaaa");
	say("\"}}");
	refused(big, PL_LIMIT, "");

	big_len = 0;
	say("{\"spec\":{\"containers\":[");
	for (int i = 0; i < 300; i++)
		say("%s{\"resources\":{\"requests\":{\"a.b/r%d\":1}}}", i == 0 ? "" : ",",
		    i);
	say("]}}");
	{
		struct pod pod;

		T_CODE(try_pod(big, false, &pod), PL_LIMIT, &err);
		T_TRUE(strstr(err.msg, "spec.containers") != NULL);
	}
	end();
}

T_CASE(the_longest_lists_that_are_taken_are_kept)
{
	struct pod pod;

	begin();
	big_len = 0;
	say("{\"spec\":{\"containers\":[{\"ports\":[");
	for (int i = 1; i <= 2048; i++)
		say("%s{\"hostPort\":%d}", i == 1 ? "" : ",", i);
	say("]}],\"volumes\":[{\"rbd\":{\"monitors\":[");
	for (int i = 0; i < 2048; i++)
		say("%s\"m%d\"", i == 0 ? "" : ",", i);
	say("]}}");
	for (int i = 1; i < 2048; i++)
		say(",{\"iscsi\":{}}");
	say("],\"schedulingGates\":[{}");
	for (int i = 1; i < 2048; i++)
		say(",{}");
	say("],\"topologySpreadConstraints\":[{}");
	for (int i = 1; i < 2048; i++)
		say(",{}");
	say("],\"affinity\":{");
	for (int kind = 0; kind < 4; kind++) {
		say("%s\"%sredDuringSchedulingIgnoredDuringExecution\":[{}",
		    kind == 0   ? "\"podAffinity\":{"
		    : kind == 2 ? "},\"podAntiAffinity\":{"
		                : ",",
		    kind % 2 == 0 ? "requi" : "prefer");
		for (int i = 1; i < 2048; i++)
			say(",{}");
		say("]");
	}
	say("}}}}");
	pod = pod_of(big);
	T_EQ(pod.spec->template->ports.count, 2048);
	T_EQ(spec_ports(pod.spec)[2047].port, 2048);
	T_EQ(pod.spec->template->soft_anti_affinity.count, 2048);
	T_EQ(spec_volumes(pod.spec)[0].monitors, 2048);
	T_SPAN(model_text(&model, spec_monitors(pod.spec, spec_volumes(pod.spec))[2047]),
	       PL_SPAN_LIT("m2047"));
	pod_drop(&model, &pod);
	end();
}

/* The pods of a deployment of fifty and of a stateful set. */
static const char web[] =
	"{\"metadata\":{\"name\":\"web-5d4f8c7b9-%05d\",\"namespace\":\"production\",\"uid\":"
	"\"0b1f3c5e-8a4d-4f6e-9c2b-%012d\",\"labels\":{\"app\":\"web\",\"tier\":\"frontend\","
	"\"pod-template-hash\":\"%s\"},\"creationTimestamp\":\"2026-11-21T05:00:00Z\","
	"\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":"
	"\"web-5d4f8c7b9\",\"uid\":\"aaaaaaaa-8a4d-4f6e-9c2b-000000000000\",\"controller\":"
	"true}]},\"spec\":{\"containers\":[{\"name\":\"app\",\"image\":\"registry/web:1.2.3\","
	"\"resources\":{\"requests\":{\"cpu\":\"500m\",\"memory\":\"1Gi\"}}}],\"tolerations\":["
	"{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":"
	"\"NoExecute\",\"tolerationSeconds\":300}],\"topologySpreadConstraints\":[{\"maxSkew\":"
	"1,\"topologyKey\":\"topology.kubernetes.io/zone\",\"whenUnsatisfiable\":"
	"\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":{\"app\":\"web\"}}}]}}";

static struct pod *pods_of(size_t count, bool own_hash)
{
	struct pod *pods = calloc(count, sizeof *pods);
	char json[2048], hash[24];

	T_TRUE(pods != NULL);
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(hash, sizeof hash, "%010zu", own_hash ? i : 7);
		(void)snprintf(json, sizeof json, web, (int)i, (int)i, hash);
		pods[i] = pod_of(json);
	}
	return pods;
}

static size_t heap_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static size_t bytes_a_pod(bool own_hash)
{
	enum { COUNT = 20000 };
	struct pod *pods;
	size_t before, after;

	begin();
	before = heap_bytes();
	pods = pods_of(COUNT, own_hash);
	after = heap_bytes();
	if (after == before) /* a sanitizer has its own heap */
		after = before + model_memory(&model) + COUNT * sizeof *pods;
	for (size_t i = 0; i < COUNT; i++)
		pod_drop(&model, &pods[i]);
	free(pods);
	end();
	return (after - before) / COUNT;
}

T_CASE_SECONDS(a_waiting_pod_is_small, 60)
{
	size_t shared = bytes_a_pod(false), own = bytes_a_pod(true);

	printf("# struct pod %zu, struct spec %zu; a pod of a deployment %zu bytes, one "
	       "whose class is its own %zu\n",
	       sizeof(struct pod), sizeof(struct spec), shared, own);
	T_TRUE(shared <= 300);
	T_TRUE(own <= 600);
}

T_CASE_SECONDS(a_hundred_thousand_changing_hashes_leave_memory_flat, 120)
{
	enum { LIVE = 500, STEPS = 100000 };
	static struct pod live[LIVE];
	char json[2048], hash[24];
	size_t memory = 0;

	begin();
	for (unsigned i = 0; i < STEPS; i++) {
		struct pod *at = &live[i % LIVE];

		pod_drop(&model, at);
		(void)snprintf(hash, sizeof hash, "%010u", i);
		(void)snprintf(json, sizeof json, web, (int)(i % 100000), (int)i, hash);
		*at = pod_of(json);
		if (i == STEPS / 10)
			memory = model_memory(&model);
	}
	T_EQ(model_memory(&model), memory);
	T_EQ(model.intern[MODEL_SPECS].count, LIVE);
	T_TRUE(model.intern[MODEL_SPECS].ids <= LIVE + 1);
	for (unsigned i = 0; i < LIVE; i++)
		pod_drop(&model, &live[i]);
	T_EQ(model.strings.count, 0);
	end();
}

static const char all[] = POD(
	",\"labels\":{\"app\":\"web\"},\"uid\":\"u\"",
	",\"nodeName\":\"n\",\"nodeSelector\":{\"a\":\"b\"},\"affinity\":{\"nodeAffinity\":{"
	"\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{"
	"\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"x\",\"y\"]}],"
	"\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"n\"]}]}]},"
	"\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":5,\"preference\":{"
	"\"matchExpressions\":[{\"key\":\"c\",\"operator\":\"Exists\"}]}}]},\"podAntiAffinity\":{"
	"\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":\"zone\","
	"\"namespaces\":[\"q\",\"r\"],\"labelSelector\":{\"matchLabels\":{\"app\":\"web\"}}}]}},"
	"\"tolerations\":[{\"key\":\"t\",\"value\":\"v\",\"effect\":\"NoSchedule\"}],"
	"\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"zone\","
	"\"whenUnsatisfiable\":\"DoNotSchedule\",\"matchLabelKeys\":[\"app\"],"
	"\"labelSelector\":{}}],\"volumes\":[{\"name\":\"w\",\"persistentVolumeClaim\":{"
	"\"claimName\":\"c\"}}]");

static enum pl_code once(void)
{
	struct pod pod = {0};
	enum pl_code code;

	begin();
	pl_arena_done(&arena);
	pl_arena_init(&arena, 512, 0); /* small, so allocations are frequent */
	code = try_pod(all, true, &pod);
	pod_drop(&model, &pod);
	end();
	return code;
}

T_CASE(without_memory_a_pod_is_refused_whole)
{
	t_torture(once, true);
}
