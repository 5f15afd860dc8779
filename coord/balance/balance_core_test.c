#include <math.h>
#include <stdio.h>

#include "coord/balance/balance_core.h"
#include "tests/harness/t.h"

enum { P = 256, MANY = 16 };

#define INTERVAL_MS UINT64_C(30000)

/* Intervals until the weights have to be stable, and intervals of watching afterwards. */
enum {
	WORLDS = 12,
	NOISY_WORLDS = 4,
	RESTS_BY = 16,
	WATCHED = 10,
	NOISY_RESTS_BY = 40, /* tables that are caused by noise are rare */
	NOISY_WATCHED = 30,
};

/* Members, loads and factors. Every partition moves at once to the member that it
 * falls to. */
static struct {
	struct balance_core core;
	struct balance_member member[MANY];
	char name[MANY][16];
	uint32_t count;
	uint16_t reporter[P];
	uint32_t load[P];
	double truth[P];
	double noise;
	double smoothed[P];
	uint16_t before[P];
	struct assign *assign;
	struct balance_view view;
	struct pl_rng rng;
	uint64_t now_ms;
	uint32_t tables, looks;
	struct balance_action last;
	bool blind, fail, stray; /* for the next looks and writes */
} w;

static char story[32768];
static size_t story_len;
static bool telling;

#define SAY(...)                                    \
	(!telling ? 0u                              \
	          : (story_len += (size_t)snprintf( \
			     story + story_len, sizeof story - story_len, __VA_ARGS__)))

static void put_member(uint32_t i, uint32_t factor)
{
	struct balance_member *m = &w.member[i];
	struct pl_err err;

	m->factor = factor;
	T_OK(assign_put_salted(w.assign, m->id, assign_weight(m->weight, factor), m->salt,
	                       &err),
	     &err);
	assign_mark(w.assign, m->id, i);
}

static void join(uint32_t weight)
{
	uint32_t i = w.count++;

	(void)snprintf(w.name[i], sizeof w.name[i], "s-%u", i);
	w.member[i] = (struct balance_member){
		.id = pl_span_str(w.name[i]), .weight = weight, .counts = true};
	w.member[i].salt = assign_choose(w.assign, w.member[i].id, weight);
	put_member(i, ASSIGN_WEIGHT_ONE);
}

static void begin(uint32_t members, uint64_t seed)
{
	struct pl_err err;

	T_OK(assign_new(P, &w.assign, &err), &err);
	pl_rng_init(&w.rng, seed);
	for (uint32_t i = 0; i < members; i++)
		join(ASSIGN_WEIGHT_ONE);
	balance_core_init(&w.core, P, w.smoothed, w.before, seed);
}

static double uniform(void)
{
	return (double)pl_rng_below(&w.rng, 1000000) / 1e6;
}

static void look(void)
{
	for (uint32_t i = 0; i < w.count; i++)
		if (w.member[i].counts)
			put_member(i, w.member[i].factor);
	for (uint32_t p = 0; p < P; p++) {
		double factor = 1 + w.noise * (2 * uniform() - 1);

		w.reporter[p] = (uint16_t)assign_mark_of(w.assign, p);
		w.load[p] = (uint32_t)(w.truth[p] * factor);
	}
	if (w.stray)
		w.reporter[7] = BALANCE_NONE;
	w.view = (struct balance_view){.members = w.member,
	                               .member_count = w.count,
	                               .reporter = w.reporter,
	                               .load = w.load,
	                               .assign = w.assign};
	w.looks++;
}

/* The answer to an action. */
static struct balance_event answer(const struct balance_action *action, const char **what)
{
	if (action->type == BALANCE_DO_LOOK) {
		look();
		*what = w.blind ? "no view" : "view";
		return (struct balance_event){.type = w.blind ? BALANCE_EV_NO_VIEW
		                                              : BALANCE_EV_VIEW,
		                              .view = &w.view};
	}
	w.last = *action;
	w.now_ms += 20;
	*what = w.fail ? "failed" : "written";
	if (w.fail)
		return (struct balance_event){.type = BALANCE_EV_FAILED};
	w.tables++;
	for (uint32_t i = 0; i < w.count; i++)
		if (w.member[i].plan != 0)
			w.member[i].factor = w.member[i].plan;
	return (struct balance_event){.type = BALANCE_EV_WRITTEN};
}

static void say(const char *what, const struct balance_event *event,
                const struct balance_actions *actions)
{
	static const char *const states[] = {"idle", "watching", "looking", "searching",
	                                     "writing"};

	if (w.core.state != BALANCE_SEARCHING || event->type != BALANCE_EV_TIMEOUT) {
		SAY("[%6" PRIu64 "] %s: %s", w.now_ms, what, states[w.core.state]);
		if (w.core.state == BALANCE_WATCHING)
			SAY(", settled for %u looks, next at %" PRIu64,
			    w.core.settled_looks, balance_deadline_ms(&w.core));
		SAY("\n");
	}
	for (unsigned i = 0; i < actions->count; i++) {
		const struct balance_action *a = &actions->item[i];

		if (a->type == BALANCE_DO_WRITE)
			SAY("          -> WRITE: fullest %.2f of the mean, then %.2f, %u "
			    "moves\n",
			    a->worst, a->planned, a->moves);
	}
}

static void feed(const char *what, struct balance_event event)
{
	struct balance_actions actions;

	for (;;) {
		event.now_ms = w.now_ms;
		balance_step(&w.core, &event, &actions);
		say(what, &event, &actions);
		if (actions.count == 0)
			return;
		event = answer(&actions.item[0], &what);
	}
}

static void until(uint64_t end_ms)
{
	while (balance_deadline_ms(&w.core) <= end_ms) {
		if (balance_deadline_ms(&w.core) > w.now_ms)
			w.now_ms = balance_deadline_ms(&w.core);
		feed("due", (struct balance_event){.type = BALANCE_EV_TIMEOUT});
	}
	w.now_ms = end_ms;
}

static void lead(void)
{
	feed("rules", (struct balance_event){.type = BALANCE_EV_RULES,
	                                     .rules = {.enabled = true,
	                                               .interval_ms = INTERVAL_MS,
	                                               .threshold_percent = 10,
	                                               .moves_percent = 10}});
	feed("leads", (struct balance_event){.type = BALANCE_EV_LEAD, .leading = true});
}

static void end(void)
{
	assign_free(w.assign);
	w.assign = NULL;
}

/* By the real loads at present. */
static double worst(void)
{
	double load[MANY] = {0}, total = 0, weight = 0, most = 0;

	for (uint32_t i = 0; i < w.count; i++)
		if (w.member[i].counts)
			put_member(i, w.member[i].factor);
	for (uint32_t p = 0; p < P; p++) {
		load[assign_mark_of(w.assign, p)] += w.truth[p];
		total += w.truth[p];
	}
	for (uint32_t i = 0; i < w.count; i++)
		weight += w.member[i].counts ? w.member[i].weight : 0;
	for (uint32_t i = 0; i < w.count; i++)
		if (w.member[i].counts)
			most = fmax(most,
			            load[i] / w.member[i].weight / (total / weight));
	return most;
}

/* A few partitions have most of the load. */
static void skew(double power)
{
	for (uint32_t p = 0; p < P; p++)
		w.truth[p] = 20 / pow(uniform() + 0.02, power);
}

/* One member's partitions are hot. */
static void heat(uint32_t member, double by)
{
	for (uint32_t p = 0; p < P; p++)
		if (assign_mark_of(w.assign, p) == member)
			w.truth[p] *= by;
}

T_CASE(a_hot_member_is_relieved)
{
	telling = true;
	begin(4, 1);
	skew(0);
	heat(2, 2);
	lead();
	until(40000);
	SAY("          (nothing more for five minutes)\n");
	telling = false;
	until(300000);
	telling = true;
	T_EQ(w.tables, 1);
	until(310000);
	w.stray = true;
	heat(1, 3);
	SAY("          (another is hot, and a partition is on its way)\n");
	until(325000);
	w.stray = false;
	w.fail = true;
	SAY("          (it has arrived; the store will not take a table)\n");
	until(350000);
	w.fail = false;
	SAY("          (it will)\n");
	until(380000);
	SAY("          (who leads looks at nothing while it has no view)\n");
	w.blind = true;
	until(400000);
	feed("leads no more", (struct balance_event){.type = BALANCE_EV_LEAD});
	t_golden("balance/hot.txt", story);
	end();
}

/* With constant loads there are finitely many tables, then silence, and the result is
 * better. */
T_CASE_SECONDS(constant_loads_come_to_rest, 60)
{
	double before = 0, after = 0;

	for (uint64_t seed = 0; seed < WORLDS; seed++) {
		uint32_t tables;

		memset(&w, 0, sizeof w);
		begin(8, seed);
		skew(0.3 + 0.05 * (double)seed);
		before += worst() / WORLDS;
		lead();
		until(RESTS_BY * INTERVAL_MS);
		tables = w.tables;
		T_TRUE(tables <= 12);
		until((RESTS_BY + WATCHED) * INTERVAL_MS);
		T_EQ(w.tables, tables);
		after += worst() / WORLDS;
		end();
	}
	printf("# fullest over the mean: %.3f before, %.3f after\n", before, after);
	T_TRUE(after < 1.12 && after < before - 0.1);
}

/* Loads that vary by a tenth count as constant. */
T_CASE_SECONDS(noise_is_not_acted_on, 60)
{
	for (uint64_t seed = 0; seed < NOISY_WORLDS; seed++) {
		uint32_t tables;

		memset(&w, 0, sizeof w);
		begin(8, seed);
		skew(0.5);
		w.noise = 0.1;
		lead();
		until(NOISY_RESTS_BY * INTERVAL_MS);
		tables = w.tables;
		T_TRUE(tables <= 12);
		until((NOISY_RESTS_BY + NOISY_WATCHED) * INTERVAL_MS);
		T_EQ(w.tables, tables);
		T_TRUE(worst() < 1.25);
		end();
	}
}

T_CASE(even_loads_are_left_alone)
{
	begin(8, 3);
	skew(0);
	lead();
	until(20 * INTERVAL_MS);
	T_TRUE(w.looks > 70);
	T_EQ(w.tables, 0);
	end();
}

/* A member of twice the weight gets twice the load. */
T_CASE(weights_are_respected)
{
	begin(3, 3);
	join(3 * ASSIGN_WEIGHT_ONE);
	skew(0.2);
	heat(3, 1.6);
	lead();
	until(60 * INTERVAL_MS);
	T_TRUE(w.tables > 0);
	T_TRUE(worst() < 1.12);
	end();
}

T_CASE(a_table_stays_within_its_bounds)
{
	begin(4, 9);
	skew(0.2);
	heat(0, 8);
	lead();
	until(INTERVAL_MS - 1);
	T_EQ(w.tables, 0);
	until(3 * INTERVAL_MS / 2);
	T_EQ(w.tables, 1);
	T_TRUE(w.last.moves > 0 && w.last.moves <= P / 10);
	T_TRUE(w.last.planned <= w.last.worst * 0.9);
	T_NEAR(worst(), w.last.planned, 0.05); /* loads are whole numbers */
	until(2 * INTERVAL_MS);
	T_EQ(w.tables, 1);
	until(5 * INTERVAL_MS / 2);
	T_EQ(w.tables, 2);
	end();
}

T_CASE(idle_partitions_do_not_move)
{
	begin(4, 9);
	skew(0);
	for (uint32_t p = 0; p < P; p++)
		w.truth[p] = assign_mark_of(w.assign, p) == 0 ? 2 : 0;
	lead();
	until(20 * INTERVAL_MS);
	T_EQ(w.tables, 0);
	for (uint32_t p = 0; p < P; p++)
		w.truth[p] *= 10;
	until(40 * INTERVAL_MS);
	T_TRUE(w.tables > 0);
	end();
}

/* A member that comes or goes restarts the count of settled looks. */
T_CASE(changing_members_are_left_alone)
{
	begin(4, 9);
	skew(0);
	heat(0, 3);
	lead();
	while (w.count < 12) {
		until(w.now_ms + INTERVAL_MS / 2);
		join(ASSIGN_WEIGHT_ONE);
	}
	T_EQ(w.tables, 0);
	until(w.now_ms + 2 * INTERVAL_MS);
	T_EQ(w.tables, 1);
	end();
}

T_CASE(factors_of_missing_members_are_dropped)
{
	begin(4, 9);
	skew(0);
	heat(0, 3);
	lead();
	for (uint32_t i = 4; i < 6; i++) {
		w.count++;
		w.member[i] = (struct balance_member){
			.id = i == 4 ? PL_SPAN_LIT("gone") : PL_SPAN_LIT("long-gone"),
			.weight = ASSIGN_WEIGHT_ONE,
			.factor = 1500,
			.gone_ms = i == 4 ? INTERVAL_MS : 20 * INTERVAL_MS};
	}
	until(3 * INTERVAL_MS / 2);
	T_EQ(w.tables, 1);
	T_TRUE(w.member[4].plan > 1000);
	T_EQ(w.member[5].plan, 0);
	end();
}

/* Another writer's table counts as a table, and a disabled balancer writes none. */
T_CASE(tables_of_other_writers_count)
{
	begin(4, 9);
	skew(0);
	heat(0, 3);
	lead();
	until(INTERVAL_MS - 1);
	feed("table", (struct balance_event){.type = BALANCE_EV_TABLE});
	until(2 * INTERVAL_MS - 2);
	T_EQ(w.tables, 0);
	feed("rules", (struct balance_event){.type = BALANCE_EV_RULES,
	                                     .rules = {.interval_ms = INTERVAL_MS}});
	T_EQ(balance_deadline_ms(&w.core), UINT64_MAX);
	until(9 * INTERVAL_MS);
	T_EQ(w.tables, 0);
	lead();
	until(12 * INTERVAL_MS);
	T_TRUE(w.tables > 0);
	end();
}
