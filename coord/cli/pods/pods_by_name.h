/* The pods that a command line names, and the pods in its files. */
#ifndef COORD_CLI_PODS_PODS_BY_NAME_H
#define COORD_CLI_PODS_PODS_BY_NAME_H

#include "coord/cli/input/pods_args.h"
#include "coord/cli/session/cli_session.h"

typedef enum pl_code pods_by_name_fn(void *ctx, uint32_t partition,
                                     struct pl_span namespace, struct pl_span name,
                                     struct pl_err *err);

/* Calls fn with each pod and the partition of its schedule, until fn fails: first
 * the pods of the files, where they will be, then the named ones, where they are.
 * absent counts names that do not exist; NULL: such a name is PL_NOTFOUND. */
PL_NODISCARD enum pl_code pods_by_name_each(const struct cli_session *cli,
                                            const struct pods_args *given,
                                            pods_by_name_fn *fn, void *ctx,
                                            uint64_t *absent, struct pl_err *err);

#endif
