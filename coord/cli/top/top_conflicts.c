/*
 * placet top conflicts: the conflicts in the shards' records, once or repeatedly. A
 * record is refreshed every coord.refresh_ms, so a shorter interval shows no more.
 */
#include <stdio.h>
#include <unistd.h>

#include "coord/cli/output/message.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/shards_session.h"
#include "coord/cli/top/top.h"
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
	ARENA_CHUNK = 1 << 16,
};

struct top_job {
	bool once;
	int64_t limit, every_s;
	struct shards_session session;
	const struct options *options;
	struct pl_arena arena;
	bool due;
};

static const char clear[] = "\033[H\033[2J";

static enum pl_code print_top(struct top_job *job, bool again, struct pl_err *err)
{
	uint32_t limit = (uint32_t)job->limit;
	struct conflict_stats stats;
	bool json = job->options->format == OUTPUT_JSON;
	struct pl_buf out;
	enum pl_code code;

	pl_arena_reset(&job->arena);
	pl_buf_init(&out, OUT_MAX);
	code = conflict_stats_collect(job->session.view.roster, pl_clock_wall_ms(),
	                              &job->arena, &stats, err);
	if (code == PL_OK && !json && again)
		code = pl_buf_add_str(&out, isatty(STDOUT_FILENO) ? clear : "\n");
	if (code == PL_OK)
		code = json ? top_json(&stats, limit, &out)
		            : top_text(&stats, limit, &out);
	if (code == PL_OK && json)
		code = pl_buf_add_str(&out, "\n");
	if (code != PL_OK && err->code == PL_OK)
		pl_err_set(err, code, "print the conflicts");
	if (code == PL_OK)
		code = print_result(&out, err);
	pl_buf_done(&out);
	return code;
}

static void on_due(uv_timer_t *timer)
{
	*(bool *)timer->data = true;
}

static void on_timer_closed(uv_handle_t *handle)
{
	*(bool *)handle->data = true;
}

static void on_note(void *ctx, const struct shards_view_note *note)
{
	(void)ctx;
	if (note->what == SHARDS_VIEW_TROUBLE)
		print_message("placet top conflicts: %s; going on", note->err->msg);
}

/* Prints again and again, until printing fails. */
static enum pl_code follow_shards(struct top_job *job, struct pl_err *err)
{
	uv_loop_t *loop = &job->session.session->loop;
	uint64_t every_ms = (uint64_t)job->every_s * 1000;
	enum pl_code code = PL_OK;
	uv_timer_t timer;

	shards_session_follow(&job->session, on_note, job);
	(void)uv_timer_init(loop, &timer);
	timer.data = &job->due;
	(void)uv_timer_start(&timer, on_due, every_ms, every_ms);
	while (code == PL_OK) {
		job->due = false;
		while (!job->due)
			(void)uv_run(loop, UV_RUN_ONCE);
		code = print_top(job, true, err);
	}
	job->due = false;
	uv_close((uv_handle_t *)&timer, on_timer_closed);
	while (!job->due)
		(void)uv_run(loop, UV_RUN_ONCE);
	return code;
}

static enum pl_code top_run(void *ctx, const struct cli_session *cli, struct pl_err *err)
{
	struct top_job *job = ctx;
	bool watch = cli->options->watch || (!job->once && isatty(STDOUT_FILENO) &&
	                                     cli->options->format != OUTPUT_JSON);
	enum pl_code code =
		shards_session_open(&job->session, cli->session, SHARDS_VIEW_ROSTER, err);

	if (code != PL_OK)
		return code;
	job->options = cli->options;
	pl_arena_init(&job->arena, ARENA_CHUNK, 0);
	if (roster_count(job->session.view.roster) == 0)
		print_message("no shards");
	code = print_top(job, false, err);
	if (code == PL_OK && watch)
		code = follow_shards(job, err);
	pl_arena_done(&job->arena);
	shards_session_close(&job->session);
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
		"At a terminal the output repeats until it is interrupted.\n",
	.help = "  --once                 print once, also at a terminal\n"
		"  --every SECONDS        between two outputs (default 2)\n"
		"  --limit N              number of nodes to show (default 20)\n",
	.example = "  placet top conflicts\n"
		   "  placet top conflicts --once -o json | jq .causes\n",
	.common = OPTIONS_FORMAT | OPTIONS_WATCH,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct top_job job = {.limit = LIMIT, .every_s = EVERY_S};

	return cli_session_run(&spec, argc, argv, top_run, &job);
}

const struct command top_conflicts_command = {
	.words = "top conflicts",
	.summary = "what placements conflict with, and where",
	.run = run_command};
