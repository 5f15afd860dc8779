/* The store as the command line names it, and whether it is one of Placet's. */
#ifndef COORD_CLI_REACH_H
#define COORD_CLI_REACH_H

#include "coord/cli/reach/options.h"
#include "coord/cli/reach/store_session.h"
#include "coord/meta/meta.h"

struct reach {
	struct store_session *session; /* every key below the root prefix */
	const struct options *options;
	struct meta meta;
	struct pl_span meta_text; /* as it stands there, in the session's arena */
	int64_t meta_mod_revision;
};

/* What a command does there. An error is said by reach_run. */
typedef enum pl_code reach_fn(void *ctx, const struct reach *reach, struct pl_err *err);

/* All of a command: its options, the store, what it does, what went wrong. */
enum exit_code reach_run(const struct options_spec *spec, int argc, char **argv,
                         reach_fn *fn, void *ctx);

enum { REACH_WHO_SIZE = 128 };

/* "ann@host", for what is kept with a version. */
const char *reach_who(char out[REACH_WHO_SIZE]);

#endif
