/*
 * The command line of a command: what it takes, its help, and what was given.
 *
 * A command describes itself once (struct options_spec); the options that many
 * have in common are known here: where the store is, --prefix, --output, --watch,
 * --yes, --dry-run, --why; and, for commands that can ask the API as well, where the API is.
 */
#ifndef COORD_CLI_SESSION_OPTIONS_H
#define COORD_CLI_SESSION_OPTIONS_H

#include "coord/cli/output/command.h"
#include "coord/cli/output/output.h"
#include "coord/cli/session/api_opts.h"
#include "coord/connect/store_opts.h"

/* Common options that a command has besides the store and --help. */
enum {
	OPTIONS_OUTPUT = 1,
	OPTIONS_WATCH = 2,
	OPTIONS_YES = 4,
	OPTIONS_DRY_RUN = 8,
	OPTIONS_WHY = 16,
	OPTIONS_OFFLINE = 32, /* the command talks to no store */
	OPTIONS_FORMAT = 64,  /* -o text or json: OUTPUT_TABLE or OUTPUT_JSON */
	OPTIONS_NAMES = 128,  /* with OPTIONS_OUTPUT: -o name too */
	OPTIONS_API = 256,    /* the command can ask the API instead of the store */
};

/* Values of a command's own options: val in struct option, or the short letter. */
enum { OPTIONS_OWN_FIRST = 1, OPTIONS_OWN_MAX = 16, OPTIONS_PREFIX_MAX = 128 };

struct options {
	struct store_opts store;
	struct api_opts api;
	bool via_api;       /* the API is asked, and not the store */
	const char *prefix; /* "": none */
	enum output_format format;
	bool format_given;
	bool watch;
	bool yes;
	bool dry_run;
	const char *why; /* "" */
	char **args;     /* that follow the options */
	unsigned arg_count;
};

struct options_spec {
	const char *words;   /* "shard drain" */
	const char *usage;   /* "<id> [options]" */
	const char *about;   /* sentences, each line ended */
	const char *help;    /* of its own options, a line each; NULL: none */
	const char *example; /* lines that may be typed, indented by two */
	const char *exits;   /* exit statuses; NULL: the usual ones */
	const char *
		of_store; /* why it does not ask the API: "the API ..."; NULL: not said */
	unsigned common;  /* OPTIONS_OUTPUT, ... */
	unsigned args_min, args_max;
	const struct option *own; /* ends with a NULL name; NULL: none */
	/* PL_INVALID: not a value for it. arg is NULL for one without. */
	enum pl_code (*take)(void *ctx, int opt, const char *arg, struct pl_err *err);
	/* Checks the arguments before anything is done; may be NULL. */
	enum pl_code (*check)(void *ctx, const struct options *options,
	                      struct pl_err *err);
};

/* False: there is nothing to run (help was printed, or a usage error), and the
 * status is in *exit_code. */
bool options_parse(const struct options_spec *spec, int argc, char **argv, void *ctx,
                   struct options *out, enum exit_code *exit_code);
void options_done(struct options *options);

enum { OPTIONS_LIST_MAX = 48 };

/* All options of a command, ended by one without a name. */
void options_list(const struct options_spec *spec, struct option out[OPTIONS_LIST_MAX]);

/* Called after getopt_long: "-o=json" means "-o json", as in kubectl, and not
 * "=json". given: the word that was just read. In a long option, or in a word of its
 * own, = is part of the value. */
void options_pass_equals(const char *given);

#endif
