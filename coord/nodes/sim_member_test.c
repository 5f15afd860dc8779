/* Pods that run on machines that do not exist. */
#include <stdio.h>

#include "coord/nodes/sim_member.h"
#include "tests/harness/torture.h"

static struct sim_member member;

static void up(uint64_t lifetime_ms, uint32_t fail_percent)
{
	const struct sim_member_opts opts = {.cluster = PL_SPAN_LIT("east"),
	                                     .seed = 7,
	                                     .lifetime_ms = lifetime_ms,
	                                     .fail_percent = fail_percent,
	                                     .grace_ms = 100};

	sim_member_init(&member, &opts);
}

static void is(const char *name, enum state_phase phase, uint64_t now_ms)
{
	const struct pod_state state = {.phase = phase,
	                                .cluster = PL_SPAN_LIT("east"),
	                                .node = PL_SPAN_LIT("n-1"),
	                                .since_ms = (int64_t)now_ms};

	T_EQ(sim_member_take(&member, pl_span_str(name), &state, now_ms), PL_OK);
}

T_CASE(what_is_bound_runs_for_its_time_and_ends_once)
{
	struct pl_span key;
	enum state_ended how;
	uint64_t due_ms;

	up(1000, 0);
	T_EQ(sim_member_deadline_ms(&member), UINT64_MAX);
	is("a/b", STATE_BOUND, 5);
	T_EQ(member.running, 1);
	due_ms = sim_member_deadline_ms(&member);
	T_TRUE(due_ms >= 505 && due_ms <= 1505);
	is("a/b", STATE_BOUND, 5); /* an echo */
	T_EQ(sim_member_deadline_ms(&member), due_ms);
	T_TRUE(!sim_member_next(&member, due_ms - 1, &key, &how));
	T_TRUE(sim_member_next(&member, due_ms, &key, &how));
	T_SPAN(key, PL_SPAN_LIT("a/b"));
	T_EQ(how, STATE_ENDED_SUCCEEDED);
	T_TRUE(!sim_member_next(&member, UINT64_MAX - 1, &key, &how));
	T_EQ(sim_member_take(&member, PL_SPAN_LIT("a/b"), NULL, 9), PL_OK);
	T_EQ(member.running, 0);
	T_EQ(member.succeeded, 1);
	sim_member_done(&member);
}

T_CASE(what_terminates_ends_after_its_grace)
{
	struct pl_span key;
	enum state_ended how;

	up(0, 0);
	is("a/b", STATE_BOUND, 5);
	T_EQ(sim_member_deadline_ms(&member), UINT64_MAX);
	is("a/b", STATE_TERMINATING, 50);
	T_EQ(member.running, 0);
	T_EQ(member.leaving, 1);
	T_EQ(sim_member_deadline_ms(&member), 150);
	T_TRUE(sim_member_next(&member, 150, &key, &how));
	T_EQ(how, STATE_ENDED_GONE);
	/* Somewhere else, it runs no more here. */
	T_EQ(sim_member_take(&member, PL_SPAN_LIT("a/b"),
	                     &(struct pod_state){.phase = STATE_BOUND,
	                                         .cluster = PL_SPAN_LIT("west"),
	                                         .node = PL_SPAN_LIT("n-1")},
	                     200),
	     PL_OK);
	T_EQ(member.leaving + member.running, 0);
	/* And here again. */
	is("a/b", STATE_BOUND, 300);
	T_EQ(member.running, 1);
	sim_member_done(&member);
}

T_CASE(so_many_fail_as_were_wanted)
{
	struct pl_span key;
	enum state_ended how;
	char name[32];

	up(1000, 25);
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof name, "a/p-%d", i);
		is(name, STATE_BOUND, 10);
	}
	while (sim_member_next(&member, 2000, &key, &how))
		;
	T_EQ(member.succeeded + member.failed, 1000);
	T_TRUE(member.failed > 200 && member.failed < 300);
	sim_member_done(&member);
}

static enum pl_code torture(void)
{
	const struct pod_state state = {.phase = STATE_BOUND,
	                                .cluster = PL_SPAN_LIT("east"),
	                                .node = PL_SPAN_LIT("n-1")};
	enum pl_code code;

	up(1000, 0);
	code = sim_member_take(&member, PL_SPAN_LIT("a/b"), &state, 1);
	sim_member_done(&member);
	return code;
}

T_CASE(a_failed_allocation_anywhere_is_said)
{
	t_torture(torture, false);
}
