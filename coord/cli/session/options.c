#include "coord/cli/session/options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coord/cli/output/message.h"

enum {
	OPT_PREFIX = API_OPT_LAST + 1,
	OPT_YES,
	OPT_DRY_RUN,
	OPT_WHY,
	OPTIONS_OWN_COUNT_MAX = 16,
	LETTERS_SIZE = 32,
};

struct common_option {
	unsigned flag; /* 0: every command that talks to a store has it */
	struct option option;
	const char *help;
};

static const struct common_option commons[] = {
	{OPTIONS_OUTPUT,
         {"output", required_argument, NULL, 'o'},
         "  -o, --output FORMAT    table, wide, json or yaml (default table)\n"},
	{OPTIONS_NAMES,
         {"output", required_argument, NULL, 'o'},
         "  -o, --output FORMAT    table, wide, json, yaml or name (default table)\n"},
	{OPTIONS_FORMAT,
         {"output", required_argument, NULL, 'o'},
         "  -o, --output FORMAT    text or json (default text)\n"},
	{OPTIONS_WATCH,
         {"watch", no_argument, NULL, 'w'},
         "  -w, --watch            go on and print every change\n"},
	{OPTIONS_DRY_RUN,
         {"dry-run", no_argument, NULL, OPT_DRY_RUN},
         "  --dry-run              say what would change, and change nothing\n"},
	{OPTIONS_WHY,
         {"why", required_argument, NULL, OPT_WHY},
         "  --why TEXT             kept with the new version\n"},
	{OPTIONS_YES,
         {"yes", no_argument, NULL, OPT_YES},
         "  -y, --yes              do it without a question\n"},
	{0,
         {"prefix", required_argument, NULL, OPT_PREFIX},
         "  --prefix PREFIX        in front of every key, when an etcd is shared\n"
         "                         (PLACET_PREFIX; default none)\n"},
};

enum { COMMON_COUNT = sizeof commons / sizeof commons[0] };

static bool has_common(const struct options_spec *spec,
                       const struct common_option *common)
{
	if (common->flag == OPTIONS_OUTPUT && (spec->common & OPTIONS_NAMES) != 0)
		return false; /* -o has another help text */
	return common->flag == 0 ? (spec->common & OPTIONS_OFFLINE) == 0
	                         : (spec->common & common->flag) != 0;
}

/* The command's own options go before the common ones. */
static bool has_own_option(const struct options_spec *spec, const char *name)
{
	for (const struct option *own = spec->own; own != NULL && own->name != NULL;
	     own++)
		if (strcmp(own->name, name) == 0)
			return true;
	return false;
}

static void print_help(const struct options_spec *spec)
{
	bool online = (spec->common & OPTIONS_OFFLINE) == 0;

	(void)printf("usage: placet %s %s\n\n%s\n", spec->words, spec->usage,
	             spec->about);
	if (spec->help != NULL)
		(void)printf("%s", spec->help);
	for (unsigned i = 0; i < COMMON_COUNT; i++)
		if (has_common(spec, &commons[i]))
			(void)printf("%s", commons[i].help);
	(void)printf(
		"%s%s%s  -h, --help\n\n"
		"%s"
		"Example:\n%s\n"
		"Exit status: %s.\n",
		(spec->common & OPTIONS_API) != 0 ? api_opts_help : "",
		online ? store_opts_help : "",
		online && !has_own_option(spec, "timeout") ? store_opts_timeout_help : "",
		online && (spec->common & OPTIONS_API) == 0
			? "It talks to the store, and not to the API.\n\n"
			: "",
		spec->example,
		spec->exits != NULL ? spec->exits : "0 done, 1 failed, 2 wrong usage");
}

void options_list(const struct options_spec *spec, struct option out[OPTIONS_LIST_MAX])
{
	static const struct option store[] = {STORE_OPTS_LONG};
	static const struct option api[] = {API_OPTS_LONG};
	unsigned count = 0;

	/* The first of two options with one name is found. */
	for (const struct option *own = spec->own; own != NULL && own->name != NULL;
	     own++) {
		PL_ASSERT(count < OPTIONS_OWN_COUNT_MAX && own->val < STORE_OPT_FIRST);
		out[count++] = *own;
	}
	if ((spec->common & OPTIONS_OFFLINE) == 0) {
		memcpy(out + count, store, sizeof store);
		count += sizeof store / sizeof store[0];
	}
	/* Commands of the store alone know them to refuse them: "--server" would be
	 * short for "--server-name". */
	if ((spec->common & OPTIONS_OFFLINE) == 0) {
		memcpy(out + count, api, sizeof api);
		count += sizeof api / sizeof api[0];
	}
	out[count++] = (struct option){"help", no_argument, NULL, 'h'};
	for (unsigned i = 0; i < COMMON_COUNT; i++)
		if (has_common(spec, &commons[i]))
			out[count++] = commons[i].option;
	out[count] = (struct option){0};
}

static enum pl_code prefix_set(struct options *out, const char *arg, struct pl_err *err)
{
	if (strlen(arg) > OPTIONS_PREFIX_MAX)
		return pl_err_set(err, PL_INVALID, "--prefix: longer than %d bytes",
		                  OPTIONS_PREFIX_MAX);
	if (*arg != 0 && (arg[0] != '/' || arg[strlen(arg) - 1] == '/'))
		return pl_err_set(err, PL_INVALID,
		                  "--prefix %s: want it to begin with / and not to end "
		                  "with one",
		                  arg);
	out->prefix = arg;
	return PL_OK;
}

static enum pl_code format_set(const struct options_spec *spec, struct options *out,
                               const char *arg, struct pl_err *err)
{
	out->format_given = true;
	if ((spec->common & OPTIONS_FORMAT) == 0)
		return output_format_parse(arg, (spec->common & OPTIONS_NAMES) != 0,
		                           &out->format, err);
	out->format = strcmp(arg, "json") == 0 ? OUTPUT_JSON : OUTPUT_TABLE;
	if (out->format == OUTPUT_TABLE && strcmp(arg, "text") != 0)
		return pl_err_set(err, PL_INVALID, "--output %s: want text or json", arg);
	return PL_OK;
}

static enum pl_code set_option(const struct options_spec *spec, void *ctx, int opt,
                               struct options *out, struct pl_err *err)
{
	switch (opt) {
	case 'o':
		return format_set(spec, out, optarg, err);
	case 'w':
		out->watch = true;
		return PL_OK;
	case 'y':
	case OPT_YES:
		out->yes = true;
		return PL_OK;
	case OPT_DRY_RUN:
		out->dry_run = true;
		return PL_OK;
	case OPT_WHY:
		out->why = optarg;
		return PL_OK;
	case OPT_PREFIX:
		return prefix_set(out, optarg, err);
	default:
		if (opt >= STORE_OPT_FIRST && opt <= STORE_OPT_LAST)
			return store_opts_set(&out->store, opt, optarg, err);
		if (opt >= API_OPT_FIRST && opt <= API_OPT_LAST) {
			api_opts_set(&out->api, opt, optarg);
			return PL_OK;
		}
		return spec->take(ctx, opt, optarg, err);
	}
}

/* An own option whose val is a letter has that letter as its short form. */
static void find_letters(const struct options_spec *spec, char out[LETTERS_SIZE])
{
	size_t len;

	(void)snprintf(out, LETTERS_SIZE, ":h%s%s%s",
	               (spec->common & (OPTIONS_OUTPUT | OPTIONS_FORMAT)) != 0 ? "o:"
	                                                                       : "",
	               (spec->common & OPTIONS_WATCH) != 0 ? "w" : "",
	               (spec->common & OPTIONS_YES) != 0 ? "y" : "");
	len = strlen(out);
	for (const struct option *own = spec->own; own != NULL && own->name != NULL;
	     own++) {
		if (!isalpha(own->val))
			continue;
		PL_ASSERT(len + 3 <= LETTERS_SIZE);
		out[len++] = (char)own->val;
		if (own->has_arg != no_argument)
			out[len++] = ':';
		out[len] = 0;
	}
}

static bool is_own(const struct options_spec *spec, int opt)
{
	for (const struct option *own = spec->own; own != NULL && own->name != NULL;
	     own++)
		if (own->val == opt)
			return true;
	return false;
}

static enum pl_code parse_options(const struct options_spec *spec, int argc, char **argv,
                                  void *ctx, struct options *out, bool *help,
                                  struct pl_err *err)
{
	struct option all[OPTIONS_LIST_MAX];
	char letters[LETTERS_SIZE];
	int opt;

	find_letters(spec, letters);
	options_list(spec, all);
	opterr = 0;
	while ((opt = getopt_long(argc, argv, letters, all, NULL)) != -1) {
		if (opt == 'h') {
			*help = true;
			return PL_OK;
		}
		if (opt == '?' || opt == ':')
			return pl_err_set(err, PL_INVALID, "%s '%s'",
			                  opt == ':' ? "a value is missing after"
			                             : "no option",
			                  argv[optind - 1]);
		options_pass_equals(argv[optind - 1]);
		if ((is_own(spec, opt) ? spec->take(ctx, opt, optarg, err)
		                       : set_option(spec, ctx, opt, out, err)) != PL_OK)
			return err->code;
	}
	return PL_OK;
}

static enum pl_code parse_args(const struct options_spec *spec, int argc, char **argv,
                               struct options *out, struct pl_err *err)
{
	out->args = argv + optind;
	out->arg_count = (unsigned)(argc - optind);
	if (out->arg_count < spec->args_min)
		return pl_err_set(err, PL_INVALID, "want %s", spec->usage);
	if (out->arg_count > spec->args_max)
		return pl_err_set(err, PL_INVALID, "'%s' is too much: want %s",
		                  out->args[spec->args_max], spec->usage);
	return PL_OK;
}

/* A file name alone does not show that it could not be read. */
static bool names_watched(const struct options *options, struct pl_err *err)
{
	if (!options->watch || options->format != OUTPUT_NAME)
		return false;
	(void)pl_err_set(err, PL_INVALID, "--output name: does not go with --watch");
	return true;
}

/* Reads the environment about the store. */
static enum pl_code store_init(const struct options_spec *spec, struct options *out,
                               struct pl_err *err)
{
	const char *prefix = getenv("PLACET_PREFIX");
	enum pl_code code;

	if ((spec->common & OPTIONS_OFFLINE) != 0)
		return PL_OK;
	code = store_opts_init(&out->store, err);
	return code == PL_OK ? prefix_set(out, prefix == NULL ? "" : prefix, err) : code;
}

/* Decides between the API and the store. A plugin of kubectl never falls back to the
 * default store. */
static enum pl_code choose_side(const struct options_spec *spec, struct options *out,
                                struct pl_err *err)
{
	if ((spec->common & OPTIONS_OFFLINE) != 0)
		return PL_OK;
	if ((spec->common & OPTIONS_API) != 0)
		return api_opts_choose(&out->api, &out->store, &out->via_api, err);
	if (api_opts_given(&out->api) || (api_opts_is_plugin() && out->store.by_default))
		return pl_err_set(err, PL_INVALID,
		                  "talks to the store, and not to the API%s%s: name the "
		                  "store with --endpoints or PLACET_ENDPOINTS",
		                  spec->of_store == NULL ? "" : ", because ",
		                  spec->of_store == NULL ? "" : spec->of_store);
	return PL_OK;
}

void options_pass_equals(const char *given)
{
	if (optarg != NULL && optarg != given && given[0] == '-' && given[1] != '-' &&
	    *optarg == '=')
		optarg++;
}

bool options_parse(const struct options_spec *spec, int argc, char **argv, void *ctx,
                   struct options *out, enum exit_code *exit_code)
{
	struct pl_err err = {0};
	bool help = false;

	*out = (struct options){.prefix = "", .why = ""};
	if (store_init(spec, out, &err) == PL_OK &&
	    parse_options(spec, argc, argv, ctx, out, &help, &err) == PL_OK && !help &&
	    parse_args(spec, argc, argv, out, &err) == PL_OK &&
	    !names_watched(out, &err) && choose_side(spec, out, &err) == PL_OK &&
	    (spec->check == NULL || spec->check(ctx, out, &err) == PL_OK))
		return true;
	*exit_code = EXIT_OK;
	if (help)
		print_help(spec);
	else
		*exit_code = print_usage_error(spec->words, &err);
	options_done(out);
	return false;
}

void options_done(struct options *options)
{
	store_opts_done(&options->store);
}
