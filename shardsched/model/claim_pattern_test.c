#include <string.h>

#include "shardsched/model/claim_pattern.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

static const char *pattern(const char *claim, const char *pod)
{
	static char text[CLAIM_NAME_MAX + 2];
	size_t len =
		claim_pattern_make(pl_span_str(claim), pl_span_str(pod), (uint8_t *)text);

	text[len] = 0;
	return text;
}

T_CASE(pattern_needs_the_pods_name_between_hyphens_or_ends)
{
	T_STR(pattern("data-db-0", "db-0"), "data-*");
	T_STR(pattern("db-0", "db-0"), "*");
	T_STR(pattern("db-0-wal", "db-0"), "*-wal");
	T_STR(pattern("a-db-0-b", "db-0"), "a-*-b");
	T_STR(pattern("a-a-a", "a"), "*-a-a");
	T_STR(pattern("aa-a", "a"), "aa-*");
	T_STR(pattern("data-db-01", "db-0"), "");
	T_STR(pattern("data.db-0", "db-0"), "");
	T_STR(pattern("data-xdb-0", "db-0"), "");
	T_STR(pattern("db", "db-0"), "");
	T_STR(pattern("data-db-0", ""), "");
	T_STR(pattern("*-db-0", "db-0"), "");
}

T_CASE(names_that_are_too_long_are_not_written)
{
	char claim[CLAIM_NAME_MAX + 2];
	uint8_t out[CLAIM_NAME_MAX + 2];

	memset(claim, 'x', sizeof claim);
	claim[1] = '-';
	claim[CLAIM_NAME_MAX] = 0;
	T_EQ(claim_pattern_make(pl_span_str(claim), pl_span_str("x"), out),
	     CLAIM_NAME_MAX);
	T_EQ(claim_pattern_expand(pl_span(out, CLAIM_NAME_MAX), pl_span_str("x"), out),
	     CLAIM_NAME_MAX);
	T_EQ(claim_pattern_make(pl_span_str(claim), pl_span_str("x"), out),
	     CLAIM_NAME_MAX);
	T_EQ(claim_pattern_expand(pl_span(out, CLAIM_NAME_MAX), pl_span_str("xx"), out),
	     0);
	T_EQ(claim_pattern_expand(pl_span_str("data"), pl_span_str("x"), out), 0);
	T_EQ(claim_pattern_expand((struct pl_span){0}, pl_span_str("x"), out), 0);
	claim[CLAIM_NAME_MAX] = 'x';
	T_EQ(claim_pattern_make(pl_span(claim, CLAIM_NAME_MAX + 1), pl_span_str("x"),
	                        out),
	     0);
}

static size_t some_name(struct pl_rng *rng, uint8_t *out, size_t most)
{
	size_t len = 1 + (size_t)pl_rng_below(rng, most);

	for (size_t i = 0; i < len; i++)
		out[i] = (uint8_t) "ab-"[pl_rng_below(rng, 3)];
	return len;
}

/* A pattern gives the claim's name back when the pod's name is put in; and two claims of
 * one pod have one pattern only if they are the same claim. */
T_CASE(a_pattern_leads_back_to_the_name)
{
	struct pl_rng rng;
	unsigned own = 0;

	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < 100000; i++) {
		uint8_t claim[12], pod[4], made[12], back[CLAIM_NAME_MAX];
		size_t len = some_name(&rng, claim, sizeof claim);
		struct pl_span who = pl_span(pod, some_name(&rng, pod, sizeof pod));
		size_t got = claim_pattern_make(pl_span(claim, len), who, made);

		if (got == 0)
			continue;
		own++;
		T_EQ(claim_pattern_expand(pl_span(made, got), who, back), len);
		T_EQ(memcmp(back, claim, len), 0);
	}
	T_REACHED(own > 10000);
}

T_CASE(a_claim_is_found_by_the_pods_name)
{
	struct spec_volume volume = {.kind = DRAFT_CLAIM};
	struct strings strings;
	uint32_t claim, pod;

	strings_init(&strings);
	T_OK(strings_add(&strings, pl_span_str("data-*"), &volume.id), NULL);
	T_OK(strings_add(&strings, pl_span_str("db-0"), &pod), NULL);
	T_EQ(volume_claim_name(&strings, &volume, pod), volume.id);
	volume.own = 1;
	T_EQ(volume_claim_name(&strings, &volume, pod), 0);
	T_OK(strings_add(&strings, pl_span_str("data-db-0"), &claim), NULL);
	T_EQ(volume_claim_name(&strings, &volume, pod), claim);
	T_EQ(volume_claim_name(&strings, &volume, 0), 0);
	strings_done(&strings);
}
