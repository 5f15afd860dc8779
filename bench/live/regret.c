#include "bench/live/regret.h"

#include <stdlib.h>

#include "bench/common/report.h"
#include "shardsched/engine/engine.h"
#include "shardsched/model/parse.h"

struct replay {
	const struct load *load;
	struct engine *engine;
	struct pl_arena arena;
	uint32_t *slot; /* by node */
	struct load_object object;
	double sum, percent_sum;
	uint32_t none;
};

static struct pod parse_pod(struct replay *r)
{
	struct parse parse = {.model = engine_model(r->engine), .arena = &r->arena};
	struct pl_err err = {0};
	struct pod pod;

	pl_arena_reset(&r->arena);
	bench_check(pod_parse(&parse, load_json(&r->object), &pod, &err), &err, "a pod");
	return pod;
}

static void put_at(struct replay *r, const struct pod *pod, uint32_t node)
{
	struct pl_err err = {0};

	bench_check(engine_assume(r->engine, pod, r->slot[node], NULL, &err), &err,
	            "repeat a placement");
}

static void put_node(struct replay *r, uint32_t number)
{
	struct pl_err err = {0};
	struct strings *strings = &engine_model(r->engine)->strings;

	load_node(r->load, number, &r->object);
	bench_check(engine_put_in(r->engine, ENGINE_NODE, pl_span_str(r->object.scope),
	                          load_json(&r->object), NULL, &err),
	            &err, "a node");
	r->slot[number] =
		snapshot_node_find(engine_snapshot(r->engine),
	                           strings_find(strings, pl_span_str(r->object.scope)),
	                           strings_find(strings, pl_span_str(r->object.name)));
	PL_ASSERT(r->slot[number] != SNAPSHOT_NONE);
	for (uint32_t k = 0; k < load_before_each(r->load); k++) {
		struct load_before what;
		struct pod pod;

		load_before(r->load, number, k, &r->object, &what);
		pod = parse_pod(r);
		put_at(r, &pod, number);
		pod_drop(engine_model(r->engine), &pod);
	}
}

static void ask_best_node(struct replay *r, const struct pod *pod, uint32_t node,
                          struct regret *out)
{
	struct cycle *cycle = engine_cycle(r->engine);
	struct engine_decision decision;
	struct pl_err err = {0};
	const int64_t *total;
	double less;

	bench_check(engine_decide(r->engine, pod, &decision, &err), &err, "decide again");
	out->samples++;
	if (decision.outcome.result != CYCLE_NODE ||
	    !pl_bitset_has(cycle_feasible(cycle), r->slot[node])) {
		out->refused++;
		return;
	}
	total = cycle_totals(cycle);
	bench_check(total == NULL ? PL_NOMEM : PL_OK, NULL, "scores");
	if (total == NULL)
		return;
	less = (double)(decision.outcome.total - total[r->slot[node]]);
	r->sum += less;
	r->none += less <= 0;
	if (decision.outcome.total > 0)
		r->percent_sum += 100 * less / (double)decision.outcome.total;
}

/* One that is placed again, since it was evicted, is left where it was first. */
static void repeat_placements(struct replay *r, const struct observer *observer,
                              uint32_t every, struct regret *out)
{
	bool *seen = bench_alloc(r->load->pods, sizeof *seen);

	for (uint32_t i = 0; i < observer->placements; i++) {
		const struct observer_placement *at = &observer->placement[i];
		struct pod pod;

		if (at->pod >= r->load->pods || at->node >= r->load->nodes ||
		    seen[at->pod])
			continue;
		seen[at->pod] = true;
		load_pod(r->load, at->pod, &r->object);
		pod = parse_pod(r);
		if (i % every == 0)
			ask_best_node(r, &pod, at->node, out);
		put_at(r, &pod, at->node);
		pod_drop(engine_model(r->engine), &pod);
	}
	free(seen);
}

void regret_compute(const struct load *load, const struct observer *observer,
                    uint32_t samples, struct regret *out)
{
	const struct engine_opts opts = {.seed = 1};
	struct replay *r = bench_alloc(1, sizeof *r);
	struct pl_err err = {0};
	uint32_t every = samples == 0 ? 1 : observer->placements / samples, scored;

	*out = (struct regret){0};
	r->load = load;
	r->slot = bench_alloc(load->nodes, sizeof *r->slot);
	pl_arena_init(&r->arena, 1 << 16, 0);
	bench_check(engine_new(&opts, &r->engine, &err), &err, "an engine");
	for (uint32_t n = 0; n < load->nodes; n++)
		put_node(r, n);
	repeat_placements(r, observer, every == 0 ? 1 : every, out);
	scored = out->samples - out->refused;
	if (scored > 0) {
		out->mean = r->sum / scored;
		out->percent = r->percent_sum / scored;
		out->none = (double)r->none / scored;
	}
	engine_free(r->engine);
	pl_arena_done(&r->arena);
	free(r->slot);
	free(r);
}

void regret_emit(const struct regret *regret, const char *fields)
{
	bench_emit(fields, "regret_samples", regret->samples, "placements");
	bench_emit(fields, "regret_mean", regret->mean, "points");
	bench_emit(fields, "regret_percent", regret->percent, "%");
	bench_emit(fields, "regret_none_ratio", regret->none, "");
	bench_emit(fields, "regret_refused", regret->refused, "placements");
}
