/* Pods that are named on a command line, and those that its files speak of. */
#ifndef COORD_CLI_PODS_NAMED_H
#define COORD_CLI_PODS_NAMED_H

#include "coord/cli/pods/pods_given.h"
#include "coord/cli/reach/reach.h"

typedef enum pl_code pods_named_fn(void *ctx, uint32_t partition, struct pl_span space,
                                   struct pl_span name, struct pl_err *err);

/* Each with the partition that it stands in, until fn fails: those of the files, where
 * they will be, then the names, where they are. absent counts names that are nowhere;
 * NULL: such a one is PL_NOTFOUND. */
PL_NODISCARD enum pl_code pods_named_each(const struct reach *reach,
                                          const struct pods_given *given,
                                          pods_named_fn *fn, void *ctx, uint64_t *absent,
                                          struct pl_err *err);

#endif
