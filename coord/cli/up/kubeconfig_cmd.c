/* placet kubeconfig: the file that a user of the API needs. */
#include <stdlib.h>

#include "coord/cli/output/message.h"
#include "coord/cli/session/options.h"
#include "coord/kubeconfig/kubeconfig_files.h"
#include "coord/kubeconfig/kubeconfig_write.h"

enum {
	OPT_SERVER = OPTIONS_OWN_FIRST,
	OPT_TOKEN_FILE,
	OPT_CA,
	OPT_CERT,
	OPT_KEY,
	OPT_CONTEXT,
	OPT_EMBED,
	TEXT_MAX = 8 << 20,
};

#define SERVER_DEFAULT "http://127.0.0.1:6443"

struct kubeconfig_cmd {
	const char *server, *context, *namespace, *to;
	const char *token_file, *ca, *cert, *key;
	bool embed;
	struct pl_arena arena;
};

/* -- the file ----------------------------------------------------------------------------- */

/* The name as it is found from everywhere. PL_IO: there is no such file. */
static enum pl_code whole_name(struct kubeconfig_cmd *cmd, const char *path,
                               const char **out, struct pl_err *err)
{
	char *whole;
	struct pl_span kept;

	if (path == NULL)
		return PL_OK;
	whole = realpath(path, NULL);
	if (whole == NULL)
		return pl_err_set(err, PL_IO, "%.150s: there is no such file", path);
	kept = pl_arena_dup(&cmd->arena, pl_span_str(whole));
	free(whole);
	*out = (const char *)kept.at;
	return kept.at == NULL ? pl_err_set(err, PL_NOMEM, "a kubeconfig") : PL_OK;
}

/* The file's name; its content instead with --embed. */
static enum pl_code take_pem(struct kubeconfig_cmd *cmd, const char *path,
                             const char **file, struct pl_span *data, struct pl_err *err)
{
	enum pl_code code = whole_name(cmd, path, file, err);
	struct pl_buf text;

	if (code != PL_OK || path == NULL || !cmd->embed)
		return code;
	pl_buf_init(&text, KUBECONFIG_PEM_MAX);
	code = kubeconfig_read_file(path, &text, err);
	if (code == PL_OK) {
		*data = pl_arena_dup(&cmd->arena, pl_buf_span(&text));
		*file = NULL;
		if (data->at == NULL)
			code = pl_err_set(err, PL_NOMEM, "a kubeconfig");
	}
	pl_buf_done(&text);
	return code;
}

static enum pl_code take_token(struct kubeconfig_cmd *cmd, struct kubeconfig_target *out,
                               struct pl_err *err)
{
	char *token;

	if (cmd->token_file == NULL)
		return PL_OK;
	token = pl_arena_alloc(&cmd->arena, KUBECONFIG_TOKEN_MAX);
	if (token == NULL)
		return pl_err_set(err, PL_NOMEM, "a token");
	/* A file without a token is told now, and not when kubectl uses it. */
	if (kubeconfig_read_token(cmd->token_file, token, err) != PL_OK)
		return err->code;
	if (cmd->embed)
		out->token = token;
	return cmd->embed ? PL_OK
	                  : whole_name(cmd, cmd->token_file, &out->token_file, err);
}

static enum pl_code kubeconfig_run(struct kubeconfig_cmd *cmd, struct pl_err *err)
{
	struct kubeconfig_target target = {.namespace = cmd->namespace};
	struct pl_buf text;
	enum pl_code code =
		kubeconfig_server(&cmd->arena, cmd->server, &target.server, err);

	if (code == PL_OK)
		code = take_token(cmd, &target, err);
	if (code == PL_OK)
		code = take_pem(cmd, cmd->ca, &target.ca_file, &target.ca_data, err);
	if (code == PL_OK)
		code = take_pem(cmd, cmd->cert, &target.cert_file, &target.cert_data,
		                err);
	if (code == PL_OK)
		code = take_pem(cmd, cmd->key, &target.key_file, &target.key_data, err);
	if (code != PL_OK)
		return code;
	pl_buf_init(&text, TEXT_MAX);
	code = kubeconfig_print(&target, cmd->context, &text, err);
	if (code == PL_OK)
		code = kubeconfig_save(pl_buf_span(&text), cmd->to, err);
	pl_buf_done(&text);
	return code;
}

/* -- the command line --------------------------------------------------------------------- */

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct kubeconfig_cmd *cmd = ctx;

	(void)err;
	switch (opt) {
	case OPT_SERVER:
		cmd->server = arg;
		break;
	case OPT_TOKEN_FILE:
		cmd->token_file = arg;
		break;
	case OPT_CA:
		cmd->ca = arg;
		break;
	case OPT_CERT:
		cmd->cert = arg;
		break;
	case OPT_KEY:
		cmd->key = arg;
		break;
	case OPT_CONTEXT:
		cmd->context = arg;
		break;
	case OPT_EMBED:
		cmd->embed = true;
		break;
	case 'n':
		cmd->namespace = arg;
		break;
	case 'o':
		cmd->to = arg;
		break;
	default:
		PL_UNREACHABLE("option");
	}
	return PL_OK;
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	const struct kubeconfig_cmd *cmd = ctx;

	(void)options;
	if ((cmd->cert == NULL) != (cmd->key == NULL))
		return pl_err_set(err, PL_INVALID, "--cert and --key go together");
	if (cmd->context[0] == 0)
		return pl_err_set(err, PL_INVALID, "--context: want a name");
	return PL_OK;
}

static const struct option own[] = {
	{"server", required_argument, NULL, OPT_SERVER},
	{"token-file", required_argument, NULL, OPT_TOKEN_FILE},
	{"ca", required_argument, NULL, OPT_CA},
	{"cacert", required_argument, NULL, OPT_CA},
	{"cert", required_argument, NULL, OPT_CERT},
	{"key", required_argument, NULL, OPT_KEY},
	{"context", required_argument, NULL, OPT_CONTEXT},
	{"namespace", required_argument, NULL, 'n'},
	{"embed", no_argument, NULL, OPT_EMBED},
	{"output", required_argument, NULL, 'o'},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "kubeconfig",
	.usage = "[options]",
	.about =
		"Writes a kubeconfig with one context: what kubectl, client libraries and\n"
		"placet --kubeconfig need to find Placet's API. Files are named by their whole\n"
		"paths, so that a renewed token or certificate is used. Nothing is asked: the\n"
		"server need not run.\n",
	.help = "  --server URL           of the API (PLACET_SERVER;\n"
		"                         default " SERVER_DEFAULT ")\n"
		"  --token-file FILE      its first line is the user's token\n"
		"  --ca FILE              whom to trust, PEM (default: the system's)\n"
		"  --cert, --key FILE     the user's certificate and its key, PEM\n"
		"  --context NAME         of the context (default placet)\n"
		"  -n, --namespace NAME   of commands that name none (default default)\n"
		"  --embed                put in what the files hold, and not their names\n"
		"  -o, --output FILE      replaced, readable by its owner alone (default: to\n"
		"                         standard output)\n",
	.example =
		"  placet kubeconfig --server http://127.0.0.1:6443 -o placet.kubeconfig\n"
		"  placet kubeconfig --server https://placet.example:6443 --ca ca.pem \\\n"
		"    --token-file ann.token --embed -o ann.kubeconfig\n",
	.common = OPTIONS_OFFLINE,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	const char *server = getenv("PLACET_SERVER");
	struct kubeconfig_cmd cmd = {
		.server = server == NULL || *server == 0 ? SERVER_DEFAULT : server,
		.context = "placet",
		.to = "-"};
	struct options options;
	enum exit_code exit_code;
	struct pl_err err = {0};
	enum pl_code code;

	if (!options_parse(&spec, argc, argv, &cmd, &options, &exit_code))
		return exit_code;
	pl_arena_init(&cmd.arena, 0, 0);
	code = kubeconfig_run(&cmd, &err);
	pl_arena_done(&cmd.arena);
	options_done(&options);
	return code == PL_OK ? EXIT_OK : print_error(spec.words, &err);
}

const struct command kubeconfig_command = {
	.words = "kubeconfig",
	.summary = "write what kubectl needs to find the API",
	.run = run_command,
	.spec = &spec};
