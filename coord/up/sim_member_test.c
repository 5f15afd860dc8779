/* Pods on a simulated cluster. */
#include <stdio.h>

#include "coord/up/sim_member.h"
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

/* With turns only. */
static void up_ending(const char *rate, uint32_t fail_percent)
{
	struct pl_err err = {0};
	struct sim_member_opts opts = {.cluster = PL_SPAN_LIT("east"),
	                               .seed = 7,
	                               .fail_percent = fail_percent,
	                               .grace_ms = 100};

	T_EQ(sim_rate_parse(pl_span_str(rate), &opts.ends, &err), PL_OK);
	sim_member_init(&member, &opts);
}

/* How many pods have ended by then; the first of them is first. */
static unsigned end_by(uint64_t now_ms, const char *first)
{
	struct pl_span key;
	enum state_ended how;
	unsigned count = 0;

	while (sim_member_next(&member, now_ms, &key, &how))
		if (count++ == 0)
			T_SPAN(key, pl_span_str(first));
	return count;
}

static void is(const char *name, enum state_phase phase, uint64_t now_ms)
{
	const struct pod_state state = {.phase = phase,
	                                .cluster = PL_SPAN_LIT("east"),
	                                .node = PL_SPAN_LIT("n-1"),
	                                .since_ms = (int64_t)now_ms};

	T_EQ(sim_member_apply(&member, pl_span_str(name), &state, now_ms), PL_OK);
}

T_CASE(a_bound_pod_runs_for_its_lifetime_and_ends_once)
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
	T_EQ(sim_member_apply(&member, PL_SPAN_LIT("a/b"), NULL, 9), PL_OK);
	T_EQ(member.running, 0);
	T_EQ(member.succeeded, 1);
	sim_member_done(&member);
}

T_CASE(a_terminating_pod_ends_after_its_grace)
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
	/* Bound on another cluster, it does not run here any more. */
	T_EQ(sim_member_apply(&member, PL_SPAN_LIT("a/b"),
	                      &(struct pod_state){.phase = STATE_BOUND,
	                                          .cluster = PL_SPAN_LIT("west"),
	                                          .node = PL_SPAN_LIT("n-1")},
	                      200),
	     PL_OK);
	T_EQ(member.leaving + member.running, 0);
	/* Bound here again. */
	is("a/b", STATE_BOUND, 300);
	T_EQ(member.running, 1);
	sim_member_done(&member);
}

T_CASE(the_wanted_share_of_pods_fails)
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

T_CASE(turns_end_the_longest_running_pods_at_their_rate)
{
	up_ending("3/s", 0);
	T_EQ(sim_member_deadline_ms(&member), UINT64_MAX);
	is("a/b", STATE_BOUND, 1000);
	T_EQ(sim_member_deadline_ms(&member), 1334);
	for (int i = 0; i < 8; i++)
		is((const char *[]){"a/0", "a/1", "a/2", "a/3", "a/4", "a/5", "a/6",
		                    "a/7"}[i],
		   STATE_BOUND, 1001);
	is("a/0", STATE_TERMINATING, 1002); /* a/0 ends by its grace only */
	T_EQ(end_by(1101, ""), 0);
	T_EQ(end_by(1102, "a/0"), 1);
	T_EQ(end_by(1333, ""), 0);
	T_EQ(end_by(1334, "a/b"), 1);
	is("a/b", STATE_BOUND, 1000); /* an echo: the pod has ended already */
	T_EQ(end_by(2000, "a/1"), 2);
	T_EQ(end_by(3000, "a/3"), 3);
	T_EQ(sim_member_deadline_ms(&member), 3334);
	T_EQ(end_by(9000, "a/6"), 2);
	/* Turns without a pod are not kept for a pod that comes later. */
	T_EQ(sim_member_deadline_ms(&member), UINT64_MAX);
	is("a/c", STATE_BOUND, 9000);
	T_EQ(sim_member_deadline_ms(&member), 9334);
	T_EQ(member.succeeded, 8);
	T_EQ(member.gone, 1);
	sim_member_done(&member);
}

T_CASE(turns_fail_by_the_same_chance)
{
	char name[32];

	up_ending("1000000/h", 25);
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof name, "a/p-%d", i);
		is(name, STATE_BOUND, 10);
	}
	T_EQ(end_by(10 + 3600, "a/p-0"), 1000);
	T_EQ(member.succeeded + member.failed, 1000);
	T_TRUE(member.failed > 200 && member.failed < 300);
	sim_member_done(&member);
}

T_CASE(an_invalid_rate_is_refused)
{
	static const char *const bad[] = {"",      "5",    "/s",        "5/",   "5/d",
	                                  "5/sec", "-1/s", "1000001/s", "5 /s", "0.5/s"};
	struct sim_rate rate = {.count = 77};
	struct pl_err err = {0};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		T_TRUE(sim_rate_parse(pl_span_str(bad[i]), &rate, &err) != PL_OK);
	T_EQ(rate.count, 77);
	T_EQ(sim_rate_parse(PL_SPAN_LIT("0"), &rate, &err), PL_OK);
	T_EQ(rate.count, 0);
	T_EQ(sim_rate_parse(PL_SPAN_LIT("20/m"), &rate, &err), PL_OK);
	T_EQ(rate.count, 20);
	T_EQ(rate.period_ms, 60000);
}

static enum pl_code torture(void)
{
	const struct pod_state state = {.phase = STATE_BOUND,
	                                .cluster = PL_SPAN_LIT("east"),
	                                .node = PL_SPAN_LIT("n-1")};
	enum pl_code code;

	up(1000, 0);
	code = sim_member_apply(&member, PL_SPAN_LIT("a/b"), &state, 1);
	sim_member_done(&member);
	return code;
}

T_CASE(each_failed_allocation_is_reported)
{
	t_torture(torture, false);
}
