/* Matches of field selectors, and how a wrong selector is refused. */
#include "coord/api/select/field_selector.h"
#include "store/base/buf.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static bool holds(const char *group, const char *plural, const char *object,
                  const char *text)
{
	struct field_selector out = {0};
	struct pl_json root = {0};
	struct pl_span why = {0};
	struct pl_arena arena;
	enum pl_code code;
	bool matches;

	pl_arena_init(&arena, 0, 0);
	T_OK(pl_json_parse(&arena, pl_span_str(object), NULL, &root, NULL), NULL);
	code = field_selector_parse(&arena, group, plural, pl_span_str(text), &out, &why);
	if (code != PL_OK)
		t_fail(__FILE__, __LINE__, "%s: " PL_SPAN_FMT, text, PL_SPAN_ARG(why));
	matches = field_selector_matches_json(&out, root);
	pl_arena_done(&arena);
	return matches;
}

#define HOLDS(group, plural, object, text)  \
	(holds(group, plural, object, text) \
	         ? (void)0                  \
	         : t_fail(__FILE__, __LINE__, "%s does not hold", (text)))
#define FAILS(group, plural, object, text)   \
	(!holds(group, plural, object, text) \
	         ? (void)0                   \
	         : t_fail(__FILE__, __LINE__, "%s holds", (text)))

T_CASE(pods_are_selected_by_their_fields)
{
	static const char pod[] =
		"{\"metadata\":{\"name\":\"a,b=c\\\\\",\"namespace\":\"n\"},"
		"\"spec\":{\"nodeName\":\"n1\",\"restartPolicy\":\"Always\","
		"\"hostNetwork\":true},\"status\":{\"phase\":\"Running\",\"podIP\":"
		"\"10.0.0.1\"}}";
	static const char bare[] = "{\"metadata\":{\"name\":\"p\"}}";

	HOLDS("", "pods", pod, "");
	HOLDS("", "pods", pod, ",");
	HOLDS("", "pods", pod,
	      "spec.nodeName=n1,status.phase!=Succeeded,status.phase!=Failed");
	HOLDS("", "pods", pod, "spec.host=n1");
	HOLDS("", "pods", pod, "spec.hostNetwork==true,spec.restartPolicy=Always");
	HOLDS("", "pods", pod, "metadata.name=a\\,b\\=c\\\\");
	HOLDS("", "pods", pod, "status.podIP=10.0.0.1,status.nominatedNodeName=");
	HOLDS("", "pods", bare, "spec.nodeName=,spec.hostNetwork=false");
	HOLDS("", "pods", bare, "spec.nodeName!=n1");
	FAILS("", "pods", bare, "spec.nodeName!=");
	FAILS("", "pods", pod, "spec.nodeName=");
	FAILS("", "pods", pod, "spec.nodeName=n1,status.phase=Pending");
	FAILS("", "pods", pod, "metadata.namespace=other");
	FAILS("", "pods", bare, "spec.hostNetwork=");
}

T_CASE(other_resources_are_selected_by_their_fields)
{
	static const char event[] =
		"{\"involvedObject\":{\"name\":\"p\",\"uid\":\"1\"},\"reason\":\"Failed\","
		"\"source\":{},\"reportingComponent\":\"placet\",\"type\":\"Warning\"}";

	HOLDS("", "events", event,
	      "involvedObject.name=p,involvedObject.uid=1,reason=Failed");
	HOLDS("", "events", event,
	      "source=placet,reportingComponent=placet,type!=Normal");
	HOLDS("", "events", "{\"source\":{\"component\":\"kubelet\"}}", "source=kubelet");
	HOLDS("events.k8s.io", "events", "{\"regarding\":{\"name\":\"p\"}}",
	      "regarding.name=p,regarding.kind!=Pod");
	HOLDS("", "nodes", "{}", "spec.unschedulable=false");
	HOLDS("", "nodes", "{\"spec\":{\"unschedulable\":true}}",
	      "spec.unschedulable=true");
	HOLDS("", "namespaces", "{\"status\":{\"phase\":\"Active\"}}",
	      "status.phase=Active");
	HOLDS("batch", "jobs", "{\"status\":{\"succeeded\":3}}", "status.successful=3");
	HOLDS("batch", "jobs", "{}", "status.successful=0");
	HOLDS("", "services", "{\"spec\":{\"type\":\"ClusterIP\"}}",
	      "spec.type=ClusterIP");
	HOLDS("", "replicationcontrollers", "{}", "status.replicas=0");
	HOLDS("apps", "deployments", "{\"metadata\":{\"name\":\"d\"}}",
	      "metadata.name=d");
}

T_CASE(refusals_are_worded_as_kubernetes_words_them)
{
	static const char *const wrong[][3] = {
		{"", "pods", "spec.foo=a"},
		{"", "pods", "=a"},
		{"", "pods", " metadata.name=a"},
		{"", "pods", "metadata.name"},
		{"", "pods", "metadata.name=a,x"},
		{"", "pods", "metadata.name=a=b"},
		{"", "pods", "metadata.name===b"},
		{"", "pods", "metadata.name=a\\b"},
		{"", "pods", "metadata.name=a\\\xc3\xa9"},
		{"", "pods", "metadata.name=a\\"},
		{"", "pods", "b=1,a=2"},
		{"", "nodes", "metadata.namespace=a"},
		{"", "events", "involvedObject=a"},
		{"events.k8s.io", "events", "involvedObject.name=a"},
		{"batch", "jobs", "status.phase=a"},
		{"batch", "cronjobs", "status.phase=a"},
		{"apps", "replicasets", "status.replicas=1"},
		{"placet.io", "shards", "spec.x\"y=1"},
	};
	struct pl_arena arena;
	struct pl_buf told;

	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&told, 1 << 20);
	for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct field_selector out = {0};
		struct pl_span why = {0};

		T_EQ(field_selector_parse(&arena, wrong[i][0], wrong[i][1],
		                          pl_span_str(wrong[i][2]), &out, &why),
		     PL_INVALID);
		T_OK(pl_buf_printf(&told, "%s %s\n\t" PL_SPAN_FMT "\n", wrong[i][1],
		                   wrong[i][2], PL_SPAN_ARG(why)),
		     NULL);
	}
	T_OK(pl_buf_add(&told, PL_SPAN_LIT("\0")), NULL);
	t_golden("api/field_selector.txt", (const char *)told.at);
	pl_buf_done(&told);
	pl_arena_done(&arena);
}

T_CASE(an_exact_value_is_known)
{
	struct field_selector out = {0};
	struct pl_span why = {0}, value = {0};
	struct pl_arena arena;

	pl_arena_init(&arena, 0, 0);
	T_OK(field_selector_parse(&arena, "", "pods",
	                          PL_SPAN_LIT("metadata.name=a,spec.nodeName!=b"), &out,
	                          &why),
	     NULL);
	T_TRUE(field_selector_wants(&out, "metadata.name", &value));
	T_SPAN(value, PL_SPAN_LIT("a"));
	T_TRUE(!field_selector_wants(&out, "spec.nodeName", &value));
	T_TRUE(!field_selector_wants(&out, "status.phase", &value));
	pl_arena_done(&arena);
}

T_CASE(a_selector_is_bounded)
{
	struct field_selector out = {0};
	struct pl_span why = {0};
	struct pl_arena arena;
	struct pl_buf text;

	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&text, 1 << 20);
	for (unsigned i = 0; i <= FIELD_SELECTOR_TERMS_MAX; i++)
		T_OK(pl_buf_printf(&text, "metadata.name!=%u,", i), NULL);
	T_EQ(field_selector_parse(&arena, "", "pods", pl_buf_span(&text), &out, &why),
	     PL_LIMIT);
	while (text.len <= FIELD_SELECTOR_BYTES_MAX)
		T_OK(pl_buf_add_str(&text, ","), NULL);
	T_EQ(field_selector_parse(&arena, "", "pods", pl_buf_span(&text), &out, &why),
	     PL_LIMIT);
	T_EQ(field_selector_parse(&arena, "", "pods", PL_SPAN_LIT("a\0=b"), &out, &why),
	     PL_INVALID);
	T_EQ(out.count, 0);
	pl_buf_done(&text);
	pl_arena_done(&arena);
}

static enum pl_code parse_one(void)
{
	struct field_selector out = {0};
	struct pl_span why = {0};
	struct pl_arena arena;
	enum pl_code code;

	pl_arena_init(&arena, 32, 0);
	code = field_selector_parse(&arena, "", "pods",
	                            PL_SPAN_LIT("metadata.name=a\\,b"), &out, &why);
	if (code == PL_OK)
		code = field_selector_parse(&arena, "batch", "jobs", PL_SPAN_LIT("x=y"),
		                            &out, &why);
	pl_arena_done(&arena);
	return code == PL_INVALID ? PL_OK : code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(parse_one, false);
}
