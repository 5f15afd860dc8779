/*
 * What a server's header blocks say about a call: HTTP status, content type,
 * and at the end grpc-status with grpc-message.
 *
 * Pure but for the message text, which is copied.
 */
#ifndef STORE_NET_GRPC_REPLY_H
#define STORE_NET_GRPC_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"

enum { GRPC_TEXT_MAX = 4096 };

/* All zero: nothing heard yet. */
struct grpc_reply {
	char *text; /* owned; NULL: none, or there was no memory for it */
	uint32_t grpc_status;
	uint16_t http_status; /* 0: none yet; 1: one that is not a number */
	bool grpc_type;       /* content-type is application/grpc */
	bool has_status;
	bool bad_status; /* a grpc-status that is not a number, or two of them */
};

void grpc_reply_done(struct grpc_reply *reply);

void grpc_reply_header(struct grpc_reply *reply, struct pl_span name,
                       struct pl_span value);

/* Is this a gRPC server's answer so far? Asked when a header block is whole. */
PL_NODISCARD enum pl_code grpc_reply_check(const struct grpc_reply *reply,
                                           struct pl_err *err);

/* The same at the end of the call, when the status has to be there. */
PL_NODISCARD enum pl_code grpc_reply_end(const struct grpc_reply *reply,
                                         struct pl_err *err);

/* Undoes the percent-encoding. What is not properly encoded stays as it is;
 * control characters become spaces, for this ends up in logs. out gets a NUL and
 * is cut at size. Returns the length. */
size_t grpc_text_decode(struct pl_span in, char *out, size_t size);

#endif
