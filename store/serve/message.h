/*
 * The server's side of etcd's messages: it decodes requests and encodes answers. The
 * client's side is store/etcd/codec.h.
 *
 * A message from a client is bounded and checked in form. Whether it makes sense is for
 * the kv to judge.
 */
#ifndef STORE_SERVE_MESSAGE_H
#define STORE_SERVE_MESSAGE_H

#include "store/base/arena.h"
#include "store/base/buf.h"
#include "store/kv/types.h"

enum { MESSAGE_NESTED_MAX = 16 }; /* depth of transactions */

/* The operation for a path such as "/etcdserverpb.KV/Range". KV_OP_COUNT: it is none of
 * the unary ones. */
enum kv_op message_op(struct pl_span path);

/* *out lies in the arena. PL_INVALID, PL_NOMEM. */
PL_NODISCARD enum pl_code message_request(enum kv_op op, struct pl_span bytes,
                                          struct pl_arena *arena, struct kv_req *out,
                                          struct pl_err *err);
/* Appends the answer with its gRPC frame. Uses the arena during the call. */
PL_NODISCARD enum pl_code message_answer(const struct kv_result *result,
                                         struct pl_arena *arena, struct pl_buf *out);

/* -- watches ------------------------------------------------------------- */

enum message_watch_kind { MESSAGE_CREATE, MESSAGE_CANCEL, MESSAGE_PROGRESS };

struct message_watch {
	enum message_watch_kind kind;
	int64_t id; /* in MESSAGE_CREATE; 0: the server chooses */
	/* in MESSAGE_CREATE: the client wants progress from time to time */
	bool progress_notify;
	struct kv_watch_req create;
};

PL_NODISCARD enum pl_code message_watch(struct pl_span bytes, struct pl_arena *arena,
                                        struct message_watch *out, struct pl_err *err);

struct message_watch_answer {
	struct kv_header header;
	int64_t id;
	bool created, canceled;
	int64_t compact_revision;
	const char *reason; /* NULL: none */
	const struct kv_event *events;
	size_t count;
};

PL_NODISCARD enum pl_code message_watch_answer(const struct message_watch_answer *answer,
                                               struct pl_arena *arena,
                                               struct pl_buf *out);

/* -- keep-alives --------------------------------------------------------- */

PL_NODISCARD enum pl_code message_keep(struct pl_span bytes, struct pl_arena *arena,
                                       int64_t *lease, struct pl_err *err);
/* ttl_s 0: the lease is gone. */
PL_NODISCARD enum pl_code message_keep_answer(const struct kv_header *header,
                                              int64_t lease, int64_t ttl_s,
                                              struct pl_buf *out);

#endif
