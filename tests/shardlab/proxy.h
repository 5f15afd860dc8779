/*
 * A TCP proxy between one process and the store, on loopback, whose directions can be
 * cut: bytes that are sent while it is cut stay in the kernel's buffers and arrive late,
 * when the cut heals, unless the connection was closed meanwhile.
 */
#ifndef TESTS_SHARDLAB_PROXY_H
#define TESTS_SHARDLAB_PROXY_H

#include <stdint.h>
#include <uv.h>

#include "store/base/err.h"

enum {
	PROXY_PASS = 0,
	PROXY_NO_REQUESTS = 1, /* no byte reaches the store */
	PROXY_NO_ANSWERS = 2,  /* no byte comes back */
	PROXY_NOTHING = 3,
	PROXY_URL_SIZE = 48,
};

struct proxy;

/* Listens on a free port; store_url names the store, on 127.0.0.1. TLS passes through:
 * the certificates are those of the store. */
PL_NODISCARD enum pl_code proxy_open(uv_loop_t *loop, const char *store_url,
                                     struct proxy **out, struct pl_err *err);
const char *proxy_url(const struct proxy *proxy);
void proxy_set(struct proxy *proxy, unsigned how);
/* Resets every connection. */
void proxy_break(struct proxy *proxy);
/* The proxy is gone when the loop has run. */
void proxy_close(struct proxy *proxy);

#endif
