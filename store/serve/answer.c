/*
 * Answers to clients, as structures of protobuf-c in an arena. They borrow keys and
 * values from the result.
 */
#include <protobuf-c/protobuf-c.h>

#include "rpc.pb-c.h"
#include "store/net/grpc.h"
#include "store/net/unconst.h"
#include "store/serve/message.h"

/* NOLINTBEGIN(bugprone-sizeof-expression): rows of pointers, as protobuf-c has them. */

/* Builds one message. The first failure makes all later steps fail. */
struct answer_builder {
	struct pl_arena *arena;
	bool failed;
};

static void *builder_alloc(struct answer_builder *builder, size_t count, size_t size)
{
	void *at = NULL;

	if (!builder->failed)
		at = pl_arena_zalloc(builder->arena, count + 1, size);
	builder->failed = builder->failed || at == NULL;
	return at;
}

static enum pl_code pack_message(const struct answer_builder *builder,
                                 const void *message, struct pl_buf *out)
{
	size_t start, size;
	enum pl_code code;

	if (builder->failed)
		return PL_NOMEM;
	size = protobuf_c_message_get_packed_size(message);
	code = grpc_frame_begin(out, &start);
	if (code == PL_OK)
		code = pl_buf_reserve(out, size);
	if (code != PL_OK)
		return code;
	out->len += protobuf_c_message_pack(message, out->at + out->len);
	grpc_frame_end(out, start);
	return PL_OK;
}

static ProtobufCBinaryData bytes_of(struct pl_span span)
{
	return (ProtobufCBinaryData){.len = span.len, .data = unconst(span.at)};
}

static Epb__ResponseHeader *header_of(struct answer_builder *builder,
                                      const struct kv_header *header)
{
	Epb__ResponseHeader *pb = builder_alloc(builder, 1, sizeof *pb);

	if (pb == NULL)
		return NULL;
	epb__response_header__init(pb);
	pb->cluster_id = header->cluster_id;
	pb->member_id = header->member_id;
	pb->revision = header->revision;
	pb->raft_term = header->raft_term;
	return pb;
}

static void fill_record(const struct kv_record *record, Epb__KeyValue *pb)
{
	epb__key_value__init(pb);
	pb->key = bytes_of(record->key);
	pb->value = bytes_of(record->value);
	pb->create_revision = record->create_revision;
	pb->mod_revision = record->mod_revision;
	pb->version = record->version;
	pb->lease = record->lease;
}

static Epb__KeyValue **records_of(struct answer_builder *builder,
                                  const struct kv_record *records, size_t count)
{
	Epb__KeyValue **list = builder_alloc(builder, count, sizeof *list);
	Epb__KeyValue *each = builder_alloc(builder, count, sizeof *each);

	for (size_t i = 0; each != NULL && i < count; i++) {
		list[i] = &each[i];
		fill_record(&records[i], &each[i]);
	}
	return list;
}

static Epb__KeyValue *record_of(struct answer_builder *builder,
                                const struct kv_record *record)
{
	Epb__KeyValue *pb = NULL;

	if (record != NULL)
		pb = builder_alloc(builder, 1, sizeof *pb);
	if (pb != NULL)
		fill_record(record, pb);
	return pb;
}

/* -- operations on keys ------------------------------------------------------------ */

static Epb__RangeResponse *get_of(struct answer_builder *builder,
                                  const struct kv_result *result)
{
	Epb__RangeResponse *pb = builder_alloc(builder, 1, sizeof *pb);

	if (pb == NULL)
		return NULL;
	epb__range_response__init(pb);
	pb->header = header_of(builder, &result->header);
	pb->n_kvs = result->get.count;
	pb->kvs = records_of(builder, result->get.records, result->get.count);
	pb->more = result->get.more;
	pb->count = result->get.total;
	return pb;
}

static Epb__PutResponse *put_of(struct answer_builder *builder,
                                const struct kv_result *result)
{
	Epb__PutResponse *pb = builder_alloc(builder, 1, sizeof *pb);

	if (pb == NULL)
		return NULL;
	epb__put_response__init(pb);
	pb->header = header_of(builder, &result->header);
	pb->prev_kv = record_of(builder, result->put.prev);
	return pb;
}

static Epb__DeleteRangeResponse *delete_of(struct answer_builder *builder,
                                           const struct kv_result *result)
{
	Epb__DeleteRangeResponse *pb = builder_alloc(builder, 1, sizeof *pb);

	if (pb == NULL)
		return NULL;
	epb__delete_range_response__init(pb);
	pb->header = header_of(builder, &result->header);
	pb->deleted = result->del.deleted;
	pb->n_prev_kvs = result->del.prev_count;
	pb->prev_kvs = records_of(builder, result->del.prev, result->del.prev_count);
	return pb;
}

static Epb__TxnResponse *txn_of(struct answer_builder *builder,
                                const struct kv_result *result);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as what was asked */
static void fill_op(struct answer_builder *builder, const struct kv_result *one,
                    Epb__ResponseOp *pb)
{
	epb__response_op__init(pb);
	switch ((int)one->op) {
	case KV_GET:
		pb->response_case = EPB__RESPONSE_OP__RESPONSE_RANGE;
		pb->range = get_of(builder, one);
		return;
	case KV_PUT:
		pb->response_case = EPB__RESPONSE_OP__RESPONSE_PUT;
		pb->put = put_of(builder, one);
		return;
	case KV_DELETE:
		pb->response_case = EPB__RESPONSE_OP__RESPONSE_DELETE_RANGE;
		pb->delete_range = delete_of(builder, one);
		return;
	default:
		pb->response_case = EPB__RESPONSE_OP__RESPONSE_TXN;
		pb->txn = txn_of(builder, one);
		return;
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as what was asked */
static Epb__TxnResponse *txn_of(struct answer_builder *builder,
                                const struct kv_result *result)
{
	const struct kv_txn_result *txn = &result->txn;
	Epb__TxnResponse *pb = builder_alloc(builder, 1, sizeof *pb);
	Epb__ResponseOp *each = builder_alloc(builder, txn->count, sizeof *each);
	Epb__ResponseOp **list = builder_alloc(builder, txn->count, sizeof *list);

	if (list == NULL)
		return NULL;
	epb__txn_response__init(pb);
	pb->header = header_of(builder, &result->header);
	pb->succeeded = txn->succeeded;
	pb->n_responses = txn->count;
	pb->responses = list;
	for (size_t i = 0; i < txn->count; i++) {
		list[i] = &each[i];
		fill_op(builder, &txn->results[i], &each[i]);
	}
	return pb;
}

/* -- everything else --------------------------------------------------------------- */

static enum pl_code pack_compact(struct answer_builder *builder,
                                 const struct kv_result *result, struct pl_buf *out)
{
	Epb__CompactionResponse pb = EPB__COMPACTION_RESPONSE__INIT;

	pb.header = header_of(builder, &result->header);
	return pack_message(builder, &pb, out);
}

static enum pl_code pack_grant(struct answer_builder *builder,
                               const struct kv_result *result, struct pl_buf *out)
{
	Epb__LeaseGrantResponse pb = EPB__LEASE_GRANT_RESPONSE__INIT;

	pb.header = header_of(builder, &result->header);
	pb.id = result->lease.id;
	pb.ttl = result->lease.ttl_s;
	return pack_message(builder, &pb, out);
}

static enum pl_code pack_revoke(struct answer_builder *builder,
                                const struct kv_result *result, struct pl_buf *out)
{
	Epb__LeaseRevokeResponse pb = EPB__LEASE_REVOKE_RESPONSE__INIT;

	pb.header = header_of(builder, &result->header);
	return pack_message(builder, &pb, out);
}

static enum pl_code pack_ttl(struct answer_builder *builder,
                             const struct kv_result *result, struct pl_buf *out)
{
	const struct kv_lease_result *lease = &result->lease;
	Epb__LeaseTimeToLiveResponse pb = EPB__LEASE_TIME_TO_LIVE_RESPONSE__INIT;

	pb.header = header_of(builder, &result->header);
	pb.id = lease->id;
	pb.ttl = lease->ttl_s;
	pb.granted_ttl = lease->granted_s;
	pb.n_keys = lease->key_count;
	pb.keys = builder_alloc(builder, lease->key_count, sizeof *pb.keys);
	for (size_t i = 0; pb.keys != NULL && i < lease->key_count; i++)
		pb.keys[i] = bytes_of(lease->keys[i]);
	return pack_message(builder, &pb, out);
}

static enum pl_code pack_status(struct answer_builder *builder,
                                const struct kv_result *result, struct pl_buf *out)
{
	const struct kv_status_result *status = &result->status;
	Epb__StatusResponse pb = EPB__STATUS_RESPONSE__INIT;

	pb.header = header_of(builder, &result->header);
	/* The version that is reported: a memory store behaves like etcd 3.4, without the
	 * faults of its early versions. */
	pb.version = bytes_of(PL_SPAN_LIT("3.4.36"));
	pb.db_size = status->db_bytes;
	pb.db_size_in_use = status->db_bytes_in_use;
	pb.leader = status->leader;
	pb.raft_index = status->raft_index;
	return pack_message(builder, &pb, out);
}

enum pl_code message_answer(const struct kv_result *result, struct pl_arena *arena,
                            struct pl_buf *out)
{
	struct answer_builder builder = {.arena = arena};
	const void *pb = NULL;

	switch (result->op) {
	case KV_GET:
		pb = get_of(&builder, result);
		return pack_message(&builder, pb, out);
	case KV_PUT:
		pb = put_of(&builder, result);
		return pack_message(&builder, pb, out);
	case KV_DELETE:
		pb = delete_of(&builder, result);
		return pack_message(&builder, pb, out);
	case KV_TXN:
		pb = txn_of(&builder, result);
		return pack_message(&builder, pb, out);
	case KV_COMPACT:
		return pack_compact(&builder, result, out);
	case KV_LEASE_GRANT:
		return pack_grant(&builder, result, out);
	case KV_LEASE_REVOKE:
		return pack_revoke(&builder, result, out);
	case KV_LEASE_TTL:
		return pack_ttl(&builder, result, out);
	case KV_STATUS:
		return pack_status(&builder, result, out);
	case KV_LEASE_KEEP:
	case KV_OP_COUNT:
		break;
	}
	PL_UNREACHABLE("not a unary method");
}

static Epb__Event **events_of(struct answer_builder *builder,
                              const struct kv_event *events, size_t count)
{
	Epb__Event **list = builder_alloc(builder, count, sizeof *list);
	Epb__Event *each = builder_alloc(builder, count, sizeof *each);

	for (size_t i = 0; each != NULL && i < count; i++) {
		list[i] = &each[i];
		epb__event__init(&each[i]);
		each[i].type = events[i].is_delete ? EPB__EVENT__TYPE__DELETE
		                                   : EPB__EVENT__TYPE__PUT;
		each[i].kv = record_of(builder, &events[i].record);
		each[i].prev_kv = record_of(builder, events[i].prev);
	}
	return list;
}

enum pl_code message_watch_answer(const struct message_watch_answer *answer,
                                  struct pl_arena *arena, struct pl_buf *out)
{
	struct answer_builder builder = {.arena = arena};
	Epb__WatchResponse pb = EPB__WATCH_RESPONSE__INIT;

	pb.header = header_of(&builder, &answer->header);
	pb.watch_id = answer->id;
	pb.created = answer->created;
	pb.canceled = answer->canceled;
	pb.compact_revision = answer->compact_revision;
	if (answer->reason != NULL)
		pb.cancel_reason = bytes_of(pl_span_str(answer->reason));
	pb.n_events = answer->count;
	pb.events = events_of(&builder, answer->events, answer->count);
	return pack_message(&builder, &pb, out);
}

enum pl_code message_keep_answer(const struct kv_header *header, int64_t lease,
                                 int64_t ttl_s, struct pl_buf *out)
{
	Epb__ResponseHeader head = EPB__RESPONSE_HEADER__INIT;
	Epb__LeaseKeepAliveResponse pb = EPB__LEASE_KEEP_ALIVE_RESPONSE__INIT;
	const struct answer_builder builder = {0};

	head.cluster_id = header->cluster_id;
	head.member_id = header->member_id;
	head.revision = header->revision;
	head.raft_term = header->raft_term;
	pb.header = &head;
	pb.id = lease;
	pb.ttl = ttl_s;
	return pack_message(&builder, &pb, out);
}

/* NOLINTEND(bugprone-sizeof-expression) */
