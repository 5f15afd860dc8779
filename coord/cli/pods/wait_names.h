/* The pods that a wait names, or that its files speak of. */
#ifndef COORD_CLI_PODS_WAIT_NAMES_H
#define COORD_CLI_PODS_WAIT_NAMES_H

#include "coord/cli/pods/pods_args.h"
#include "coord/cli/session/cli_session.h"
#include "store/base/map.h"
#include "store/keys/keys.h"

/* By "namespace/name". */
struct awaited_pod {
	struct pl_map_node node;
	uint64_t seen_us; /* there, and without a place; 0: never */
	uint32_t partition;
	bool there; /* the watch told of it */
	bool bound;
	uint8_t key[];
};

struct wait_names {
	struct pl_map map;
	bool in_partition[KEYS_PARTITIONS_MAX]; /* where they stand */
};

void wait_names_init(struct wait_names *names);
void wait_names_done(struct wait_names *names);

/* All of them; PL_NOTFOUND: one of the arguments is nowhere. */
PL_NODISCARD enum pl_code wait_names_read(struct wait_names *names,
                                          const struct cli_session *cli,
                                          const struct pods_args *given,
                                          struct pl_err *err);

/* NULL: it is none of them. */
struct awaited_pod *wait_names_find(const struct wait_names *names, struct pl_span key);

#endif
