/* Matches of label selectors, and how a wrong selector is refused. */
#include "coord/api/select/label_selector.h"
#include "store/base/buf.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static const char labels_text[] =
	"{\"tier\":\"\",\"app\":\"web\",\"example.com/zone\":\"b\",\"cores\":\"12\","
	"\"in\":\"notin\",\"far\":\"9223372036854775807\",\"number\":7}";

static struct label_selector parse(struct pl_arena *arena, const char *text)
{
	struct label_selector out = {0};
	struct pl_span why = {0};
	enum pl_code code = label_selector_parse(arena, pl_span_str(text), &out, &why);

	if (code != PL_OK)
		t_fail(__FILE__, __LINE__, "%s: " PL_SPAN_FMT, text, PL_SPAN_ARG(why));
	return out;
}

/* Both ways of matching must agree. */
static bool holds(const char *text)
{
	struct label_pairs pairs = {0};
	struct pl_json labels = {0};
	struct label_selector selector;
	struct pl_arena arena;
	bool sorted, json;

	pl_arena_init(&arena, 0, 0);
	T_OK(pl_json_parse(&arena, pl_span_str(labels_text), NULL, &labels, NULL), NULL);
	T_OK(label_pairs_of(&arena, labels, &pairs), NULL);
	selector = parse(&arena, text);
	sorted = label_selector_matches(&selector, &pairs);
	json = label_selector_matches_json(&selector, labels);
	if (sorted != json)
		t_fail(__FILE__, __LINE__, "%s: %d sorted, %d as JSON", text, sorted,
		       json);
	pl_arena_done(&arena);
	return json;
}

T_CASE(what_holds_matches)
{
	static const char *const good[] = {
		"",
		"  ",
		"app=web",
		"app==web",
		"\tapp\n=  web ",
		"app!=db",
		"app in (db,web)",
		"app in ( db , web ),tier",
		"app notin (db, cache)",
		"app",
		"tier=",
		"tier=,app",
		"tier==",
		"tier in ()",
		"tier in (,x)",
		"tier in (x,)",
		"tier in (x,,y)",
		"!gpu",
		"! gpu , app",
		"gpu!=yes",
		"gpu notin (yes)",
		"gpu!=",
		"example.com/zone in (a,b)",
		"in notin (in)",
		"in=notin",
		"cores>8",
		"cores<13,cores>11",
		"far>1",
		"number!=7",
		"!number",
		"app,tier,cores,in,far,example.com/zone,!zz,!aa",
	};

	for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++)
		if (!holds(good[i]))
			t_fail(__FILE__, __LINE__, "%s does not hold", good[i]);
}

T_CASE(what_does_not_hold_does_not_match)
{
	static const char *const bad[] = {
		"app=we",
		"app=web,tier=x",
		"app!=web",
		"app in (db)",
		"app in ()",
		"gpu",
		"gpu=yes",
		"gpu in (yes)",
		"!app",
		"tier!=",
		"zone",
		"app notin (web)",
		"cores>12",
		"cores<12",
		"app>1",
		"gpu>1",
		"tier<5",
		"app,!tier",
		"in notin (notin)",
		"number",
		"gpu=",
		"far<9",
	};

	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (holds(bad[i]))
			t_fail(__FILE__, __LINE__, "%s holds", bad[i]);
}

T_CASE(an_object_without_labels_has_none)
{
	struct label_pairs pairs = {.count = 7};
	struct label_selector selector;
	struct pl_arena arena;

	pl_arena_init(&arena, 0, 0);
	T_OK(label_pairs_of(&arena, (struct pl_json){0}, &pairs), NULL);
	T_EQ(pairs.count, 0);
	selector = parse(&arena, "!app,b!=c");
	T_TRUE(label_selector_matches(&selector, &pairs));
	T_TRUE(label_selector_matches_json(&selector, (struct pl_json){0}));
	selector = parse(&arena, "app");
	T_TRUE(!label_selector_matches(&selector, &pairs));
	T_TRUE(!label_selector_matches_json(&selector, (struct pl_json){0}));
	pl_arena_done(&arena);
}

T_CASE(refusals_are_worded_as_kubernetes_words_them)
{
	static const char *const wrong[] = {
		",",
		"app=web,",
		"app=web,,b",
		"app=web tier=db",
		"app is web",
		"app in web",
		"app in",
		"app in (web",
		"app in (web,",
		"app in (web,,)",
		"app in (web db)",
		"app in (web))",
		"app in (=)",
		"app in (web,=)",
		"app===web",
		"app=(",
		"app=w\303\251b",
		"-app",
		"!",
		"!!app",
		"!app=web",
		"a/b/c",
		"/b",
		"UP/b",
		"a/",
		"app>x",
		"app>-x",
		"app<",
		"(a)",
		"a in (-,b,_)",
		"k=0123456789012345678901234567890123456789012345678901234567890123",
		"n0123456789012345678901234567890123456789012345678901234567890123=a",
	};
	struct pl_arena arena;
	struct pl_buf told;

	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&told, 1 << 20);
	for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct label_selector out = {0};
		struct pl_span why = {0};

		T_EQ(label_selector_parse(&arena, pl_span_str(wrong[i]), &out, &why),
		     PL_INVALID);
		T_OK(pl_buf_printf(&told, "%s\n\t" PL_SPAN_FMT "\n", wrong[i],
		                   PL_SPAN_ARG(why)),
		     NULL);
	}
	T_OK(pl_buf_add(&told, PL_SPAN_LIT("\0")), NULL);
	t_golden("api/label_selector.txt", (const char *)told.at);
	pl_buf_done(&told);
	pl_arena_done(&arena);
}

static void refused(struct pl_buf *text, enum pl_code want)
{
	struct label_selector out = {0};
	struct pl_span why = {0};
	struct pl_arena arena;

	pl_arena_init(&arena, 0, 0);
	T_EQ(label_selector_parse(&arena, pl_buf_span(text), &out, &why), want);
	T_TRUE(why.len > 0 && why.len < ((size_t)32 << 10));
	T_TRUE(arena.used < ((size_t)4 << 20));
	pl_arena_done(&arena);
	pl_buf_clear(text, SIZE_MAX);
}

T_CASE(a_selector_is_bounded)
{
	struct pl_buf text;

	pl_buf_init(&text, 1 << 20);
	for (unsigned i = 0; i <= LABEL_SELECTOR_TERMS_MAX; i++)
		T_OK(pl_buf_printf(&text, "%sk%u", i == 0 ? "" : ",", i), NULL);
	refused(&text, PL_LIMIT);
	for (unsigned i = 0; i <= LABEL_SELECTOR_VALUES_MAX; i++)
		T_OK(pl_buf_printf(&text, "%s%u", i == 0 ? "k in (" : ",", i), NULL);
	refused(&text, PL_LIMIT);
	for (unsigned i = 0; i <= LABEL_SELECTOR_BYTES_MAX; i++)
		T_OK(pl_buf_printf(&text, "a"), NULL);
	refused(&text, PL_LIMIT);
	for (unsigned i = 0; i < 4000; i++)
		T_OK(pl_buf_printf(&text, "%s-%u", i == 0 ? "k in (" : ",", i), NULL);
	T_OK(pl_buf_add_str(&text, ")"), NULL);
	refused(&text, PL_INVALID);
	T_OK(pl_buf_add(&text, PL_SPAN_LIT("a\0b")), NULL);
	refused(&text, PL_INVALID);
	pl_buf_done(&text);
}

static enum pl_code parse_and_sort(void)
{
	struct label_selector out = {0};
	struct label_pairs pairs = {0};
	struct pl_json labels = {0};
	struct pl_span why = {0};
	struct pl_arena arena;
	enum pl_code code;

	pl_arena_init(&arena, 32, 0);
	code = label_selector_parse(&arena, PL_SPAN_LIT("app in (b,a),!c,d>1"), &out,
	                            &why);
	if (code == PL_OK)
		code = pl_json_parse(&arena, pl_span_str(labels_text), NULL, &labels,
		                     NULL);
	if (code == PL_OK)
		code = label_pairs_of(&arena, labels, &pairs);
	pl_arena_done(&arena);
	return code;
}

static enum pl_code refuse_one(void)
{
	struct label_selector out = {0};
	struct pl_span why = {0};
	struct pl_arena arena;
	enum pl_code code;

	pl_arena_init(&arena, 32, 0);
	code = label_selector_parse(&arena, PL_SPAN_LIT("app in (_,-)"), &out, &why);
	pl_arena_done(&arena);
	return code == PL_INVALID ? PL_OK : code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(parse_and_sort, false);
	t_torture(refuse_one, false);
}
