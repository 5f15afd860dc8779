/*
 * Interprets a gRPC status with etcd's text: which error it is, what became of the
 * request, and what to try next. One table, pure, no allocations.
 *
 * Invariant: maybe_applied is false only when the request certainly was not applied.
 */
#ifndef STORE_ETCD_STATUS_H
#define STORE_ETCD_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"
#include "store/net/grpc.h"

/* The next step that may help. A caller that retries waits first, longer each time. */
enum status_next {
	/* the answer is final: the request or the configuration is wrong */
	STATUS_GIVE_UP,
	STATUS_SAME,      /* retry, on any endpoint */
	STATUS_ELSEWHERE, /* retry, preferably on another endpoint */
	STATUS_TOKEN,     /* retry with a new token */
	STATUS_NO_TOKEN,  /* the server has no users: go on without a token */
};

struct status {
	enum pl_code code; /* PL_OK only for GRPC_OK */
	enum status_next next;
	/* A write may have been applied, or may be applied later. When false it certainly
	 * was not, and may be sent again. It is true for PL_NOSPACE: the write that
	 * crosses the quota while it is applied is kept and yet answered like this. By
	 * then the alarm is raised: a write that is sent after such an answer, with no
	 * success in between, is refused whole. */
	bool maybe_applied;
	uint32_t grpc; /* the status that came, or that a watch's reason names */
	/* A limit on what the server receives, in bytes, that the text mentions; 0: none.
	 * etcd's own limit on requests is 512 KiB below it. */
	uint64_t limit_bytes;
};

/* Interprets a call's trailers. text is grpc-message and is not trusted. */
struct status status_of(uint32_t grpc_status, struct pl_span text);

/* Interprets the reason of a canceled watch: empty (see compact_revision), plain text, or
 * "rpc error: code = PermissionDenied desc = ...". */
struct status status_of_reason(struct pl_span reason);

/* The status's name, "PermissionDenied"; NULL: gRPC has no such status. */
const char *status_grpc_name(uint32_t grpc_status);

/* Sets err to what happened, with the server's text (bounded, printable), and what to do
 * about it. A write that may have been applied is PL_UNKNOWN. Returns err's code.
 * status->code must not be PL_OK; text may be a watch's reason. */
enum pl_code status_err(const struct status *status, bool is_write, struct pl_span text,
                        struct pl_err *err);

#endif
