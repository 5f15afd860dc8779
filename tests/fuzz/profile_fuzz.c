/* Any configuration is refused with an error text, or makes consistent profiles that
 * are made again from the same text. */
#include <string.h>

#include "shardsched/framework/profile.h"
#include "shardsched/plugins/plugins.h"
#include "tests/fuzz/fuzz.h"

static void check_point(const struct profile *profile, unsigned point)
{
	const struct profile_point *at = &profile->at[point];
	uint64_t seen = 0;

	PL_ASSERT(at->count <= plugins.count);
	for (unsigned i = 0; i < at->count; i++) {
		uint64_t bit = UINT64_C(1) << at->plugin[i];

		PL_ASSERT(at->plugin[i] < plugins.count && (seen & bit) == 0);
		PL_ASSERT((profile->enabled & bit) != 0);
		seen |= bit;
	}
}

static void check_profile(const struct profile *profile)
{
	const struct profile_point *scores = &profile->at[POINT_SCORE];

	PL_ASSERT(profile->scheduler != 0);
	PL_ASSERT(profile->at[POINT_QUEUE_SORT].count == 1);
	PL_ASSERT(profile->at[POINT_BIND].count >= 1);
	for (unsigned point = 0; point < POINTS; point++)
		check_point(profile, point);
	for (unsigned i = 0; i < scores->count; i++) {
		int32_t weight = profile->weight[scores->plugin[i]];

		PL_ASSERT(weight >= 1 && weight <= PROFILE_WEIGHT_MAX);
	}
}

static void check_again(struct model *model, struct pl_span text,
                        const struct profiles *first)
{
	struct pl_err err = {0};
	struct profiles again;
	enum pl_code code = profiles_parse(model, &plugins, text, &again, &err);

	PL_ASSERT(code == PL_OK && again.count == first->count);
	for (uint32_t i = 0; i < first->count; i++) {
		PL_ASSERT(again.at[i].enabled == first->at[i].enabled);
		PL_ASSERT(memcmp(&again.at[i].at, &first->at[i].at,
		                 sizeof first->at[i].at) == 0);
	}
	profiles_drop(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pl_span text = pl_span(data, size);
	struct profiles profiles;
	struct pl_err err = {0};
	struct model model;
	enum pl_code code;

	model_init(&model);
	code = profiles_parse(&model, &plugins, text, &profiles, &err);
	PL_ASSERT(code == PL_OK || (err.code == code && err.msg[0] != 0));
	if (code == PL_OK) {
		for (uint32_t i = 0; i < profiles.count; i++)
			check_profile(&profiles.at[i]);
		check_again(&model, text, &profiles);
		profiles_drop(&profiles);
	}
	model_done(&model); /* asserts that nothing is left */
	return 0;
}
