/* A store in memory on a thread and a port of its own, for as long as it is wanted. */
#ifndef COORD_UP_MEMSTORE_H
#define COORD_UP_MEMSTORE_H

#include <stdint.h>

#include "store/base/err.h"

struct memstore;

/* Serves when this returns. */
PL_NODISCARD enum pl_code memstore_start(uint16_t port, struct memstore **out,
                                         struct pl_err *err);
/* "http://127.0.0.1:40123" */
const char *memstore_endpoint(const struct memstore *store);
void memstore_stop(struct memstore *store);

#endif
