/* Whom a wait did not see bound, and why, as far as their states tell. */
#ifndef COORD_CLI_WAIT_LEFT_H
#define COORD_CLI_WAIT_LEFT_H

#include "coord/cli/reach/store_session.h"
#include "store/keys/keys.h"

enum { WAIT_LEFT_MAX = 10 };

struct wait_left {
	struct wait_left_pod {
		uint32_t partition;
		size_t len;
		uint8_t key[KEYS_SIZE_MAX]; /* "namespace/name" */
	} pod[WAIT_LEFT_MAX];
	unsigned count;
};

/* False: there is no room for another one. */
bool wait_left_add(struct wait_left *left, struct pl_span key, uint32_t partition);
/* A line each, and how many more of total there are. What can not be read is not told. */
void wait_left_say(const struct wait_left *left, uint64_t total,
                   struct store_session *session);

#endif
