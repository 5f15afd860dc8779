/*
 * For commands that wait for what shards do: says once, on stderr, that nobody is there
 * to do it, after nothing has moved for a while.
 *
 *	nobody_init; nobody_look each time that the loop ticks; nobody_cancel, and the
 *	loop has to run until it asks no more.
 */
#ifndef COORD_CLI_NOBODY_H
#define COORD_CLI_NOBODY_H

#include "coord/cli/out/progress.h"
#include "coord/cli/reach/reach.h"
#include "store/keys/keys.h"

enum { NOBODY_AFTER_MS = 3000 };

struct nobody_owners {
	bool has[KEYS_PARTITIONS_MAX];
	uint32_t without; /* KEYS_PARTITIONS_MAX: none was found */
};

bool nobody_is_owned(struct nobody_owners *owners, uint32_t partition);

struct nobody_opts {
	const struct reach *reach;
	struct progress *progress; /* its line is ended before something is said */
	const char *what;          /* "places pods": nobody does */
	/* Calls nobody_is_owned with each partition that something is waited for in,
	 * until it says false. */
	void (*each)(void *ctx, struct nobody_owners *owners);
	void *ctx;
};

struct nobody {
	struct nobody_opts opts;
	uint64_t moved, since_ms; /* when it was that much for the first time */
	struct kv_call *call;
	bool asks, said;
};

void nobody_init(struct nobody *nobody, const struct nobody_opts *opts, uint64_t now_ms);
/* moved: is another number when something of it has come about. */
void nobody_look(struct nobody *nobody, uint64_t now_ms, uint64_t moved);
void nobody_cancel(struct nobody *nobody);

/* Now, without waiting: a note when there is no shard at all. */
void nobody_note(const struct reach *reach, const char *what);

#endif
