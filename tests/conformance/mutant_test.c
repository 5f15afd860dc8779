/* Would a store that is wrong be found out? Each mutant is, within one history,
 * and the history that shows it is a handful of steps. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/conformance/kit.h"
#include "tests/conformance/mutant.h"
#include "tests/conformance/random.h"

enum { REPORT_MAX = 1 << 20, SHORT_STEPS = 6 };

/* Runs both until they differ, which they must, soon and in few steps. */
static void find_mutant(struct pair *pair, enum mutant_kind kind, struct pl_buf *report)
{
	struct random_opts opts = {
		.seed = 1, .steps = RANDOM_HISTORY_STEPS, .shrink_ms_max = 10000};
	struct random_found *found = calloc(1, sizeof *found);

	T_TRUE(found != NULL);
	if (!random_differ(pair, &opts, found, report))
		t_fail(__FILE__, __LINE__, "not found: %s", mutant_text(kind));
	(void)printf("# %s: after %zu steps; %zu in %u runs\n", mutant_text(kind),
	             found->steps_before, found->steps, found->runs);
	T_TRUE(found->repeats);
	if (found->steps > SHORT_STEPS)
		t_fail(__FILE__, __LINE__, "%s: still %zu steps long:\n%.*s",
		       mutant_text(kind), found->steps, (int)report->len,
		       (const char *)report->at);
	free(found);
	for (unsigned k = 0; k < 2; k++)
		subject_free(pair->subject[k]);
}

static void find_in_memory(enum mutant_kind kind, struct pl_buf *report)
{
	struct subject_opts good = {0};
	struct subject_opts bad = {.wrap = mutant_wrap, .wrap_ctx = &kind};
	struct pair pair = {.subject = {subject_new(&good), subject_new(&bad)},
	                    .name = {"memkv", "mutant"}};

	find_mutant(&pair, kind, report);
}

static void find_quietly(enum mutant_kind kind)
{
	struct pl_buf report;

	pl_buf_init(&report, REPORT_MAX);
	find_in_memory(kind, &report);
	pl_buf_done(&report);
}

#define MUTANT_CASE(name, text)              \
	T_CASE(mutant_##name)                \
	{                                    \
		find_quietly(MUTANT_##name); \
	}
MUTANT_MAP(MUTANT_CASE)

T_CASE(unchanged_client_shows_no_difference)
{
	struct subject_opts good = {0};
	struct pair pair = {.subject = {subject_new(&good), subject_new(&good)},
	                    .name = {"memkv", "memkv"}};
	struct random_opts opts = {.seed = t_seed(), .steps = RANDOM_HISTORY_STEPS};
	struct random_found *found = calloc(1, sizeof *found);
	struct pl_buf report;

	T_TRUE(found != NULL);
	pl_buf_init(&report, REPORT_MAX);
	if (random_differ(&pair, &opts, found, &report))
		t_fail(__FILE__, __LINE__, "%.*s", (int)report.len,
		       (const char *)report.at);
	/* That much has to happen in a history, or it tests nothing. */
	T_TRUE(pair.revisions > RANDOM_HISTORY_STEPS / 4);
	T_REACHED(pair.events > 1000);
	T_REACHED(pair.errors > 500 && pair.errors < RANDOM_HISTORY_STEPS / 2);
	pl_buf_done(&report);
	free(found);
	for (unsigned k = 0; k < 2; k++)
		subject_free(pair.subject[k]);
}

/* The report of a difference as a person reads it. */
T_CASE(report_of_a_difference_is_a_script)
{
	struct pl_buf report;

	pl_buf_init(&report, REPORT_MAX);
	find_in_memory(MUTANT_GREATER, &report);
	T_EQ(pl_buf_add(&report, pl_span("", 1)), PL_OK);
	t_golden("conformance/mutant.txt", (const char *)report.at);
	pl_buf_done(&report);
}

/* The same as the random comparison does it; by itself this does nothing. */
T_CASE_SECONDS(found_beside_a_real_etcd, 60)
{
	enum mutant_kind kind = MUTANT_GREATER;
	struct subject_opts bad = {.wrap = mutant_wrap, .wrap_ctx = &kind};
	struct subject_opts etcd = subject_opts_env();
	struct pair pair = {.name = {"mutant", "etcd"}};
	struct pl_buf report;

	if (etcd.endpoints == NULL)
		return;
	pl_buf_init(&report, REPORT_MAX);
	pair.subject[0] = subject_new(&bad);
	pair.subject[1] = subject_new(&etcd);
	find_mutant(&pair, kind, &report);
	pl_buf_done(&report);
}
