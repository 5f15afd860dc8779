/* A CLI session is the store that the command line names, with its /placet/meta. */
#ifndef COORD_CLI_SESSION_CLI_SESSION_H
#define COORD_CLI_SESSION_CLI_SESSION_H

#include "coord/cli/session/api_session.h"
#include "coord/cli/session/options.h"
#include "coord/cli/session/store_session.h"
#include "coord/meta/meta.h"
#include "coord/service/base/service.h"

struct cli_session {
	struct store_session *session; /* every key below the root prefix */
	const struct options *options;
	struct service service; /* for operations of coord/service */
	struct meta meta;
	struct pl_span meta_text; /* as it stands there, in the session's arena */
	int64_t meta_mod_revision;
};

/* The work of a command on the store. cli_session_run prints its error. */
typedef enum pl_code cli_session_fn(void *ctx, const struct cli_session *cli,
                                    struct pl_err *err);

/* Runs a whole command: its options, the store, fn, and the error. */
enum exit_code cli_session_run(const struct options_spec *spec, int argc, char **argv,
                               cli_session_fn *fn, void *ctx);

/* The same of a command with OPTIONS_API: fn with the store, or api_fn with the API. */
enum exit_code cli_session_run_either(const struct options_spec *spec, int argc,
                                      char **argv, cli_session_fn *fn,
                                      api_session_fn *api_fn, void *ctx);

#endif
