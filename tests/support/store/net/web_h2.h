/* For tests of the HTTP server: an HTTP/2 client of nghttp2 on a web_client, in clear
 * text. Raw frames can be sent beside it. */
#ifndef TESTS_SUPPORT_STORE_NET_WEB_H2_H
#define TESTS_SUPPORT_STORE_NET_WEB_H2_H

#include <nghttp2/nghttp2.h>

#include "tests/support/store/net/web_rig.h"

enum { WEB_H2_STREAMS = 4096 };

struct web_h2_stream {
	int status;
	size_t len; /* of the answer's body */
	bool closed;
	uint32_t error;
	char body[64]; /* the first bytes */
};

struct web_h2 {
	struct web_client *client;
	nghttp2_session *session;
	size_t fed;
	struct web_h2_stream streams[WEB_H2_STREAMS];
	bool away;
	uint32_t away_error;
	struct pl_span body; /* of the next request */
	size_t body_at;
	bool body_open; /* the body has no end yet */
};

struct web_h2_opts {
	uint32_t window; /* of a stream; 0: the standard's, or none with no_window */
	bool no_window;  /* windows are never opened again */
};

struct web_h2 *web_h2_open(struct web_rig *rig, const struct web_h2_opts *opts);
/* Leaves, too. */
void web_h2_close(struct web_h2 *h2);
/* field: one more, NULL: none. Returns the stream. */
int32_t web_h2_ask(struct web_h2 *h2, const char *method, const char *path,
                   const char *field, const char *value);
struct web_h2_stream *web_h2_stream(struct web_h2 *h2, int32_t id);
/* Sends what the client has and takes what has come. */
void web_h2_step(struct web_h2 *h2);
void web_h2_wait(struct web_h2 *h2, int32_t id); /* until the stream is closed */
void web_h2_wait_end(struct web_h2 *h2);         /* until the connection is */

#endif
