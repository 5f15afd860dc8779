/* Requests of clients, decoded into the kv's. */
#include <protobuf-c/protobuf-c.h>

#include "rpc.pb-c.h"
#include "store/serve/message.h"

static const struct {
	const char *path;
	enum kv_op op;
} methods[] = {
	{"/etcdserverpb.KV/Range", KV_GET},
	{"/etcdserverpb.KV/Put", KV_PUT},
	{"/etcdserverpb.KV/DeleteRange", KV_DELETE},
	{"/etcdserverpb.KV/Txn", KV_TXN},
	{"/etcdserverpb.KV/Compact", KV_COMPACT},
	{"/etcdserverpb.Lease/LeaseGrant", KV_LEASE_GRANT},
	{"/etcdserverpb.Lease/LeaseRevoke", KV_LEASE_REVOKE},
	{"/etcdserverpb.Lease/LeaseTimeToLive", KV_LEASE_TTL},
	{"/etcdserverpb.Maintenance/Status", KV_STATUS},
};

enum kv_op message_op(struct pl_span path)
{
	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
		if (pl_span_eq(path, pl_span_str(methods[i].path)))
			return methods[i].op;
	return KV_OP_COUNT;
}

/* -- protobuf-c on an arena ------------------------------------------------------- */

static void *arena_take(void *arena, size_t size)
{
	return pl_arena_alloc(arena, size);
}

static void arena_give(void *arena, void *at)
{
	(void)arena;
	(void)at;
}

/* NULL: malformed, or no memory. */
static const void *unpack(const ProtobufCMessageDescriptor *type, struct pl_span bytes,
                          struct pl_arena *arena, struct pl_err *err)
{
	ProtobufCAllocator allocator = {
		.alloc = arena_take, .free = arena_give, .allocator_data = arena};
	const uint8_t *at = bytes.len == 0 ? (const uint8_t *)"" : bytes.at;
	const void *message = protobuf_c_message_unpack(type, &allocator, bytes.len, at);

	if (message == NULL)
		pl_err_set(err, PL_INVALID, "%s: malformed", type->short_name);
	return message;
}

static struct pl_span span_of(const ProtobufCBinaryData *bytes)
{
	return pl_span(bytes->data, bytes->len);
}

static struct kv_keys keys_of(const ProtobufCBinaryData *key,
                              const ProtobufCBinaryData *end)
{
	struct kv_keys keys = {.kind = KV_ONE, .from = span_of(key)};

	if (end->len == 1 && end->data[0] == 0)
		keys.kind = KV_FROM;
	else if (end->len > 0)
		keys.kind = KV_RANGE;
	if (keys.kind == KV_RANGE)
		keys.to = span_of(end);
	return keys;
}

/* -- operations on keys ------------------------------------------------------------ */

static struct kv_req get_of(const Epb__RangeRequest *pb)
{
	return (struct kv_req){.op = KV_GET,
	                       .get = {.keys = keys_of(&pb->key, &pb->range_end),
	                               .limit = pb->limit,
	                               .revision = pb->revision,
	                               .keys_only = pb->keys_only,
	                               .count_only = pb->count_only,
	                               .serializable = pb->serializable}};
}

static struct kv_req put_of(const Epb__PutRequest *pb)
{
	return (struct kv_req){.op = KV_PUT,
	                       .put = {.key = span_of(&pb->key),
	                               .value = span_of(&pb->value),
	                               .lease = pb->lease,
	                               .want_prev = pb->prev_kv,
	                               .keep_value = pb->ignore_value,
	                               .keep_lease = pb->ignore_lease}};
}

static struct kv_req delete_of(const Epb__DeleteRangeRequest *pb)
{
	return (struct kv_req){.op = KV_DELETE,
	                       .del = {.keys = keys_of(&pb->key, &pb->range_end),
	                               .want_prev = pb->prev_kv}};
}

static bool relation_of(Epb__Compare__Result result, enum kv_relation *out)
{
	switch ((int)result) {
	case EPB__COMPARE__RESULT__EQUAL:
		*out = KV_EQ;
		return true;
	case EPB__COMPARE__RESULT__GREATER:
		*out = KV_GT;
		return true;
	case EPB__COMPARE__RESULT__LESS:
		*out = KV_LT;
		return true;
	case EPB__COMPARE__RESULT__NOT_EQUAL:
		*out = KV_NE;
		return true;
	default:
		return false;
	}
}

static bool target_of(const Epb__Compare *pb, struct kv_compare *out)
{
	switch ((int)pb->target) {
	case EPB__COMPARE__TARGET__VERSION:
		out->target = KV_VERSION;
		out->number = pb->version;
		return true;
	case EPB__COMPARE__TARGET__CREATE:
		out->target = KV_CREATE_REV;
		out->number = pb->create_revision;
		return true;
	case EPB__COMPARE__TARGET__MOD:
		out->target = KV_MOD_REV;
		out->number = pb->mod_revision;
		return true;
	case EPB__COMPARE__TARGET__LEASE:
		out->target = KV_LEASE;
		out->number = pb->lease;
		return true;
	case EPB__COMPARE__TARGET__VALUE:
		out->target = KV_VALUE;
		if (pb->target_union_case == EPB__COMPARE__TARGET_UNION_VALUE)
			out->value = span_of(&pb->value);
		return true;
	default:
		return false;
	}
}

/* The members of the union share their memory, so a member other than the target's must
 * not be read. */
static bool is_plain(const Epb__Compare *pb)
{
	static const int member[] = {
		[EPB__COMPARE__TARGET__VERSION] = EPB__COMPARE__TARGET_UNION_VERSION,
		[EPB__COMPARE__TARGET__CREATE] =
			EPB__COMPARE__TARGET_UNION_CREATE_REVISION,
		[EPB__COMPARE__TARGET__MOD] = EPB__COMPARE__TARGET_UNION_MOD_REVISION,
		[EPB__COMPARE__TARGET__VALUE] = EPB__COMPARE__TARGET_UNION_VALUE,
		[EPB__COMPARE__TARGET__LEASE] = EPB__COMPARE__TARGET_UNION_LEASE,
	};
	unsigned target = (unsigned)pb->target;

	return target < sizeof member / sizeof member[0] &&
	       ((int)pb->target_union_case == member[target] ||
	        (int)pb->target_union_case == 0);
}

static enum pl_code compares_of(const Epb__TxnRequest *pb, struct pl_arena *arena,
                                struct kv_txn *out, struct pl_err *err)
{
	struct kv_compare *compare =
		pl_arena_zalloc(arena, pb->n_compare + 1, sizeof *compare);

	if (compare == NULL)
		return pl_err_set(err, PL_NOMEM, "read a transaction");
	for (size_t i = 0; i < pb->n_compare; i++) {
		const Epb__Compare *from = pb->compare[i];

		compare[i].keys = keys_of(&from->key, &from->range_end);
		if (!is_plain(from) || !relation_of(from->result, &compare[i].relation) ||
		    !target_of(from, &compare[i]))
			return pl_err_set(err, PL_INVALID, "compare[%zu]: unknown", i);
	}
	out->compares = compare;
	out->compare_count = pb->n_compare;
	return PL_OK;
}

static enum pl_code txn_of(const Epb__TxnRequest *pb, unsigned depth,
                           struct pl_arena *arena, struct kv_req *out,
                           struct pl_err *err);

/* NOLINTNEXTLINE(misc-no-recursion): bounded by depth */
static enum pl_code op_of(const Epb__RequestOp *pb, unsigned depth,
                          struct pl_arena *arena, struct kv_req *out, struct pl_err *err)
{
	switch ((int)pb->request_case) {
	case EPB__REQUEST_OP__REQUEST_RANGE:
		*out = get_of(pb->range);
		return PL_OK;
	case EPB__REQUEST_OP__REQUEST_PUT:
		*out = put_of(pb->put);
		return PL_OK;
	case EPB__REQUEST_OP__REQUEST_DELETE_RANGE:
		*out = delete_of(pb->delete_range);
		return PL_OK;
	case EPB__REQUEST_OP__REQUEST_TXN:
		return txn_of(pb->txn, depth + 1, arena, out, err);
	default:
		return pl_err_set(err, PL_INVALID, "an operation without a request");
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by depth */
static enum pl_code list_of(Epb__RequestOp *const *list, size_t count, unsigned depth,
                            struct pl_arena *arena, const struct kv_req **out,
                            struct pl_err *err)
{
	struct kv_req *ops = pl_arena_zalloc(arena, count + 1, sizeof *ops);
	enum pl_code code = PL_OK;

	if (ops == NULL)
		return pl_err_set(err, PL_NOMEM, "read a transaction");
	for (size_t i = 0; i < count && code == PL_OK; i++)
		code = op_of(list[i], depth, arena, &ops[i], err);
	*out = ops;
	return code;
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by depth */
static enum pl_code txn_of(const Epb__TxnRequest *pb, unsigned depth,
                           struct pl_arena *arena, struct kv_req *out, struct pl_err *err)
{
	enum pl_code code;

	if (depth > MESSAGE_NESTED_MAX)
		return pl_err_set(err, PL_INVALID, "transactions nested too deep");
	*out = (struct kv_req){.op = KV_TXN};
	code = compares_of(pb, arena, &out->txn, err);
	if (code == PL_OK)
		code = list_of(pb->success, pb->n_success, depth, arena, &out->txn.then,
		               err);
	if (code == PL_OK)
		code = list_of(pb->failure, pb->n_failure, depth, arena,
		               &out->txn.otherwise, err);
	out->txn.then_count = pb->n_success;
	out->txn.otherwise_count = pb->n_failure;
	return code;
}

/* -- everything else --------------------------------------------------------------- */

#define UNPACK(variable, type)                                                       \
	const Epb__##type *variable = unpack(&descriptor_##type, bytes, arena, err); \
	if ((variable) == NULL)                                                      \
	return PL_INVALID
#define descriptor_RangeRequest epb__range_request__descriptor
#define descriptor_PutRequest epb__put_request__descriptor
#define descriptor_DeleteRangeRequest epb__delete_range_request__descriptor
#define descriptor_TxnRequest epb__txn_request__descriptor
#define descriptor_CompactionRequest epb__compaction_request__descriptor
#define descriptor_LeaseGrantRequest epb__lease_grant_request__descriptor
#define descriptor_LeaseRevokeRequest epb__lease_revoke_request__descriptor
#define descriptor_LeaseTimeToLiveRequest epb__lease_time_to_live_request__descriptor
#define descriptor_LeaseKeepAliveRequest epb__lease_keep_alive_request__descriptor
#define descriptor_StatusRequest epb__status_request__descriptor
#define descriptor_WatchRequest epb__watch_request__descriptor

static enum pl_code lease_of(enum kv_op op, struct pl_span bytes, struct pl_arena *arena,
                             struct kv_req *out, struct pl_err *err)
{
	*out = (struct kv_req){.op = op};
	if (op == KV_LEASE_GRANT) {
		UNPACK(grant, LeaseGrantRequest);
		out->lease.id = grant->id;
		out->lease.ttl_s = grant->ttl;
	} else if (op == KV_LEASE_REVOKE) {
		UNPACK(revoke, LeaseRevokeRequest);
		out->lease.id = revoke->id;
	} else {
		UNPACK(ttl, LeaseTimeToLiveRequest);
		out->lease.id = ttl->id;
		out->lease.want_keys = ttl->keys;
	}
	return PL_OK;
}

static enum pl_code txn_from(struct pl_span bytes, struct pl_arena *arena,
                             struct kv_req *out, struct pl_err *err)
{
	UNPACK(txn, TxnRequest);
	return txn_of(txn, 1, arena, out, err);
}

static enum pl_code simple_from(enum kv_op op, struct pl_span bytes,
                                struct pl_arena *arena, struct kv_req *out,
                                struct pl_err *err)
{
	if (op == KV_GET) {
		UNPACK(get, RangeRequest);
		*out = get_of(get);
	} else if (op == KV_PUT) {
		UNPACK(put, PutRequest);
		*out = put_of(put);
	} else if (op == KV_DELETE) {
		UNPACK(del, DeleteRangeRequest);
		*out = delete_of(del);
	} else if (op == KV_COMPACT) {
		UNPACK(compact, CompactionRequest);
		*out = (struct kv_req){.op = KV_COMPACT,
		                       .compact = {.revision = compact->revision,
		                                   .physical = compact->physical}};
	} else {
		UNPACK(status, StatusRequest);
		*out = (struct kv_req){.op = KV_STATUS};
	}
	return PL_OK;
}

enum pl_code message_request(enum kv_op op, struct pl_span bytes, struct pl_arena *arena,
                             struct kv_req *out, struct pl_err *err)
{
	switch (op) {
	case KV_TXN:
		return txn_from(bytes, arena, out, err);
	case KV_LEASE_GRANT:
	case KV_LEASE_REVOKE:
	case KV_LEASE_TTL:
		return lease_of(op, bytes, arena, out, err);
	case KV_GET:
	case KV_PUT:
	case KV_DELETE:
	case KV_COMPACT:
	case KV_STATUS:
		return simple_from(op, bytes, arena, out, err);
	case KV_LEASE_KEEP:
	case KV_OP_COUNT:
		break;
	}
	PL_UNREACHABLE("not a unary method");
}

static struct kv_watch_req create_of(const Epb__WatchCreateRequest *pb)
{
	struct kv_watch_req req = {.keys = keys_of(&pb->key, &pb->range_end),
	                           .from_revision = pb->start_revision,
	                           .want_prev = pb->prev_kv};

	for (size_t i = 0; i < pb->n_filters; i++) {
		if (pb->filters[i] == EPB__WATCH_CREATE_REQUEST__FILTER__NOPUT)
			req.no_puts = true;
		else
			req.no_deletes = true;
	}
	return req;
}

enum pl_code message_watch(struct pl_span bytes, struct pl_arena *arena,
                           struct message_watch *out, struct pl_err *err)
{
	UNPACK(watch, WatchRequest);
	*out = (struct message_watch){0};
	switch ((int)watch->request_case) {
	case EPB__WATCH_REQUEST__REQUEST_CREATE:
		out->kind = MESSAGE_CREATE;
		out->id = watch->create->watch_id;
		out->progress_notify = watch->create->progress_notify;
		out->create = create_of(watch->create);
		return PL_OK;
	case EPB__WATCH_REQUEST__REQUEST_CANCEL:
		out->kind = MESSAGE_CANCEL;
		out->id = watch->cancel->watch_id;
		return PL_OK;
	case EPB__WATCH_REQUEST__REQUEST_PROGRESS:
		out->kind = MESSAGE_PROGRESS;
		return PL_OK;
	default:
		return pl_err_set(err, PL_INVALID,
		                  "a watch request without a request in it");
	}
}

enum pl_code message_keep(struct pl_span bytes, struct pl_arena *arena, int64_t *lease,
                          struct pl_err *err)
{
	UNPACK(keep, LeaseKeepAliveRequest);
	*lease = keep->id;
	return PL_OK;
}
