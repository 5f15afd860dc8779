/* A store in memory, served on a port from a thread of its own. */
#ifndef COORD_UP_MEMSTORE_H
#define COORD_UP_MEMSTORE_H

#include <stdint.h>

#include "store/base/err.h"

struct memstore;

/* The port is served when this returns. */
PL_NODISCARD enum pl_code memstore_start(uint16_t port, struct memstore **out,
                                         struct pl_err *err);
/* "http://127.0.0.1:40123" */
const char *memstore_endpoint(const struct memstore *store);
void memstore_stop(struct memstore *store);

#endif
