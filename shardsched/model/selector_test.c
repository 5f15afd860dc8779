#include <stdio.h>

#include "shardsched/model/node_selector.h"
#include "shardsched/model/parse.h"
#include "shardsched/model/pod_term.h"
#include "shardsched/model/reader.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static struct model model;
static struct pl_arena arena;
static struct maker maker;

static void begin(void)
{
	model_init(&model);
	pl_arena_init(&arena, 0, 0);
	maker_init(&maker, &model, &arena);
}

static void end(void)
{
	T_EQ(maker.code, PL_OK);
	pl_arena_done(&arena);
	model_done(&model); /* asserts that nothing is left */
}

static struct pl_json read(struct reader *reader, const char *json)
{
	static struct pl_err err;
	struct pl_json root = reader_init(reader, &arena, pl_span_str(json), &err);

	T_OK(reader->code, &err);
	return root;
}

/* {"s": selector} */
static const struct selector *selector_of(const char *json)
{
	struct reader reader;
	struct pl_json root = read(&reader, json);
	struct draft_selector draft = reader_selector(&reader, root, "s");

	T_EQ(reader.code, PL_OK);
	return selector_make(&maker, draft);
}

static const struct labels *labels_of(const char *json)
{
	struct reader reader;
	struct pl_json root = read(&reader, json);

	return labels_make(&maker, reader_pairs(&reader, root, "l"));
}

static bool matches(const char *selector_json, const char *labels_json)
{
	const struct selector *selector = selector_of(selector_json);
	const struct labels *labels = labels_of(labels_json);
	bool out = selector_matches(&model.strings, selector, labels);

	model_unref(&model, MODEL_SELECTORS, selector);
	model_unref(&model, MODEL_LABELS, labels);
	return out;
}

#define EXPR(key, op, values)                                                   \
	"{\"s\":{\"matchExpressions\":[{\"key\":\"" key "\",\"operator\":\"" op \
	"\",\"values\":[" values "]}]}}"

T_CASE(null_selects_nothing_and_empty_everything)
{
	begin();
	T_TRUE(!matches("{}", "{\"l\":{\"a\":\"1\"}}"));
	T_TRUE(!matches("{\"s\":null}", "{}"));
	T_TRUE(matches("{\"s\":{}}", "{\"l\":{\"a\":\"1\"}}"));
	T_TRUE(matches("{\"s\":{\"matchLabels\":{}}}", "{}"));
	end();
}

T_CASE(operators_of_label_selectors)
{
	begin();
	T_TRUE(matches(EXPR("a", "In", "\"1\",\"2\""), "{\"l\":{\"a\":\"2\"}}"));
	T_TRUE(!matches(EXPR("a", "In", "\"1\",\"2\""), "{\"l\":{\"a\":\"3\"}}"));
	T_TRUE(!matches(EXPR("a", "In", "\"\""), "{}"));
	T_TRUE(matches(EXPR("a", "In", "\"\""), "{\"l\":{\"a\":\"\"}}"));
	T_TRUE(matches(EXPR("a", "NotIn", "\"1\""), "{}"));
	T_TRUE(matches(EXPR("a", "NotIn", "\"1\""), "{\"l\":{\"a\":\"2\"}}"));
	T_TRUE(!matches(EXPR("a", "NotIn", "\"1\""), "{\"l\":{\"a\":\"1\"}}"));
	T_TRUE(matches(EXPR("a", "Exists", ""), "{\"l\":{\"a\":\"\"}}"));
	T_TRUE(!matches(EXPR("a", "Exists", ""), "{\"l\":{\"b\":\"\"}}"));
	T_TRUE(matches(EXPR("a", "DoesNotExist", ""), "{\"l\":{\"b\":\"1\"}}"));
	T_TRUE(!matches(EXPR("a", "DoesNotExist", ""), "{\"l\":{\"a\":\"1\"}}"));
	T_TRUE(!matches(EXPR("a", "Gt", "\"1\""), "{\"l\":{\"a\":\"2\"}}"));
	T_TRUE(!matches(EXPR("a", "in", "\"1\""), "{\"l\":{\"a\":\"1\"}}"));
	T_TRUE(!matches(EXPR("a", "NotIn", ""), "{}"));
	T_TRUE(!matches(EXPR("a b", "DoesNotExist", ""), "{}"));
	end();
}

T_CASE(equal_selectors_are_one_value)
{
	const struct selector *one, *two, *three;

	begin();
	one = selector_of("{\"s\":{\"matchLabels\":{\"a\":\"1\",\"b\":\"2\"}}}");
	two = selector_of("{\"s\":{\"matchLabels\":{\"b\":\"2\"},\"matchExpressions\":[{"
	                  "\"key\":\"a\",\"operator\":\"In\",\"values\":[\"1\",\"1\"]},{"
	                  "\"key\":\"b\",\"operator\":\"In\",\"values\":[\"2\"]}]}}");
	three = selector_of(EXPR("a", "In", "\"2\",\"1\""));
	T_TRUE(one == two);
	T_TRUE(one != three);
	T_TRUE(intern_by_id(&model.intern[MODEL_SELECTORS], one->item.id) == &one->item);
	model_unref(&model, MODEL_SELECTORS, one);
	model_unref(&model, MODEL_SELECTORS, two);
	model_unref(&model, MODEL_SELECTORS, three);
	end();
}

static bool node_matches(const char *terms, const char *labels_json, const char *name)
{
	struct reader reader;
	struct pl_json root = read(&reader, terms);
	struct draft_node_terms draft = reader_node_selector(&reader, root, "n");
	const struct node_selector *selector = node_selector_make(&maker, draft);
	const struct labels *labels = labels_of(labels_json);
	uint32_t id = maker_text(&maker, pl_span_str(name));
	bool out = node_selector_matches(&model.strings, selector, labels, id);

	strings_unref(&model.strings, id);
	model_unref(&model, MODEL_LABELS, labels);
	model_unref(&model, MODEL_NODE_SELECTORS, selector);
	return out;
}

#define TERM(parts) "{\"n\":{\"nodeSelectorTerms\":[{" parts "}]}}"
#define ROW(list, key, op, values)                                                       \
	"\"" list "\":[{\"key\":\"" key "\",\"operator\":\"" op "\",\"values\":[" values \
	"]}]"

T_CASE(terms_select_nodes)
{
	begin();
	T_TRUE(!node_matches(TERM(""), "{}", "n1"));
	T_TRUE(node_matches(TERM(ROW("matchExpressions", "c", "Gt", "\"3\"")),
	                    "{\"l\":{\"c\":\"4\"}}", "n1"));
	T_TRUE(!node_matches(TERM(ROW("matchExpressions", "c", "Gt", "\"3\"")),
	                     "{\"l\":{\"c\":\"3\"}}", "n1"));
	T_TRUE(node_matches(TERM(ROW("matchExpressions", "c", "Lt", "\"3\"")),
	                    "{\"l\":{\"c\":\"-4\"}}", "n1"));
	T_TRUE(!node_matches(TERM(ROW("matchExpressions", "c", "Lt", "\"x\"")),
	                     "{\"l\":{\"c\":\"1\"}}", "n1"));
	T_TRUE(!node_matches(TERM(ROW("matchExpressions", "c", "Lt", "\"3\"")),
	                     "{\"l\":{\"c\":\"x\"}}", "n1"));
	T_TRUE(node_matches(TERM(ROW("matchFields", "metadata.name", "In", "\"n1\"")),
	                    "{}", "n1"));
	T_TRUE(!node_matches(TERM(ROW("matchFields", "metadata.name", "NotIn", "\"n1\"")),
	                     "{}", "n1"));
	T_TRUE(node_matches(TERM(ROW("matchFields", "metadata.name", "NotIn", "\"n2\"")),
	                    "{}", "n1"));
	T_TRUE(!node_matches(
		TERM(ROW("matchFields", "metadata.name", "In", "\"n1\",\"n2\"")), "{}",
		"n1"));
	T_TRUE(!node_matches(
		TERM(ROW("matchFields", "metadata.name", "In",
	                 "\"n1\"") "," ROW("matchExpressions", "c", "Exists", "")),
		"{}", "n1"));
	T_TRUE(!node_matches("{\"n\":{\"nodeSelectorTerms\":[]}}", "{}", "n1"));
	end();
}

T_CASE(a_term_without_namespaces_means_the_pods_own)
{
	struct draft_pod_term draft = {.selector.set = true,
	                               .topology_key = PL_SPAN_LIT("zone")};
	const struct pod_term *term;
	const struct labels *labels;
	uint32_t own, other;

	begin();
	own = maker_text(&maker, PL_SPAN_LIT("team-a"));
	other = maker_text(&maker, PL_SPAN_LIT("team-b"));
	labels = labels_of("{}");
	term = pod_term_make(&maker, &draft, PL_SPAN_LIT("team-a"));
	T_TRUE(pod_term_matches(&model.strings, term, own, labels, labels));
	T_TRUE(!pod_term_matches(&model.strings, term, other, labels, labels));
	model_unref(&model, MODEL_POD_TERMS, term);

	draft.namespace_selector.set = true; /* and empty: every namespace */
	term = pod_term_make(&maker, &draft, PL_SPAN_LIT("team-a"));
	T_TRUE(pod_term_matches(&model.strings, term, other, NULL, labels));
	model_unref(&model, MODEL_POD_TERMS, term);
	model_unref(&model, MODEL_LABELS, labels);
	strings_unref(&model.strings, own);
	strings_unref(&model.strings, other);
	end();
}

T_CASE(many_labels_are_found)
{
	char json[20000] = "{\"l\":{";
	size_t len = strlen(json);
	const struct labels *labels;
	uint32_t key, value;

	begin();
	for (int i = 0; i < 1000; i++)
		len += (size_t)snprintf(json + len, sizeof json - len,
		                        "%s\"k%d\":\"v%d\"", i == 0 ? "" : ",", i, i);
	(void)snprintf(json + len, sizeof json - len, "}}");
	labels = labels_of(json);
	T_EQ(labels->count, 1000);
	for (int i = 0; i < 1000; i += 37) {
		char text[16];

		(void)snprintf(text, sizeof text, "k%d", i);
		key = strings_find(&model.strings, pl_span_str(text));
		text[0] = 'v';
		value = strings_find(&model.strings, pl_span_str(text));
		T_TRUE(value != 0);
		T_EQ(labels_get(labels, key), value);
	}
	T_EQ(labels_get(labels, 1u << 30), 0);
	model_unref(&model, MODEL_LABELS, labels);
	end();
}
