#include "coord/api/verbs/place_estimates.h"

#include <stdio.h>

#include "coord/api/objects/pod_state_text.h"
#include "store/base/timestamp.h"

/* A shard that places less than one pod in a quarter of an hour has no rate to speak of. */
static const double rate_least = 1.0 / 900, seconds_most = 86400;

bool place_estimate_seconds(double placed_per_s, uint64_t ahead, double *out)
{
	double seconds;

	if (!(placed_per_s >= rate_least))
		return false;
	seconds = ((double)ahead + 1) / placed_per_s;
	if (seconds > seconds_most)
		return false;
	*out = seconds;
	return true;
}

enum estimate_fate { ESTIMATE_OPEN, ESTIMATE_TRUE, ESTIMATE_FALSE, ESTIMATE_VOID };

static enum estimate_fate fate_of(const struct place_estimate *estimate,
                                  struct sources *sources, int64_t now_ms)
{
	const struct schema_resource *pods = schema_resource_find(
		(struct pl_span){0}, PL_SPAN_LIT("v1"), PL_SPAN_LIT("pods"));
	struct pl_span namespace = pl_span(estimate->name, estimate->namespace_len);
	struct pl_span name = pl_span(estimate->name + estimate->namespace_len + 1,
	                              estimate->len - estimate->namespace_len - 1);
	struct object pod;
	struct state_text state;
	int64_t since_ms = 0;

	if (!source_get(sources, pods, namespace, name, &pod))
		return ESTIMATE_VOID; /* deleted: nothing can be learned */
	state = pod_state_text(&pod);
	if (!state_text_has_place(&state))
		return now_ms > estimate->until_ms ? ESTIMATE_FALSE : ESTIMATE_OPEN;
	if (!state_text_phase_is(&state, "Bound"))
		return ESTIMATE_VOID; /* nothing says any more when it was bound */
	if (pl_timestamp_parse(json_unquoted(state.since), &since_ms, NULL) != PL_OK)
		return ESTIMATE_VOID;
	return since_ms <= estimate->until_ms ? ESTIMATE_TRUE : ESTIMATE_FALSE;
}

void place_estimates_settle(struct place_estimates *estimates, struct sources *sources,
                            int64_t now_ms)
{
	for (unsigned i = 0; i < PLACE_ESTIMATES_MAX; i++) {
		struct place_estimate *estimate = &estimates->at[i];
		enum estimate_fate fate;

		if (estimate->until_ms == 0)
			continue;
		fate = fate_of(estimate, sources, now_ms);
		if (fate == ESTIMATE_OPEN)
			continue;
		estimates->settled += fate != ESTIMATE_VOID;
		estimates->true_ones += fate == ESTIMATE_TRUE;
		estimate->until_ms = 0;
	}
}

void place_estimates_add(struct place_estimates *estimates, struct pl_span namespace,
                         struct pl_span name, int64_t until_ms)
{
	struct place_estimate made = {.until_ms = until_ms,
	                              .namespace_len = namespace.len};
	int len = snprintf(made.name, sizeof made.name, PL_SPAN_FMT "/" PL_SPAN_FMT,
	                   PL_SPAN_ARG(namespace), PL_SPAN_ARG(name));

	if (len < 0 || (size_t)len >= sizeof made.name)
		return;
	made.len = (size_t)len;
	/* A pod that is asked about again and again counts once. */
	for (unsigned i = 0; i < PLACE_ESTIMATES_MAX; i++)
		if (estimates->at[i].until_ms != 0 &&
		    strcmp(estimates->at[i].name, made.name) == 0)
			return;
	estimates->at[estimates->next] = made;
	estimates->next = (estimates->next + 1) % PLACE_ESTIMATES_MAX;
}

bool place_estimates_coverage(const struct place_estimates *estimates, double *out)
{
	if (estimates->settled < PLACE_ESTIMATES_LEAST)
		return false;
	*out = (double)estimates->true_ones / (double)estimates->settled;
	return true;
}
