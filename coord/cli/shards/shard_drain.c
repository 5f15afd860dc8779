/*
 * placet shard drain, placet shard undrain: edits the configuration `shards`, and waits
 * until the shard owns nothing.
 */
#include "coord/service/shards/shard_drain.h"

#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/config/config_session.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/cli/shards/drain_wait.h"
#include "coord/service/shards/shard_find.h"
#include "store/base/clock.h"
#include "store/base/duration.h"

enum {
	OPT_FORCE = OPTIONS_OWN_FIRST,
	OPT_WAIT,
	WAIT_DEFAULT_MS = 5 * 60 * 1000,
	WAIT_MAX_MS = 24 * 60 * 60 * 1000,
};

struct shard_drain_cmd {
	bool undrain;
	bool force;
	uint64_t wait_ms; /* 0: do not */
	struct pl_span id;
	const struct cli_session *cli;
	struct cli_wait wait;
	uint64_t version; /* of the configuration */
	bool changed;
};

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct shard_drain_cmd *drain = ctx;

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
	struct shard_drain_cmd *drain = ctx;

	drain->id = pl_span_str(options->args[0]);
	return shard_id_check(drain->id, err);
}

/* -- waiting for the operations ---------------------------------------------------- */

static void on_found(void *ctx, const struct shard_info *shard, const struct pl_err *err)
{
	(void)shard;
	cli_wait_end(ctx, err);
}

static enum pl_code require_shard(const struct shard_drain_cmd *drain, struct pl_err *err)
{
	struct cli_wait wait = {0};
	struct shard_find *find;
	enum pl_code code = shard_find_start(&drain->cli->service, drain->id, on_found,
	                                     &wait, &find, err);

	return code == PL_OK ? cli_wait_for(drain->cli->session, &wait, err) : code;
}

/* The difference is printed here, because the contents go with the operation. */
static void on_drained(void *ctx, const struct shard_drain_result *result,
                       const struct pl_err *err)
{
	struct shard_drain_cmd *drain = ctx;
	struct pl_err why = {0};

	if (err == NULL) {
		drain->version = result->version;
		drain->changed = result->changed;
	}
	if (err == NULL && drain->cli->options->dry_run &&
	    config_session_print_diff(drain->cli->session, CONFIG_SHARDS, result->before,
	                              result->after, &why) != PL_OK)
		err = &why;
	cli_wait_end(&drain->wait, err);
}

static enum pl_code edit_config(struct shard_drain_cmd *drain, struct pl_err *err)
{
	const struct shard_drain_opts opts = {.id = drain->id,
	                                      .undrain = drain->undrain,
	                                      .dry_run = drain->cli->options->dry_run,
	                                      .why = drain->cli->options->why,
	                                      .wall_ms = pl_clock_wall_ms(),
	                                      .done = on_drained,
	                                      .ctx = drain};
	struct shard_drain *running;
	enum pl_code code = shard_drain_start(&drain->cli->service, &opts, &running, err);

	return code == PL_OK ? cli_wait_for(drain->cli->session, &drain->wait, err)
	                     : code;
}

/* -- the commands ------------------------------------------------------------------ */

static enum pl_code drain_run(void *ctx, const struct cli_session *cli,
                              struct pl_err *err)
{
	struct shard_drain_cmd *drain = ctx;
	enum pl_code code = PL_OK;

	drain->cli = cli;
	if (!drain->force && !drain->undrain)
		code = require_shard(drain, err);
	if (code == PL_OK)
		code = edit_config(drain, err);
	if (code != PL_OK || cli->options->dry_run)
		return code;
	(void)printf(PL_SPAN_FMT " %s%s (configuration shards, version %" PRIu64 ")\n",
	             PL_SPAN_ARG(drain->id),
	             drain->undrain ? "is not to drain" : "is to drain",
	             drain->changed ? "" : ", as before", drain->version);
	(void)fflush(stdout);
	return drain->wait_ms == 0
	               ? PL_OK
	               : drain_wait(cli->session, drain->id, drain->wait_ms, err);
}

static const struct option drain_own[] = {
	{"force", no_argument, NULL, OPT_FORCE},
	{"wait", optional_argument, NULL, OPT_WAIT},
	{NULL, 0, NULL, 0},
};

static const struct options_spec drain_spec = {
	.words = "shard drain",
	.of_store = "kubectl patch shard does it there",
	.usage = "<id> [options]",
	.about =
		"Asks a shard to hand all its partitions over to the others and to take no new\n"
		"ones, by a new version of the configuration shards. The shard's process keeps\n"
		"running; undrain revokes the request.\n",
	.help = "  --wait[=DURATION]      wait until it owns nothing (default at most 5m)\n"
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
	.of_store = "kubectl patch shard does it there",
	.usage = "<id> [options]",
	.about = "Revokes shard drain: the shard takes part again.\n",
	.example = "  placet shard undrain east-0\n",
	.common = OPTIONS_DRY_RUN | OPTIONS_WHY,
	.args_min = 1,
	.args_max = 1,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_drain(int argc, char **argv)
{
	struct shard_drain_cmd drain = {0};

	return cli_session_run(&drain_spec, argc, argv, drain_run, &drain);
}

static enum exit_code run_undrain(int argc, char **argv)
{
	struct shard_drain_cmd drain = {.undrain = true};

	return cli_session_run(&undrain_spec, argc, argv, drain_run, &drain);
}

const struct command shard_drain_command = {
	.words = "shard drain",
	.summary = "ask a shard to hand its partitions over",
	.run = run_drain,
	.spec = &drain_spec};
const struct command shard_undrain_command = {
	.words = "shard undrain",
	.summary = "let a drained shard take part again",
	.run = run_undrain,
	.spec = &undrain_spec};
