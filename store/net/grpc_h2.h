/* Glue between nghttp2 and a session, shared by grpc_h2.c (receiving) and grpc_h2_out.c
 * (sending). */
#ifndef STORE_NET_GRPC_H2_H
#define STORE_NET_GRPC_H2_H

#include "store/net/grpc_session.h"

void grpc_h2_out_callbacks(nghttp2_session_callbacks *cbs);

/* The call of a stream; NULL when the call has ended or there never was one. A user that
 * closes the connection inside on_message ends its calls while nghttp2 still processes
 * the bytes behind that message: these belong to no call any more. */
static inline struct grpc_call *grpc_h2_call(nghttp2_session *h2, int32_t stream_id)
{
	struct grpc_call *call = nghttp2_session_get_stream_user_data(h2, stream_id);

	return call == NULL || call->state == GRPC_CALL_ENDED ? NULL : call;
}

#endif
