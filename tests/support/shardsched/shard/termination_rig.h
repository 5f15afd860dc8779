/*
 * For tests of pods that leave their nodes: pods of namespace web in partition 1, what is
 * requested of them, and what becomes of them.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_SHARD_TERMINATION_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_SHARD_TERMINATION_RIG_H

#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

struct pod_request_facts {
	enum state_ask ask;
	enum state_ended ended;
};

static inline void put_request(const char *name, struct pod_request_facts say)
{
	struct pl_buf buf = {.max = 4096};
	int phase;
	struct pod_state state = rig_state(&rig, 1, name, &phase);
	char key[128];

	if (say.ask != STATE_ASK_NONE)
		state.ask = say.ask;
	state.ended = say.ended;
	T_OK(state_print(&state, &buf, &rig.err), &rig.err);
	(void)snprintf(key, sizeof key, "/schedules/0001/web/%s/state", name);
	rig.store.revision++;
	rig_set(&rig.store, pl_span_str(key), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

static inline const char *phase_of(const char *name)
{
	int phase;

	(void)rig_state(&rig, 1, name, &phase);
	return phase < 0 ? "" : state_phase_word((enum state_phase)phase);
}

static inline void down(void)
{
	T_EQ(rig.malformed, 0);
	rig_close(&rig);
}

static inline void later(void)
{
	for (int i = 0; i < 4; i++) {
		rig.now_ms += 5000;
		rig_run_idle(&rig);
	}
}

static inline bool is_there(const char *name)
{
	char key[128];

	(void)snprintf(key, sizeof key, "/schedules/0001/web/%s/spec", name);
	return rig_value(&rig, key)[0] != 0;
}

static inline unsigned out_now(void)
{
	unsigned i = 0;

	rig_deliver_all(&rig);
	rig_run(&rig);
	while (i < RIG_OUT_MAX && !rig.out[i].used)
		i++;
	T_TRUE(i < RIG_OUT_MAX);
	return i;
}

#endif
