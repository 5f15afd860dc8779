/* placet token create: a token that stands for a user, shown once. */
#include <openssl/crypto.h>
#include <stdio.h>

#include "coord/access/base/identity.h"
#include "coord/cli/output/message.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/cli/tokens/token_api.h"
#include "coord/service/tokens/token_edit.h"
#include "store/base/clock.h"
#include "store/base/duration.h"
#include "store/base/num.h"
#include "store/base/timestamp.h"
#include "store/keys/names.h"

enum {
	OPT_USER = OPTIONS_OWN_FIRST,
	OPT_GROUP,
	OPT_EXPIRES,
	DAY_MS = 24 * 60 * 60 * 1000,
	DAYS_MAX = 3650,
};

struct token_create {
	const char *user; /* NULL: not given */
	struct pl_span group[TOKEN_GROUPS_MAX];
	size_t group_count;
	uint64_t expires_ms; /* from now; 0: never */
	bool expires_given;
};

/* "30d", "12h", "never". */
static enum pl_code parse_expires(struct token_create *create, const char *arg,
                                  struct pl_err *err)
{
	struct pl_span text = pl_span_str(arg);
	uint64_t days;

	create->expires_given = true;
	create->expires_ms = 0;
	if (strcmp(arg, "never") == 0)
		return PL_OK;
	if (text.len > 1 && text.at[text.len - 1] == 'd') {
		text.len--;
		if (pl_num_u64_in(text, 1, DAYS_MAX, &days, err) != PL_OK)
			return PL_INVALID;
		create->expires_ms = days * DAY_MS;
		return PL_OK;
	}
	return pl_duration_ms(text, 1000, (uint64_t)DAYS_MAX * DAY_MS,
	                      &create->expires_ms, err) == PL_OK
	               ? PL_OK
	               : PL_INVALID;
}

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct token_create *create = ctx;

	switch (opt) {
	case OPT_USER:
		create->user = arg;
		return PL_OK;
	case OPT_GROUP:
		if (create->group_count == TOKEN_GROUPS_MAX)
			return pl_err_set(err, PL_INVALID, "--group: at most %d",
			                  TOKEN_GROUPS_MAX);
		create->group[create->group_count++] = pl_span_str(arg);
		return PL_OK;
	default:
		if (parse_expires(create, arg, err) == PL_OK)
			return PL_OK;
		return pl_err_wrap(err, "--expires");
	}
}

static struct token_record record_of(const struct token_create *create)
{
	return (struct token_record){.user = pl_span_str(create->user),
	                             .groups = create->group,
	                             .group_count = create->group_count};
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	const struct token_create *create = ctx;
	struct token_record record = record_of(create);

	if (names_check(NAMES_TOKEN, pl_span_str(options->args[0]), err) != PL_OK)
		return PL_INVALID;
	if (create->user == NULL)
		return pl_err_set(err, PL_INVALID, "--user: whose the token is");
	if (!create->expires_given)
		return pl_err_set(err, PL_INVALID, "--expires: as 30d, or never");
	return token_record_check(&record, err);
}

static void tell(const char *name, const struct token_record *record)
{
	char text[PL_TIMESTAMP_SIZE] = "never";

	if (record->expires_ms != 0)
		(void)pl_timestamp_print(record->expires_ms, text);
	print_message("token %s of user " PL_SPAN_FMT
	              ", expires %s; this is the only time that it is shown:",
	              name, PL_SPAN_ARG(record->user), text);
}

static enum pl_code print_token(const char *name, const struct token_record *record,
                                struct pl_span token, struct pl_err *err)
{
	tell(name, record);
	if (printf(PL_SPAN_FMT "\n", PL_SPAN_ARG(token)) > 0 && fflush(stdout) == 0)
		return PL_OK;
	return pl_err_set(err, PL_IO, "the token could not be written; revoke it");
}

static enum pl_code create_run(void *ctx, const struct cli_session *cli,
                               struct pl_err *err)
{
	const struct token_create *create = ctx;
	const char *name = cli->options->args[0];
	struct token_record record = record_of(create);
	char text[TOKEN_TEXT_SIZE];
	struct cli_wait wait = {0};
	struct token_edit *edit;
	enum pl_code code;

	record.created_ms = pl_clock_wall_ms();
	record.by = pl_span_str(cli->service.user);
	if (create->expires_ms != 0)
		record.expires_ms = record.created_ms + (int64_t)create->expires_ms;
	code = token_make(pl_span_str(name), text, record.hash, err);
	if (code == PL_OK)
		code = token_create_start(&cli->service, pl_span_str(name), &record,
		                          cli_wait_end, &wait, &edit, err);
	if (code == PL_OK)
		code = cli_wait_for(cli->session, &wait, err);
	if (code == PL_OK)
		code = print_token(name, &record, pl_span_str(text), err);
	OPENSSL_cleanse(text, sizeof text);
	return code;
}

static enum pl_code create_ask(void *ctx, struct api_session *api, struct pl_err *err)
{
	const struct token_create *create = ctx;
	const char *name = api->options->args[0];
	struct token_record record = record_of(create);
	struct pl_span token = {0};
	struct pl_arena arena;
	enum pl_code code;

	if (create->expires_ms != 0)
		record.expires_ms = pl_clock_wall_ms() + (int64_t)create->expires_ms;
	pl_arena_init(&arena, 0, 0);
	code = token_api_create(api, name, &record, create->expires_ms / 1000, &arena,
	                        &token, err);
	if (code == PL_OK)
		code = print_token(name, &record, token, err);
	pl_arena_done(&arena);
	return code;
}

static const struct option own[] = {
	{"user", required_argument, NULL, OPT_USER},
	{"group", required_argument, NULL, OPT_GROUP},
	{"expires", required_argument, NULL, OPT_EXPIRES},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "token create",
	.usage = "<name> --user USER --expires TIME [options]",
	.about =
		"Makes a token that stands for a user of the API, and prints it. The store\n"
		"keeps only its digest, so it is shown once. What the user may is decided by\n"
		"the roles of the user and the groups.\n",
	.help = "  --user USER            whose the token is\n"
		"  --group GROUP          a group of the user; may come more than once\n"
		"  --expires TIME         from now, as 30d or 12h; or never\n",
	.example =
		"  placet token create ci --user ci-bot --group team-a --expires 30d > ci.token\n",
	.common = OPTIONS_API,
	.args_min = 1,
	.args_max = 1,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct token_create create = {.user = NULL};

	return cli_session_run_either(&spec, argc, argv, create_run, create_ask, &create);
}

const struct command token_create_command = {.words = "token create",
                                             .summary =
                                                     "make a token for a user of the API",
                                             .run = run_command,
                                             .spec = &spec};
