/*
 * placet shard drain, placet shard undrain: what the configuration `shards` wants of
 * a shard. Happy path: read the current version, add or remove the id, store a new
 * version if nobody else did meanwhile, else begin again.
 */
#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/config/config_session.h"
#include "coord/cli/output/message.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/shards/drain_wait.h"
#include "coord/cli/shards/shard_find.h"
#include "store/base/duration.h"

enum {
	OPT_FORCE = OPTIONS_OWN_FIRST,
	OPT_WAIT,
	TRIES_MAX = 10,
	WAIT_DEFAULT_MS = 5 * 60 * 1000,
	WAIT_MAX_MS = 24 * 60 * 60 * 1000,
	CONFIG_BYTES_MAX = 1 << 20,
	WHY_SIZE = 400,
};

struct shard_drain {
	bool undrain;
	bool force;
	uint64_t wait_ms; /* 0: do not */
	struct pl_span id;
	struct store_session *session;
	const struct options *options;
};

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct shard_drain *drain = ctx;

	if (opt == OPT_FORCE) {
		drain->force = true;
		return PL_OK;
	}
	PL_ASSERT(opt == OPT_WAIT);
	drain->wait_ms = WAIT_DEFAULT_MS;
	if (arg != NULL && pl_duration_ms(pl_span_str(arg), 1, WAIT_MAX_MS,
	                                  &drain->wait_ms, err) != PL_OK)
		return pl_err_wrap(err, "--wait");
	return PL_OK;
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	struct shard_drain *drain = ctx;

	drain->id = pl_span_str(options->args[0]);
	return shard_id_check(drain->id, err);
}

/* -- the configuration ------------------------------------------------------------- */

struct drain_requests {
	uint64_t version;
	struct pl_json before;
	struct pl_json after;
	struct pl_span text; /* of after */
	bool changed;
};

static size_t rewrite_config(const struct shard_drain *drain,
                             const struct config_shards *is, struct pl_span *out)
{
	size_t count = 0;
	bool placed = drain->undrain;

	for (uint32_t i = 0; i < is->drain_count; i++) {
		int order = pl_span_cmp(drain->id, is->drain[i]);

		if (!placed && order <= 0) {
			out[count++] = drain->id;
			placed = true;
		}
		if (order != 0)
			out[count++] = is->drain[i];
	}
	if (!placed)
		out[count++] = drain->id;
	return count;
}

/* In the session's arena: the new content, and as a document. */
static enum pl_code print_after(const struct shard_drain *drain,
                                const struct config_value *value,
                                struct drain_requests *out, struct pl_err *err)
{
	struct pl_arena *arena = &drain->session->arena;
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, CONFIG_BYTES_MAX);
	code = config_print(value, &buf, err);
	if (code == PL_OK)
		code = pl_json_parse(arena, pl_buf_span(&buf), NULL, &out->after, err);
	if (code == PL_OK) {
		out->text = pl_arena_dup(arena, pl_buf_span(&buf));
		if (out->text.at == NULL)
			code = pl_err_set(err, PL_NOMEM, "keep the drains");
	}
	pl_buf_done(&buf);
	return code;
}

/* One that somebody wrote past the check: what it should be is not ours to guess. */
static enum pl_code malformed_config(struct pl_err *err)
{
	struct pl_err why = *err;

	return pl_err_set(err, why.code,
	                  "%s; first put it right (placet config rollback shards)",
	                  why.msg);
}

static enum pl_code read_requests(const struct shard_drain *drain,
                                  struct drain_requests *out, struct pl_err *err)
{
	struct pl_arena *arena = &drain->session->arena;
	struct config_value value;
	struct config_found found;
	struct pl_span *ids;
	enum pl_code code =
		config_session_read(drain->session, CONFIG_SHARDS, 0, &found, err);

	if (code == PL_OK)
		code = config_session_content(drain->session, CONFIG_SHARDS, &found,
		                              &out->before, err);
	if (code == PL_OK)
		code = config_parse(CONFIG_SHARDS, out->before, arena, &value, err);
	if (code == PL_INVALID || code == PL_NOTFOUND)
		return malformed_config(err);
	if (code != PL_OK)
		return code;
	out->version = found.current;
	out->changed = config_drains(&value.shards, drain->id) == drain->undrain;
	ids = pl_arena_zalloc(arena, (size_t)value.shards.drain_count + 1, sizeof *ids);
	if (ids == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the drains");
	value.shards.drain_count = (uint32_t)rewrite_config(drain, &value.shards, ids);
	value.shards.drain = ids;
	return print_after(drain, &value, out, err);
}

static enum pl_code try_edit(const struct shard_drain *drain,
                             struct drain_requests *wishes, struct pl_err *err)
{
	struct config_session_edit edit = {.name = CONFIG_SHARDS};
	char why[WHY_SIZE];
	enum pl_code code = read_requests(drain, wishes, err);

	if (code != PL_OK || !wishes->changed || drain->options->dry_run)
		return code;
	(void)snprintf(why, sizeof why, "%s " PL_SPAN_FMT "%s%s",
	               drain->undrain ? "undrain" : "drain", PL_SPAN_ARG(drain->id),
	               *drain->options->why == 0 ? "" : ": ", drain->options->why);
	edit.config = wishes->text;
	edit.expect_version = (int64_t)wishes->version;
	edit.why = why;
	return config_session_edit(drain->session, &edit, &wishes->version, err);
}

static enum pl_code edit_requests(const struct shard_drain *drain,
                                  struct drain_requests *wishes, struct pl_err *err)
{
	enum pl_code code = PL_CONFLICT;

	for (unsigned i = 0; i < TRIES_MAX && code == PL_CONFLICT; i++) {
		*err = (struct pl_err){0};
		code = try_edit(drain, wishes, err);
	}
	if (code == PL_CONFLICT)
		return pl_err_wrap(err, "others changed it %d times meanwhile",
		                   TRIES_MAX);
	return code;
}

/* -- the commands ------------------------------------------------------------------- */

static enum pl_code print_done(const struct shard_drain *drain,
                               const struct drain_requests *wishes, struct pl_err *err)
{
	const char *what = drain->undrain ? "is not to drain" : "is to drain";

	if (drain->options->dry_run)
		return config_session_print_diff(drain->session, CONFIG_SHARDS,
		                                 wishes->before, wishes->after, err);
	(void)printf(PL_SPAN_FMT " %s%s (configuration shards, version %" PRIu64 ")\n",
	             PL_SPAN_ARG(drain->id), what, wishes->changed ? "" : ", as before",
	             wishes->version);
	(void)fflush(stdout);
	return PL_OK;
}

static enum pl_code drain_run(void *ctx, const struct cli_session *cli,
                              struct pl_err *err)
{
	struct shard_drain *drain = ctx;
	struct drain_requests wishes = {0};
	enum pl_code code = PL_OK;

	drain->session = cli->session;
	drain->options = cli->options;
	if (!drain->force && !drain->undrain)
		code = shard_must_exist(cli->session, drain->id, err);
	if (code == PL_OK)
		code = edit_requests(drain, &wishes, err);
	if (code == PL_OK)
		code = print_done(drain, &wishes, err);
	if (code == PL_OK && drain->wait_ms > 0 && !drain->options->dry_run)
		code = drain_wait(cli->session, drain->id, drain->wait_ms, err);
	return code;
}

static const struct option drain_own[] = {
	{"force", no_argument, NULL, OPT_FORCE},
	{"wait", optional_argument, NULL, OPT_WAIT},
	{NULL, 0, NULL, 0},
};

static const struct options_spec drain_spec = {
	.words = "shard drain",
	.usage = "<id> [options]",
	.about =
		"Asks a shard to hand all its partitions over to the others, and to take\n"
		"no new ones: a new version of the configuration shards. The shard goes on\n"
		"running; undrain takes it back.\n",
	.help = "  --wait[=DURATION]      until it owns nothing (at most 5m, or so long)\n"
		"  --force                even if there is no such shard now\n",
	.example = "  placet shard drain east-0 --wait=2m --why 'new kernel'\n",
	.common = OPTIONS_DRY_RUN | OPTIONS_WHY,
	.args_min = 1,
	.args_max = 1,
	.own = drain_own,
	.take = set_option,
	.check = check_args,
};

static const struct options_spec undrain_spec = {
	.words = "shard undrain",
	.usage = "<id> [options]",
	.about = "Takes back what shard drain asked for: the shard takes part again.\n",
	.example = "  placet shard undrain east-0\n",
	.common = OPTIONS_DRY_RUN | OPTIONS_WHY,
	.args_min = 1,
	.args_max = 1,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_drain(int argc, char **argv)
{
	struct shard_drain drain = {0};

	return cli_session_run(&drain_spec, argc, argv, drain_run, &drain);
}

static enum exit_code run_undrain(int argc, char **argv)
{
	struct shard_drain drain = {.undrain = true};

	return cli_session_run(&undrain_spec, argc, argv, drain_run, &drain);
}

const struct command shard_drain_command = {
	.words = "shard drain",
	.summary = "ask a shard to hand its partitions over",
	.run = run_drain};
const struct command shard_undrain_command = {
	.words = "shard undrain",
	.summary = "let a drained shard take part again",
	.run = run_undrain};
