/*
 * The exporter: answers scrapes, on one loop.
 *
 *	IDLE --a scrape--> ASKED --all sources have answered, or METRICS_PATIENCE_MS--> IDLE
 *
 * Scrapes that come while sources are asked are answered with the others, so however many
 * clients scrape, the threads are asked once at a time. A client that goes while it waits
 * must be told of (metrics_exporter_gone).
 */
#ifndef COORD_METRICS_METRICS_EXPORTER_H
#define COORD_METRICS_METRICS_EXPORTER_H

#include <uv.h>

#include "coord/metrics/metrics_hub.h"
#include "store/net/http_server.h"

struct metrics_exporter;

/* version: of Placet; borrowed. PL_NOMEM, PL_IO. */
PL_NODISCARD enum pl_code metrics_exporter_open(uv_loop_t *loop, struct metrics_hub *hub,
                                                const char *version,
                                                struct metrics_exporter **out,
                                                struct pl_err *err);
/* Answers the exchange, now or later. */
void metrics_exporter_serve(struct metrics_exporter *exporter,
                            struct http_exchange *exchange);
/* Nothing is answered to that exchange any more. Others' exchanges are passed over. */
void metrics_exporter_gone(struct metrics_exporter *exporter,
                           const struct http_exchange *exchange);
/* No exchange waits any more (the server is closed). closed comes later, once. */
void metrics_exporter_close(struct metrics_exporter *exporter, void (*closed)(void *ctx),
                            void *ctx);

#endif
