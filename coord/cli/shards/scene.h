/*
 * What a command looks at: shards, owners and configurations, listed and watched
 * together, over one session. A command reads it once it is whole, or is told of
 * each change with --watch.
 */
#ifndef COORD_CLI_SCENE_H
#define COORD_CLI_SCENE_H

#include "coord/cli/reach/store_session.h"
#include "coord/cli/shards/owners.h"
#include "coord/config/config_watch.h"
#include "coord/member/roster.h"

enum { SCENE_ROSTER = 1, SCENE_OWNERS = 2, SCENE_CONFIG = 4 };

enum scene_what {
	SCENE_ALL,     /* anything may be different */
	SCENE_SHARD,   /* name: the shard's id */
	SCENE_OWNER,   /* name: the key below /partitions/ */
	SCENE_TROUBLE, /* err; goes on trying */
};

struct scene_note {
	enum scene_what what;
	struct pl_span name;
	const struct pl_err *err;
};

typedef void scene_fn(void *ctx, const struct scene_note *note);

struct scene {
	struct store_session *session;
	struct roster *roster; /* NULL: not wanted */
	struct owners *owners;
	struct config_watch *config;
	unsigned synced;  /* SCENE_ROSTER, ... */
	unsigned running; /* those that have not stopped */
	unsigned wanted;
	bool whole; /* has been, once */
	bool failed;
	bool settled; /* whole, or failed */
	struct pl_err trouble;
	scene_fn *fn; /* told once whole; may be NULL */
	void *ctx;
};

/* Waits until all that is wanted is there, or fails with what kept it away. The
 * scene must be closed only after PL_OK. */
PL_NODISCARD enum pl_code scene_open(struct scene *scene, struct store_session *session,
                                     unsigned wanted, struct pl_err *err);
void scene_close(struct scene *scene);

/* From here on fn is told. */
void scene_follow(struct scene *scene, scene_fn *fn, void *ctx);

#endif
