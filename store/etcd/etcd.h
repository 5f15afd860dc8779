/*
 * The kv interface over etcd v3: gRPC on nghttp2 and libuv.
 *
 * Invariants: a client has three channels, one each for calls, watches and keep-alives,
 * so that neither large answers nor a stopped server delays the others. Each moves to
 * another endpoint when its own fails. All callbacks come from the loop.
 */
#ifndef STORE_ETCD_ETCD_H
#define STORE_ETCD_ETCD_H

#include <uv.h>

#include "store/base/err.h"
#include "store/kv/kv.h"
#include "store/net/tls.h"

enum { ETCD_ENDPOINTS_MAX = 16 };

struct etcd_opts {
	/* Comma separated: "http://10.0.0.1:2379,https://etcd-2.example:2379"; all http
	 * or all https. */
	const char *endpoints;
	struct tls_files tls; /* https only */
	const char *user;     /* NULL: no authentication */
	const char *password;
	uint32_t connect_timeout_ms; /* 0: 2000 */
	/* bytes of requests that are not answered yet; 0: 64 MiB */
	size_t inflight_bytes_max;
	size_t watch_message_max; /* bytes of one watch message; 0: 1 GiB */
	uint64_t seed;            /* seed of the jitter; 0: random */
	/* Called for each connection for calls that could not be made or is lost; err
	 * names the endpoint. Never inside etcd_open(); may not close the kv. May be
	 * NULL. */
	void (*on_down)(void *ctx, const struct pl_err *err);
	void *ctx;
};

/* Counters for metrics and tests. */
struct etcd_stats {
	uint64_t calls, retries, reconnects, failovers, timeouts, unknown;
	uint64_t watch_resumes, watch_events, watch_messages;
	uint64_t bytes_in, bytes_out, tokens;
};

/* Checks the options and starts to connect; it does not wait for the network. The kv is
 * the caller's until kv_close() has called back. */
PL_NODISCARD enum pl_code etcd_open(uv_loop_t *loop, const struct etcd_opts *opts,
                                    struct kv **out, struct pl_err *err);

struct etcd_stats etcd_stats(const struct kv *kv);

#endif
