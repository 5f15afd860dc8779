/*
 * The inside of an HTTP server, shared by its files.
 *
 *	http_server.c           the port, the limits, the end
 *	http_server_conn.c      a connection: bytes in, states
 *	http_server_time.c      deadlines
 *	http_server_out.c       bytes out, callbacks that wait for them
 *	http_server_exchange.c  a request and its answer
 *	http_server_answer.c    answers as the user gives them
 *	http_server_h1.c        HTTP/1.1
 *	http_server_h2.c        HTTP/2, received; http_server_h2_out.c, sent
 *
 * A connection:
 *
 *	SHAKING --TLS: agreed--> SNIFFING, H1 or H2
 *	SNIFFING --first bytes--> H1 or H2
 *	H1, H2 --the last answer is queued--> ENDING (sends what is queued, then its end)
 *	any --http_conn_fail()--> FAILED --the next flush--> CLOSED
 *
 * An exchange:
 *
 *	RECEIVING --whole--> WAITING --head--> STREAMING --end--> ENDED
 *	                        `-----------whole answer-----------^ `--framed--> DONE
 *
 * Invariants: user callbacks come from the flush (on_gone, on_room) or while bytes are
 * read (on_request), never inside a call of the user's. A connection is closed by the
 * flush only. What an exchange has in its connection's queue is counted in wired; the
 * exchange's memory stays until that is 0, whatever happened to the exchange.
 */
#ifndef STORE_NET_HTTP_SERVER_INT_H
#define STORE_NET_HTTP_SERVER_INT_H

#include <nghttp2/nghttp2.h>

#include "store/base/buf.h"
#include "store/base/list.h"
#include "store/net/http_gzip.h"
#include "store/net/http_queue.h"
#include "store/net/http_reader.h"
#include "store/net/http_server.h"
#include "store/net/loop_timers.h"
#include "store/net/tls_peer.h"

enum {
	HTTP_INPUT_SIZE = 64 * 1024,
	HTTP_OUT_HIGH = 256 * 1024, /* more in a connection's queue: no new frames */
	HTTP_PACK_SLICE = 128 * 1024,
	HTTP_PEER_SIZE = 56, /* "[IPv6]:port" */
	HTTP_DATE_SIZE = 32,
	HTTP_FLOOD_BURST = 1000, /* HTTP/2 frames that only cost */
	HTTP_FLOOD_PER_S = 100,
};

enum http_conn_state {
	HTTP_CONN_SHAKING,
	HTTP_CONN_SNIFFING,
	HTTP_CONN_H1,
	HTTP_CONN_H2,
	HTTP_CONN_ENDING,
	HTTP_CONN_FAILED,
	HTTP_CONN_CLOSED,
};

enum http_exchange_state {
	HTTP_EXCHANGE_RECEIVING,
	HTTP_EXCHANGE_WAITING,
	HTTP_EXCHANGE_STREAMING,
	HTTP_EXCHANGE_ENDED,
	HTTP_EXCHANGE_DONE,
};

/* An answer that is packed while it is sent. */
struct http_pack {
	struct http_gzip *gzip;
	struct http_blob *body;
	size_t at;
};

struct http_exchange {
	struct pl_list link;    /* of conn->exchanges */
	struct pl_list timed;   /* of conn->receiving or conn->sending */
	struct pl_list leaving; /* of conn->leaving */
	struct pl_list room;    /* of conn->rooms */
	struct pl_list packing; /* of conn->packing */
	struct http_conn *conn;
	struct http_request request;
	void *user;
	struct http_field field; /* of every head; name empty: none */
	int status;              /* of the answer; 0: none yet */
	struct pl_buf body;
	struct http_gzip *gunzip;
	struct http_pack *pack;
	struct http_queue queue; /* bytes of the answer that are not framed yet */
	size_t wired;            /* bytes in conn->out */
	uint64_t since_ms;       /* of the list timed */
	int32_t stream;          /* HTTP/2; 0: none any more */
	enum http_exchange_state state;
	bool handed; /* on_request was called, so on_gone is due */
	bool gone;
	bool cut;
	bool watched; /* the end of the client's bytes is the client's end */
	bool full;    /* on_room is due when bytes have left */
	bool is_head, accepts_gzip, old; /* old: HTTP/1.0 */
	bool keep_alive, chunked;
	bool body_asked; /* wants_body was, if there is one */
	struct http_field fields[];
};

/* Where an HTTP/2 client's bytes are within a frame. */
struct http_frame_track {
	uint8_t head[9];
	uint8_t have;  /* bytes of head */
	bool open;     /* a block of fields has not ended */
	uint32_t left; /* bytes of the payload */
};

struct http_conn {
	struct pl_list link, dirty;
	struct http_server *server;
	uv_tcp_t tcp;
	uv_shutdown_t shutdown;
	struct tls_peer *tls;
	nghttp2_session *h2;
	struct pl_list exchanges, receiving, sending, leaving, rooms, packing;
	struct http_exchange *current; /* HTTP/1: the one that is not framed whole */
	struct http_exchange *framing; /* HTTP/2: whose frame is being written */
	struct pl_buf in;              /* bytes that are not parsed yet; HTTP/2: fields */
	struct http_reader reader;
	struct http_queue out;
	struct pl_timer timer;
	uint64_t began_ms; /* a head (or handshake) that is not whole; 0: none */
	uint64_t idle_ms;  /* since when there is no exchange */
	uint64_t wire_ms;  /* when the kernel last took bytes */
	uint64_t ended_ms; /* when the end was sent; 0: not yet */
	uint64_t flood_ms; /* when tokens were counted */
	size_t flight_len; /* bytes that libuv has */
	size_t flight_seen;
	uint32_t flood_tokens;
	struct http_frame_track track;     /* HTTP/2 */
	uint32_t field_count, field_bytes; /* HTTP/2: of the block being read */
	enum http_conn_state state;
	bool last;                 /* no request is taken any more */
	bool eof;                  /* the client has sent its end */
	bool reading;              /* uv_read_start() */
	bool is_local;             /* the peer is on this machine */
	bool trailers;             /* HTTP/2: the block being read is no request */
	struct tls_client *client; /* NULL: no client certificate */
	uint64_t client_loads;     /* when the client was verified (tls_server_loads) */
	char peer[HTTP_PEER_SIZE];
};

struct http_server {
	uv_loop_t *loop;
	uv_tcp_t tcp;
	uv_prepare_t before;
	uv_check_t after;
	uv_idle_t soon;   /* active while a connection is dirty */
	uv_tcp_t refused; /* takes a connection for which there is no memory */
	bool refusing, refuse_more;
	bool tls_stale; /* changed certificates did not load */
	struct loop_timers timers;
	struct tls_server *tls;
	struct http_server_limits limits;
	struct http_server_fns fns;
	void *ctx;
	bool gzip_local;
	struct pl_list conns, dirty;
	struct http_pool pool;
	struct http_server_counts counts;
	size_t bodies;             /* bytes of bodies that are held */
	size_t pending;            /* bytes that wait to be sent */
	struct pl_buf cipher;      /* of the TLS connection at work */
	struct pl_buf text;        /* of the head or object at work */
	struct pl_buf packed;      /* of the slice at work */
	struct http_field *fields; /* of the head at work: limits.fields */
	nghttp2_session_callbacks *h2_callbacks;
	nghttp2_option *h2_option;
	unsigned handles; /* open ones, connections included */
	bool listening, stopping, closing, released;
	void (*closed)(void *ctx);
	void *closed_ctx;
	int64_t date_s;
	char date[HTTP_DATE_SIZE];
	uint8_t input[HTTP_INPUT_SIZE], plain[HTTP_INPUT_SIZE];
};

/* -- http_server.c ------------------------------------------------------------------ */

/* The time for a Date field, "Sat, 28 Nov 2026 09:05:13 GMT". */
const char *http_server_date(struct http_server *server);
/* The loop comes round without blocking. */
void http_server_wake(struct http_server *server);
void http_server_handle_closed(struct http_server *server);
/* Closes the server's own handles once it is closing and has no connection. */
void http_server_release(struct http_server *server);

/* -- http_server_conn.c --------------------------------------------------------------- */

/* Takes the connection that waits at server->tcp. */
void http_conn_accept(struct http_server *server);
/* Loads changed files of TLS, and verifies the client again if there were some. */
void http_conn_verify(struct http_conn *conn);
/* The connection has something to do when the loop comes round. */
void http_conn_touch(struct http_conn *conn);
void http_conn_fail(struct http_conn *conn);
/* The client sends no more. */
void http_conn_eof(struct http_conn *conn);
/* No further request; what is queued leaves, then the connection's end. */
void http_conn_end(struct http_conn *conn);
void http_conn_close(struct http_conn *conn); /* in the flush only */
/* Starts or stops reading, as the state wants it. */
void http_conn_read(struct http_conn *conn, bool on);
/* No new requests: at once, or after what runs. */
void http_conn_stop(struct http_conn *conn);

/* -- http_server_time.c --------------------------------------------------------------- */

/* When the connection has to be looked at; UINT64_MAX: never. */
uint64_t http_conn_deadline(const struct http_conn *conn);
void http_conn_arm(struct http_conn *conn);
void http_conn_on_timer(void *ctx);

/* -- http_server_out.c ------------------------------------------------------------------ */

/* Moves what the connection has queued; may close the connection. */
void http_conn_flush(struct http_conn *conn);
/* Sends what TLS has put into server->cipher. False: the connection is lost. */
PL_NODISCARD bool http_conn_send_cipher(struct http_conn *conn);

/* Adds framing of an exchange to conn->out. */
PL_NODISCARD bool http_out_frame(struct http_exchange *exchange, struct pl_span bytes);
/* Moves the first len bytes of the exchange's queue to conn->out. */
PL_NODISCARD bool http_out_move(struct http_exchange *exchange, size_t len);

/* -- http_server_exchange.c ------------------------------------------------------------- */

/* bytes: what head's spans point into; copied. NULL: no memory. */
struct http_exchange *http_exchange_new(struct http_conn *conn,
                                        const struct http_head *head,
                                        struct pl_span bytes);
/* Adds to the request's body. False: it was refused and answered. */
bool http_exchange_add_body(struct http_exchange *exchange, struct pl_span bytes);
/* The request is whole: it is the user's now, or refused. */
void http_exchange_hand(struct http_exchange *exchange);
/* Answers with a Status object. */
void http_exchange_refuse(struct http_exchange *exchange, struct http_fault fault);
/* A request that is not even an exchange is answered so. */
void http_conn_refuse(struct http_conn *conn, struct http_fault fault);
/* Everything of the answer is framed, or dropped. */
void http_exchange_done(struct http_exchange *exchange);
/* Gives the answer up at the next flush. */
void http_exchange_drop(struct http_exchange *exchange);
/* Calls on_gone; frees the exchange, at once or once nothing of it is wired. */
void http_exchange_gone(struct http_exchange *exchange);
void http_exchange_free(struct http_exchange *exchange);
/* The exchange moves to the end of conn->receiving or conn->sending, with the time. */
void http_exchange_time(struct http_exchange *exchange, struct pl_list *list);
void http_exchange_untime(struct http_exchange *exchange);
/* Bytes have left conn->out. */
void http_exchange_left(struct http_exchange *exchange, size_t len);

/* -- http_server_answer.c ------------------------------------------------------------- */

struct http_answer_head {
	int status;
	const struct http_field *fields;
	size_t count;
	uint64_t length;     /* of the body */
	bool has_length;     /* false: the body is streamed */
	bool packed;         /* Content-Encoding: gzip */
	struct pl_span tail; /* HTTP/1: bytes that go out behind the head */
};

/* Packs the next slice of an answer of the connection, if one is packed. */
void http_conn_pack(struct http_conn *conn);
void http_pack_free(struct http_exchange *exchange);

/* -- http_server_h1.c, http_server_h2.c ------------------------------------------------- */

/* Takes bytes; data may be empty, to go on with what was kept. */
void http_h1_input(struct http_conn *conn, struct pl_span data);
PL_NODISCARD bool http_h1_answer(struct http_exchange *exchange,
                                 const struct http_answer_head *head);
/* Frames what the current exchange has. */
PL_NODISCARD bool http_h1_pump(struct http_conn *conn);

PL_NODISCARD bool http_h2_setup(struct http_server *server);
PL_NODISCARD bool http_h2_open(struct http_conn *conn);
void http_h2_input(struct http_conn *conn, struct pl_span data);
/* A frame that only costs has come or gone. */
void http_h2_spend(struct http_conn *conn);
void http_h2_out_callbacks(nghttp2_session_callbacks *callbacks);
PL_NODISCARD bool http_h2_answer(struct http_exchange *exchange,
                                 const struct http_answer_head *head);
/* Without memory in nghttp2 the connection is lost. */
void http_h2_must(struct http_conn *conn, int rc);
void http_h2_resume(struct http_exchange *exchange);
void http_h2_goaway(struct http_conn *conn);
/* Resets the stream, if there is one, and forgets the exchange. */
void http_h2_detach(struct http_exchange *exchange, uint32_t error);
PL_NODISCARD bool http_h2_pump(struct http_conn *conn);

#endif
