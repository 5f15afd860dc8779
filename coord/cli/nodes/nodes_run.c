#include "coord/cli/nodes/nodes_run.h"

#include <inttypes.h>
#include <stdio.h>

#include "store/base/clock.h"

static void print_progress(struct nodes_run *run)
{
	uint64_t now_ms = pl_clock_ms();
	double rate = progress_rate(&run->progress, now_ms, run->outcome_count);
	char total[32] = "", per_s[32] = "";

	if (run->total > 0)
		(void)snprintf(total, sizeof total, " of %" PRIu64, run->total);
	if (rate >= 1) /* a rate is known after the first second */
		(void)snprintf(per_s, sizeof per_s, ", %.0f/s", rate);
	progress_print(&run->progress, now_ms, "%" PRIu64 "%s nodes%s",
	               run->outcome_count, total, per_s);
}

static enum pl_code on_next(void *ctx, struct nodes_item *out, bool *more,
                            struct pl_err *err)
{
	struct nodes_run *run = ctx;

	return run->next(run->ctx, out, more, err);
}

static void on_outcome(void *ctx, const struct nodes_item *item,
                       enum nodes_outcome outcome, const struct pl_err *err)
{
	struct nodes_run *run = ctx;

	run->count[outcome]++;
	run->outcome_count++;
	if (err != NULL)
		progress_end(&run->progress); /* the refusal is printed by the command */
	else
		print_progress(run);
	run->report(run->ctx, item, outcome, err);
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct nodes_run *run = ctx;

	cli_wait_end(&run->wait, err);
}

enum pl_code nodes_run(struct nodes_run *run, const struct cli_session *cli,
                       struct pl_err *err)
{
	struct nodes_opts opts = {.verb = run->verb,
	                          .partitions = cli->meta.partitions,
	                          .dry_run = cli->options->dry_run,
	                          .timeout_ms = cli->session->timeout_ms,
	                          .next = on_next,
	                          .report = on_outcome,
	                          .done = on_done,
	                          .ctx = run};
	struct nodes *nodes;
	enum pl_code code = nodes_open(cli->session->kv, &opts, &nodes, err);

	if (code != PL_OK)
		return code;
	run->cli = cli;
	progress_init(&run->progress, pl_clock_ms());
	code = cli_wait_for(cli->session, &run->wait, err);
	progress_end(&run->progress);
	return code;
}

const char *nodes_run_word(const struct nodes_run *run, enum nodes_outcome outcome)
{
	static const char *const done[NODES_OUTCOMES] = {
		[NODES_CREATED] = "created",     [NODES_CHANGED] = "changed",
		[NODES_DELETED] = "deleted",     [NODES_UNCHANGED] = "unchanged",
		[NODES_REFUSED] = "was refused",
	};
	static const char *const would[NODES_OUTCOMES] = {
		[NODES_CREATED] = "would be created",
		[NODES_CHANGED] = "would be changed",
		[NODES_DELETED] = "would be deleted",
		[NODES_UNCHANGED] = "unchanged",
		[NODES_REFUSED] = "would be refused",
	};

	if (run->cli->options->dry_run)
		return would[outcome];
	if (outcome == NODES_CHANGED && run->verb == NODES_CORDON)
		return "cordoned";
	if (outcome == NODES_CHANGED && run->verb == NODES_UNCORDON)
		return "uncordoned";
	return done[outcome];
}

enum pl_code nodes_run_verdict(const struct nodes_run *run, struct pl_err *err)
{
	uint64_t refused = run->count[NODES_REFUSED];

	if (refused == 0)
		return PL_OK;
	return pl_err_set(err, PL_CONFLICT,
	                  "%" PRIu64 " of %" PRIu64 " node%s %s; why is said above",
	                  refused, run->outcome_count, run->outcome_count == 1 ? "" : "s",
	                  refused == 1 ? nodes_run_word(run, NODES_REFUSED)
	                               : "were refused");
}
