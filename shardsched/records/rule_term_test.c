#include <stdio.h>
#include <stdlib.h>

#include "shardsched/model/parse.h"
#include "shardsched/records/rule_registry.h"
#include "store/keys/names.h"
#include "tests/harness/torture.h"

#define L(text) PL_SPAN_LIT(text)

static struct model model;
static struct pl_arena arena;
static struct pl_err err;

static void up(void)
{
	model_init(&model);
	pl_arena_init(&arena, 65536, 0);
}

static void down(void)
{
	model_done(&model);
	pl_arena_done(&arena);
}

static void read_pod(const char *json, struct pod *out)
{
	struct parse parse = {.model = &model, .arena = &arena};

	T_OK(pod_parse(&parse, pl_span_str(json), out, &err), &err);
}

static struct rule_terms terms_of(const struct pod *pod)
{
	struct rule_terms terms = {0};

	T_OK(rule_terms_of(&model, pod->spec, &arena, &terms, &err), &err);
	return terms;
}

/* The Pod that is written of each rule, read again, carries that one term. */
static void read_back(const struct rule_terms *terms)
{
	for (uint32_t i = 0; i < terms->count; i++) {
		struct rule_terms again;
		struct pod pod = {0};

		read_pod((const char *)terms->term[i].pod.at, &pod);
		again = terms_of(&pod);
		T_EQ(again.count, 1);
		T_STR(again.term[0].id, terms->term[i].id);
		T_SPAN(again.term[0].pod, terms->term[i].pod);
		T_EQ(again.term[0].kind, terms->term[i].kind);
		T_EQ(again.term[0].global, terms->term[i].global);
		T_EQ(names_check(NAMES_TERM, pl_span_str(again.term[0].id), &err), PL_OK);
		pod_drop(&model, &pod);
	}
}

#define ANTI(term)                                                                      \
	"{\"metadata\":{\"namespace\":\"web\",\"name\":\"a\"},\"spec\":{\"affinity\":{" \
	"\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":["     \
	"{" term "}]}}}}"
#define SELECT(rows) "\"labelSelector\":{\"matchExpressions\":[" rows "]}"

T_CASE(term_is_written_as_the_smallest_pod)
{
	struct rule_terms terms;
	struct pod pod = {0};

	up();
	read_pod(
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"a\",\"labels\":{\"app\":"
		"\"x\",\"hash\":\"7\"}},\"spec\":{\"topologySpreadConstraints\":["
		"{\"maxSkew\":3,\"minDomains\":2,\"topologyKey\":\"zone\","
		"\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":"
		"{\"app\":\"x\"}},\"matchLabelKeys\":[\"hash\"]},{\"maxSkew\":1,"
		"\"topologyKey\":\"zone\",\"whenUnsatisfiable\":\"ScheduleAnyway\","
		"\"labelSelector\":{}}]}}",
		&pod);
	terms = terms_of(&pod);
	T_EQ(terms.count, 1);
	T_EQ(terms.term[0].kind, RULE_KIND_SPREAD);
	T_TRUE(!terms.term[0].global);
	T_SPAN(terms.term[0].pod,
	       L("{\"metadata\":{\"namespace\":\"web\"},\"spec\":{"
	         "\"topologySpreadConstraints\":[{\"labelSelector\":{\"matchExpressions\":["
	         "{\"key\":\"app\",\"operator\":\"In\",\"values\":[\"x\"]},{\"key\":\"hash\","
	         "\"operator\":\"In\",\"values\":[\"7\"]}]},\"maxSkew\":1,\"topologyKey\":"
	         "\"zone\",\"whenUnsatisfiable\":\"DoNotSchedule\"}]}}"));
	T_STR(terms.term[0].id, "spread-44adf4896274d4897e30b3efc6a12bf4");
	read_back(&terms);
	T_TRUE(rule_is_carrier(&model, pod.spec));
	T_TRUE(rule_carrier_finds(&model, pod.spec, pod.spec, NULL));
	pod_drop(&model, &pod);
	down();
}

/* The order in which words were added to the model, and in which rows were written, makes
 * no difference. */
T_CASE(term_has_the_same_bytes_everywhere)
{
	static const char one[] = ANTI(SELECT(
		"{\"key\":\"b\",\"operator\":\"In\",\"values\":[\"2\",\"1\"]},"
		"{\"key\":\"a\",\"operator\":\"Exists\"}") ","
	                                                   "\"namespaces\":[\"y\",\"x\"],\"topologyKey\":\"zone\"");
	static const char two[] = ANTI(SELECT(
		"{\"key\":\"a\",\"operator\":\"Exists\"},{\"key\":\"b\","
		"\"operator\":\"In\",\"values\":[\"1\",\"2\",\"1\"]}") ","
	                                                               "\"namespaces\":[\"x\",\"y\"],\"topologyKey\":\"zone\"");
	static const char *const words[] = {"2", "zone", "1", "y", "b", "x", "web", "a"};
	char first[RULE_ID_SIZE];
	uint32_t held[8];

	for (unsigned turn = 0; turn < 2; turn++) {
		struct rule_terms terms;
		struct pod pod = {0};

		up();
		for (unsigned i = 0; turn == 1 && i < 8; i++)
			T_EQ(strings_add(&model.strings, pl_span_str(words[i]), &held[i]),
			     PL_OK);
		read_pod(turn == 0 ? one : two, &pod);
		terms = terms_of(&pod);
		T_EQ(terms.count, 1);
		T_TRUE(terms.term[0].global);
		if (turn == 0)
			memcpy(first, terms.term[0].id, sizeof first);
		T_STR(terms.term[0].id, first);
		read_back(&terms);
		pod_drop(&model, &pod);
		for (unsigned i = 0; turn == 1 && i < 8; i++)
			strings_unref(&model.strings, held[i]);
		down();
	}
}

static uint32_t count_of(const char *json)
{
	struct pod pod = {0};
	struct rule_terms terms;
	uint32_t count;

	read_pod(json, &pod);
	terms = terms_of(&pod);
	read_back(&terms);
	count = terms.count;
	T_TRUE(count == 0 || rule_is_carrier(&model, pod.spec));
	pod_drop(&model, &pod);
	return count;
}

T_CASE(local_and_impossible_rules_are_no_terms)
{
	up();
	T_EQ(count_of(ANTI("\"labelSelector\":{},\"topologyKey\":\"zone\"")), 1);
	T_EQ(count_of(ANTI("\"labelSelector\":{},\"topologyKey\":"
	                   "\"kubernetes.io/hostname\"")),
	     0);
	T_EQ(count_of(ANTI("\"topologyKey\":\"zone\"")), 0);
	T_EQ(count_of(ANTI(SELECT(
		     "{\"key\":\"a\",\"operator\":\"Near\"}") ","
	                                                      "\"topologyKey\":\"zone\"")),
	     0);
	T_EQ(count_of(ANTI("\"labelSelector\":{},\"namespaceSelector\":{},"
	                   "\"topologyKey\":\"zone\"")),
	     1);
	T_EQ(count_of("{\"metadata\":{\"namespace\":\"web\",\"name\":\"a\"},\"spec\":{"
	              "\"affinity\":{\"podAffinity\":{"
	              "\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
	              "\"labelSelector\":{},\"topologyKey\":\"kubernetes.io/hostname\"},{"
	              "\"labelSelector\":{},\"topologyKey\":\"zone\"},{"
	              "\"labelSelector\":{},\"namespaces\":[\"web\"],\"topologyKey\":"
	              "\"zone\"}]}}}}"),
	     2);
	down();
}

T_CASE(namespaces_make_another_term)
{
	struct pod a = {0}, b = {0};
	struct rule_terms x, y;
	struct labels *namespace;
	uint32_t key, value;

	up();
	read_pod(
		ANTI("\"labelSelector\":{},\"namespaceSelector\":{\"matchLabels\":{"
	             "\"kubernetes.io/metadata.name\":\"db\"}},\"topologyKey\":\"zone\""),
		&a);
	read_pod(
		"{\"metadata\":{\"namespace\":\"db\",\"name\":\"a\"},\"spec\":{\"affinity\":{"
		"\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
		"\"labelSelector\":{},\"namespaceSelector\":{\"matchLabels\":{"
		"\"kubernetes.io/metadata.name\":\"db\"}},\"topologyKey\":\"zone\"}]}}}}",
		&b);
	x = terms_of(&a);
	y = terms_of(&b);
	T_TRUE(x.term[0].global && y.term[0].global);
	T_TRUE(strcmp(x.term[0].id, y.term[0].id) != 0);
	T_TRUE(!rule_carrier_finds(&model, a.spec, b.spec, NULL));
	T_EQ(strings_add(&model.strings, L("kubernetes.io/metadata.name"), &key), PL_OK);
	T_EQ(strings_add(&model.strings, L("db"), &value), PL_OK);
	namespace =
		pl_arena_zalloc(&arena, 1, sizeof *namespace + sizeof namespace->row[0]);
	namespace->count = 1;
	namespace->row[0] = (struct label){key, value};
	T_TRUE(rule_carrier_finds(&model, a.spec, b.spec, namespace));
	strings_unref(&model.strings, key);
	strings_unref(&model.strings, value);
	pod_drop(&model, &a);
	pod_drop(&model, &b);
	down();
}

/* -- registries ---------------------------------------------------------------------- */

static const char some[] =
	"{\"v\":1,\"terms\":{\"affinity-1\":{\"kind\":\"affinity\",\"pod\":{}},"
	"\"spread-2\":{\"kind\":\"spread\",\"pod\":{\"spec\":{\"a\":[1,\"x\"]}}}}}";

T_CASE(registries_are_printed_as_they_were_read)
{
	struct rule_registry registry = {0};
	struct pl_buf buf = {.max = RULE_REGISTRY_BYTES_MAX};

	up();
	T_OK(rule_registry_parse(pl_span_str(some), &arena, &registry, &err), &err);
	T_EQ(registry.terms, 2);
	T_EQ(registry.term[1].kind, RULE_KIND_SPREAD);
	T_SPAN(registry.term[1].pod, L("{\"spec\":{\"a\":[1,\"x\"]}}"));
	T_OK(rule_registry_print(&registry, &buf, &err), &err);
	T_SPAN(pl_buf_span(&buf), pl_span_str(some));
	pl_buf_done(&buf);
	down();
}

T_CASE(malformed_registry_is_refused)
{
	static const char *const bad[] = {
		"",
		"{}",
		"{\"v\":2}",
		"{\"v\":1,\"terms\":[]}",
		"{\"v\":1,\"terms\":{\"registry\":{\"kind\":\"spread\",\"pod\":{}}}}",
		"{\"v\":1,\"terms\":{\"a/b\":{\"kind\":\"spread\",\"pod\":{}}}}",
		"{\"v\":1,\"terms\":{\"a\":{\"kind\":\"spred\",\"pod\":{}}}}",
		"{\"v\":1,\"terms\":{\"a\":{\"kind\":\"spread\"}}}",
		"{\"v\":1,\"terms\":{\"a\":{\"kind\":\"spread\",\"pod\":[]}}}",
		"{\"v\":1,\"terms\":{\"a\":3}}",
	};

	up();
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct rule_registry registry = {.terms = 7};

		T_EQ(rule_registry_parse(pl_span_str(bad[i]), &arena, &registry, &err),
		     PL_INVALID);
		T_EQ(registry.terms, 7);
	}
	down();
}

T_CASE(bounds)
{
	struct rule_registry_term *term =
		calloc(RULE_REGISTRY_TERMS_MAX + 1, sizeof *term);
	struct rule_registry registry = {.term = term,
	                                 .terms = RULE_REGISTRY_TERMS_MAX + 1};
	struct pl_buf buf = {.max = 2 * (size_t)RULE_REGISTRY_BYTES_MAX};

	up();
	for (uint32_t i = 0; i <= RULE_REGISTRY_TERMS_MAX; i++) {
		char *id = pl_arena_zalloc(&arena, 16, 1);

		(void)snprintf(id, 16, "t%05u", i);
		term[i] = (struct rule_registry_term){
			.id = pl_span_str(id), .kind = RULE_KIND_SPREAD, .pod = L("{}")};
	}
	T_EQ(rule_registry_print(&registry, &buf, &err), PL_LIMIT);
	T_EQ(buf.len, 0);
	registry.terms--;
	T_OK(rule_registry_print(&registry, &buf, &err), &err);
	T_OK(rule_registry_parse(pl_buf_span(&buf), &arena, &registry, &err), &err);
	T_EQ(registry.terms, RULE_REGISTRY_TERMS_MAX);
	for (uint32_t i = 0; i < 5000; i++)
		term[i].pod = L(
			"{\"a\":\"-----------------------------------------------------"
			"---------------------------------------------------------------"
			"---------------------------------------------------------\"}");
	registry.term = term;
	buf.len = 0;
	T_EQ(rule_registry_print(&registry, &buf, &err), PL_LIMIT);
	T_EQ(buf.len, 0);
	pl_buf_done(&buf);
	free(term);
	down();
}

static enum pl_code tortured(void)
{
	struct rule_registry registry = {0};
	struct pl_buf buf = {.max = RULE_REGISTRY_BYTES_MAX};
	struct parse parse = {.model = &model, .arena = &arena};
	struct pod pod = {0};
	struct rule_terms terms;
	enum pl_code code;

	model_init(&model);
	pl_arena_init(&arena, 64, 0);
	code = rule_registry_parse(pl_span_str(some), &arena, &registry, &err);
	if (code == PL_OK)
		code = rule_registry_print(&registry, &buf, &err);
	if (code == PL_OK)
		code = pod_parse(&parse,
		                 L(ANTI("\"labelSelector\":{},\"topologyKey\":\"zone\"")),
		                 &pod, &err);
	if (code == PL_OK)
		code = rule_terms_of(&model, pod.spec, &arena, &terms, &err);
	pod_drop(&model, &pod);
	pl_buf_done(&buf);
	down();
	return code;
}

T_CASE(failed_allocation_is_reported)
{
	t_torture(tortured, false);
}
