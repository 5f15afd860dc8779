/*
 * A server for metrics alone, for a process that serves no API: /metrics, and /livez and
 * /readyz for who keeps it running. Clear text, without credentials: it shows numbers and
 * names of clusters and namespaces, and belongs on a loopback or an operator's network.
 */
#ifndef COORD_METRICS_SCRAPE_SERVER_H
#define COORD_METRICS_SCRAPE_SERVER_H

#include "coord/introspect/health.h"
#include "coord/metrics/metrics_exporter.h"

struct scrape_server;

struct scrape_server_opts {
	const char *host;
	uint16_t port; /* 0: the kernel chooses */
	struct metrics_hub *hub;
	const char *version;
	/* The checks of the process, on the loop's thread; NULL: there are none. */
	struct health_checks (*checks)(void *ctx);
	void *ctx;
};

/* PL_EXISTS: the port is taken. */
PL_NODISCARD enum pl_code scrape_server_open(uv_loop_t *loop,
                                             const struct scrape_server_opts *opts,
                                             struct scrape_server **out,
                                             struct pl_err *err);
uint16_t scrape_server_port(const struct scrape_server *server);
/* The server's handles close with the loop's next turns, and then it is gone. */
void scrape_server_close(struct scrape_server *server);

#endif
