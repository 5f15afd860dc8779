/* placet config diff: what is different between two versions of a configuration. */
#include <inttypes.h>

#include "coord/cli/config/config_session.h"
#include "coord/cli/session/cli_session.h"
#include "store/base/num.h"
#include "store/keys/keys.h"

struct config_diff_cmd {
	enum config_name name;
	uint64_t version[2];
	unsigned given;
};

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	struct config_diff_cmd *diff = ctx;

	for (unsigned i = 1; i < options->arg_count; i++, diff->given++)
		if (pl_num_u64_in(pl_span_str(options->args[i]), 0, KEYS_VERSION_MAX,
		                  &diff->version[i - 1], err) != PL_OK)
			return pl_err_wrap(err, "version");
	return config_name_parse(pl_span_str(options->args[0]), &diff->name, err);
}

static enum pl_code diff_run(void *ctx, const struct cli_session *cli, struct pl_err *err)
{
	struct config_diff_cmd *diff = ctx;
	struct pl_json before, after;
	struct config_versions versions;
	enum pl_code code =
		config_session_versions(cli->session, diff->name, &versions, err);

	if (code != PL_OK)
		return code;
	if (diff->given < 1)
		diff->version[0] = versions.before;
	if (diff->given < 2)
		diff->version[1] = versions.current;
	code = config_session_content(cli->session, diff->name, diff->version[0], &before,
	                              err);
	if (code == PL_OK)
		code = config_session_content(cli->session, diff->name, diff->version[1],
		                              &after, err);
	return code == PL_OK ? config_session_print_diff(cli->session, diff->name, before,
	                                                 after, err)
	                     : code;
}

static const struct options_spec spec = {
	.words = "config diff",
	.of_store = "the API shows the current version only",
	.usage = "NAME [FROM [TO]] [options]",
	.about =
		"Prints the difference between two versions, a line for each value that is\n"
		"removed (-) or added (+). TO defaults to the current version, FROM to the one\n"
		"before it; 0 is the default configuration.\n",
	.example = "  placet config diff coord 3\n",
	.args_min = 1,
	.args_max = 3,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct config_diff_cmd diff = {0};

	return cli_session_run(&spec, argc, argv, diff_run, &diff);
}

const struct command config_diff_command = {
	.words = "config diff",
	.summary = "show what differs between two versions",
	.run = run_command,
	.spec = &spec};
