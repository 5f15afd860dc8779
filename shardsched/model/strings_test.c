#include <stdio.h>

#include "shardsched/model/strings.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static struct strings strings;

static uint32_t add(const char *text)
{
	uint32_t id = 0;

	T_OK(strings_add(&strings, pl_span_str(text), &id), NULL);
	T_TRUE(id != 0);
	return id;
}

T_CASE(equal_strings_have_one_number)
{
	uint32_t a, b, empty;

	strings_init(&strings);
	a = add("zone");
	b = add("rack");
	empty = add("");
	T_TRUE(a != b && a != empty && b != empty);
	T_EQ(add("zone"), a);
	T_SPAN(strings_get(&strings, a), PL_SPAN_LIT("zone"));
	T_EQ(strings_get(&strings, empty).len, 0);
	T_EQ(strings_find(&strings, PL_SPAN_LIT("rack")), b);
	T_EQ(strings_find(&strings, PL_SPAN_LIT("none")), 0);
	strings_unref(&strings, a);
	T_EQ(strings_find(&strings, PL_SPAN_LIT("zone")), a); /* one reference is left */
	strings_unref(&strings, a);
	T_EQ(strings_find(&strings, PL_SPAN_LIT("zone")), 0);
	T_EQ(add("other"), a); /* the number is reused */
	strings_unref(&strings, 0);
	strings_done(&strings);
}

T_CASE(numbers_in_texts)
{
	int64_t value = 0;

	strings_init(&strings);
	T_TRUE(strings_int(&strings, add("-9223372036854775808"), &value));
	T_EQ(value, INT64_MIN);
	T_TRUE(strings_int(&strings, add("+007"), &value));
	T_EQ(value, 7);
	T_TRUE(!strings_int(&strings, add("9223372036854775808"), &value));
	T_TRUE(!strings_int(&strings, add("-"), &value));
	T_TRUE(!strings_int(&strings, add(""), &value));
	T_TRUE(!strings_int(&strings, add("1e3"), &value));
	T_TRUE(!strings_int(&strings, add(" 1"), &value));
	strings_done(&strings);
}

T_CASE(hundred_thousand_strings_come_and_go_in_flat_memory)
{
	enum { LIVE = 1000, STEPS = 100000 };
	static uint32_t live[LIVE];
	size_t memory = 0;
	char text[32];

	strings_init(&strings);
	for (uint32_t i = 0; i < STEPS; i++) {
		uint32_t *at = &live[i % LIVE];

		strings_unref(&strings, *at);
		(void)snprintf(text, sizeof text, "pod-template-hash-%u", i + 100000);
		*at = add(text);
		if (i == STEPS / 10)
			memory = strings_memory(&strings);
	}
	T_EQ(strings.count, LIVE);
	T_EQ(strings_memory(&strings), memory);
	for (uint32_t i = 0; i < LIVE; i++) {
		(void)snprintf(text, sizeof text, "pod-template-hash-%u",
		               STEPS - LIVE + i + 100000);
		T_SPAN(strings_get(&strings, live[i]), pl_span_str(text));
		T_EQ(strings_find(&strings, pl_span_str(text)), live[i]);
	}
	strings_done(&strings);
}

/* Against a plain table of what should be there. */
T_CASE(random_references_are_counted)
{
	enum { NAMES = 300, STEPS = 200000 };
	static uint32_t refs[NAMES], id[NAMES];
	struct pl_rng rng;
	char text[32];

	pl_rng_init(&rng, t_seed());
	strings_init(&strings);
	for (unsigned i = 0; i < STEPS; i++) {
		uint32_t at = (uint32_t)pl_rng_below(&rng, NAMES);
		bool more = pl_rng_below(&rng, 2) == 0;

		(void)snprintf(text, sizeof text, "%u", at);
		if (more) {
			uint32_t got = add(text);

			T_TRUE(refs[at] == 0 || got == id[at]);
			id[at] = got;
			refs[at]++;
		} else if (refs[at] > 0) {
			strings_unref(&strings, id[at]);
			refs[at]--;
		}
		T_EQ(strings_find(&strings, pl_span_str(text)),
		     refs[at] > 0 ? id[at] : 0);
	}
	strings_done(&strings);
}

static enum pl_code fill(void)
{
	enum pl_code code = PL_OK;
	uint32_t id = 0;
	char text[16];

	strings_init(&strings);
	for (unsigned i = 0; i < 3000 && code == PL_OK; i += 7) {
		(void)snprintf(text, sizeof text, "%u", i);
		code = strings_add(&strings, pl_span_str(text), &id);
		if (code == PL_OK)
			T_SPAN(strings_get(&strings, id), pl_span_str(text));
	}
	strings_done(&strings);
	return code;
}

T_CASE(without_memory_nothing_is_lost)
{
	t_torture(fill, true); /* fewer buckets only make it slower */
}
