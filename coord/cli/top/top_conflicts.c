/*
 * placet top conflicts: what the shards' records tell of conflicts, once or again and
 * again. A record is refreshed every coord.refresh_ms, so looking more often shows no
 * more.
 */
#include <stdio.h>
#include <unistd.h>

#include "coord/cli/out/say.h"
#include "coord/cli/reach/reach.h"
#include "coord/cli/shards/scene.h"
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

struct job {
	bool once;
	int64_t limit, every_s;
	struct scene scene;
	const struct options *options;
	struct pl_arena arena;
	bool due;
};

static const char clear[] = "\033[H\033[2J";

static enum pl_code show(struct job *job, bool again, struct pl_err *err)
{
	struct top top = {.now_ms = pl_clock_wall_ms(), .limit = (uint32_t)job->limit};
	bool json = job->options->format == OUTPUT_JSON;
	struct pl_buf out;
	enum pl_code code;

	pl_arena_reset(&job->arena);
	pl_buf_init(&out, OUT_MAX);
	code = top_gather(job->scene.roster, &job->arena, &top, err);
	if (code == PL_OK && !json && again)
		code = pl_buf_add_str(&out, isatty(STDOUT_FILENO) ? clear : "\n");
	if (code == PL_OK)
		code = json ? top_json(&top, &out) : top_text(&top, &out);
	if (code == PL_OK && json)
		code = pl_buf_add_str(&out, "\n");
	if (code != PL_OK && err->code == PL_OK)
		pl_err_set(err, code, "print the conflicts");
	if (code == PL_OK)
		code = say_result(&out, err);
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

static void on_note(void *ctx, const struct scene_note *note)
{
	(void)ctx;
	if (note->what == SCENE_TROUBLE)
		say("placet top conflicts: %s; going on", note->err->msg);
}

/* Until it can not be printed any more. */
static enum pl_code follow(struct job *job, struct pl_err *err)
{
	uv_loop_t *loop = &job->scene.session->loop;
	uint64_t every_ms = (uint64_t)job->every_s * 1000;
	enum pl_code code = PL_OK;
	uv_timer_t timer;

	scene_follow(&job->scene, on_note, job);
	(void)uv_timer_init(loop, &timer);
	timer.data = &job->due;
	(void)uv_timer_start(&timer, on_due, every_ms, every_ms);
	while (code == PL_OK) {
		job->due = false;
		while (!job->due)
			(void)uv_run(loop, UV_RUN_ONCE);
		code = show(job, true, err);
	}
	job->due = false;
	uv_close((uv_handle_t *)&timer, on_timer_closed);
	while (!job->due)
		(void)uv_run(loop, UV_RUN_ONCE);
	return code;
}

static enum pl_code look(void *ctx, const struct reach *reach, struct pl_err *err)
{
	struct job *job = ctx;
	bool watch = reach->options->watch || (!job->once && isatty(STDOUT_FILENO) &&
	                                       reach->options->format != OUTPUT_JSON);
	enum pl_code code = scene_open(&job->scene, reach->session, SCENE_ROSTER, err);

	if (code != PL_OK)
		return code;
	job->options = reach->options;
	pl_arena_init(&job->arena, ARENA_CHUNK, 0);
	if (roster_count(job->scene.roster) == 0)
		say("no shards");
	code = show(job, false, err);
	if (code == PL_OK && watch)
		code = follow(job, err);
	pl_arena_done(&job->arena);
	scene_close(&job->scene);
	return code;
}

/* -- the command line ----------------------------------------------------- */

static enum pl_code take_int(const char *name, const char *arg, int64_t most,
                             int64_t *out, struct pl_err *err)
{
	if (pl_num_i64_in(pl_span_str(arg), 1, most, out, NULL) == PL_OK)
		return PL_OK;
	return pl_err_set(err, PL_INVALID, "--%s %s: want 1 to %lld", name, arg,
	                  (long long)most);
}

static enum pl_code take(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct job *job = ctx;

	switch (opt) {
	case OPT_LIMIT:
		return take_int("limit", arg, TOP_LIMIT_MAX, &job->limit, err);
	case OPT_EVERY:
		return take_int("every", arg, EVERY_MAX_S, &job->every_s, err);
	default:
		job->once = true;
		return PL_OK;
	}
}

static enum pl_code check(void *ctx, const struct options *options, struct pl_err *err)
{
	const struct job *job = ctx;

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
		"most, with those that are set aside for a while because they keep refusing.\n"
		"A conflict costs a transaction, and the placement is decided again; counts\n"
		"are those since a shard was started, a node's fade by half every ten\n"
		"minutes. At a terminal it goes on until it is interrupted.\n",
	.help = "  --once                 show it once, at a terminal too\n"
		"  --every SECONDS        between two looks (default 2)\n"
		"  --limit N              nodes that are shown (default 20)\n",
	.example = "  placet top conflicts\n"
		   "  placet top conflicts --once -o json | jq .causes\n",
	.common = OPTIONS_FORMAT | OPTIONS_WATCH,
	.own = own,
	.take = take,
	.check = check,
};

static enum exit_code run(int argc, char **argv)
{
	struct job job = {.limit = LIMIT, .every_s = EVERY_S};

	return reach_run(&spec, argc, argv, look, &job);
}

const struct command top_conflicts_command = {
	.words = "top conflicts",
	.summary = "what placements conflict with, and where",
	.run = run};
