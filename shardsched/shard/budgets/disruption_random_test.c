/*
 * Three shards over one store, in random histories, with pods of all priorities that make
 * room for each other, members that say when these have left, budgets that come, change
 * and go, a counter that updates them, lost answers and partitions that move.
 *
 * The judge reads the log, revision by revision, and knows nothing but JSON: a revision
 * that makes a bound pod terminate also puts each budget that covers it, as it stood
 * before, with the pod noted and with as many less healthy as it took; and no budget is
 * put by a revision that took nothing of it.
 */
#include "shardsched/records/budget_record.h"
#include "tests/support/shardsched/shard/shards_rig.h"

enum { STEPS = 1500, KEYS = 256, POD_COUNT = 40, BUDGETS = 4 };

struct known_budget {
	char key[96];
	char value[1500];
	int64_t rev; /* 0: it does not exist */
};

static struct known_budget known[KEYS];
static unsigned knowns;
static uint32_t judged; /* index into the log */
static bool ours;       /* the last entry of the log was written by the test */
static unsigned taken, covered_ever, overdrawn;
static struct pl_arena room;

static const char *const apps[] = {"a", "b"};

static struct known_budget *known_of(struct pl_span key)
{
	for (unsigned i = 0; i < knowns; i++)
		if (pl_span_eq(pl_span_str(known[i].key), key))
			return &known[i];
	T_TRUE(knowns < KEYS && key.len < sizeof known[0].key);
	(void)snprintf(known[knowns].key, sizeof known[0].key, PL_SPAN_FMT,
	               PL_SPAN_ARG(key));
	return &known[knowns++];
}

static bool has(struct pl_span text, const char *words)
{
	return memmem(text.at, text.len, words, strlen(words)) != NULL;
}

/* -- the judge --------------------------------------------------------------- */

/* The name in a key /schedules/<p>/web/<name>/state. */
static struct pl_span name_of(struct pl_span key)
{
	const char *text = (const char *)key.at;
	const char *name = text + sizeof "/schedules/0000/web/" - 1;

	return pl_span(name, key.len - (size_t)(name - text) - sizeof "/state" + 1);
}

static bool covers(const struct known_budget *budget, struct pl_span state_key)
{
	char key[96], app[32];
	const struct known_budget *spec;

	(void)snprintf(key, sizeof key, PL_SPAN_FMT, PL_SPAN_ARG(state_key));
	(void)snprintf(key + state_key.len - 5, 6, "spec");
	spec = known_of(pl_span_str(key));
	for (unsigned i = 0; i < 2; i++) {
		(void)snprintf(app, sizeof app, "\"app\":\"%s\"", apps[i]);
		if (has(pl_span_str(budget->value), app))
			return has(pl_span_str(spec->value), app);
	}
	return false;
}

static struct budget_record read_budget(struct pl_span value)
{
	struct budget_record out = {0};

	T_OK(budget_record_parse(value, &room, &out, &rig.err), &rig.err);
	return out;
}

static const struct kv_record *in_revision(uint32_t first, uint32_t last, const char *key)
{
	for (uint32_t i = first; i < last; i++)
		if (pl_span_eq(rig.store.log[i].record.key, pl_span_str(key)))
			return &rig.store.log[i].record;
	return NULL;
}

static bool is_noted(const struct budget_record *record, struct pl_span name, int64_t rev)
{
	for (uint32_t i = 0; i < record->disrupted_count; i++)
		if (pl_span_eq(record->disrupted[i].name, name) &&
		    record->disrupted[i].state_rev == rev)
			return true;
	return false;
}

/* The budget in that revision. */
static void judge_budget(const struct known_budget *budget, uint32_t first, uint32_t last)
{
	const struct kv_record *put = in_revision(first, last, budget->key);
	struct budget_record was, is = {0};
	uint32_t count = 0, less;

	pl_arena_reset(&room);
	was = read_budget(pl_span_str(budget->value));
	if (put != NULL)
		is = read_budget(put->value);
	for (uint32_t i = first; i < last; i++) {
		const struct kv_record *record = &rig.store.log[i].record;
		const struct known_budget *before;

		if (!has(record->key, "/state") || !has(record->value, "\"Terminating\""))
			continue;
		before = known_of(record->key);
		if (!has(pl_span_str(before->value), "\"Bound\"") ||
		    !covers(budget, record->key))
			continue;
		T_TRUE(put != NULL);
		T_TRUE(put != NULL && is_noted(&is, name_of(record->key), before->rev));
		count++;
	}
	T_EQ(put != NULL, count > 0);
	if (put == NULL)
		return;
	covered_ever += count;
	overdrawn += count > was.status.allowed;
	less = count < was.status.healthy ? count : was.status.healthy;
	T_EQ(is.status.healthy, was.status.healthy - less);
	T_EQ(is.counted, was.counted);
	T_TRUE(is.disrupted_count >= was.disrupted_count);
}

static void learn(uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i < last; i++) {
		const struct kv_event *event = &rig.store.log[i];
		struct known_budget *it;

		if (!has(event->record.key, "/schedules/") &&
		    !has(event->record.key, "/budgets/web/"))
			continue;
		it = known_of(event->record.key);
		it->rev = event->is_delete ? 0 : event->record.mod_revision;
		T_TRUE(event->record.value.len < sizeof it->value);
		(void)snprintf(it->value, sizeof it->value, PL_SPAN_FMT,
		               PL_SPAN_ARG(event->is_delete ? PL_SPAN_LIT("")
		                                            : event->record.value));
	}
}

/* Judges what was written since, by shards unless the test wrote it. */
static void judge(void)
{
	while (judged < rig.store.logged) {
		uint32_t first = judged, last = judged;
		int64_t rev = rig.store.log[first].record.mod_revision;

		while (last < rig.store.logged &&
		       rig.store.log[last].record.mod_revision == rev)
			last++;
		for (unsigned i = 0; i < knowns && !ours; i++)
			if (known[i].rev != 0 &&
			    has(pl_span_str(known[i].key), "/budgets/web/"))
				judge_budget(&known[i], first, last);
		learn(first, last);
		judged = last;
	}
}

/* -- other pods -------------------------------------------------------------- */

static void write_ours(const char *key, const char *value)
{
	ours = true;
	rig_put(&rig, key, value);
	judge();
	ours = false;
}

/* NULL: deleted. */
static void write_budget(const char *key, const char *value)
{
	ours = true;
	if (value == NULL)
		rig_del_budget(&rig, key);
	else
		rig_put_budget(&rig, key, value);
	judge();
	ours = false;
}

static void submit(uint32_t *pods)
{
	char key[96], json[512];

	if (*pods == POD_COUNT)
		return;
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/p-%u/spec",
	               below(RIG_PARTITIONS), *pods);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"p-%u\",\"uid\":"
	               "\"u-%u\",\"labels\":{\"app\":\"%s\"}},\"spec\":{\"priority\":%u,"
	               "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
	               "\"cpu\":\"%u\"}}}]}}",
	               *pods, *pods, apps[below(2)], *pods / 8, 1 + below(2));
	++*pods;
	write_ours(key, json);
}

/* Writes a budget as any user might: counted or not, allowing much or little. */
static void change_budget(void)
{
	char key[96], value[512], status[160] = "";
	unsigned number = below(BUDGETS), allowed = below(4);

	(void)snprintf(key, sizeof key, "/budgets/web/b-%u", number);
	if (known_of(pl_span_str(key))->rev != 0 && below(4) == 0) {
		write_budget(key, NULL);
		return;
	}
	if (below(4) != 0)
		(void)snprintf(
			status, sizeof status,
			",\"status\":{\"expected\":20,\"desired\":%u,\"healthy\":20,"
			"\"allowed\":%u}",
			20 - allowed, allowed);
	(void)snprintf(
		value, sizeof value,
		"{\"v\":1,\"budget\":{\"metadata\":{\"name\":\"b-%u\",\"namespace\":"
		"\"web\"},\"spec\":{\"minAvailable\":%u,\"selector\":{"
		"\"matchLabels\":{\"app\":\"%s\"}}}}%s}",
		number, 20 - allowed, apps[number % 2], status);
	write_budget(key, value);
}

/* A member: a terminating pod has ended. */
static void end_one(void)
{
	for (unsigned i = 0; i < knowns; i++) {
		const struct known_budget *it = &known[(i + judged) % knowns];
		struct pod_state state;
		struct pl_buf buf = {.max = 4096};

		if (it->rev == 0 || !has(pl_span_str(it->key), "/state") ||
		    !has(pl_span_str(it->value), "\"Terminating\"") ||
		    has(pl_span_str(it->value), "\"ended\""))
			continue;
		pl_arena_reset(&room);
		T_OK(state_parse(pl_span_str(it->value), &room, &state, &rig.err),
		     &rig.err);
		state.ended = STATE_ENDED_GONE;
		T_OK(state_print(&state, &buf, &rig.err), &rig.err);
		T_EQ(pl_buf_add(&buf, pl_span("", 1)), PL_OK);
		write_ours(it->key, (const char *)buf.at);
		pl_buf_done(&buf);
		taken++;
		return;
	}
}

/* Lets things come to rest, so that there is a state to begin from. */
static void settle(void)
{
	rig.now_ms += 1500;
	for (unsigned i = 0; i < SHARDS; i++) {
		select_shard(i);
		rig_run_idle(&rig);
	}
	judge();
}

static void run(uint64_t seed)
{
	uint32_t pods = 0;

	pl_rng_init(&rng, seed);
	knowns = judged = 0;
	memset(known, 0, sizeof known);
	pl_arena_init(&room, 0, 0);
	ours = true;
	open_all(seed);
	judge();
	ours = false;
	for (unsigned i = 0; i < STEPS; i++) {
		struct sched_figures figures;

		if (below(20) == 0)
			submit(&pods);
		if (below(40) == 0)
			change_budget();
		if (below(15) == 0)
			end_one();
		shards_step();
		judge();
		if (i % 60 == 59)
			settle();
		sched_figures(rig.sched, &figures);
		remote_ever += figures.remote;
	}
	close_all();
	pl_arena_done(&room);
}

T_CASE_SECONDS(every_eviction_lowers_the_budgets_that_cover_it, 200)
{
	uint64_t first = t_seed() * 100;

	for (uint64_t seed = first; seed < first + 25; seed++)
		run(seed);
	T_REACHED(remote_ever > 0 && conflicts_ever > 0 && lost_ever > 0 &&
	          moves_ever > 0);
	T_REACHED(views_ever > 0);
	T_REACHED(taken > 300);
	T_REACHED(covered_ever > 200);
	T_REACHED(overdrawn > 10);
}
