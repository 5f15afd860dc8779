/*
 * The kv interface over etcd v3: gRPC on nghttp2 and libuv.
 *
 * Three connections: one for calls, one for watches, one for keep-alives, so
 * that neither bulk nor a stopped server delays the others. Each is moved to
 * another endpoint when its own fails.
 */
#ifndef STORE_ETCD_ETCD_H
#define STORE_ETCD_ETCD_H

#include <uv.h>

#include "store/base/err.h"
#include "store/kv/kv.h"
#include "store/net/tls.h"

enum { ETCD_ENDPOINTS_MAX = 16 };

struct etcd_opts {
	/* "http://10.0.0.1:2379,https://etcd-2.example:2379": all http or all https. */
	const char *endpoints;
	struct tls_files tls; /* https only */
	const char *user;     /* NULL: no authentication */
	const char *password;
	uint32_t connect_timeout_ms; /* 0: 2000 */
	size_t inflight_bytes_max;   /* 0: 64 MiB of requests not yet answered */
	size_t watch_message_max;    /* 0: 1 GiB */
	uint64_t seed;               /* for jitter; 0: from the operating system */
	/* NULL, or told of each connection for calls that could not be made or is lost:
	 * err names the endpoint. Never inside etcd_open(); may not close the kv. */
	void (*on_down)(void *ctx, const struct pl_err *err);
	void *ctx;
};

/* What the client has seen, for metrics and tests. */
struct etcd_stats {
	uint64_t calls, retries, reconnects, failovers, timeouts, unknown;
	uint64_t watch_resumes, watch_events, watch_messages;
	uint64_t bytes_in, bytes_out, tokens;
};

/* Checks the options and starts connecting; nothing of the network is waited
 * for. The kv is the caller's until kv_close() has called back. */
PL_NODISCARD enum pl_code etcd_open(uv_loop_t *loop, const struct etcd_opts *opts,
                                    struct kv **out, struct pl_err *err);

struct etcd_stats etcd_stats(const struct kv *kv);

#endif
