/* Waits until pods are gone: neither spec nor state. */
#ifndef COORD_CLI_PODS_PODS_GONE_WAIT_H
#define COORD_CLI_PODS_PODS_GONE_WAIT_H

#include "coord/cli/session/cli_session.h"
#include "store/base/map.h"
#include "store/keys/keys.h"

struct pods_gone {
	struct pl_map left; /* by "namespace/name" */
	bool in_partition[KEYS_PARTITIONS_MAX];
	uint64_t total;
};

void pods_gone_init(struct pods_gone *gone);
void pods_gone_done(struct pods_gone *gone);
PL_NODISCARD enum pl_code pods_gone_add(struct pods_gone *gone, uint32_t partition,
                                        struct pl_span namespace, struct pl_span name,
                                        struct pl_err *err);
/* With a line of progress. timeout_ms 0: however long it takes; PL_TIMEOUT. */
PL_NODISCARD enum pl_code pods_gone_wait(struct pods_gone *gone,
                                         const struct cli_session *cli,
                                         uint64_t timeout_ms, struct pl_err *err);

#endif
