/* placet token revoke: from then on the tokens open nothing. */
#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/output/message.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/cli/tokens/token_api.h"
#include "coord/service/tokens/token_edit.h"
#include "store/keys/names.h"

enum { TOKENS_MAX = 10000 };

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	(void)ctx;
	for (unsigned i = 0; i < options->arg_count; i++)
		if (names_check(NAMES_TOKEN, pl_span_str(options->args[i]), err) != PL_OK)
			return PL_INVALID;
	return PL_OK;
}

static enum pl_code in_store(const void *from, const char *name, struct pl_err *err)
{
	const struct cli_session *cli = from;
	struct cli_wait wait = {0};
	struct token_edit *edit;
	enum pl_code code = token_delete_start(&cli->service, pl_span_str(name),
	                                       cli_wait_end, &wait, &edit, err);

	return code == PL_OK ? cli_wait_for(cli->session, &wait, err) : code;
}

/* from: a pointer to the session. */
static enum pl_code over_api(const void *from, const char *name, struct pl_err *err)
{
	struct api_session *const *api = from;

	return token_api_delete(*api, name, err);
}

typedef enum pl_code revoke_fn(const void *from, const char *name, struct pl_err *err);

/* All of them, whatever becomes of one: a token that leaked must not stay because another
 * name was mistyped. */
static enum pl_code revoke_all(const struct options *options, revoke_fn *revoke_token,
                               const void *from, struct pl_err *err)
{
	uint64_t absent = 0;

	for (unsigned i = 0; i < options->arg_count; i++) {
		enum pl_code code = revoke_token(from, options->args[i], err);

		if (code == PL_OK) {
			(void)printf("%s revoked\n", options->args[i]);
		} else if (code == PL_NOTFOUND) {
			print_message("%s: no such token", options->args[i]);
			absent++;
		} else {
			return code;
		}
	}
	if (absent > 0)
		return pl_err_set(err, PL_NOTFOUND, "%" PRIu64 " not found", absent);
	return PL_OK;
}

static enum pl_code revoke_run(void *ctx, const struct cli_session *cli,
                               struct pl_err *err)
{
	(void)ctx;
	return revoke_all(cli->options, in_store, cli, err);
}

static enum pl_code revoke_ask(void *ctx, struct api_session *api, struct pl_err *err)
{
	struct api_session *const *from = &api;

	(void)ctx;
	return revoke_all(api->options, over_api, from, err);
}

static const struct options_spec spec = {
	.words = "token revoke",
	.usage = "<name>... [options]",
	.about =
		"Deletes issued tokens. Each server refuses them as soon as its watch of the\n"
		"store shows it.\n",
	.example = "  placet token revoke ci\n",
	.exits =
		"0 all are revoked, 1 a token does not exist or the command failed, 2 wrong "
		"usage",
	.common = OPTIONS_API,
	.args_min = 1,
	.args_max = TOKENS_MAX,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	return cli_session_run_either(&spec, argc, argv, revoke_run, revoke_ask, NULL);
}

const struct command token_revoke_command = {.words = "token revoke",
                                             .summary = "make issued tokens worthless",
                                             .run = run_command,
                                             .spec = &spec};
