/*
 * A server that offers a kv on a port with etcd's v3 API, so that any client of etcd can
 * use it. Over a memory store it makes a store for a first try, which needs no etcd and
 * keeps nothing when it ends.
 *
 * The server has KV, Watch, Lease and Maintenance.Status. It has no users, no members and
 * no TLS.
 */
#ifndef STORE_SERVE_SERVE_H
#define STORE_SERVE_SERVE_H

#include <uv.h>

#include "store/kv/kv.h"

struct serve;

struct serve_opts {
	const char *host; /* an address; NULL: 127.0.0.1 */
	uint16_t port;    /* 0: any free port */
	/* Opens a kv for one connection, on the same loop (such as memkv_session). */
	enum pl_code (*session)(void *ctx, struct kv **out, struct pl_err *err);
	void *ctx;
};

/* PL_EXISTS: the port is taken. */
PL_NODISCARD enum pl_code serve_open(uv_loop_t *loop, const struct serve_opts *opts,
                                     struct serve **out, struct pl_err *err);
uint16_t serve_port(const struct serve *serve);
/* closed is called when every session has been closed. */
void serve_close(struct serve *serve, void (*closed)(void *ctx), void *ctx);

#endif
