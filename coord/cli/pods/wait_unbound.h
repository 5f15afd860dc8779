/* Whom a wait did not see bound, and why, as far as their states tell. */
#ifndef COORD_CLI_PODS_WAIT_UNBOUND_H
#define COORD_CLI_PODS_WAIT_UNBOUND_H

#include "coord/cli/session/store_session.h"
#include "store/keys/keys.h"

enum { WAIT_UNBOUND_MAX = 10 };

struct wait_unbound {
	struct wait_unbound_pod {
		uint32_t partition;
		size_t len;
		uint8_t key[KEYS_SIZE_MAX]; /* "namespace/name" */
	} pod[WAIT_UNBOUND_MAX];
	unsigned count;
};

/* False: there is no room for another one. */
bool wait_unbound_add(struct wait_unbound *left, struct pl_span key, uint32_t partition);
/* A line each, and how many more of total there are. What can not be read is not told. */
void wait_unbound_print(const struct wait_unbound *left, uint64_t total,
                        struct store_session *session);

#endif
