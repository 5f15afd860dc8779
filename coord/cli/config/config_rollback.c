/* placet config rollback: a new version with the content of an old one. */
#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/config/config_session.h"
#include "coord/cli/session/cli_session.h"
#include "store/base/num.h"
#include "store/keys/keys.h"

enum { OPT_TO = OPTIONS_OWN_FIRST };

struct config_rollback_cmd {
	enum config_name name;
	uint64_t to; /* 0: the one before the current one */
};

static const struct option own[] = {
	{"to", required_argument, NULL, OPT_TO},
	{NULL, 0, NULL, 0},
};

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct config_rollback_cmd *rollback = ctx;

	PL_ASSERT(opt == OPT_TO);
	if (pl_num_u64_in(pl_span_str(arg), 1, KEYS_VERSION_MAX, &rollback->to, err) !=
	    PL_OK)
		return pl_err_wrap(err, "--to");
	return PL_OK;
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	struct config_rollback_cmd *rollback = ctx;

	return config_name_parse(pl_span_str(options->args[0]), &rollback->name, err);
}

/* Without a readable current version there is nothing to compare with. */
static enum pl_code print_diff(const struct config_rollback_cmd *rollback,
                               const struct cli_session *cli, uint64_t current,
                               struct pl_err *err)
{
	struct pl_json before, after;
	struct pl_err why = {0};
	enum pl_code code = config_session_content(cli->session, rollback->name,
	                                           rollback->to, &after, err);

	if (code != PL_OK)
		return code;
	if (current == 0 || config_session_content(cli->session, rollback->name, current,
	                                           &before, &why) != PL_OK)
		return PL_OK;
	return config_session_print_diff(cli->session, rollback->name, before, after,
	                                 err);
}

/*
 * A version of 0 in *current: it can not be read.
 */
static enum pl_code choose_version(struct config_rollback_cmd *rollback,
                                   const struct cli_session *cli, uint64_t *current,
                                   struct pl_err *err)
{
	struct config_versions versions = {0};
	enum pl_code code =
		config_session_versions(cli->session, rollback->name, &versions, err);

	*current = versions.current;
	if (code == PL_INVALID && rollback->to != 0) {
		*err = (struct pl_err){0};
		return PL_OK;
	}
	if (code == PL_INVALID)
		return pl_err_wrap(err, "want --to N");
	if (code != PL_OK)
		return code;
	if (rollback->to == 0)
		rollback->to = versions.before;
	if (rollback->to == 0)
		return pl_err_set(err, PL_NOTFOUND,
		                  "%s has no version before the current one; see placet "
		                  "config history %s",
		                  config_name_text(rollback->name),
		                  config_name_text(rollback->name));
	return PL_OK;
}

static enum pl_code rollback_run(void *ctx, const struct cli_session *cli,
                                 struct pl_err *err)
{
	struct config_rollback_cmd *rollback = ctx;
	struct config_session_edit edit = {
		.name = rollback->name, .expect_version = -1, .why = cli->options->why};
	uint64_t current = 0, version = 0;
	enum pl_code code = choose_version(rollback, cli, &current, err);

	if (code == PL_OK)
		code = print_diff(rollback, cli, current, err);
	if (code != PL_OK || cli->options->dry_run)
		return code;
	edit.to_version = rollback->to;
	if (current > 0)
		edit.expect_version = (int64_t)current;
	code = config_session_edit(cli->session, &edit, &version, err);
	if (code != PL_OK)
		return code;
	(void)printf("%s: version %" PRIu64 " is current, with the content of %" PRIu64
	             "\n",
	             config_name_text(rollback->name), version, rollback->to);
	return PL_OK;
}

static const struct options_spec spec = {
	.words = "config rollback",
	.of_store = "the API shows the current version only",
	.usage = "NAME [options]",
	.about =
		"Writes a new version with the content of an older one and makes it current;\n"
		"no version is removed. Prints what changes.\n",
	.help = "  --to N                 version to go back to (default the one before the current)\n",
	.example = "  placet config rollback coord --to 3 --why 'it was better'\n",
	.common = OPTIONS_DRY_RUN | OPTIONS_WHY,
	.args_min = 1,
	.args_max = 1,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct config_rollback_cmd rollback = {0};

	return cli_session_run(&spec, argc, argv, rollback_run, &rollback);
}

const struct command config_rollback_command = {.words = "config rollback",
                                                .summary = "go back to an older version",
                                                .run = run_command,
                                                .spec = &spec};
