/* The load on the store in memory, on virtual time: a correct client passes, with
 * and without faults around it; a client with a fault of its own is found. */
#include <stdio.h>

#include "store/memkv/memkv.h"
#include "tests/faultlab/check.h"
#include "tests/faultlab/faulty_client.h"
#include "tests/faultlab/load.h"
#include "tests/harness/t.h"
#include "tests/support/store/kv/faulty.h"

enum { RUN_MS = 20000, COMPACT_EVERY_MS = 1500, CLIENTS_MAX = 16 };

struct lab {
	struct memkv *mem;
	struct hist hist;
	struct check_report report;
	uint64_t now_ms;
	bool done;
	bool faults;
	enum client_fault fault;
	struct kv *faulty[CLIENTS_MAX], *faulty_client[CLIENTS_MAX];
	unsigned client_count;
};

static const struct faulty_rule rules[] = {
	{.what = FAULTY_LOSE_ANSWER, .per_mille = 20},
	{.what = FAULTY_APPLY_LATE,
         .per_mille = 20,
         .delay_min_ms = 1,
         .delay_max_ms = 4000},
	{.what = FAULTY_REFUSE, .per_mille = 20, .code = PL_UNAVAIL},
	{.what = FAULTY_SLOW_ANSWER,
         .per_mille = 50,
         .delay_min_ms = 1,
         .delay_max_ms = 900},
	{.what = FAULTY_SLOW_REQUEST,
         .per_mille = 50,
         .delay_min_ms = 1,
         .delay_max_ms = 900},
	{.what = FAULTY_SLOW_NOTE,
         .per_mille = 30,
         .delay_min_ms = 1,
         .delay_max_ms = 3000},
};

/* The sleeper falls behind the compactions. */
static const struct faulty_rule sleeper_rules[] = {
	{.what = FAULTY_STALL_WATCH,
         .per_mille = 10,
         .delay_min_ms = 2000,
         .delay_max_ms = 6000},
	{.what = FAULTY_END_WATCH, .per_mille = 2, .code = PL_COMPACTED},
};

/* Session, then what happens on the way to it, then the client's own fault. */
static enum pl_code open_client(void *ctx, enum load_role role, unsigned index,
                                struct kv **out, struct pl_err *err)
{
	struct lab *lab = ctx;
	uint64_t seed = 100 * (uint64_t)role + index;
	unsigned at = lab->client_count++;
	struct kv *kv = NULL;

	T_EQ(memkv_session(lab->mem, &kv, err), PL_OK);
	T_TRUE(at < CLIENTS_MAX);
	if (lab->faults && role == LOAD_SLEEPER)
		T_EQ(faulty_open(kv, seed, sleeper_rules,
		                 sizeof sleeper_rules / sizeof *sleeper_rules, &kv, err),
		     PL_OK);
	else if (lab->faults)
		T_EQ(faulty_open(kv, seed, rules, sizeof rules / sizeof *rules, &kv, err),
		     PL_OK);
	lab->faulty[at] = lab->faults ? kv : NULL;
	if (lab->fault != CLIENT_FAULT_NONE)
		T_EQ(faulty_client_open(kv, lab->fault, seed, &kv, err), PL_OK);
	lab->faulty_client[at] = lab->fault == CLIENT_FAULT_NONE ? NULL : kv;
	*out = kv;
	return PL_OK;
}

static uint64_t faults_made(const struct lab *lab)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < lab->client_count; i++)
		sum += lab->faulty_client[i] == NULL
		               ? 0
		               : faulty_client_faults(lab->faulty_client[i]);
	return sum;
}

static void on_done(void *ctx)
{
	((struct lab *)ctx)->done = true;
}

static void advance_to(struct lab *lab, uint64_t until_ms)
{
	while (!lab->done && lab->now_ms < until_ms) {
		uint64_t next_ms = memkv_next_ms(lab->mem);

		if (next_ms > until_ms)
			next_ms = until_ms;
		if (next_ms > lab->now_ms)
			lab->now_ms = next_ms;
		memkv_run(lab->mem, lab->now_ms);
	}
}

static void pause_faults(struct lab *lab)
{
	for (unsigned i = 0; i < lab->client_count; i++)
		if (lab->faulty[i] != NULL)
			faulty_pause(lab->faulty[i], true);
}

static void run_lab(struct lab *lab, uint64_t seed)
{
	struct memkv_opts mem_opts = {.seed = seed, .now_ms = 1000};
	struct load_opts opts = {.hist = &lab->hist,
	                         .seed = seed,
	                         .workers = 3,
	                         .slots = 2,
	                         .think_ms = 40,
	                         .timeout_min_ms = 300,
	                         .timeout_max_ms = 2000,
	                         .end_step_ms = 60000,
	                         .open = open_client,
	                         .ctx = lab,
	                         .done = on_done};
	struct load *load;

	lab->now_ms = mem_opts.now_ms;
	T_EQ(memkv_new(&mem_opts, &lab->mem, NULL), PL_OK);
	hist_init(&lab->hist);
	lab->hist.base_revision = 1;
	load = load_start(&opts);
	for (uint64_t ms = 0; ms < RUN_MS; ms += COMPACT_EVERY_MS) {
		advance_to(lab, lab->now_ms + COMPACT_EVERY_MS);
		load_compact(load);
	}
	pause_faults(lab);
	if (lab->fault != CLIENT_FAULT_NONE)
		T_TRUE(faults_made(lab) > 0);
	load_stop(load);
	advance_to(lab, UINT64_MAX);
	T_TRUE(lab->done);
	T_EQ(check_hist(&lab->hist, &lab->report), PL_OK);
	for (unsigned i = 0; i < lab->report.kept; i++)
		(void)printf("# %s: %s\n", check_rule_name(lab->report.finding[i].rule),
		             lab->report.finding[i].text);
	(void)printf(
		"# seed %d: %zu written, %zu refused, %zu failed, %zu + %zu unknown, "
		"%zu read, %zu events, %zu relists, %zu leases\n",
		(int)seed, lab->report.writes_ok, lab->report.refused,
		lab->report.writes_failed, lab->report.unknown_applied,
		lab->report.unknown_not, lab->report.reads, lab->report.stream_events,
		lab->report.relists, lab->report.leases_ended);
	hist_done(&lab->hist);
	memkv_free(lab->mem);
}

static struct lab lab;

T_CASE(correct_client_passes_without_faults)
{
	run_lab(&lab, 1);
	T_EQ(lab.report.count, 0);
	T_TRUE(lab.report.writes_ok > 1000);
	T_EQ(lab.report.unknown_applied + lab.report.unknown_not, 0);
	T_TRUE(lab.report.refused > 0 && lab.report.reads > 0);
	T_TRUE(lab.report.leases_ended > 0 && lab.report.relists > 0);
}

T_CASE(correct_client_passes_under_faults)
{
	lab.faults = true;
	run_lab(&lab, 2);
	T_EQ(lab.report.count, 0);
	T_TRUE(lab.report.writes_ok > 500);
	T_TRUE(lab.report.unknown_applied > 0 && lab.report.writes_failed > 0);
}

#define FAULT_CASE(name, which, under_faults, rule)                    \
	T_CASE(name)                                                   \
	{                                                              \
		lab.fault = (which);                                   \
		lab.faults = (under_faults);                           \
		run_lab(&lab, t_seed());                               \
		if (lab.report.by_rule[rule] == 0)                     \
			t_fail(__FILE__, __LINE__, "%s was not found", \
			       check_rule_name(rule));                 \
	}

FAULT_CASE(unknown_reported_as_failed_is_found, CLIENT_FAULT_UNKNOWN_IS_FAILED, true,
           CHECK_PHANTOM)
FAULT_CASE(write_applied_twice_is_found, CLIENT_FAULT_RETRIES_UNKNOWN, true, CHECK_TWICE)
FAULT_CASE(refused_retry_is_found, CLIENT_FAULT_RETRIES_UNKNOWN, true, CHECK_PHANTOM)
FAULT_CASE(forged_write_is_found, CLIENT_FAULT_FORGES_WRITES, false, CHECK_LOST)
FAULT_CASE(ignored_compare_is_found, CLIENT_FAULT_IGNORES_COMPARES, false, CHECK_COMPARE)
FAULT_CASE(old_value_is_found, CLIENT_FAULT_OLD_VALUE, false, CHECK_READ)
FAULT_CASE(old_answer_is_found, CLIENT_FAULT_OLD_ANSWER, false, CHECK_TIME)
FAULT_CASE(dropped_events_are_found, CLIENT_FAULT_DROPS_EVENTS, false, CHECK_GAP)
FAULT_CASE(events_dropped_from_the_whole_watch_are_found, CLIENT_FAULT_DROPS_EVENTS,
           false, CHECK_TRUTH)
FAULT_CASE(repeated_events_are_found, CLIENT_FAULT_REPEATS_EVENTS, false, CHECK_ORDER)
FAULT_CASE(false_progress_is_found, CLIENT_FAULT_FALSE_PROGRESS, false, CHECK_PROMISE)
FAULT_CASE(ended_watch_is_found, CLIENT_FAULT_ENDS_WATCHES, false, CHECK_BROKEN_OFF)
FAULT_CASE(lease_not_kept_is_found, CLIENT_FAULT_KEEPS_NO_LEASE, false, CHECK_LEASE_EARLY)
