/*
 * A wire between one process and the store, on loopback, that can be cut: what is sent
 * while it is cut stays in the kernel's buffers, and arrives, late, when it is mended,
 * unless the connection was given up meanwhile.
 */
#ifndef TESTS_SHARDLAB_CUTTER_H
#define TESTS_SHARDLAB_CUTTER_H

#include <stdint.h>
#include <uv.h>

#include "store/base/err.h"

enum {
	CUTTER_PASS = 0,
	CUTTER_NO_REQUESTS = 1, /* nothing reaches the store */
	CUTTER_NO_ANSWERS = 2,  /* it is reached, and not heard */
	CUTTER_NOTHING = 3,
	CUTTER_URL_SIZE = 48,
};

struct cutter;

/* Listens on a free port; store_url names the store, on 127.0.0.1. TLS passes through:
 * the certificates are those of the store. */
PL_NODISCARD enum pl_code cutter_open(uv_loop_t *loop, const char *store_url,
                                      struct cutter **out, struct pl_err *err);
const char *cutter_url(const struct cutter *cutter);
void cutter_set(struct cutter *cutter, unsigned how);
/* Every connection is reset. */
void cutter_break(struct cutter *cutter);
/* It is gone when the loop has run. */
void cutter_close(struct cutter *cutter);

#endif
