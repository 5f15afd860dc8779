/*
 * A kv for others, on a port, with etcd's v3 API: whoever speaks to etcd can speak to it.
 * With a memkv behind it that is a store for a first try, which needs no etcd; it keeps
 * nothing when it ends.
 *
 * KV, Watch, Lease and Maintenance.Status; no users, no members, in clear text.
 */
#ifndef STORE_SERVE_SERVE_H
#define STORE_SERVE_SERVE_H

#include <uv.h>

#include "store/kv/kv.h"

struct serve;

struct serve_opts {
	const char *host; /* an address; NULL: 127.0.0.1 */
	uint16_t port;    /* 0: a free one */
	/* A kv of its own for each connection, on the same loop: memkv_session. */
	enum pl_code (*session)(void *ctx, struct kv **out, struct pl_err *err);
	void *ctx;
};

/* PL_EXISTS: the port is taken. */
PL_NODISCARD enum pl_code serve_open(uv_loop_t *loop, const struct serve_opts *opts,
                                     struct serve **out, struct pl_err *err);
uint16_t serve_port(const struct serve *serve);
/* closed comes when every session has been closed. */
void serve_close(struct serve *serve, void (*closed)(void *ctx), void *ctx);

#endif
