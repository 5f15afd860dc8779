/* Between the two halves of nghttp2's side of a session. */
#ifndef STORE_NET_GRPC_H2_H
#define STORE_NET_GRPC_H2_H

#include "store/net/grpc_session.h"

void grpc_h2_out_callbacks(nghttp2_session_callbacks *cbs);

/* NULL: the call has ended, or there never was one. */
static inline struct grpc_call *grpc_h2_call(nghttp2_session *h2, int32_t stream_id)
{
	return nghttp2_session_get_stream_user_data(h2, stream_id);
}

#endif
