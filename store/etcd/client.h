/*
 * The inside of an etcd client, shared by its parts:
 *
 *   etcd.c       the kv interface, opening and closing
 *   channel      a connection that is re-made (one each for calls, watches, leases)
 *   auth         the token, and its renewal
 *   limits       the server's limits, probed on the first connection
 *   calls        unary calls: queue, deadline, retry by class of error
 *   watches      all watches on one stream
 *   keepalives   all keep-alives on one stream
 *
 * Invariants: the parts reach each other through struct client only. No user callback
 * runs inside a kv function. After etcd_close() every call and watch ends, then the
 * client is freed.
 */
#ifndef STORE_ETCD_CLIENT_H
#define STORE_ETCD_CLIENT_H

#include "store/base/arena.h"
#include "store/base/rng.h"
#include "store/etcd/channel.h"
#include "store/etcd/etcd.h"
#include "store/etcd/status.h"
#include "store/net/loop_timers.h"

enum auth_state {
	AUTH_OFF,    /* no user is configured, or the server wants none */
	AUTH_WANTED, /* no token; asked for as soon as there is a connection */
	AUTH_HAVE,
	AUTH_REFUSED, /* wrong user or password; asked again on the next call */
};

struct auth {
	enum auth_state state;
	char *user;
	char *password;
	char *token;
	uint64_t generation; /* counts the tokens */
	bool asking;
	uint64_t asked_ms;
	unsigned failures;
	struct pl_err err;
	struct pl_timer timer;
};

enum limits_state { LIMITS_UNKNOWN, LIMITS_ASKING, LIMITS_KNOWN };

struct limits {
	enum limits_state state;
	/* calls are sent without known limits: the server could not be probed in time */
	bool open;
	unsigned failures;
	uint64_t again_ms; /* the next probe is not before this time */
	struct pl_timer timer;
	struct kv_limits found;
	uint32_t fits;    /* operations in a transaction known to be allowed */
	uint32_t refused; /* operations known to be too many; 0: none yet */
	uint32_t asked;
};

struct calls {
	struct pl_list queued; /* waiting for a connection, a token or the limits */
	/* on a connection, waiting for a retry, or about to end */
	struct pl_list inflight;
	struct pl_list waiters;
	struct pl_timer room_timer;
	size_t bytes; /* bytes of all requests that are not answered yet */
	size_t bytes_max;
	size_t wanted; /* the largest request refused since the waiters were woken */
	struct pl_arena arena; /* holds the answer that is being delivered */
};

enum { WATCH_BUCKETS = 256 };

struct watches {
	struct grpc_call *stream;
	struct channel_conn *conn; /* the connection of the stream */
	struct pl_list all;
	struct pl_list waiting; /* watches to be created */
	/* watches whose creation was sent, in the order of the answers */
	struct pl_list creating;
	unsigned creating_count;
	struct pl_list bucket[WATCH_BUCKETS]; /* active watches, by the server's id */
	struct pl_arena arena;
	struct pl_timer timer; /* when the stream is opened again */
	struct pl_timer progress_timer;
	unsigned failures;
	unsigned malformed; /* streams in a row that brought malformed messages */
	uint64_t opened_ms;
	uint64_t token_generation;
	/* the stream was dropped because of an outdated token: the next one opens at once
	 */
	bool replace;
	/* the member's version was asked for; cleared when that failed */
	bool version_asked;
	bool progress_sound; /* the member's answers to progress requests are reliable */
	bool checking;       /* a read that checks for a rewound store is running */
};

struct keepalives {
	struct grpc_call *stream;
	struct channel_conn *conn;
	struct pl_list waiting;
	struct pl_list sent;
	struct pl_timer timer;
	unsigned failures;
	uint64_t token_generation;
	struct pl_err malformed; /* malformed message of this stream; PL_OK: none */
};

/* OPEN --etcd_close()--> CLOSING --every call, watch and channel has ended--> FINISHED */
enum client_state {
	CLIENT_OPEN,
	CLIENT_CLOSING,
	CLIENT_FINISHED, /* only the timers' handle is left to close */
};

struct client {
	struct kv kv;
	uv_loop_t *loop;
	struct loop_timers timers;
	struct endpoints endpoints;
	struct tls *tls;
	struct pl_rng rng;
	struct channel_env env;
	struct channel calls_channel;
	struct channel watch_channel;
	struct channel lease_channel;
	struct auth auth;
	struct limits limits;
	struct calls calls;
	struct watches watches;
	struct keepalives keepalives;
	struct etcd_stats stats;
	/* the user's callback, or NULL */
	void (*on_down)(void *ctx, const struct pl_err *err);
	void *on_down_ctx;
	/* why there is no connection for calls; PL_OK: there is one */
	struct pl_err down;
	uint64_t cluster_id;
	int64_t seen_revision; /* the highest revision in any answer of this cluster */
	enum client_state state;
	unsigned channels_open;
	kv_closed_fn *closed;
	void *closed_ctx;
};

/* Common head of both kinds of call, so that cancelling can tell them apart. */
struct kv_call {
	bool is_keepalive;
};

static inline struct client *client_of(struct kv *kv)
{
	return PL_CONTAINER_OF(kv, struct client, kv);
}

/* Sends what can be sent: called when a connection, a token or the limits have come. */
void client_pump(struct client *client);

/* Frees a closing client once its last call, watch and channel have ended. */
void client_maybe_close(struct client *client);

/* Records the header of every answer. linear: the answer can not be older than
 * seen_before, the revision that was seen when the request left. Ends the watches when
 * the store was rewound or is another cluster. */
void client_note_header(struct client *client, const struct kv_header *header,
                        bool linear, int64_t seen_before);

/* The pause after so many failures: 25 ms doubling to 1 s, jittered. */
uint64_t client_backoff_ms(struct client *client, unsigned failures);

/* -- a unary call of the client's own -------------------------------------- */

/* conn may be retiring: only to be compared, not to be used. */
typedef void unary_end_fn(void *ctx, const struct channel_conn *conn,
                          const struct grpc_end *end);

/* Takes body. done fires once, never inside, also when the client closes. */
PL_NODISCARD enum pl_code unary_start(struct client *client, struct channel_conn *conn,
                                      const char *path, struct pl_buf *body,
                                      unary_end_fn *done, void *ctx);

/* -- auth ---------------------------------------------------------------- */

PL_NODISCARD enum pl_code auth_init(struct client *client, const char *user,
                                    const char *password, struct pl_err *err);
void auth_done(struct client *client);

/* True when calls can be sent: no token is wanted, or there is one. Otherwise asks for a
 * token where that makes sense. */
bool auth_ready(struct client *client);

/* The server does not accept the token of that generation. */
void auth_stale(struct client *client, uint64_t generation);

/* -- limits -------------------------------------------------------------- */

PL_NODISCARD enum pl_code limits_init(struct client *client);
void limits_done(struct client *client);

/* True when calls can be sent: the limits are known, or calls go without. */
bool limits_ready(struct client *client);

/* The connection of the running probe is gone. */
void limits_interrupted(struct client *client);

/* PL_LIMIT when the server would refuse the request; PL_OK while the limits are not
 * known. */
PL_NODISCARD enum pl_code limits_check(const struct client *client, uint64_t txn_ops,
                                       size_t bytes, struct pl_err *err);

/* -- calls --------------------------------------------------------------- */

PL_NODISCARD enum pl_code calls_init(struct client *client, size_t bytes_max);
void calls_done(struct client *client);
PL_NODISCARD enum pl_code calls_start(struct client *client, const struct kv_req *req,
                                      uint64_t timeout_ms, kv_done_fn *done, void *ctx,
                                      struct kv_call **out, struct pl_err *err);
void calls_cancel(struct client *client, struct kv_call *base);
void calls_pump(struct client *client);

/* Ends every call that waits for a connection or a token. */
void calls_fail_queued(struct client *client, const struct pl_err *err);
void calls_cancel_all(struct client *client);
void calls_wake_waiters(struct client *client);

/* -- watches ------------------------------------------------------------- */

PL_NODISCARD enum pl_code watches_init(struct client *client);
void watches_done(struct client *client);
PL_NODISCARD enum pl_code watches_start(struct client *client,
                                        const struct kv_watch_req *req, kv_watch_fn *fn,
                                        void *ctx, struct kv_watch **out,
                                        struct pl_err *err);
void watches_cancel(struct client *client, struct kv_watch *watch);
/* A progress note comes once the watch has reached the revision. */
void watch_progress_to(struct kv_watch *watch, int64_t revision);
PL_NODISCARD enum pl_code watches_progress(struct client *client, struct kv_watch *watch,
                                           struct pl_err *err);
void watches_pump(struct client *client);
void watches_rewound(struct client *client, const struct pl_err *err);
void watches_cancel_all(struct client *client);

/* -- keep-alives ---------------------------------------------------------- */

PL_NODISCARD enum pl_code keepalives_init(struct client *client);
void keepalives_done(struct client *client);
PL_NODISCARD enum pl_code keepalives_start(struct client *client, int64_t lease,
                                           uint64_t timeout_ms, kv_done_fn *done,
                                           void *ctx, struct kv_call **out,
                                           struct pl_err *err);
void keepalives_cancel(struct client *client, struct kv_call *call);
void keepalives_pump(struct client *client);
void keepalives_cancel_all(struct client *client);

#endif
