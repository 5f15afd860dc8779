#include "tests/support/store/etcd/codec_ref.h"

#include <protobuf-c/protobuf-c.h>
#include <stdlib.h>

#include "rpc.pb-c.h"
#include "store/kv/keys.h"

/* NOLINTBEGIN(misc-no-recursion,bugprone-sizeof-expression): trees of pointers, as
 * protobuf-c has them. */

enum { MEMORY_CHUNK = 65536 };

/* The arena of the reference, freed at the end of each call. */
static struct pl_arena memory;

static void *ref_alloc(size_t count, size_t size)
{
	void *at;

	if (memory.chunk_size == 0)
		pl_arena_init(&memory, MEMORY_CHUNK, 0);
	at = pl_arena_zalloc(&memory, count == 0 ? 1 : count, size);
	PL_ASSERT(at != NULL);
	return at;
}

#define REF_NEW(variable, init_fn)                             \
	do {                                                   \
		(variable) = ref_alloc(1, sizeof *(variable)); \
		init_fn(variable);                             \
	} while (0)

static void pack_message(const void *message, struct pl_buf *out)
{
	size_t size = protobuf_c_message_get_packed_size(message);
	enum pl_code code = pl_buf_reserve(out, size);

	PL_ASSERT(code == PL_OK);
	out->len += protobuf_c_message_pack(message, out->at + out->len);
	pl_arena_done(&memory);
}

static ProtobufCBinaryData bytes_of(struct pl_span span)
{
	struct pl_span copy = span;

	if (span.len != 0) {
		if (memory.chunk_size == 0)
			pl_arena_init(&memory, MEMORY_CHUNK, 0);
		copy = pl_arena_dup(&memory, span);
		PL_ASSERT(copy.at != NULL);
	}
	ProtobufCBinaryData data = {.len = span.len};
	memcpy(&data.data, &copy.at, sizeof data.data);
	return data;
}

static void keys_of(const struct kv_keys *keys, ProtobufCBinaryData *key,
                    ProtobufCBinaryData *end)
{
	static const uint8_t zero[1];
	struct pl_span least = pl_span(zero, 1);
	struct pl_span to = {0};

	switch (keys->kind) {
	case KV_ONE:
		break;
	case KV_RANGE:
		to = keys->to;
		break;
	case KV_FROM:
		to = least;
		break;
	case KV_PREFIX:
		to = kv_prefix_end(keys->from, ref_alloc(1, keys->from.len + 1));
		if (to.len == 0)
			to = least;
		break;
	}
	*key = bytes_of(keys->from.len == 0 ? least : keys->from);
	*end = bytes_of(to);
}

static Epb__RangeRequest *get_of(const struct kv_get *get)
{
	Epb__RangeRequest *pb;

	REF_NEW(pb, epb__range_request__init);
	keys_of(&get->keys, &pb->key, &pb->range_end);
	pb->limit = get->limit;
	pb->revision = get->revision;
	pb->keys_only = get->keys_only;
	pb->count_only = get->count_only;
	pb->serializable = get->serializable;
	return pb;
}

static Epb__PutRequest *put_of(const struct kv_put *put)
{
	Epb__PutRequest *pb;

	REF_NEW(pb, epb__put_request__init);
	pb->key = bytes_of(put->key);
	pb->value = bytes_of(put->value);
	pb->lease = put->lease;
	pb->prev_kv = put->want_prev;
	pb->ignore_value = put->keep_value;
	pb->ignore_lease = put->keep_lease;
	return pb;
}

static Epb__DeleteRangeRequest *delete_of(const struct kv_delete *del)
{
	Epb__DeleteRangeRequest *pb;

	REF_NEW(pb, epb__delete_range_request__init);
	keys_of(&del->keys, &pb->key, &pb->range_end);
	pb->prev_kv = del->want_prev;
	return pb;
}

static Epb__Compare *compare_of(const struct kv_compare *compare)
{
	Epb__Compare *pb;

	REF_NEW(pb, epb__compare__init);
	keys_of(&compare->keys, &pb->key, &pb->range_end);
	switch (compare->relation) {
	case KV_EQ:
		pb->result = EPB__COMPARE__RESULT__EQUAL;
		break;
	case KV_NE:
		pb->result = EPB__COMPARE__RESULT__NOT_EQUAL;
		break;
	case KV_LT:
		pb->result = EPB__COMPARE__RESULT__LESS;
		break;
	case KV_GT:
		pb->result = EPB__COMPARE__RESULT__GREATER;
		break;
	}
	switch (compare->target) {
	case KV_VERSION:
		pb->target = EPB__COMPARE__TARGET__VERSION;
		pb->target_union_case = EPB__COMPARE__TARGET_UNION_VERSION;
		pb->version = compare->number;
		break;
	case KV_CREATE_REV:
		pb->target = EPB__COMPARE__TARGET__CREATE;
		pb->target_union_case = EPB__COMPARE__TARGET_UNION_CREATE_REVISION;
		pb->create_revision = compare->number;
		break;
	case KV_MOD_REV:
		pb->target = EPB__COMPARE__TARGET__MOD;
		pb->target_union_case = EPB__COMPARE__TARGET_UNION_MOD_REVISION;
		pb->mod_revision = compare->number;
		break;
	case KV_VALUE:
		pb->target = EPB__COMPARE__TARGET__VALUE;
		pb->target_union_case = EPB__COMPARE__TARGET_UNION_VALUE;
		pb->value = bytes_of(compare->value);
		break;
	case KV_LEASE:
		pb->target = EPB__COMPARE__TARGET__LEASE;
		pb->target_union_case = EPB__COMPARE__TARGET_UNION_LEASE;
		pb->lease = compare->number;
		break;
	}
	return pb;
}

static Epb__TxnRequest *txn_of(const struct kv_txn *txn);

static Epb__RequestOp **list_of(const struct kv_req *ops, size_t count)
{
	Epb__RequestOp **list = ref_alloc(count, sizeof *list);

	for (size_t i = 0; i < count; i++) {
		REF_NEW(list[i], epb__request_op__init);
		if (ops[i].op == KV_GET) {
			list[i]->request_case = EPB__REQUEST_OP__REQUEST_RANGE;
			list[i]->range = get_of(&ops[i].get);
		} else if (ops[i].op == KV_PUT) {
			list[i]->request_case = EPB__REQUEST_OP__REQUEST_PUT;
			list[i]->put = put_of(&ops[i].put);
		} else if (ops[i].op == KV_DELETE) {
			list[i]->request_case = EPB__REQUEST_OP__REQUEST_DELETE_RANGE;
			list[i]->delete_range = delete_of(&ops[i].del);
		} else {
			list[i]->request_case = EPB__REQUEST_OP__REQUEST_TXN;
			list[i]->txn = txn_of(&ops[i].txn);
		}
	}
	return list;
}

static Epb__TxnRequest *txn_of(const struct kv_txn *txn)
{
	Epb__TxnRequest *pb;

	REF_NEW(pb, epb__txn_request__init);
	pb->n_compare = txn->compare_count;
	pb->compare = ref_alloc(txn->compare_count, sizeof *pb->compare);
	for (size_t i = 0; i < txn->compare_count; i++)
		pb->compare[i] = compare_of(&txn->compares[i]);
	pb->n_success = txn->then_count;
	pb->success = list_of(txn->then, txn->then_count);
	pb->n_failure = txn->otherwise_count;
	pb->failure = list_of(txn->otherwise, txn->otherwise_count);
	return pb;
}

void codec_ref_request(const struct kv_req *req, struct pl_buf *out)
{
	switch ((int)req->op) {
	case KV_GET:
		pack_message(get_of(&req->get), out);
		return;
	case KV_PUT:
		pack_message(put_of(&req->put), out);
		return;
	case KV_DELETE:
		pack_message(delete_of(&req->del), out);
		return;
	case KV_TXN:
		pack_message(txn_of(&req->txn), out);
		return;
	}
	PL_UNREACHABLE("not an operation on keys");
}

void codec_ref_watch_create(const struct codec_watch_create *create, struct pl_buf *out)
{
	const struct kv_watch_req *req = create->req;
	Epb__WatchRequest *pb;

	REF_NEW(pb, epb__watch_request__init);
	pb->request_case = EPB__WATCH_REQUEST__REQUEST_CREATE;
	REF_NEW(pb->create, epb__watch_create_request__init);
	keys_of(&req->keys, &pb->create->key, &pb->create->range_end);
	pb->create->start_revision = create->from_revision;
	pb->create->progress_notify = create->progress_notify;
	pb->create->fragment = create->fragment;
	pb->create->watch_id = create->watch_id;
	pb->create->prev_kv = req->want_prev;
	pb->create->filters = ref_alloc(2, sizeof *pb->create->filters);
	if (req->no_puts)
		pb->create->filters[pb->create->n_filters++] =
			EPB__WATCH_CREATE_REQUEST__FILTER__NOPUT;
	if (req->no_deletes)
		pb->create->filters[pb->create->n_filters++] =
			EPB__WATCH_CREATE_REQUEST__FILTER__NODELETE;
	pack_message(pb, out);
}

/* -- answers ----------------------------------------------------------- */

static Epb__ResponseHeader *header_of(const struct kv_header *header)
{
	Epb__ResponseHeader *pb;

	REF_NEW(pb, epb__response_header__init);
	pb->cluster_id = header->cluster_id;
	pb->member_id = header->member_id;
	pb->revision = header->revision;
	pb->raft_term = header->raft_term;
	return pb;
}

static Epb__KeyValue *record_of(const struct kv_record *record)
{
	Epb__KeyValue *pb;

	if (record == NULL)
		return NULL;
	REF_NEW(pb, epb__key_value__init);
	pb->key = bytes_of(record->key);
	pb->value = bytes_of(record->value);
	pb->create_revision = record->create_revision;
	pb->mod_revision = record->mod_revision;
	pb->version = record->version;
	pb->lease = record->lease;
	return pb;
}

static Epb__KeyValue **records_of(const struct kv_record *records, size_t count)
{
	Epb__KeyValue **list = ref_alloc(count, sizeof *list);

	for (size_t i = 0; i < count; i++)
		list[i] = record_of(&records[i]);
	return list;
}

static Epb__RangeResponse *get_done_of(const struct kv_result *result)
{
	Epb__RangeResponse *pb;

	REF_NEW(pb, epb__range_response__init);
	pb->header = header_of(&result->header);
	pb->n_kvs = result->get.count;
	pb->kvs = records_of(result->get.records, result->get.count);
	pb->more = result->get.more;
	pb->count = result->get.total;
	return pb;
}

static Epb__PutResponse *put_done_of(const struct kv_result *result)
{
	Epb__PutResponse *pb;

	REF_NEW(pb, epb__put_response__init);
	pb->header = header_of(&result->header);
	pb->prev_kv = record_of(result->put.prev);
	return pb;
}

static Epb__DeleteRangeResponse *delete_done_of(const struct kv_result *result)
{
	Epb__DeleteRangeResponse *pb;

	REF_NEW(pb, epb__delete_range_response__init);
	pb->header = header_of(&result->header);
	pb->deleted = result->del.deleted;
	pb->n_prev_kvs = result->del.prev_count;
	pb->prev_kvs = records_of(result->del.prev, result->del.prev_count);
	return pb;
}

static Epb__TxnResponse *txn_done_of(const struct kv_result *result)
{
	Epb__TxnResponse *pb;

	REF_NEW(pb, epb__txn_response__init);
	pb->header = header_of(&result->header);
	pb->succeeded = result->txn.succeeded;
	pb->n_responses = result->txn.count;
	pb->responses = ref_alloc(result->txn.count, sizeof *pb->responses);
	for (size_t i = 0; i < result->txn.count; i++) {
		const struct kv_result *one = &result->txn.results[i];
		Epb__ResponseOp *op;

		REF_NEW(op, epb__response_op__init);
		pb->responses[i] = op;
		if (one->op == KV_GET) {
			op->response_case = EPB__RESPONSE_OP__RESPONSE_RANGE;
			op->range = get_done_of(one);
		} else if (one->op == KV_PUT) {
			op->response_case = EPB__RESPONSE_OP__RESPONSE_PUT;
			op->put = put_done_of(one);
		} else if (one->op == KV_DELETE) {
			op->response_case = EPB__RESPONSE_OP__RESPONSE_DELETE_RANGE;
			op->delete_range = delete_done_of(one);
		} else {
			op->response_case = EPB__RESPONSE_OP__RESPONSE_TXN;
			op->txn = txn_done_of(one);
		}
	}
	return pb;
}

void codec_ref_answer(const struct kv_result *result, struct pl_buf *out)
{
	switch ((int)result->op) {
	case KV_GET:
		pack_message(get_done_of(result), out);
		return;
	case KV_PUT:
		pack_message(put_done_of(result), out);
		return;
	case KV_DELETE:
		pack_message(delete_done_of(result), out);
		return;
	case KV_TXN:
		pack_message(txn_done_of(result), out);
		return;
	}
	PL_UNREACHABLE("not an operation on keys");
}

void codec_ref_watch(const struct codec_watch *watch, struct pl_buf *out)
{
	Epb__WatchResponse *pb;

	REF_NEW(pb, epb__watch_response__init);
	pb->header = header_of(&watch->header);
	pb->watch_id = watch->watch_id;
	pb->created = watch->created;
	pb->canceled = watch->canceled;
	pb->fragment = watch->fragment;
	pb->compact_revision = watch->compact_revision;
	pb->cancel_reason = bytes_of(watch->cancel_reason);
	pb->n_events = watch->count;
	pb->events = ref_alloc(watch->count, sizeof *pb->events);
	for (size_t i = 0; i < watch->count; i++) {
		const struct kv_event *event = &watch->events[i];

		REF_NEW(pb->events[i], epb__event__init);
		pb->events[i]->type = event->is_delete ? EPB__EVENT__TYPE__DELETE
		                                       : EPB__EVENT__TYPE__PUT;
		pb->events[i]->kv = record_of(&event->record);
		pb->events[i]->prev_kv = record_of(event->prev);
	}
	pack_message(pb, out);
}

/* -- decoding and encoding again ------------------------------------------- */

static bool reencode(const ProtobufCMessageDescriptor *type, struct pl_span bytes,
                     struct pl_buf *out)
{
	const uint8_t *at = bytes.len == 0 ? (const uint8_t *)"" : bytes.at;
	ProtobufCMessage *message = protobuf_c_message_unpack(type, NULL, bytes.len, at);

	if (message == NULL)
		return false;
	pack_message(message, out);
	protobuf_c_message_free_unpacked(message, NULL);
	return true;
}

bool codec_ref_answer_reencode(enum kv_op op, struct pl_span bytes, struct pl_buf *out)
{
	static const ProtobufCMessageDescriptor *const types[] = {
		[KV_GET] = &epb__range_response__descriptor,
		[KV_PUT] = &epb__put_response__descriptor,
		[KV_DELETE] = &epb__delete_range_response__descriptor,
		[KV_TXN] = &epb__txn_response__descriptor,
	};

	PL_ASSERT((unsigned)op <= KV_TXN);
	return reencode(types[op], bytes, out);
}

bool codec_ref_watch_reencode(struct pl_span bytes, struct pl_buf *out)
{
	return reencode(&epb__watch_response__descriptor, bytes, out);
}

/* NOLINTEND(misc-no-recursion,bugprone-sizeof-expression) */
