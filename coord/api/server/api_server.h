/*
 * The API server: Kubernetes' API over one kv, on one loop.
 *
 *	STARTING --/placet/meta, informers synced--> SERVING --api_server_stop--> STOPPING
 *
 *	http_server --> api_server (who, which path) --> request (verbs)
 *	                   `--> discovery, version, health, openapi
 *
 * Invariants:
 *  - It listens from the beginning, and answers 503 until its informers have the content
 *    of the store, so that no client takes an empty list for the truth.
 *  - Every request but those for health is one of a known client, who may do what it asks
 *    for (api_call.h).
 *  - A stop ends watches, lets writes under way end, and cuts what is left after
 *    stop_ms.
 */
#ifndef COORD_API_SERVER_API_SERVER_H
#define COORD_API_SERVER_API_SERVER_H

#include <uv.h>

#include "coord/access/audit/audit_log.h"
#include "coord/api/verbs/request.h"
#include "coord/introspect/health.h"
#include "store/base/json_out.h"
#include "store/kv/kv.h"
#include "store/net/http_server.h"

struct api_server;
struct metric_set;

/* The process behind the server, beside the API. Called on the API's loop; all may be
 * zero. */
struct api_server_process {
	struct health_checks checks;
	const char *name; /* "placetd" */
	/* Writes one value: the options in force. */
	void (*config)(void *ctx, struct pl_json_out *out);
	/* Appends lines "name: value". */
	PL_NODISCARD enum pl_code (*status)(void *ctx, struct pl_buf *out);
	void *ctx;
};

struct api_server_opts {
	struct kv *kv; /* driven by the loop; outlives the server */
	const char *host;
	uint16_t port;          /* 0: the kernel chooses */
	struct tls_server *tls; /* NULL: clear text */
	/* Finds out who clients are. Functions NULL: every client is identity_local(). */
	struct request_identifier identifier;
	struct audit_log *audit;          /* NULL: none; outlives the server */
	bool audit_reads;                 /* reads are written to it, too */
	struct http_server_limits limits; /* zeros: the defaults */
	uint64_t stop_ms;                 /* 0: 5 s */
	/* Events that clients report, in all and in a namespace; 0: event_store.h's. */
	uint32_t events_max, events_in_namespace_max;
	uint64_t seed;       /* of generated names; 0: by the time */
	const char *version; /* of Placet */
	struct api_server_process process;
	void (*ready)(void *ctx); /* SERVING; may be NULL */
	void *ctx;
	/* Answers a scrape of /metrics, now or later; gone: that exchange, or another that
	 * is no request for an object, is over. NULL: there is no such path. */
	struct {
		void (*serve)(void *ctx, struct http_exchange *exchange);
		void (*gone)(void *ctx, const struct http_exchange *exchange);
		void *ctx;
	} metrics;
};

/* PL_EXISTS: the port is taken. */
PL_NODISCARD enum pl_code api_server_open(uv_loop_t *loop,
                                          const struct api_server_opts *opts,
                                          struct api_server **out, struct pl_err *err);
uint16_t api_server_port(const struct api_server *server);
/* Puts what the API counts into a set of the table's metrics. */
void api_server_collect(struct api_server *server, struct metric_set *set);
/* closed is called later, once; the server is gone then. */
void api_server_stop(struct api_server *server, void (*closed)(void *ctx), void *ctx);

#endif
