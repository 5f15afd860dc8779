/* The meaning of a selector: which labels it matches, and how a wrong one is refused. */
#include <string.h>

#include "coord/service/input/label_query.h"
#include "store/base/buf.h"
#include "tests/harness/t.h"

static const char object[] =
	"{\"metadata\":{\"name\":\"a\",\"labels\":{\"app\":\"web\","
	"\"tier\":\"\",\"example.com/zone\":\"b\","
	"\"esc\\u0061ped\":\"\\u0078\"}},\"spec\":{\"gpu\":\"yes\"}}";

static bool holds(const char *text)
{
	struct label_query query = {.requirements = 0};
	struct pl_err err = {0};

	T_OK(label_query_parse(pl_span_str(text), &query, &err), &err);
	return label_query_matches(&query, pl_span_str(object));
}

T_CASE(present_labels_match)
{
	static const char *const good[] = {
		"app=web",
		"app==web",
		" app = web ",
		"app!=db",
		"app in (db,web)",
		"app in ( db , web ),tier",
		"app notin (db, cache)",
		"app",
		"tier=",
		"tier in (,x)",
		"!gpu",
		"! gpu , app",
		"gpu!=yes",
		"gpu notin (yes)",
		"example.com/zone in (a,b)",
		"in notin (in)",
		"escaped=x",
	};

	for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++)
		if (!holds(good[i]))
			t_fail(__FILE__, __LINE__, "%s does not hold", good[i]);
}

T_CASE(missing_labels_do_not_match)
{
	static const char *const bad[] = {
		"app=we",      "app=web,tier=x", "app!=web",
		"app in (db)", "app in ()",      "gpu",
		"gpu=yes",     "gpu in (yes)",   "!app",
		"tier!=",      "zone",           "app notin (web)",
		"name=a",      "app,!tier",      "escaped notin (x)",
	};

	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (holds(bad[i]))
			t_fail(__FILE__, __LINE__, "%s holds", bad[i]);
}

T_CASE(an_object_that_cannot_be_read_has_no_labels)
{
	struct label_query query = {.requirements = 0};

	T_OK(label_query_parse(PL_SPAN_LIT("!app,gpu!=1"), &query, NULL), NULL);
	T_TRUE(label_query_matches(&query, PL_SPAN_LIT("{app")));
	T_TRUE(label_query_matches(&query, (struct pl_span){0}));
	T_TRUE(label_query_matches(&query,
	                           PL_SPAN_LIT("{\"metadata\":{\"labels\":[1]}}")));
	query = (struct label_query){.requirements = 0};
	T_OK(label_query_parse(PL_SPAN_LIT("app"), &query, NULL), NULL);
	T_TRUE(!label_query_matches(&query, PL_SPAN_LIT("{app")));
	T_TRUE(label_query_matches(
		&query, PL_SPAN_LIT("{\"metadata\":{\"labels\":{\"app\":\"\"}}}")));
	T_TRUE(!label_query_matches(&query, (struct pl_span){0}));
	T_TRUE(!label_query_matches(
		&query, PL_SPAN_LIT("{\"metadata\":{\"labels\":{\"app\":1}}}")));
}

T_CASE(malformed_selectors_are_refused_with_their_position)
{
	static const char *const wrong[][2] = {
		{"", "at '': want a name"},
		{"app=web,", "at '': want a name"},
		{"app=web tier=db", "at 'tier=db': want , between requirements"},
		{"app is web", "at 'is web': want =, ==, !=, in or notin"},
		{"app in web", "at 'web': want values in brackets: (a,b)"},
		{"app in (web", "at '': want , or ) behind a value"},
		{"app in (web db)", "at 'db)': want , or ) behind a value"},
		{"app in (web))", "at ')': want , between requirements"},
		{"app===web", "at '=web': want , between requirements"},
		{"app=wéb", "at 'wéb': want letters, digits"},
		{"-app", "at '-app': want letters, digits"},
		{"!app=web", "at '=web': want , between requirements"},
		{"a/b/c", "at 'a/b/c': want a name, or a domain"},
	};
	struct pl_err err = {0};

	for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct label_query query = {.requirements = 0};

		T_EQ(label_query_parse(pl_span_str(wrong[i][0]), &query, &err),
		     PL_INVALID);
		T_MEM(err.msg, wrong[i][1], strlen(wrong[i][1]));
	}
}

T_CASE(the_query_is_bounded)
{
	struct label_query query = {.requirements = 0};
	struct pl_err err = {0};
	struct pl_buf text;

	pl_buf_init(&text, 1 << 16);
	for (unsigned i = 0; i <= LABEL_QUERY_REQUIREMENTS_MAX; i++)
		T_OK(pl_buf_printf(&text, "%sk%u", i == 0 ? "" : ",", i), NULL);
	T_EQ(label_query_parse(pl_buf_span(&text), &query, &err), PL_LIMIT);
	T_STR(err.msg, "more than 32 requirements");
	pl_buf_clear(&text, SIZE_MAX);
	query.requirements = 0;
	for (unsigned i = 0; i <= LABEL_QUERY_VALUES_MAX; i++)
		T_OK(pl_buf_printf(&text, "%s%u", i == 0 ? "k in (" : ",", i), NULL);
	T_EQ(label_query_parse(pl_buf_span(&text), &query, &err), PL_LIMIT);
	T_STR(err.msg, "more than 256 values");
	pl_buf_done(&text);
}
