/* Waiting until pods are gone, with a line of progress and a note when no shard works. */
#ifndef COORD_CLI_PODS_PODS_GONE_WAIT_H
#define COORD_CLI_PODS_PODS_GONE_WAIT_H

#include "coord/cli/session/cli_session.h"
#include "coord/service/pods/pods_gone.h"

/* timeout_ms 0: however long it takes. PL_TIMEOUT: some are still there. */
PL_NODISCARD enum pl_code pods_gone_wait(struct pods_gone *gone,
                                         const struct cli_session *cli,
                                         uint64_t timeout_ms, struct pl_err *err);

#endif
