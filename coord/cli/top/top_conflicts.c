/*
 * placet top conflicts: the conflicts in the shards' records, once or repeatedly.
 */
#include <stdio.h>
#include <unistd.h>

#include "coord/cli/output/message.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/cli/top/top.h"
#include "coord/cli/top/top_api.h"
#include "coord/service/shards/conflict_watch.h"
#include "store/base/clock.h"
#include "store/base/num.h"

enum {
	OPT_ONCE = OPTIONS_OWN_FIRST,
	OPT_LIMIT,
	OPT_EVERY,
	LIMIT = 20,
	EVERY_S = 2,
	EVERY_MAX_S = 3600,
	OUT_MAX = 16 << 20,
};

struct top_job {
	bool once;
	int64_t limit, every_s;
	const struct options *options;
	struct conflict_watch *watch;
	struct cli_wait wait;
	bool again;        /* something was printed */
	struct pl_err err; /* of printing */
};

static const char clear[] = "\033[H\033[2J";

static enum pl_code print_top(struct top_job *job, const struct conflict_stats *stats,
                              struct pl_err *err)
{
	uint32_t limit = (uint32_t)job->limit;
	bool json = job->options->format == OUTPUT_JSON;
	struct pl_buf out;
	enum pl_code code = PL_OK;

	pl_buf_init(&out, OUT_MAX);
	if (!json && job->again)
		code = pl_buf_add_str(&out, isatty(STDOUT_FILENO) ? clear : "\n");
	if (code == PL_OK)
		code = json ? top_json(stats, limit, &out) : top_text(stats, limit, &out);
	if (code == PL_OK && json)
		code = pl_buf_add_str(&out, "\n");
	if (code != PL_OK && err->code == PL_OK)
		pl_err_set(err, code, "print the conflicts");
	if (code == PL_OK)
		code = print_result(&out, err);
	pl_buf_done(&out);
	return code;
}

static void on_sample(void *ctx, const struct conflict_stats *stats, uint32_t shards)
{
	struct top_job *job = ctx;

	if (shards == 0 && !job->again)
		print_message("no shards");
	if (print_top(job, stats, &job->err) != PL_OK)
		conflict_watch_cancel(job->watch);
	job->again = true;
}

static void on_trouble(void *ctx, const struct pl_err *err)
{
	(void)ctx;
	print_message("placet top conflicts: %s; going on", err->msg);
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct top_job *job = ctx;

	cli_wait_end(&job->wait, err);
}

static enum pl_code top_run(void *ctx, const struct cli_session *cli, struct pl_err *err)
{
	struct top_job *job = ctx;
	bool watch = cli->options->watch || (!job->once && isatty(STDOUT_FILENO) &&
	                                     cli->options->format != OUTPUT_JSON);
	const struct conflict_watch_opts opts = {
		.every_ms = watch ? (uint64_t)job->every_s * 1000 : 0,
		.wall_ms = pl_clock_wall_ms(),
		.sample = on_sample,
		.trouble = on_trouble,
		.done = on_done,
		.ctx = job};
	enum pl_code code;

	job->options = cli->options;
	code = conflict_watch_start(&cli->service, &opts, &job->watch, err);
	if (code == PL_OK)
		code = cli_wait_for(cli->session, &job->wait, err);
	if (job->err.code != PL_OK) {
		*err = job->err;
		code = err->code;
	}
	return code;
}

static enum pl_code top_ask(void *ctx, struct api_session *api, struct pl_err *err)
{
	const struct top_job *job = ctx;
	bool text = api->options->format != OUTPUT_JSON;
	bool again = api->options->watch || (!job->once && text && isatty(STDOUT_FILENO));
	enum pl_code code = top_api(api, err);

	while (code == PL_OK && again) {
		api_session_pause(api, (uint64_t)job->every_s * 1000);
		if (text)
			(void)fputs(isatty(STDOUT_FILENO) ? clear : "\n", stdout);
		code = top_api(api, err);
	}
	return code;
}

/* -- the command line ----------------------------------------------------- */

static enum pl_code parse_count(const char *name, const char *arg, int64_t most,
                                int64_t *out, struct pl_err *err)
{
	if (pl_num_i64_in(pl_span_str(arg), 1, most, out, NULL) == PL_OK)
		return PL_OK;
	return pl_err_set(err, PL_INVALID, "--%s %s: want 1 to %lld", name, arg,
	                  (long long)most);
}

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct top_job *job = ctx;

	switch (opt) {
	case OPT_LIMIT:
		return parse_count("limit", arg, TOP_LIMIT_MAX, &job->limit, err);
	case OPT_EVERY:
		return parse_count("every", arg, EVERY_MAX_S, &job->every_s, err);
	default:
		job->once = true;
		return PL_OK;
	}
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	const struct top_job *job = ctx;

	if (job->once && options->watch)
		return pl_err_set(err, PL_INVALID, "want --once or --watch, not both");
	return PL_OK;
}

static const struct option own[] = {
	{"once", no_argument, NULL, OPT_ONCE},
	{"limit", required_argument, NULL, OPT_LIMIT},
	{"every", required_argument, NULL, OPT_EVERY},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "top conflicts",
	.usage = "[options]",
	.about =
		"Shows what placements conflict with: by cause, by shard, and on which nodes\n"
		"most; also the nodes that are excluded for a while because they keep\n"
		"refusing. A conflict costs a transaction, and the placement is decided again.\n"
		"Counts begin when a shard starts; a node's counts halve every ten minutes.\n"
		"At a terminal the output repeats until it is interrupted. The API tells what each\n"
		"shard has placed and how often that conflicted.\n",
	.help = "  --once                 print once, also at a terminal\n"
		"  --every SECONDS        between two outputs (default 2)\n"
		"  --limit N              number of nodes to show (default 20)\n",
	.example = "  placet top conflicts\n"
		   "  placet top conflicts --once -o json | jq .causes\n",
	.common = OPTIONS_FORMAT | OPTIONS_WATCH | OPTIONS_API,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct top_job job = {.limit = LIMIT, .every_s = EVERY_S};

	return cli_session_run_either(&spec, argc, argv, top_run, top_ask, &job);
}

const struct command top_conflicts_command = {
	.words = "top conflicts",
	.summary = "what placements conflict with, and where",
	.run = run_command,
	.spec = &spec};
