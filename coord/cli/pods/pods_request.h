/* A pods request is a command that removes pods: those that are named, in files, all
 * of a namespace, or with some labels. */
#ifndef COORD_CLI_PODS_PODS_REQUEST_H
#define COORD_CLI_PODS_PODS_REQUEST_H

#include "coord/cli/input/pods_args.h"
#include "coord/cli/pods/pods_gone_wait.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/service/input/label_query.h"
#include "coord/service/pods/pod_list.h"
#include "coord/service/pods/pod_remove.h"

enum {
	PODS_REQUEST_FORCE = OPTIONS_OWN_FIRST,
	PODS_REQUEST_WAIT,
	PODS_REQUEST_TIMEOUT,
	PODS_REQUEST_ALL,
	PODS_REQUEST_IGNORE,
	PODS_REQUEST_PAST,
	PODS_REQUEST_SELECTOR = 'l',
	PODS_REQUEST_EVERYWHERE = 'A',
	PODS_REQUEST_ARGS_MAX = 10000,
};

/* The options that choose pods, for the table of an options_spec. */
#define PODS_REQUEST_OPTIONS                                                    \
	PODS_ARGS_OPTIONS, {"all", no_argument, NULL, PODS_REQUEST_ALL},        \
		{"selector", required_argument, NULL, PODS_REQUEST_SELECTOR},   \
		{"all-namespaces", no_argument, NULL, PODS_REQUEST_EVERYWHERE}, \
		{"force", no_argument, NULL, PODS_REQUEST_FORCE},               \
		{"timeout", required_argument, NULL, PODS_REQUEST_TIMEOUT},     \
	{                                                                       \
		"ignore-not-found", no_argument, NULL, PODS_REQUEST_IGNORE      \
	}

#define PODS_REQUEST_HELP                                                            \
	"  -f, --filename PATH    as for placet submit\n"                            \
	"  -n, --namespace NAME   of names without a namespace (default default)\n"  \
	"  --all                  every pod of that namespace\n"                     \
	"  -l, --selector LABELS  pods of that namespace with labels, as app=web,\n" \
	"                         tier!=db or 'track in (a,b)'\n"                    \
	"  -A, --all-namespaces   with -l: in every namespace\n"

struct pods_request {
	enum pod_request_verb verb;
	const char
		*words[POD_REQUEST_MALFORMED + 1]; /* by outcome; NULL: it is a failure */
	const char *question;                      /* "Delete" */
	bool wait;
	/* Set from the options. */
	struct pods_args given;
	struct label_query query; /* none: not by labels */
	bool ignore_absent, force, all, everywhere, past_budgets;
	uint64_t timeout_ms;
	/* While it goes on. */
	const struct cli_session *cli;
	struct pod_input pod_input;
	struct pod_list *found; /* of --all and labels */
	size_t next;            /* of the arguments, or of what was found */
	struct pods_gone gone;
	uint64_t absent, left, withheld;
	struct pl_err err;
	struct cli_wait wait_end;
};

PL_NODISCARD enum pl_code pods_request_take(void *ctx, int opt, const char *arg,
                                            struct pl_err *err);
PL_NODISCARD enum pl_code pods_request_check(void *ctx, const struct options *options,
                                             struct pl_err *err);
/* Runs the whole command. api: with the API, of a command that can; ctx is the job. */
enum exit_code pods_request_run(struct pods_request *job, const struct options_spec *spec,
                                api_session_fn *api, int argc, char **argv);

#endif
