/*
 * What a command looks at: shards, owners and configurations, listed and watched
 * together, over one session. A command reads it once it is whole, or is told of
 * each change with --watch.
 */
#ifndef COORD_CLI_SHARDS_SHARDS_WATCH_H
#define COORD_CLI_SHARDS_SHARDS_WATCH_H

#include "coord/cli/session/store_session.h"
#include "coord/config/config_watch.h"
#include "coord/membership/roster.h"
#include "coord/service/shards/owners_watch.h"

enum { SHARDS_WATCH_ROSTER = 1, SHARDS_WATCH_OWNERS = 2, SHARDS_WATCH_CONFIG = 4 };

enum shards_watch_what {
	SHARDS_WATCH_ALL,     /* anything may be different */
	SHARDS_WATCH_SHARD,   /* name: the shard's id */
	SHARDS_WATCH_OWNER,   /* name: the key below /partitions/ */
	SHARDS_WATCH_TROUBLE, /* err; goes on trying */
};

struct shards_watch_note {
	enum shards_watch_what what;
	struct pl_span name;
	const struct pl_err *err;
};

typedef void shards_watch_fn(void *ctx, const struct shards_watch_note *note);

struct shards_watch {
	struct store_session *session;
	struct roster *roster; /* NULL: not wanted */
	struct owners_watch *owners;
	struct config_watch *config;
	unsigned synced;  /* SHARDS_WATCH_ROSTER, ... */
	unsigned running; /* those that have not stopped */
	unsigned wanted;
	bool whole; /* has been, once */
	bool failed;
	bool settled; /* whole, or failed */
	struct pl_err trouble;
	shards_watch_fn *fn; /* told once whole; may be NULL */
	void *ctx;
};

/* Waits until all that is wanted is there, or fails with what kept it away. The
 * scene must be closed only after PL_OK. */
PL_NODISCARD enum pl_code shards_watch_open(struct shards_watch *shards_watch,
                                            struct store_session *session,
                                            unsigned wanted, struct pl_err *err);
void shards_watch_close(struct shards_watch *shards_watch);

/* From here on fn is told. */
void shards_watch_follow(struct shards_watch *shards_watch, shards_watch_fn *fn,
                         void *ctx);

#endif
