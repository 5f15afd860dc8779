#include "shardsched/model/spec_requests.h"

/* The request that LeastAllocated assumes for a container without one. */
#define MISSING_CPU ((pl_int128)100 * 1000000)
#define MISSING_MEMORY ((pl_int128)200 * 1024 * 1024 * 1000000000)

/* One resource: as it was requested, and with the assumed requests added. */
struct resource_pair {
	struct pl_span name;
	pl_int128 missing;
	pl_int128 sum;
};

static pl_int128 requested_amount(const struct draft_container *container,
                                  const struct resource_pair *pair)
{
	for (uint32_t i = 0; i < container->requests.count; i++)
		if (pl_span_eq(container->requests.at[i].name, pair->name))
			return container->requests.at[i].quantity.nano;
	return pair->missing;
}

static void add_nonzero(const struct pod_draft *draft, struct resource_pair *pair)
{
	for (uint32_t i = 0; i < draft->containers.count; i++)
		pair->sum += requested_amount(&draft->containers.at[i], pair);
	for (uint32_t i = 0; i < draft->init.count; i++) {
		pl_int128 alone = requested_amount(&draft->init.at[i], pair);

		if (pair->sum < alone)
			pair->sum = alone;
	}
	for (uint32_t i = 0; i < draft->overhead.count; i++)
		if (pl_span_eq(draft->overhead.at[i].name, pair->name))
			pair->sum += draft->overhead.at[i].quantity.nano;
}

static bool add_all(struct resource_sums *sums, struct draft_amounts amounts)
{
	for (uint32_t i = 0; i < amounts.count; i++)
		if (!resource_sums_add(sums, amounts.at[i].name,
		                       amounts.at[i].quantity.nano))
			return false;
	return true;
}

static bool add_real(struct resource_sums *sums, const struct pod_draft *draft)
{
	for (uint32_t i = 0; i < draft->containers.count; i++)
		if (!add_all(sums, draft->containers.at[i].requests))
			return false;
	for (uint32_t i = 0; i < draft->init.count; i++) {
		struct draft_amounts alone = draft->init.at[i].requests;

		for (uint32_t j = 0; j < alone.count; j++)
			if (!resource_sums_max(sums, alone.at[j].name,
			                       alone.at[j].quantity.nano))
				return false;
	}
	return add_all(sums, draft->overhead);
}

static enum pl_code is_too_much(struct pl_span name, struct pl_err *err)
{
	return pl_err_set(err, PL_LIMIT,
	                  "spec.containers: requests of " PL_SPAN_FMT
	                  " add up to more than can be counted",
	                  PL_SPAN_ARG(name));
}

static enum pl_code check_sums(const struct resource_sums *sums, struct pl_err *err)
{
	int64_t ignored;

	for (uint32_t i = 0; i < sums->count; i++) {
		const struct resource_sum *sum = &sums->at[i];
		bool cpu = pl_span_eq(sum->name, PL_SPAN_LIT("cpu"));

		if (!(cpu ? resource_milli : resource_units)(sum->nano, &ignored))
			return is_too_much(sum->name, err);
	}
	return PL_OK;
}

enum pl_code spec_requests_make(struct pl_arena *arena, const struct pod_draft *draft,
                                struct spec_requests *out, struct pl_err *err)
{
	struct resource_pair cpu = {PL_SPAN_LIT("cpu"), MISSING_CPU, 0};
	struct resource_pair memory = {PL_SPAN_LIT("memory"), MISSING_MEMORY, 0};

	*out = (struct spec_requests){0};
	/* Each is set when it is first counted. */
	out->sums.at = pl_arena_alloc(arena, RESOURCE_NAMES_MAX * sizeof *out->sums.at);
	if (out->sums.at == NULL)
		return pl_err_set(err, PL_NOMEM, "add up the requests");
	if (!add_real(&out->sums, draft))
		return pl_err_set(err, PL_LIMIT,
		                  "spec.containers: want at most %d different resources",
		                  RESOURCE_NAMES_MAX);
	add_nonzero(draft, &cpu);
	add_nonzero(draft, &memory);
	if (!resource_milli(cpu.sum, &out->nonzero_cpu_milli))
		return is_too_much(cpu.name, err);
	if (!resource_units(memory.sum, &out->nonzero_memory))
		return is_too_much(memory.name, err);
	return check_sums(&out->sums, err);
}
