/*
 * The search for better factors. Each round lowers the factor of the fullest member by
 * some steps, raises the factor of the emptiest member, and changes some at random;
 * the change that helps most is kept. The assignment itself predicts the effect of a
 * factor. The search ends when no change helps. A round costs about 16 hashes a
 * partition.
 */
#include "coord/balance/balance_core.h"

enum { ROUNDS_MAX = 64, CHANCES = 4, FACTOR_MAX = 1000 * 1000 };

static const double steps[] = {0.01, 0.02, 0.04, 0.08, 0.16, 0.30};

enum { STEPS = sizeof steps / sizeof steps[0] };

struct factor_try {
	uint32_t member;
	uint32_t factor; /* 0: no improvement was found yet */
	struct balance_score score;
};

static double eighth_power(double x)
{
	x *= x;
	x *= x;
	return x * x;
}

static void sum_loads(struct balance_core *core, struct balance_score *score)
{
	const struct balance_view *view = core->view;

	for (uint32_t i = 0; i < view->member_count; i++)
		view->members[i].load = 0;
	for (uint32_t p = 0; p < core->partitions; p++) {
		uint32_t owner = assign_mark_of(view->assign, p);

		PL_ASSERT(owner < view->member_count);
		view->members[owner].load += core->smoothed[p];
		score->moves += owner != core->before[p];
	}
}

/* Rates the present factors. With the eighth power the fullest members dominate the
 * sum, and there is still something to gain when the fullest one can not be helped at
 * once. */
static struct balance_score rate_plan(struct balance_core *core)
{
	const struct balance_view *view = core->view;
	struct balance_score score = {0};
	double total = 0, weight = 0;

	sum_loads(core, &score);
	for (uint32_t i = 0; i < view->member_count; i++) {
		if (!view->members[i].counts)
			continue;
		total += view->members[i].load;
		weight += view->members[i].weight;
	}
	for (uint32_t i = 0; i < view->member_count; i++) {
		const struct balance_member *m = &view->members[i];
		double ratio;

		if (!m->counts)
			continue;
		ratio = m->load / m->weight / (total / weight);
		score.cost += m->weight / weight * eighth_power(ratio);
		if (ratio > score.worst)
			score.worst = ratio;
	}
	return score;
}

/* Can not fail: changing the weight of a member that is in the assignment takes no
 * memory. */
static void set_factor(struct balance_core *core, uint32_t member, uint32_t factor)
{
	const struct balance_member *m = &core->view->members[member];
	enum pl_code code =
		assign_put_salted(core->view->assign, m->id,
	                          assign_weight(m->weight, factor), m->salt, NULL);

	PL_ASSERT(m->counts && code == PL_OK);
}

static uint32_t moves_max(const struct balance_core *core)
{
	uint32_t max = core->partitions * core->rules.moves_percent / 100;

	return max == 0 ? 1 : max;
}

static uint32_t clamp_factor(double factor)
{
	if (factor < 1)
		return 1;
	return factor > FACTOR_MAX ? FACTOR_MAX : (uint32_t)(factor + 0.5);
}

static void try_factor(struct balance_core *core, uint32_t member, double ratio,
                       struct factor_try *best)
{
	uint32_t now = core->view->members[member].plan, then = clamp_factor(now * ratio);
	struct balance_score score;

	if (then == now)
		then = ratio > 1 ? clamp_factor(now + 1.0) : clamp_factor(now - 1.0);
	if (then == now)
		return;
	set_factor(core, member, then);
	score = rate_plan(core);
	set_factor(core, member, now);
	if (score.moves <= moves_max(core) && score.cost < best->score.cost)
		*best = (struct factor_try){member, then, score};
}

static uint32_t find_extreme(const struct balance_core *core, bool fullest)
{
	const struct balance_view *view = core->view;
	uint32_t found = UINT32_MAX;
	double most = 0;

	for (uint32_t i = 0; i < view->member_count; i++) {
		const struct balance_member *m = &view->members[i];
		double load = m->load / m->weight;

		if (!m->counts)
			continue;
		load = fullest ? load : -load;
		if (found == UINT32_MAX || load > most) {
			found = i;
			most = load;
		}
	}
	return found;
}

static void try_factors(struct balance_core *core, struct factor_try *best)
{
	uint32_t full = find_extreme(core, true), empty = find_extreme(core, false);

	for (unsigned i = 0; i < STEPS; i++) {
		try_factor(core, full, 1 - steps[i], best);
		try_factor(core, empty, 1 + steps[i], best);
	}
	for (unsigned i = 0; i < CHANCES; i++) {
		uint32_t who = assign_mark_of(
			core->view->assign,
			(uint32_t)pl_rng_below(&core->rng, core->partitions));
		double step = steps[pl_rng_below(&core->rng, STEPS)];

		try_factor(core, who,
		           pl_rng_chance(&core->rng, 1, 2) ? 1 + step : 1 - step, best);
	}
}

void balance_search_begin(struct balance_core *core)
{
	struct balance_view *view = core->view;

	for (uint32_t i = 0; i < view->member_count; i++)
		view->members[i].plan = view->members[i].factor;
	for (uint32_t p = 0; p < core->partitions; p++)
		core->before[p] = (uint16_t)assign_mark_of(view->assign, p);
	core->rounds = 0;
	core->now = rate_plan(core);
	core->best = core->now;
	PL_ASSERT(core->now.moves == 0);
}

bool balance_search_round(struct balance_core *core)
{
	struct factor_try best = {.score = core->best};

	(void)rate_plan(core); /* computes the loads by the plan so far */
	try_factors(core, &best);
	if (best.factor != 0) {
		core->best = best.score;
		core->view->members[best.member].plan = best.factor;
		set_factor(core, best.member, best.factor);
	}
	return best.factor != 0 && ++core->rounds < ROUNDS_MAX;
}

static void set_all(struct balance_core *core, bool planned)
{
	const struct balance_view *view = core->view;

	for (uint32_t i = 0; i < view->member_count; i++) {
		const struct balance_member *m = &view->members[i];

		if (m->counts)
			set_factor(core, i, planned ? m->plan : m->factor);
	}
}

/* Scales the factors to a mean of one, so that they do not drift and a new member
 * without a factor counts as an average one. */
static void normalise_factors(struct balance_core *core)
{
	const struct balance_view *view = core->view;
	double sum = 0, weight = 0;

	for (uint32_t i = 0; i < view->member_count; i++) {
		if (!view->members[i].counts)
			continue;
		sum += (double)view->members[i].weight * view->members[i].plan;
		weight += view->members[i].weight;
	}
	for (uint32_t i = 0; i < view->member_count; i++) {
		struct balance_member *m = &view->members[i];

		if (m->counts || m->factor != ASSIGN_WEIGHT_ONE)
			m->plan = clamp_factor(m->plan *
			                       (ASSIGN_WEIGHT_ONE * weight / sum));
	}
}

static void drop_gone(struct balance_core *core)
{
	uint64_t gone_ms = core->rules.interval_ms * BALANCE_GONE_INTERVALS;

	for (uint32_t i = 0; i < core->view->member_count; i++)
		if (core->view->members[i].gone_ms >= gone_ms)
			core->view->members[i].plan = 0;
}

/* Rounding may have changed the effect of the plan, so it is rated once more. */
bool balance_search_end(struct balance_core *core)
{
	double most = core->now.worst * (1 - core->rules.threshold_percent / 100.0);
	bool worth = core->best.moves > 0 && core->best.worst <= most;

	if (worth) {
		normalise_factors(core);
		set_all(core, true);
		core->best = rate_plan(core);
		worth = core->best.moves > 0 && core->best.moves <= moves_max(core) &&
		        core->best.worst <= most;
		drop_gone(core);
	}
	set_all(core, false);
	return worth;
}
