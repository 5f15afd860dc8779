/*
 * placet config set: a new version of a configuration, from a file or from single
 * values; shown as what changes before it is written, and not written when it does
 * not pass its schema.
 */
#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/config/config_api.h"
#include "coord/cli/config/config_session.h"
#include "coord/cli/config/config_text.h"
#include "coord/cli/session/cli_session.h"

struct config_set_cmd {
	enum config_name name;
	const char *file; /* NULL: none */
	const struct options *options;
	struct pl_arena *arena;
	/* The store, or the API. */
	const struct cli_session *cli; /* NULL: the API */
	struct api_session *api;
};

static const struct option own[] = {
	{"filename", required_argument, NULL, 'f'},
	{NULL, 0, NULL, 0},
};

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct config_set_cmd *set = ctx;

	(void)err;
	PL_ASSERT(opt == 'f');
	set->file = arg;
	return PL_OK;
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	struct config_set_cmd *set = ctx;

	if (set->file == NULL && options->arg_count < 2)
		return pl_err_set(err, PL_INVALID, "want --filename, or path=value");
	if (set->file != NULL && options->arg_count > 1)
		return pl_err_set(err, PL_INVALID,
		                  "want --filename or path=value, not both");
	if (options->via_api && *options->why != 0)
		return pl_err_set(
			err, PL_INVALID,
			"--why: needs the store (--endpoints): the API takes no "
			"reason");
	return config_name_parse(pl_span_str(options->args[0]), &set->name, err);
}

struct config_set_versions {
	int64_t expect; /* -1: the current version can not be read, and is replaced */
	struct pl_json before;
	struct pl_json after;
};

/* A whole file may also replace a version that can not be read any more. */
static enum pl_code read_before(const struct config_set_cmd *set,
                                struct config_set_versions *out, struct pl_err *err)
{
	struct config_found found = {0};
	enum pl_code code =
		set->cli != NULL
			? config_session_read(set->cli->session, set->name, 0, &found,
	                                      err)
			: config_api_read(set->api, set->name, set->arena, &found, err);

	if (code == PL_OK && found.current_err.code != PL_OK) {
		*err = found.current_err;
		code = err->code;
	}
	out->expect = (int64_t)found.current;
	if (code == PL_INVALID && set->file != NULL) {
		*err = (struct pl_err){0};
		out->expect = -1;
		code = PL_OK;
	}
	if (code != PL_OK)
		return code;
	return config_content(set->name, &found, set->arena, &out->before, err);
}

static enum pl_code read_after(const struct config_set_cmd *set,
                               struct config_set_versions *versions, struct pl_err *err)
{
	struct pl_arena *arena = set->arena;
	const struct options *options = set->options;
	enum pl_code code = PL_OK;

	if (set->file != NULL)
		return config_text_read(set->file, arena, &versions->after, err);
	versions->after = versions->before;
	for (unsigned i = 1; i < options->arg_count && code == PL_OK; i++)
		code = config_text_set(versions->after, options->args[i], arena,
		                       &versions->after, err);
	return code;
}

static enum pl_code validate(const struct config_set_cmd *set,
                             const struct config_set_versions *versions,
                             struct pl_err *err)
{
	struct config_value value;
	enum pl_code code =
		config_parse(set->name, versions->after, set->arena, &value, err);

	return code == PL_OK ? PL_OK
	                     : pl_err_wrap(err, "refused, nothing was written: %s",
	                                   config_name_text(set->name));
}

static enum pl_code write_version(const struct config_set_cmd *set,
                                  const struct config_set_versions *versions,
                                  struct pl_err *err)
{
	struct config_session_edit edit = {.name = set->name,
	                                   .expect_version = versions->expect,
	                                   .why = set->options->why};
	uint64_t version = 0;
	enum pl_code code =
		config_text_print(versions->after, set->arena, &edit.config, err);

	if (code == PL_OK)
		code = set->cli != NULL
		               ? config_session_edit(set->cli->session, &edit, &version,
		                                     err)
		               : config_api_write(set->api, set->name, edit.config,
		                                  versions->expect, &version, err);
	if (code == PL_CONFLICT)
		return pl_err_set(
			err, code,
			"another writer changed %s at the same time and nothing was written; look at it and repeat this",
			config_name_text(set->name));
	if (code != PL_OK)
		return code;
	(void)printf("%s: version %" PRIu64 " is current\n", config_name_text(set->name),
	             version);
	return PL_OK;
}

static void print_unchanged(enum config_name name, int64_t version)
{
	if (version == 0)
		(void)printf("%s: unchanged, it is so by default\n",
		             config_name_text(name));
	else
		(void)printf("%s: unchanged, version %" PRId64 " is the same\n",
		             config_name_text(name), version);
}

static enum pl_code set_config(struct config_set_cmd *set, struct pl_err *err)
{
	struct config_set_versions versions;
	bool same = false;
	enum pl_code code = read_before(set, &versions, err);

	if (code == PL_OK)
		code = read_after(set, &versions, err);
	if (code == PL_OK)
		code = validate(set, &versions, err);
	if (code == PL_OK)
		code = config_print_diff(set->name, versions.before, versions.after,
		                         set->arena, err);
	if (code == PL_OK && versions.expect >= 0)
		code = config_content_same(set->name, versions.before, versions.after,
		                           set->arena, &same, err);
	if (code == PL_OK && same)
		print_unchanged(set->name, versions.expect);
	if (code != PL_OK || same || set->options->dry_run)
		return code;
	return write_version(set, &versions, err);
}

static enum pl_code set_run(void *ctx, const struct cli_session *cli, struct pl_err *err)
{
	struct config_set_cmd *set = ctx;

	set->cli = cli;
	set->options = cli->options;
	set->arena = &cli->session->arena;
	return set_config(set, err);
}

static enum pl_code set_ask(void *ctx, struct api_session *api, struct pl_err *err)
{
	struct config_set_cmd *set = ctx;
	struct pl_arena arena;
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	set->api = api;
	set->options = api->options;
	set->arena = &arena;
	code = set_config(set, err);
	pl_arena_done(&arena);
	return code;
}

static const struct options_spec spec = {
	.words = "config set",
	.usage = "NAME (-f FILE | path=value ...) [options]",
	.about =
		"Writes a new version of a configuration and makes it current, unless another\n"
		"writer did so at the same time. Prints what changes; when nothing changes, no\n"
		"version is written. With path=value the other values stay as they are (path=\n"
		"removes a value); with a file the file is the whole content, and fields that\n"
		"it leaves out have their defaults. Content that does not pass the schema is\n"
		"refused with the path of the field.\n",
	.help = "  -f, --filename FILE    JSON or YAML; - is standard input\n",
	.example =
		"  placet config set coord balancer.interval_ms=60000 handover_ms=500\n"
		"  placet config get coord | sed s/30000/60000/ | placet config set coord "
		"-f -\n"
		"  placet config set shards drain='[east-0, east-1]' --dry-run\n",
	.common = OPTIONS_DRY_RUN | OPTIONS_WHY | OPTIONS_API,
	.args_min = 1,
	.args_max = 64,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct config_set_cmd set = {0};

	return cli_session_run_either(&spec, argc, argv, set_run, set_ask, &set);
}

const struct command config_set_command = {.words = "config set",
                                           .summary = "change a configuration",
                                           .run = run_command,
                                           .spec = &spec};
