/* For tests of work: two shards of shard_kit.h, each with the driver over it. */
#ifndef COORD_WORK_WORK_KIT_H
#define COORD_WORK_WORK_KIT_H

#include "coord/shard/shard_kit.h"
#include "coord/work/work.h"

struct hand {
	struct work *work;
	unsigned opened, garbled, trouble, closed;
	bool close_when_told;
};

/* By which turns are measured, when it is set. */
static uint64_t (*turns_clock_ns)(void *ctx);

static struct hand hands[NODES_MAX];

static inline void on_work_closed(void *ctx)
{
	struct hand *hand = ctx;

	hand->closed++;
	hand->work = NULL;
}

static inline void on_work(void *ctx, const struct work_told *told)
{
	struct hand *hand = ctx;

	T_TRUE(hand->closed == 0);
	hand->opened += told->what == WORK_OPENED;
	hand->garbled += told->what == WORK_GARBLED;
	hand->trouble += told->what == WORK_TROUBLE;
	T_TRUE((told->what == WORK_OPENED) == (told->err == NULL));
	if (hand->close_when_told) {
		hand->close_when_told = false;
		work_close(hand->work, on_work_closed, hand);
	}
}

static inline void also(struct shard_node *node, const struct shard_note *note)
{
	struct hand *hand = &hands[node - nodes];

	if (hand->work != NULL)
		work_note(hand->work, note);
	else if (note->what == SHARD_QUIESCE)
		shard_quiet(node->shard, note->partition, note->epoch);
}

static inline void worker_open(unsigned which)
{
	struct hand *hand = &hands[which];
	struct work_opts opts = {
		.sched = {.shard = (const char *[]){"a", "b"}[which], .seed = which + 1},
		.turn_pods = 7,
		.wall_ms = wall_ms,
		.clock_ns = turns_clock_ns};

	*hand = (struct hand){0};
	node_open(&nodes[which], opts.sched.shard, 100 + which);
	nodes[which].also = also;
	nodes[which].quiet = false;
	T_OK(work_open(nodes[which].kv, nodes[which].shard, &opts, on_work, hand,
	               &hand->work, &kit.err),
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
	struct hand *hand = &hands[which];

	if (hand->work == NULL)
		return;
	work_close(hand->work, on_work_closed, hand);
	T_EQ(hand->closed, 0);
	run_ms(20000); /* slow calls and notes included */
	T_EQ(hand->closed, 1);
}

static inline void workers_down(void)
{
	for (unsigned i = 0; i < node_count; i++)
		worker_close(i);
	down();
}

#endif
