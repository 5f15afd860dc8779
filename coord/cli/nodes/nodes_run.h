/* A nodes run puts all nodes of a command through nodes_open, with a line of
 * progress at a terminal. */
#ifndef COORD_CLI_NODES_NODES_RUN_H
#define COORD_CLI_NODES_NODES_RUN_H

#include "coord/cli/output/progress.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/service/nodes/nodes.h"

enum { NODES_OUTCOMES = NODES_REFUSED + 1 };

struct nodes_run {
	enum nodes_verb verb;
	uint64_t total; /* for the progress; 0: not known */
	/* The callbacks of struct nodes_opts, called with ctx. */
	enum pl_code (*next)(void *ctx, struct nodes_item *out, bool *more,
	                     struct pl_err *err);
	void (*report)(void *ctx, const struct nodes_item *item,
	               enum nodes_outcome outcome, const struct pl_err *err);
	void *ctx;
	/* State of the run, and its results. */
	const struct cli_session *cli;
	uint64_t count[NODES_OUTCOMES], outcome_count;
	struct progress progress;
	struct cli_wait wait;
};

/* PL_OK: every node has an outcome; some may be refused. */
PL_NODISCARD enum pl_code nodes_run(struct nodes_run *run, const struct cli_session *cli,
                                    struct pl_err *err);

/* "created"; in a dry run "would be created". */
const char *nodes_run_word(const struct nodes_run *run, enum nodes_outcome outcome);

/* PL_CONFLICT, if some were refused. */
PL_NODISCARD enum pl_code nodes_run_verdict(const struct nodes_run *run,
                                            struct pl_err *err);

#endif
