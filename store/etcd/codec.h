/*
 * Converts the kv types to etcd's protobuf messages and back. No I/O, no state.
 *
 * Invariants: what a decode returns is borrowed from the message and from the arena, and
 * is valid as long as both. Nothing that a server sends is trusted: what does not fit is
 * PL_PROTO, and what is returned has been checked.
 */
#ifndef STORE_ETCD_CODEC_H
#define STORE_ETCD_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/arena.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/span.h"
#include "store/kv/types.h"

#define CODEC_PATH_WATCH "/etcdserverpb.Watch/Watch"
#define CODEC_PATH_KEEP "/etcdserverpb.Lease/LeaseKeepAlive"
#define CODEC_PATH_AUTH "/etcdserverpb.Auth/Authenticate"

/* The method's path, "/etcdserverpb.KV/Range". The method of KV_LEASE_KEEP is a stream.
 */
const char *codec_path(enum kv_op op);

/* The smallest --max-txn-ops with which a server accepts the request; 0 when it is no
 * transaction. The request must be one that codec_encode() accepts. */
uint64_t codec_txn_ops(const struct kv_req *req);

/*
 * Appends the message to out. The whole request is checked first: PL_INVALID names the
 * field ("txn.then[3].put: empty key"); PL_LIMIT: out may not grow that far. On failure
 * nothing is appended.
 *
 * shape (may be NULL) gets what codec_decode() must know of a transaction to tell its
 * answer from any other; it stays empty for all other requests.
 */
PL_NODISCARD enum pl_code codec_encode(const struct kv_req *req, struct pl_buf *out,
                                       struct pl_buf *shape, struct pl_err *err);

/* shape comes from codec_encode(); with an empty shape a transaction's results are
 * accepted as they come. sent_ms is left 0. On failure result is untouched: PL_PROTO,
 * PL_NOMEM (the arena's maximum included), PL_NOLEASE for KV_LEASE_KEEP and KV_LEASE_TTL
 * of a lease that does not exist. */
PL_NODISCARD enum pl_code codec_decode(enum kv_op op, struct pl_span shape,
                                       struct pl_span bytes, struct pl_arena *arena,
                                       struct kv_result *result, struct pl_err *err);

/* -- watch ------------------------------------------------------------- */

struct codec_watch_create {
	const struct kv_watch_req *req;
	int64_t watch_id;      /* chosen by the client, > 0; 0: the server chooses */
	int64_t from_revision; /* replaces the request's from_revision */
	bool progress_notify;
	bool fragment;
};

PL_NODISCARD enum pl_code codec_watch_create(const struct codec_watch_create *create,
                                             struct pl_buf *out, struct pl_err *err);
PL_NODISCARD enum pl_code codec_watch_cancel(int64_t watch_id, struct pl_buf *out,
                                             struct pl_err *err);
PL_NODISCARD enum pl_code codec_watch_progress(struct pl_buf *out, struct pl_err *err);

/* One message of the watch stream. Events are ordered by revision. */
struct codec_watch {
	struct kv_header header; /* revision is 0 in some messages that cancel */
	int64_t watch_id;        /* -1: no watch (progress, a refused creation) */
	bool created;
	bool canceled;
	bool fragment; /* more events of the same revision follow in the next message */
	/* > 0: the watch was canceled because this revision is compacted */
	int64_t compact_revision;
	struct pl_span cancel_reason; /* raw text, for status_of_reason() */
	const struct kv_event *events;
	size_t count;
};

PL_NODISCARD enum pl_code codec_watch_decode(struct pl_span bytes, struct pl_arena *arena,
                                             struct codec_watch *out, struct pl_err *err);

/* -- keep-alive stream ------------------------------------------------- */

PL_NODISCARD enum pl_code codec_keepalive_encode(int64_t lease, struct pl_buf *out,
                                                 struct pl_err *err);

struct codec_keepalive {
	struct kv_header header;
	int64_t id;
	int64_t ttl_s; /* 0: the lease does not exist any more */
};

PL_NODISCARD enum pl_code codec_keepalive_decode(struct pl_span bytes,
                                                 struct codec_keepalive *out,
                                                 struct pl_err *err);

/* -- authentication ---------------------------------------------------- */

/* out holds the password afterwards; the caller wipes it. */
PL_NODISCARD enum pl_code codec_auth_encode(const char *user, const char *password,
                                            struct pl_buf *out, struct pl_err *err);

/* *token is in the arena, not empty, and valid in a header: visible ASCII only. */
PL_NODISCARD enum pl_code codec_auth_decode(struct pl_span bytes, struct pl_arena *arena,
                                            const char **token, struct pl_err *err);

#endif
