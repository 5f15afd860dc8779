#include "shardsched/model/parse.h"
#include "shardsched/records/pod_location.h"
#include "store/keys/partition.h"
#include "tests/harness/t.h"

#define L(text) PL_SPAN_LIT(text)

static struct pl_err err;

/* A pod web-0 with these members in metadata and spec beside the usual ones. */
#define POD(meta, spec)                                                    \
	"{\"metadata\":{\"name\":\"web-0\",\"namespace\":\"default\"" meta \
	"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"a\"}]" spec "}}"

#define GANG(name) ",\"annotations\":{\"placet.io/gang\":\"" name "\"}"
#define OWNED(more)                                                                  \
	",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\"," \
	"\"name\":\"web-5d78c9869d\",\"uid\":"                                       \
	"\"7c6e1c52-9f2e-4c3e-8a55-0f3f6d1f7a10\"" more "}]"
#define CONTROLLED OWNED(",\"controller\":true")

#define TERM "{\"topologyKey\":\"zone\",\"labelSelector\":{}}"
#define REQUIRED(what)                                            \
	",\"affinity\":{\"" what                                  \
	"\":{\"requiredDuringSchedulingIgnoredDuringExecution\":" \
	"[" TERM "]}}"
#define PREFERRED(what)                                            \
	",\"affinity\":{\"" what                                   \
	"\":{\"preferredDuringSchedulingIgnoredDuringExecution\":" \
	"[{\"weight\":5,\"podAffinityTerm\":" TERM "}]}}"
#define SPREAD(when)                                                               \
	",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"zone\"," \
	"\"whenUnsatisfiable\":\"" when "\",\"labelSelector\":{}}]"
#define NODES                                                                                 \
	",\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\"" \
	":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"a\",\"operator\":"        \
	"\"Exists\"}]}]}}}"

enum {
	NAMED = 28,
	CONTROLLER = 22,
	GANG_TRAIN = 1
}; /* partitions of 64, as in
						       * docs/hash.md */

/* A pod that was only read has the location of the one that is made. */
static void expect_of_draft(const char *json, uint32_t count, enum pl_code code,
                            const struct pod_location *want)
{
	struct pl_arena arena;
	struct pod_draft draft;
	struct pod_location got = *want;

	pl_arena_init(&arena, 1 << 16, 0);
	T_OK(pod_draft_read(&arena, pl_span_str(json), &draft, &err), &err);
	T_CODE(pod_location_of_draft(&draft, count, &got, &err), code, NULL);
	T_EQ(got.partition, want->partition);
	T_EQ(got.named, want->named);
	pl_arena_done(&arena);
}

static enum pl_code location(const char *json, uint32_t count, struct pod_location *out)
{
	struct model model;
	struct pl_arena arena;
	struct parse parse = {.model = &model, .arena = &arena};
	struct pod pod;
	enum pl_code code;

	model_init(&model);
	pl_arena_init(&arena, 1 << 16, 0);
	T_OK(pod_parse(&parse, pl_span_str(json), &pod, &err), &err);
	expect_of_draft(json, count, pod_location_of(&model, &pod, count, out, &err),
	                out);
	code = pod_location_of(&model, &pod, count, out, &err);
	pod_drop(&model, &pod);
	pl_arena_done(&arena);
	model_done(&model);
	return code;
}

T_CASE(location_follows_from_the_name_or_the_group)
{
	static const struct {
		const char *json;
		uint32_t partition;
	} cases[] = {
		{POD("", ""), NAMED},
		{POD(CONTROLLED, ""), NAMED},
		{POD(CONTROLLED, SPREAD("ScheduleAnyway")), NAMED},
		{POD(CONTROLLED, PREFERRED("podAffinity")), NAMED},
		{POD(CONTROLLED, PREFERRED("podAntiAffinity")), NAMED},
		{POD(CONTROLLED, NODES), NAMED},
		{POD(CONTROLLED, SPREAD("DoNotSchedule")), CONTROLLER},
		{POD(CONTROLLED, REQUIRED("podAffinity")), CONTROLLER},
		{POD(CONTROLLED, REQUIRED("podAntiAffinity")), CONTROLLER},
		{POD("", SPREAD("DoNotSchedule")), NAMED},
		{POD("", REQUIRED("podAffinity")), NAMED},
		{POD(OWNED(""), REQUIRED("podAntiAffinity")), NAMED},
		{POD(GANG("train-7"), ""), GANG_TRAIN},
		{POD(CONTROLLED GANG("train-7"), SPREAD("DoNotSchedule")), GANG_TRAIN},
	};

	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct pod_location got = {0};

		T_OK(location(cases[i].json, 64, &got), &err);
		T_EQ(got.named, NAMED);
		if (got.partition != cases[i].partition)
			t_fail(__FILE__, __LINE__, "%s: %u, want %u", cases[i].json,
			       got.partition, cases[i].partition);
	}
}

T_CASE(location_depends_on_the_number_of_partitions)
{
	struct pod_location got;

	T_OK(location(POD(GANG("train-7"), ""), 4096, &got), &err);
	T_EQ(got.named, 1948);
	T_EQ(got.partition, 1345);
	T_OK(location(POD(GANG("train-7"), ""), 1, &got), &err);
	T_EQ(got.named + got.partition, 0);
}

T_CASE(names_that_no_key_can_have_are_refused)
{
	struct pod_location got = {.partition = 77};

	T_CODE(location(POD(GANG("Train"), ""), 64, &got), PL_INVALID, NULL);
	T_TRUE(strstr(err.msg, "gang") != NULL);
	T_CODE(location("{\"metadata\":{\"name\":\"Web\",\"namespace\":\"default\"},"
	                "\"spec\":{\"containers\":[]}}",
	                64, &got),
	       PL_INVALID, NULL);
	T_TRUE(strstr(err.msg, "pod") != NULL);
	T_EQ(got.partition, 77);
}

T_CASE(pointers_are_distinguished_from_pods)
{
	static const struct {
		const char *text;
		enum pl_code code;
		int at; /* -1: no pointer */
	} cases[] = {
		{"{\"v\":1,\"at\":0}", PL_OK, 0},
		{"{\"v\":1,\"at\":4095}", PL_OK, 4095},
		{" \n{ \"later\" : [] , \"at\" : 7 , \"v\" : 1 }", PL_OK, 7},
		{"{\"v\":1,\"at\":4096}", PL_INVALID, -1},
		{"{\"v\":1,\"at\":-1}", PL_INVALID, -1},
		{"{\"v\":1,\"at\":\"7\"}", PL_INVALID, -1},
		{"{\"v\":1,\"at\":null}", PL_INVALID, -1},
		{"{\"v\":2,\"at\":7}", PL_INVALID, -1},
		{"{\"at\":7}", PL_INVALID, -1},
		{"", PL_OK, -1},
		{"7", PL_OK, -1},
		{"[{\"at\":7}]", PL_OK, -1},
		{"{\"v\":1,\"at\":7", PL_OK, -1},
		{POD("", ""), PL_OK, -1},
		{"{\"spec\":{\"at\":7},\"name\":\"\\\"at\\\":7\"}", PL_OK, -1},
	};

	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint32_t at = 12345;
		bool is = true;

		T_CODE(pointer_parse(pl_span_str(cases[i].text), &is, &at, &err),
		       cases[i].code, &err);
		if (cases[i].code == PL_OK)
			T_EQ(is, cases[i].at >= 0);
		T_EQ(at, cases[i].at >= 0 ? cases[i].at : 12345);
	}
}

T_CASE(value_that_is_too_long_is_no_pointer)
{
	char text[POINTER_BYTES_MAX + 2] = "{\"v\":1,\"at\":7}";
	size_t len = strlen(text);
	uint32_t at = 0;
	bool is = false;

	memset(text + len, ' ', sizeof text - len);
	T_OK(pointer_parse(pl_span(text, POINTER_BYTES_MAX), &is, &at, &err), &err);
	T_TRUE(is);
	T_OK(pointer_parse(pl_span(text, POINTER_BYTES_MAX + 1), &is, &at, &err), &err);
	T_TRUE(!is);
}

T_CASE(pointers_are_printed_as_they_are_read)
{
	struct pl_buf buf;
	uint32_t at = 0;
	bool is = false;

	pl_buf_init(&buf, POINTER_BYTES_MAX);
	T_EQ(pointer_print(12, &buf), PL_OK);
	T_SPAN(pl_buf_span(&buf), L("{\"v\":1,\"at\":12}"));
	T_OK(pointer_parse(pl_buf_span(&buf), &is, &at, &err), &err);
	T_TRUE(is);
	T_EQ(at, 12);
	pl_buf_done(&buf);
}
