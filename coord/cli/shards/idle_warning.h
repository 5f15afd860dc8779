/*
 * An idle warning is for commands that wait for shards: it prints once, on stderr, that
 * no shard does the work, after nothing has moved for a while.
 *
 *	idle_warning_init; idle_warning_look at each tick; idle_warning_stop
 */
#ifndef COORD_CLI_SHARDS_IDLE_WARNING_H
#define COORD_CLI_SHARDS_IDLE_WARNING_H

#include "coord/cli/output/progress.h"
#include "coord/cli/session/cli_session.h"
#include "store/keys/keys.h"

enum { IDLE_WARNING_AFTER_MS = 3000 };

struct idle_owners {
	bool has[KEYS_PARTITIONS_MAX];
	uint32_t without; /* KEYS_PARTITIONS_MAX: none was found */
};

bool idle_owner_is_known(struct idle_owners *owners, uint32_t partition);

struct idle_warning_opts {
	const struct cli_session *cli;
	struct progress *progress; /* the progress line is ended before the warning */
	const char *what;          /* the consequence: "pods are not placed" */
	/* Calls idle_owner_is_known with each partition that is waited for, until
	 * that returns false. */
	void (*each)(void *ctx, struct idle_owners *owners);
	void *ctx;
};

struct idle_warning {
	struct idle_warning_opts opts;
	uint64_t moved, since_ms; /* when moved had its present value first */
	struct kv_call *call;
	bool asks, said;
};

void idle_warning_init(struct idle_warning *idle_warning,
                       const struct idle_warning_opts *opts, uint64_t now_ms);
/* moved: a number that changes whenever something is done. */
void idle_warning_look(struct idle_warning *idle_warning, uint64_t now_ms,
                       uint64_t moved);
/* Waits for the read under way; nothing is printed any more. */
void idle_warning_stop(struct idle_warning *idle_warning);

/* Prints at once, without waiting, when there is no shard at all. */
void idle_warning_note(const struct cli_session *cli, const char *what);

#endif
