/* Between the two halves of nghttp2's side of a session. */
#ifndef STORE_NET_GRPC_H2_H
#define STORE_NET_GRPC_H2_H

#include "store/net/grpc_session.h"

void grpc_h2_out_callbacks(nghttp2_session_callbacks *cbs);

/* NULL: the call has ended, or there never was one. A user who closes the connection
 * inside on_message ends its calls while nghttp2 is still at work on what came
 * behind: that is nobody's any more. */
static inline struct grpc_call *grpc_h2_call(nghttp2_session *h2, int32_t stream_id)
{
	struct grpc_call *call = nghttp2_session_get_stream_user_data(h2, stream_id);

	return call == NULL || call->state == GRPC_CALL_ENDED ? NULL : call;
}

#endif
