/*
 * For tests of the HTTP server: a server whose answers depend on the path, and clients
 * that send any bytes, all on one loop.
 *
 *	/hello    200 "hello"
 *	/echo     200 with the request's body
 *	/none     204
 *	/big      200 with WEB_BIG bytes
 *	/stream   begins a stream; the test goes on with rig->last
 *	/feed     a stream of WEB_BIG bytes, as fast as on_room asks for them
 *	/later    nothing; the test answers rig->last
 *	else      404 "none"
 *
 * Invariant: rig->last is the exchange that was handed over last, NULL once it has gone.
 */
#ifndef TESTS_SUPPORT_STORE_NET_WEB_RIG_H
#define TESTS_SUPPORT_STORE_NET_WEB_RIG_H

#include "store/net/http_server.h"
#include "tests/harness/t.h"

enum { WEB_BIG = 4 << 20, WEB_TEXT = 1024 };

struct web_rig {
	uv_loop_t loop;
	struct http_server *server;
	struct tls_server *tls;
	struct http_exchange *last;
	struct http_blob *big;
	unsigned requests, gones, rooms;
	size_t fed, feed_to; /* by /feed; what it lets wait */
	bool closed;
	char line[WEB_TEXT]; /* "GET /path?query" of the last request */
	char subject[WEB_TEXT], host[WEB_TEXT];
	unsigned version;
	size_t body_len;
};

struct web_opts {
	struct http_server_limits limits;
	const char *cert_dir; /* with the files of certs_make(); NULL: clear text */
	bool gzip_local;
};

/* opts NULL: the defaults, in clear text. */
void web_open(struct web_rig *rig, const struct web_opts *opts);
/* False: no memory, and all is cleaned up. */
bool web_try_open(struct web_rig *rig, const struct web_opts *opts);
void web_close(struct web_rig *rig);
/* One turn of the loop, which blocks until something happens. */
void web_turn(struct web_rig *rig);
void web_counts(const struct web_rig *rig, struct http_server_counts *counts);

/* A client's memory does not come from pl_malloc(), so a failing allocation is the server's. */
struct web_client {
	uv_tcp_t tcp;
	uv_connect_t connect;
	uv_shutdown_t shutdown;
	struct web_rig *rig;
	char *got;
	size_t got_len, got_cap;
	bool connected, ended, reading;
};

struct web_client *web_connect(struct web_rig *rig);
void web_send(struct web_client *client, const void *bytes, size_t len);
void web_text(struct web_client *client, const char *text);
void web_reading(struct web_client *client, bool on);
/* Sends the client's end; the connection stays open for the answer. */
void web_finish(struct web_client *client);
/* Closes the connection. */
void web_leave(struct web_client *client);
/* Wait until the text has come, so many bytes have come, or the server has closed. The
 * text must not come after the end. */
void web_wait_text(struct web_client *client, const char *text);
void web_wait_len(struct web_client *client, size_t len);
void web_wait_end(struct web_client *client);
bool web_has(const struct web_client *client, const char *text);
/* Sends the text on a connection of its own and gives what came until the end. */
struct web_client *web_ask(struct web_rig *rig, const char *text);

#endif
