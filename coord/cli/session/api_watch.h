/*
 * An API watch follows a resource: all objects, then each change, until the command has
 * enough. A stream that ends goes on from the last version; when that is gone, or the
 * server cannot be reached, everything is listed again.
 *
 *	begin; object each; end		all there is, at one revision
 *	object				a change
 *
 * Callbacks come from api_watch_run's own steps, and may ask the API themselves.
 */
#ifndef COORD_CLI_SESSION_API_WATCH_H
#define COORD_CLI_SESSION_API_WATCH_H

#include "coord/cli/session/api_session.h"

struct api_watch_opts {
	const char *path;     /* without a query */
	struct pl_span query; /* selectors; may be empty */
	void (*begin)(void *ctx);
	/* Borrows the object for the call. gone: its last state. */
	enum pl_code (*object)(void *ctx, struct pl_json object, bool gone,
	                       struct pl_err *err);
	enum pl_code (*end)(void *ctx, struct pl_err *err);
	/* The watch goes on. */
	void (*trouble)(void *ctx, const struct pl_err *err);
	void *ctx;
};

/* Goes on until a callback fails, which is the result, or the first list does. */
PL_NODISCARD enum pl_code api_watch_run(struct api_session *api,
                                        const struct api_watch_opts *opts,
                                        struct pl_err *err);

#endif
