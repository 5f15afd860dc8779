/* Wait unbound: some pods that a wait did not see bound, and why, from their states. */
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

/* False: the list is full. */
bool wait_unbound_add(struct wait_unbound *left, struct pl_span key, uint32_t partition);
/* Prints a line for each pod, and how many more of total there are. Pods that can
 * not be read are named without a reason. */
void wait_unbound_print(const struct wait_unbound *left, uint64_t total,
                        struct store_session *session);

#endif
