/*
 * The contents of a server's header blocks for a call: the HTTP status, the content type,
 * and at the end grpc-status with grpc-message.
 *
 * Pure, except that the message text is copied to the heap. Nothing that a server sends
 * is trusted: numbers are checked, texts are bounded.
 */
#ifndef STORE_NET_GRPC_REPLY_H
#define STORE_NET_GRPC_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"

enum { GRPC_TEXT_MAX = 4096 };

/* All zero: no header came yet. */
struct grpc_reply {
	char *text; /* grpc-message, owned; NULL: none, or no memory for it */
	uint32_t grpc_status;
	uint16_t http_status; /* 0: none yet; 1: not a number */
	bool grpc_type;       /* the content-type is application/grpc */
	bool has_status;
	bool bad_status; /* grpc-status is not a number, or came twice */
};

void grpc_reply_done(struct grpc_reply *reply);

void grpc_reply_header(struct grpc_reply *reply, struct pl_span name,
                       struct pl_span value);

/* Whether this is a gRPC server's answer so far; called when a header block is complete.
 * PL_UNAVAIL: a proxy refused. PL_PROTO: not gRPC. */
PL_NODISCARD enum pl_code grpc_reply_check(const struct grpc_reply *reply,
                                           struct pl_err *err);

/* The same at the end of the call, when grpc-status must have come. */
PL_NODISCARD enum pl_code grpc_reply_end(const struct grpc_reply *reply,
                                         struct pl_err *err);

/* Undoes the percent-encoding of grpc-message. Sequences that are not properly encoded
 * stay; control characters become spaces, because the text ends up in logs. out is cut at
 * size and ends with a NUL. Returns the length. */
size_t grpc_text_decode(struct pl_span in, char *out, size_t size);

#endif
