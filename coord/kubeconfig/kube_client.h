/*
 * A kube client sends requests to one Kubernetes API, with the credentials of a target,
 * and gives answers in Kubernetes' terms: an error is what the server's Status says.
 *
 * Invariants: calls are independent of each other; done comes exactly once for each
 * started call, never inside start or cancel. A token file is read again for each call, and
 * certificates for each new connection, so that rotated ones are used.
 */
#ifndef COORD_KUBECONFIG_KUBE_CLIENT_H
#define COORD_KUBECONFIG_KUBE_CLIENT_H

#include "coord/kubeconfig/target_files.h"
#include "store/base/buf.h"
#include "store/net/http.h"

struct kube_client;
struct kube_call;

/* The target is borrowed until the client is closed. */
PL_NODISCARD enum pl_code kube_client_open(uv_loop_t *loop,
                                           const struct kubeconfig_target *target,
                                           struct kube_client **out, struct pl_err *err);
/* Ends every call with PL_CANCELED, then calls closed, never inside it. */
void kube_client_close(struct kube_client *client, void (*closed)(void *ctx), void *ctx);

struct kube_request {
	const char *method;       /* NULL: GET */
	const char *path;         /* "/api/v1/pods?limit=500", escaped where needed */
	const char *content_type; /* of the body; NULL: application/json */
	struct pl_span body;      /* copied */
	uint64_t timeout_ms;      /* of the whole call; 0: 30 s; not of streams */
	uint64_t idle_ms;  /* of a stream, without a byte from the server; 0: no limit */
	size_t answer_max; /* bytes; 0: 64 MiB */
	/* Not NULL: the body of a good answer comes in pieces, until the server ends it. */
	void (*data)(void *ctx, struct pl_span piece);
	/* err NULL: a good answer (2xx), whose body is borrowed for the call. Otherwise the
	 * sentence of the server's Status, and its code: PL_NOTFOUND, PL_CONFLICT,
	 * PL_INVALID, PL_AUTH, PL_DENIED, PL_COMPACTED (410), PL_THROTTLED (429),
	 * PL_UNSUPPORTED (405, 406, 415), PL_TIMEOUT, PL_UNAVAIL, or those of http.h. */
	void (*done)(void *ctx, struct pl_span body, const struct pl_err *err);
	void *ctx;
};

/* *out (out may be NULL) is valid until done. */
PL_NODISCARD enum pl_code kube_call_start(struct kube_client *client,
                                          const struct kube_request *request,
                                          struct kube_call **out, struct pl_err *err);
void kube_call_cancel(struct kube_call *call);

/* Makes err of what a server answered with a status other than 2xx. */
enum pl_code kube_status_error(int status, struct pl_span body, struct pl_err *err);

/* Adds text to a path or a query, with everything escaped that is no letter, digit or one of
 * "-._~:". */
PL_NODISCARD enum pl_code kube_path_escape(struct pl_buf *path, struct pl_span text);

#endif
