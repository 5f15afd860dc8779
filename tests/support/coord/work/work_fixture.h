/* A fixture for tests of work: two shards of shard_kit.h, each with the driver over
 * it. */
#ifndef TESTS_SUPPORT_COORD_WORK_WORK_FIXTURE_H
#define TESTS_SUPPORT_COORD_WORK_WORK_FIXTURE_H

#include "coord/work/work.h"
#include "tests/support/coord/shard/shard_fixture.h"

struct work_fixture {
	struct work *work;
	unsigned opened, malformed, trouble, closed;
	bool close_when_reported;
};

/* The clock of turns, if it is set. */
static uint64_t (*turns_clock_ns)(void *ctx);

static struct work_fixture fixtures[NODES_MAX];

static inline void on_work_closed(void *ctx)
{
	struct work_fixture *fixture = ctx;

	fixture->closed++;
	fixture->work = NULL;
}

static inline void on_work(void *ctx, const struct work_note *note)
{
	struct work_fixture *fixture = ctx;

	T_TRUE(fixture->closed == 0);
	fixture->opened += note->what == WORK_OPENED;
	fixture->malformed += note->what == WORK_MALFORMED;
	fixture->trouble += note->what == WORK_TROUBLE;
	T_TRUE((note->what == WORK_OPENED) == (note->err == NULL));
	if (fixture->close_when_reported) {
		fixture->close_when_reported = false;
		work_close(fixture->work, on_work_closed, fixture);
	}
}

static inline void also(struct shard_node *node, const struct shard_note *note)
{
	struct work_fixture *fixture = &fixtures[node - nodes];

	if (fixture->work != NULL)
		work_on_note(fixture->work, note);
	else if (note->what == SHARD_QUIESCE)
		shard_quiet(node->shard, note->partition, note->epoch);
}

static inline void worker_open(unsigned which)
{
	struct work_fixture *fixture = &fixtures[which];
	struct work_opts opts = {
		.sched = {.shard = (const char *[]){"a", "b"}[which], .seed = which + 1},
		.turn_pods = 7,
		.wall_ms = wall_ms,
		.clock_ns = turns_clock_ns};

	*fixture = (struct work_fixture){0};
	node_open(&nodes[which], opts.sched.shard, 100 + which);
	nodes[which].also = also;
	nodes[which].quiet = false;
	T_OK(work_open(nodes[which].kv, nodes[which].shard, &opts, on_work, fixture,
	               &fixture->work, &kit.err),
	     &kit.err);
}

static inline void workers_up(void)
{
	up();
	worker_open(0);
	worker_open(1);
}

static inline void worker_close(unsigned which)
{
	struct work_fixture *fixture = &fixtures[which];

	if (fixture->work == NULL)
		return;
	work_close(fixture->work, on_work_closed, fixture);
	T_EQ(fixture->closed, 0);
	run_ms(20000); /* long enough for slow calls and notes */
	T_EQ(fixture->closed, 1);
}

static inline void workers_down(void)
{
	for (unsigned i = 0; i < node_count; i++)
		worker_close(i);
	down();
}

/* Answers lost, late, before and after the watch events. */
static const struct faulty_rule work_storm[] = {
	{.what = FAULTY_LOSE_ANSWER, .per_mille = 100},
	{.what = FAULTY_REFUSE, .per_mille = 60, .code = PL_UNAVAIL},
	{.what = FAULTY_REFUSE, .per_mille = 100, .code = PL_BUSY},
	{.what = FAULTY_APPLY_LATE,
         .per_mille = 60,
         .delay_min_ms = 10,
         .delay_max_ms = 3000},
	{.what = FAULTY_SLOW_ANSWER,
         .per_mille = 100,
         .delay_min_ms = 1,
         .delay_max_ms = 1500},
	{.what = FAULTY_AFTER_NOTE, .per_mille = 50, .delay_max_ms = 500},
	{.what = FAULTY_SLOW_NOTE,
         .per_mille = 50,
         .delay_min_ms = 1,
         .delay_max_ms = 2000},
	{.what = FAULTY_END_WATCH, .per_mille = 20, .code = PL_COMPACTED},
};

#endif
