/*
 * What is said of pods that stand there (coord/submit/pod_request.h): people want some gone or
 * moved; the members that run them stop what terminates and say so, and now and then one
 * ends by itself.
 */
#include "tests/sim/clerk_int.h"

static enum pl_code on_next(void *ctx, struct pod_request *out, struct pl_err *err)
{
	struct clerk_errand *errand = ctx;
	const struct clerk_word *word;

	if (errand->next == errand->count)
		return pl_err_set(err, PL_NOTFOUND, "that was all");
	word = &errand->word[errand->next++];
	scene_pod_space(word->pod, errand->namespace);
	scene_pod_name(word->pod, errand->name);
	*out = (struct pod_request){.verb = word->verb,
	                            .namespace = pl_span_str(errand->namespace),
	                            .name = pl_span_str(errand->name),
	                            .at = POD_REQUEST_BY_NAME,
	                            .ended = word->ended};
	if (word->node == STOCK_NONE)
		return PL_OK;
	scene_node_cluster(&errand->clerk->world->plan.scene, word->node,
	                   errand->cluster);
	scene_node_name(word->node, errand->node);
	out->cluster = pl_span_str(errand->cluster);
	out->node = pl_span_str(errand->node);
	out->reason = PL_SPAN_LIT("drained");
	return PL_OK;
}

static void on_outcome(void *ctx, const struct pod_request *wish,
                       enum pod_request_outcome outcome, const char *why)
{
	struct clerk_errand *errand = ctx;
	struct world *world = errand->clerk->world;

	(void)why;
	if (outcome == POD_REQUEST_WITHHELD)
		world_hit(world, COVER_BUDGET_WITHHELD);
	if (outcome == POD_REQUEST_GONE)
		world_hit(world, COVER_REMOVED);
	if (outcome != POD_REQUEST_ACCEPTED)
		return;
	if (wish->verb == POD_REQUEST_DELETE)
		world_hit(world, COVER_TERMINATING);
	else
		world_hit(world, wish->verb == POD_REQUEST_EVICT ? COVER_ASKED_EVICT
		                                                 : COVER_SAID_ENDED);
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct clerk_errand *errand = ctx;

	(void)err;
	errand->wishes = NULL;
}

void clerk_errand_add(struct clerk_errand *errand, uint32_t pod,
                      enum pod_request_verb verb, enum state_ended ended)
{
	struct clerk_pod *of = &errand->clerk->pod[pod];

	if (errand->count == CLERK_WORDS)
		return;
	errand->word[errand->count++] = (struct clerk_word){pod, verb, ended, STOCK_NONE};
	if (verb == POD_REQUEST_DELETE)
		of->removed_ms = errand->clerk->world->agenda.now_ms;
	if (ended == STATE_ENDED_FAILED || ended == STATE_ENDED_SUCCEEDED)
		of->ended_ms = errand->clerk->world->agenda.now_ms;
}

void clerk_errand_go(struct clerk_errand *errand)
{
	struct clerk *clerk = errand->clerk;
	struct pod_request_opts opts = {.partitions = clerk->world->plan.partitions,
	                                .slots = 1 +
	                                         (unsigned)world_below(clerk->world, 4),
	                                .timeout_ms = CLERK_CALL_MS,
	                                .patience_ms = CLERK_PATIENCE_MS,
	                                .past_budgets = clerk->calm != CALM_NOT,
	                                .who = "the clerk",
	                                .next = on_next,
	                                .report = on_outcome,
	                                .done = on_done,
	                                .ctx = errand};

	errand->next = 0;
	if (errand->count > 0 &&
	    pod_requests_open(clerk->kv, &opts, &errand->wishes, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
}

static void is_over(struct clerk *clerk, uint32_t i)
{
	uint32_t life = clerk->world->stock->pod[i].life;

	if (life < SCENE_LIVES)
		clerk->pod[i].over |= UINT64_C(1) << life;
}

void clerk_heard(struct clerk *clerk, uint32_t pod)
{
	uint64_t ended_ms = clerk->pod[pod].ended_ms;

	if (ended_ms != 0 && clerk->world->agenda.now_ms - ended_ms < CLERK_HEARD_MS)
		is_over(clerk, pod);
}

/* Who was asked to end has ended. */
static void confirm(struct clerk *clerk, struct clerk_errand *errand)
{
	const struct stock *stock = clerk->world->stock;
	uint32_t from = (uint32_t)world_below(clerk->world, stock->pods);
	bool failed;

	for (uint32_t k = 0; k < stock->pods; k++) {
		uint32_t i = (from + k) % stock->pods;
		const struct stock_pod *pod = &stock->pod[i];

		if (pod->phase != STOCK_TERMINATING || pod->ended ||
		    (clerk->calm == CALM_NOT && world_chance(clerk->world, 3, 4)))
			continue;
		failed = world_chance(clerk->world, 1, 4);
		if (failed)
			is_over(clerk, i);
		clerk_errand_add(errand, i, POD_REQUEST_ENDED,
		                 failed ? STATE_ENDED_FAILED : STATE_ENDED_GONE);
	}
}

/* One that runs ends by itself, or is to be moved. */
static void disturb(struct clerk *clerk, struct clerk_errand *errand)
{
	static const enum state_ended ends[] = {STATE_ENDED_SUCCEEDED, STATE_ENDED_FAILED,
	                                        STATE_ENDED_GONE};
	uint32_t i = (uint32_t)world_below(clerk->world, clerk->pods);
	const struct stock_pod *pod = &clerk->world->stock->pod[i];
	enum state_ended ended = ends[world_below(clerk->world, 3)];

	if (pod->phase != STOCK_BOUND || pod->spoilt)
		return;
	if (world_chance(clerk->world, 1, 2)) {
		clerk_errand_add(errand, i, POD_REQUEST_EVICT, STATE_ENDED_NOT);
		return;
	}
	if (ended != STATE_ENDED_GONE)
		is_over(clerk, i);
	clerk_errand_add(errand, i, POD_REQUEST_ENDED, ended);
}

void clerk_members(struct clerk *clerk)
{
	struct clerk_errand *errand = &clerk->members;

	if (errand->wishes != NULL)
		return;
	errand->count = 0;
	confirm(clerk, errand);
	if (clerk->calm == CALM_NOT && world_chance(clerk->world, 1, 4))
		disturb(clerk, errand);
	clerk_errand_go(errand);
}
