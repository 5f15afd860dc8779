/* Requests as a server gets them: the first byte says of which method. What is accepted,
 * and written again by protobuf-c, says the same. */
#include "store/serve/message.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/store/etcd/codec_ref.h"

enum { ARENA_MAX = 16 << 20, BUF_MAX = 16 << 20 };

static const enum kv_op ops[] = {KV_GET,          KV_PUT,       KV_DELETE,
                                 KV_TXN,          KV_COMPACT,   KV_LEASE_GRANT,
                                 KV_LEASE_REVOKE, KV_LEASE_TTL, KV_STATUS};

static void check_again(const struct kv_req *req, struct pl_arena *arena)
{
	struct pl_buf one, two;
	struct kv_req again;
	enum pl_code code;

	pl_buf_init(&one, BUF_MAX);
	pl_buf_init(&two, BUF_MAX);
	code = pl_buf_reserve(&one, 1);
	PL_ASSERT(code == PL_OK && pl_buf_reserve(&two, 1) == PL_OK);
	codec_ref_request(req, &one);
	code = message_request(req->op, pl_buf_span(&one), arena, &again, NULL);
	PL_ASSERT(code == PL_OK);
	codec_ref_request(&again, &two);
	PL_ASSERT(pl_span_eq(pl_buf_span(&one), pl_buf_span(&two)));
	pl_buf_done(&one);
	pl_buf_done(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t kinds = sizeof ops / sizeof ops[0];
	struct message_watch watch;
	struct pl_err err = {0};
	struct pl_arena arena;
	struct pl_span bytes;
	struct kv_req req;
	int64_t lease;
	size_t kind;

	if (size == 0)
		return 0;
	kind = data[0] % (kinds + 2);
	bytes = pl_span(data + 1, size - 1);
	pl_arena_init(&arena, 1 << 16, ARENA_MAX);
	if (kind == kinds) {
		(void)!message_watch(bytes, &arena, &watch, &err);
	} else if (kind > kinds) {
		(void)!message_keep(bytes, &arena, &lease, &err);
	} else if (message_request(ops[kind], bytes, &arena, &req, &err) == PL_OK &&
	           kind < 4) {
		check_again(&req, &arena);
	}
	pl_arena_done(&arena);
	return 0;
}
