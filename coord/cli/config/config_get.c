/*
 * placet config get: what is configured now, or was in some version; whether it
 * passes its schema, and how many shards apply it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/config/config_api.h"
#include "coord/cli/config/config_rows.h"
#include "coord/cli/config/config_session.h"
#include "coord/cli/output/message.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/shards_session.h"
#include "store/base/num.h"
#include "store/base/timestamp.h"
#include "store/base/yaml.h"
#include "store/keys/keys.h"

enum { OPT_VERSION = OPTIONS_OWN_FIRST, OUT_MAX = 16 << 20 };

struct config_get_cmd {
	enum config_name name; /* when one is named */
	bool named;
	uint64_t version; /* 0: current */
	const struct options *options;
	struct pl_arena *arena;
	/* The store, or the API. */
	const struct cli_session *cli; /* NULL: the API */
	struct shards_session session;
	struct api_session *api;
};

static const struct option own[] = {
	{"version", required_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct config_get_cmd *get = ctx;

	PL_ASSERT(opt == OPT_VERSION);
	if (pl_num_u64_in(pl_span_str(arg), 1, KEYS_VERSION_MAX, &get->version, err) !=
	    PL_OK)
		return pl_err_wrap(err, "--version");
	return PL_OK;
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	struct config_get_cmd *get = ctx;

	get->named = options->arg_count > 0;
	if (get->version != 0 && options->via_api)
		return pl_err_set(
			err, PL_INVALID,
			"--version: needs the store (--endpoints): the API shows "
			"the current version only");
	if (get->named)
		return config_name_parse(pl_span_str(options->args[0]), &get->name, err);
	if (get->version != 0)
		return pl_err_set(err, PL_INVALID,
		                  "--version: want the name of a configuration");
	return PL_OK;
}

/* -- printing -------------------------------------------------------------------------
 */

struct config_got {
	struct config_found found;
	struct config_acceptance acceptance;
	struct config_row row;
};

static enum pl_code find_config(struct config_get_cmd *get, enum config_name name,
                                struct config_got *got, struct pl_err *err)
{
	return get->cli != NULL
	               ? config_session_read(get->cli->session, name, get->version,
	                                     &got->found, err)
	               : config_api_read(get->api, name, get->arena, &got->found, err);
}

static enum pl_code find_acceptance(struct config_get_cmd *get, enum config_name name,
                                    uint64_t version, struct config_acceptance *out,
                                    struct pl_err *err)
{
	if (get->cli == NULL)
		return config_api_acceptance(get->api, name, version, out, err);
	*out = config_acceptance_of(get->session.view.roster, name, version);
	return PL_OK;
}

/* A current version that can not be read is shown, and is no failure. */
static enum pl_code read_config(struct config_get_cmd *get, enum config_name name,
                                struct config_got *got, struct pl_err *err)
{
	enum pl_code code = find_config(get, name, got, err);
	const struct config_version *version;

	if ((code == PL_INVALID || code == PL_NOTFOUND) && get->version == 0 &&
	    get->cli != NULL) {
		got->found = (struct config_found){.current_err = *err};
		*err = (struct pl_err){0};
		code = PL_OK;
	}
	if (code != PL_OK)
		return code;
	version = got->found.count > 0 ? &got->found.versions[0] : NULL;
	code = find_acceptance(get, name, version == NULL ? 0 : version->version,
	                       &got->acceptance, err);
	got->row = (struct config_row){.name = name,
	                               .version = version,
	                               .current_err = &got->found.current_err,
	                               .acceptance = &got->acceptance};
	return code;
}

static enum pl_code add_row(struct config_get_cmd *get, enum config_name name,
                            struct output_row *row, struct pl_err *err)
{
	struct pl_arena *arena = get->arena;
	struct config_got *got = pl_arena_zalloc(arena, 1, sizeof *got);
	enum pl_code code;

	if (got == NULL)
		return pl_err_set(err, PL_NOMEM, "a configuration's row");
	code = read_config(get, name, got, err);
	if (code == PL_OK && config_row(&got->row, arena, row) != PL_OK)
		code = pl_err_set(err, PL_NOMEM, "a configuration's row");
	return code;
}

static enum pl_code show_all(struct config_get_cmd *get, struct pl_buf *out,
                             struct pl_err *err)
{
	struct output_row rows[CONFIG_NAME_COUNT];
	struct output output;
	enum pl_code code = PL_OK;

	output_init(&output, &config_schema, get->options->format, false);
	for (unsigned i = 0; i < CONFIG_NAME_COUNT && code == PL_OK; i++)
		code = add_row(get, (enum config_name)i, &rows[i], err);
	if (code == PL_OK)
		code = output_list(&output, rows, CONFIG_NAME_COUNT, out, err);
	return code;
}

/* Notes go to stderr and the content alone to stdout, so that it can be edited and
 * given to config set. */
static void print_note(const struct config_got *got)
{
	const char *name = config_name_text(got->row.name);
	const struct config_version *version = got->row.version;
	char stamp[PL_TIMESTAMP_SIZE];

	if (version == NULL || version->version == 0) {
		print_message("# %s: no version yet, this is the default", name);
		return;
	}
	print_message(
		"# %s, version %" PRIu64 "%s of %s by " PL_SPAN_FMT "%s" PL_SPAN_FMT,
		name, version->version, version->current ? " (current)" : "",
		version->at_ms == 0 ? "?" : pl_timestamp_print(version->at_ms, stamp),
		PL_SPAN_ARG(version->by), version->why.len > 0 ? ": " : "",
		PL_SPAN_ARG(version->why));
	if (version->refused.code != PL_OK)
		print_message("# REFUSED: %s; shards keep the last good version",
		              version->refused.msg);
	print_message("# %" PRIu32 " of %" PRIu32 " shards apply it",
	              got->acceptance.applied, got->acceptance.shards);
}

static enum pl_code show_content(struct config_get_cmd *get, struct config_got *got,
                                 struct pl_buf *out, struct pl_err *err)
{
	struct pl_json content;
	enum pl_code code;

	if (got->found.current_err.code != PL_OK)
		return pl_err_set(err, PL_INVALID,
		                  "%s; shards keep the last good version, see placet "
		                  "config history and rollback",
		                  got->found.current_err.msg);
	print_note(got);
	code = config_content(got->row.name, &got->found, get->arena, &content, err);
	return code == PL_OK ? pl_yaml_from_json(content, out, err) : code;
}

static enum pl_code show_row(struct config_get_cmd *get, struct config_got *got,
                             struct pl_buf *out, struct pl_err *err)
{
	const struct options *options = get->options;
	struct output_row row;
	struct output output;

	output_init(&output, &config_schema, options->format, false);
	if (got->row.version != NULL)
		got->row.content = got->row.version->config;
	if (config_row(&got->row, get->arena, &row) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "a configuration's row");
	if (options->format == OUTPUT_TABLE || options->format == OUTPUT_WIDE)
		return output_list(&output, &row, 1, out, err);
	return output_object(&output, &row, out, err);
}

static enum pl_code show_one(struct config_get_cmd *get, struct pl_buf *out,
                             struct pl_err *err)
{
	struct config_got got;
	enum pl_code code = read_config(get, get->name, &got, err);

	if (code != PL_OK)
		return code;
	return get->options->format_given ? show_row(get, &got, out, err)
	                                  : show_content(get, &got, out, err);
}

static enum pl_code show(struct config_get_cmd *get, struct pl_err *err)
{
	struct pl_buf out;
	enum pl_code code;

	pl_buf_init(&out, OUT_MAX);
	code = get->named ? show_one(get, &out, err) : show_all(get, &out, err);
	if (code == PL_OK)
		code = print_result(&out, err);
	pl_buf_done(&out);
	return code;
}

static enum pl_code get_ask(void *ctx, struct api_session *api, struct pl_err *err)
{
	struct config_get_cmd *get = ctx;
	struct pl_arena arena;
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	get->api = api;
	get->options = api->options;
	get->arena = &arena;
	code = show(get, err);
	pl_arena_done(&arena);
	return code;
}

static enum pl_code get_run(void *ctx, const struct cli_session *cli, struct pl_err *err)
{
	struct config_get_cmd *get = ctx;
	enum pl_code code =
		shards_session_open(&get->session, cli->session, SHARDS_VIEW_ROSTER, err);

	if (code != PL_OK)
		return code;
	get->cli = cli;
	get->options = cli->options;
	get->arena = &cli->session->arena;
	code = show(get, err);
	shards_session_close(&get->session);
	return code;
}

static const struct options_spec spec = {
	.words = "config get",
	.usage = "[NAME] [options]",
	.about =
		"Without a name: lists every configuration with its current version, whether\n"
		"that version passes its schema and how many shards apply it. With a name:\n"
		"prints its content as YAML, which config set -f accepts; its version and\n"
		"author go to stderr. With a name and -o: both in that format.\n",
	.help = "  --version N            version N instead of the current one\n",
	.example = "  placet config get\n"
		   "  placet config get coord >coord.yaml\n",
	.common = OPTIONS_OUTPUT | OPTIONS_API,
	.args_max = 1,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct config_get_cmd get = {0};

	return cli_session_run_either(&spec, argc, argv, get_run, get_ask, &get);
}

const struct command config_get_command = {.words = "config get",
                                           .summary = "show the configurations",
                                           .run = run_command,
                                           .spec = &spec};
