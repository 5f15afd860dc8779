/* Unary calls: one request, one answer. */
#include <stdio.h>
#include <string.h>

#include "store/serve/serve_int.h"

/* The words by which clients tell etcd's errors apart. */
static const struct {
	enum pl_code code;
	enum grpc_status status;
	const char *words; /* NULL: the error's own message */
} status_map[] = {
	{PL_INVALID, GRPC_INVALID_ARGUMENT, NULL},
	{PL_LIMIT, GRPC_INVALID_ARGUMENT, "etcdserver: request is too large"},
	{PL_COMPACTED, GRPC_OUT_OF_RANGE,
         "etcdserver: mvcc: required revision has been compacted"},
	{PL_FUTURE, GRPC_OUT_OF_RANGE,
         "etcdserver: mvcc: required revision is a future revision"},
	{PL_NOLEASE, GRPC_NOT_FOUND, "etcdserver: requested lease not found"},
	{PL_EXISTS, GRPC_FAILED_PRECONDITION, "etcdserver: lease already exists"},
	{PL_NOTFOUND, GRPC_INVALID_ARGUMENT, "etcdserver: key not found"},
	{PL_NOSPACE, GRPC_RESOURCE_EXHAUSTED,
         "etcdserver: mvcc: database space exceeded"},
	{PL_BUSY, GRPC_RESOURCE_EXHAUSTED, "etcdserver: too many requests"},
	{PL_NOMEM, GRPC_RESOURCE_EXHAUSTED, "etcdserver: too many requests"},
};

enum grpc_status unary_status(const struct pl_err *err, const char **words)
{
	for (size_t i = 0; i < sizeof status_map / sizeof status_map[0]; i++) {
		if (status_map[i].code != err->code)
			continue;
		*words = status_map[i].words == NULL ? err->msg : status_map[i].words;
		return status_map[i].status;
	}
	*words = "etcdserver: server stopped";
	return GRPC_UNAVAILABLE;
}

static void refuse_call(struct serve_call *call, const struct pl_err *err)
{
	const char *words;
	enum grpc_status status = unary_status(err, &words);

	if (call->stream != NULL)
		grpc_stream_end(call->stream, status, words);
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct serve_call *call = ctx;
	struct serve *serve = call->conn->serve;

	call->pending--;
	if (result != NULL)
		call->conn->last = result->header;
	if (call->stream != NULL && result == NULL)
		refuse_call(call, err);
	if (call->stream != NULL && result != NULL) {
		call_send(call, message_answer(result, &serve->arena, &serve->out));
		if (call->stream != NULL)
			grpc_stream_end(call->stream, GRPC_OK, "");
	}
	call_free_when_done(call);
}

/* Counts like etcd, before anything else is checked. */
static bool has_too_many(const struct kv_txn *txn, uint32_t most)
{
	bool many = txn->compare_count > most || txn->then_count > most ||
	            txn->otherwise_count > most;

	return most != 0 && many;
}

static enum pl_code start_call(struct serve_call *call, const struct kv_req *req,
                               struct pl_err *err)
{
	struct kv *kv = call->conn->kv;
	enum pl_code code = kv_start(kv, req, SERVE_TIMEOUT_MS, on_done, call, NULL, err);

	call->pending += code == PL_OK;
	return code;
}

void unary_message(struct serve_call *call, struct pl_span message)
{
	struct serve *serve = call->conn->serve;
	struct pl_err err = {0};
	struct kv_req req;

	if (call->asked)
		return;
	call->asked = true;
	pl_arena_reset(&serve->arena);
	if (message_request(call->op, message, &serve->arena, &req, &err) != PL_OK) {
		refuse_call(call, &err);
		return;
	}
	if (req.op == KV_TXN &&
	    has_too_many(&req.txn, kv_limits(call->conn->kv).txn_ops)) {
		grpc_stream_end(call->stream, GRPC_INVALID_ARGUMENT,
		                "etcdserver: too many operations in txn request");
		return;
	}
	if (start_call(call, &req, &err) != PL_OK)
		refuse_call(call, &err);
}
