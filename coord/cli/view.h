/*
 * What a command looks at: shards, owners and configurations, listed and watched
 * together, over one session. A command reads it once it is whole, or is told of
 * each change with --watch.
 */
#ifndef COORD_CLI_VIEW_H
#define COORD_CLI_VIEW_H

#include "coord/cli/owners.h"
#include "coord/cli/store_session.h"
#include "coord/config/config_watch.h"
#include "coord/member/roster.h"

enum { VIEW_ROSTER = 1, VIEW_OWNERS = 2, VIEW_CONFIG = 4 };

enum view_what {
	VIEW_ALL,     /* anything may be different */
	VIEW_SHARD,   /* name: the shard's id */
	VIEW_OWNER,   /* name: the key below /partitions/ */
	VIEW_TROUBLE, /* err; goes on trying */
};

struct view_note {
	enum view_what what;
	struct pl_span name;
	const struct pl_err *err;
};

typedef void view_fn(void *ctx, const struct view_note *note);

struct view {
	struct store_session *session;
	struct roster *roster; /* NULL: not wanted */
	struct owners *owners;
	struct config_watch *config;
	unsigned synced;  /* VIEW_ROSTER, ... */
	unsigned running; /* those that have not stopped */
	unsigned wanted;
	bool whole; /* has been, once */
	bool failed;
	bool settled; /* whole, or failed */
	struct pl_err trouble;
	view_fn *fn; /* told once whole; may be NULL */
	void *ctx;
};

/* Waits until all that is wanted is there, or fails with what kept it away. The
 * view must be closed only after PL_OK. */
PL_NODISCARD enum pl_code view_open(struct view *view, struct store_session *session,
                                    unsigned wanted, struct pl_err *err);
void view_close(struct view *view);

/* From here on fn is told. */
void view_follow(struct view *view, view_fn *fn, void *ctx);

#endif
