#include "coord/cli/nodes/drain.h"

#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/output/message.h"
#include "coord/cli/output/progress.h"
#include "coord/cli/session/cli_wait.h"

enum { SHOWN_MAX = 20 };

struct drain_job {
	const struct cli_session *cli;
	const struct drain_args *args;
	struct cli_wait wait;
	struct progress progress;
	uint64_t shown; /* pods that would go */
};

static void on_wanted(void *ctx, const struct pod_request *request)
{
	struct drain_job *job = ctx;

	if (job->shown++ < SHOWN_MAX)
		(void)printf(PL_SPAN_FMT "/" PL_SPAN_FMT " would go from " PL_SPAN_FMT
		                         "/" PL_SPAN_FMT "\n",
		             PL_SPAN_ARG(request->namespace), PL_SPAN_ARG(request->name),
		             PL_SPAN_ARG(request->cluster), PL_SPAN_ARG(request->node));
}

static void on_drained(void *ctx, const struct node_name *node)
{
	struct drain_job *job = ctx;

	progress_end(&job->progress);
	(void)printf(PL_SPAN_FMT "/" PL_SPAN_FMT " drained\n", PL_SPAN_ARG(node->cluster),
	             PL_SPAN_ARG(node->name));
	(void)fflush(stdout);
}

static void on_progress(void *ctx, const struct node_drain_status *status)
{
	struct drain_job *job = ctx;
	char withheld[NODE_DRAIN_BUDGET_SIZE + 64] = "";

	if (status->withheld > 0)
		(void)snprintf(withheld, sizeof withheld,
		               ", %" PRIu64 " wait for budget %s", status->withheld,
		               status->budget);
	progress_print(&job->progress, kv_now_ms(job->cli->session->kv),
	               "%u of %u nodes drained, %" PRIu64 " of %" PRIu64
	               " pods have left%s",
	               status->drained, status->nodes, status->total - status->left,
	               status->total, withheld);
}

static void on_malformed(void *ctx, const struct pod_request *request, const char *why)
{
	struct drain_job *job = ctx;

	progress_end(&job->progress);
	print_message(PL_SPAN_FMT "/" PL_SPAN_FMT " can not be asked: %s",
	              PL_SPAN_ARG(request->namespace), PL_SPAN_ARG(request->name), why);
}

static void set_timeout(const struct drain_job *job,
                        const struct node_drain_status *status, struct pl_err *err)
{
	const struct drain_args *args = job->args;

	if (status->withheld > 0)
		(void)pl_err_set(err, PL_TIMEOUT,
		                 "%" PRIu64 " pods are still there; %" PRIu64
		                 " wait for budget %s%s",
		                 status->left, status->withheld, status->budget,
		                 args->past_budgets ? " to be counted"
		                                    : ", or --ignore-budgets");
	else
		(void)pl_err_set(err, PL_TIMEOUT, "%" PRIu64 " pods are still there; %s",
		                 status->left,
		                 args->force ? "is any shard running?"
		                             : "their members have to say that "
		                               "they have ended, or --force");
}

static void on_done(void *ctx, const struct node_drain_status *status,
                    const struct pl_err *err)
{
	struct drain_job *job = ctx;
	struct pl_err timeout;

	progress_end(&job->progress);
	if (job->shown > SHOWN_MAX)
		(void)printf("and %" PRIu64 " more\n", job->shown - SHOWN_MAX);
	if (status->time_up) {
		set_timeout(job, status, &timeout);
		err = &timeout;
	}
	cli_wait_end(&job->wait, err);
}

enum pl_code drain_run(const struct cli_session *cli, const struct drain_args *args,
                       struct pl_err *err)
{
	struct drain_job job = {.cli = cli, .args = args};
	const struct node_drain_opts opts = {.nodes = args->nodes,
	                                     .node_count = args->node_count,
	                                     .dry_run = cli->options->dry_run,
	                                     .force = args->force,
	                                     .past_budgets = args->past_budgets,
	                                     .timeout_ms = args->timeout_ms,
	                                     .wanted = on_wanted,
	                                     .drained = on_drained,
	                                     .progress = on_progress,
	                                     .malformed = on_malformed,
	                                     .done = on_done,
	                                     .ctx = &job};
	struct node_drain *drain;
	enum pl_code code;

	progress_init(&job.progress, kv_now_ms(cli->session->kv));
	code = node_drain_start(&cli->service, &opts, &drain, err);
	return code == PL_OK ? cli_wait_for(cli->session, &job.wait, err) : code;
}
