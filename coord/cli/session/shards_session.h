/*
 * A shards session is a shards view for a command, which waits until the view is whole,
 * and then reads it or follows its changes with --watch.
 */
#ifndef COORD_CLI_SESSION_SHARDS_SESSION_H
#define COORD_CLI_SESSION_SHARDS_SESSION_H

#include "coord/cli/session/store_session.h"
#include "coord/service/shards/shards_view.h"

struct shards_session {
	struct store_session *session;
	struct shards_view view;
	bool settled, stopped; /* the view is whole, or has failed; it has stopped */
	struct pl_err trouble; /* the last one before it was whole */
	shards_view_fn *fn;    /* gets changes; may be NULL */
	void *ctx;
};

/* Waits until all that is wanted is there, or fails with what kept it away. To be closed
 * only after PL_OK. */
PL_NODISCARD enum pl_code shards_session_open(struct shards_session *shards,
                                              struct store_session *session,
                                              unsigned wanted, struct pl_err *err);
void shards_session_close(struct shards_session *shards);

/* From here on fn gets changes and trouble. */
void shards_session_follow(struct shards_session *shards, shards_view_fn *fn, void *ctx);

#endif
