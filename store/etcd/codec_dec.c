/*
 * Decodes answers about keys, directly: keys and values point into the message.
 * protobuf-c would copy each of them, which is twice the memory for a page or a watch
 * message of many megabytes, and it would follow nested answers as deep as a server sends
 * them.
 */
#include "store/etcd/codec_internal.h"

enum {
	/* every response */
	ANS_HEADER = WIRE_TAG(1, WIRE_BYTES),
	/* RangeResponse */
	GET_RECORDS = WIRE_TAG(2, WIRE_BYTES),
	GET_MORE = WIRE_TAG(3, WIRE_VARINT),
	GET_COUNT = WIRE_TAG(4, WIRE_VARINT),
	GET_FIELDS = 0x1e,
	/* PutResponse */
	PUT_PREV = WIRE_TAG(2, WIRE_BYTES),
	PUT_FIELDS = 0x6,
	/* DeleteRangeResponse */
	DEL_COUNT = WIRE_TAG(2, WIRE_VARINT),
	DEL_PREV = WIRE_TAG(3, WIRE_BYTES),
	DEL_FIELDS = 0xe,
	/* TxnResponse */
	TXN_SUCCEEDED = WIRE_TAG(2, WIRE_VARINT),
	TXN_RESULTS = WIRE_TAG(3, WIRE_BYTES),
	TXN_FIELDS = 0xe,
	/* ResponseOp */
	OP_GET = WIRE_TAG(1, WIRE_BYTES),
	OP_PUT = WIRE_TAG(2, WIRE_BYTES),
	OP_DELETE = WIRE_TAG(3, WIRE_BYTES),
	OP_TXN = WIRE_TAG(4, WIRE_BYTES),
	OP_FIELDS = 0x1e,
};

/* An answer being read: the fields common to all answers are read here, the others by
 * operation. */
struct decoded_answer {
	const struct codec_in *in;
	struct pl_span bytes;
	struct kv_header header; /* ignored in a nested answer */
	bool has_header;
};

/* Reads the next record into an array that has room for it. */
static enum pl_code record_add(const struct codec_in *in, struct pl_span bytes,
                               struct kv_record *record)
{
	*record = (struct kv_record){0};
	if (!codec_read_record(bytes, record))
		return codec_bad(in, "malformed record");
	return codec_record_ok(record) ? PL_OK : codec_bad(in, "impossible record");
}

/* Counts a field, so that its array is allocated once. Also checks that the whole message
 * is well formed, so later passes need not. */
static bool count_fields(struct pl_span bytes, uint32_t tag, size_t *count)
{
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;

	*count = 0;
	while (wire_next(&reader, &field))
		*count += field.tag == tag;
	return !reader.bad;
}

/* Handles fields that the operation does not know: the header, and unknown fields. */
static enum pl_code answer_other(struct decoded_answer *answer,
                                 const struct wire_field *field, uint32_t known)
{
	if (field->tag == ANS_HEADER) {
		if (answer->has_header)
			return codec_bad(answer->in, "two headers");
		answer->has_header = true;
		return codec_read_header(answer->in, field->bytes, &answer->header);
	}
	if (wire_tag_in(field->tag, known))
		return codec_bad(answer->in, "field of the wrong type");
	return PL_OK;
}

static enum pl_code get_read(struct decoded_answer *answer, struct kv_get_result *out)
{
	const struct codec_in *in = answer->in;
	struct wire_reader reader = wire_reader(answer->bytes);
	struct wire_field field;
	struct kv_record *records = NULL;
	enum pl_code code = PL_OK;
	size_t room;

	if (!count_fields(answer->bytes, GET_RECORDS, &room))
		return codec_bad(in, "malformed message");
	if (room != 0 &&
	    (records = pl_arena_alloc(in->arena, room * sizeof *records)) == NULL)
		return codec_nomem(in);
	*out = (struct kv_get_result){.records = records};
	while (code == PL_OK && wire_next(&reader, &field)) {
		switch (field.tag) {
		case GET_RECORDS:
			PL_ASSERT(out->count < room);
			code = record_add(in, field.bytes, &records[out->count++]);
			break;
		case GET_MORE:
			out->more = field.number != 0;
			break;
		case GET_COUNT:
			out->total = (int64_t)field.number;
			break;
		default:
			code = answer_other(answer, &field, GET_FIELDS);
		}
	}
	if (code == PL_OK && (out->total < 0 || (uint64_t)out->total < out->count))
		code = codec_bad(in, "impossible count");
	return code;
}

static enum pl_code put_read(struct decoded_answer *answer, struct kv_put_result *out)
{
	const struct codec_in *in = answer->in;
	struct wire_reader reader = wire_reader(answer->bytes);
	struct wire_field field;
	enum pl_code code = PL_OK;

	*out = (struct kv_put_result){0};
	while (code == PL_OK && wire_next(&reader, &field)) {
		struct kv_record *prev;

		if (field.tag != PUT_PREV) {
			code = answer_other(answer, &field, PUT_FIELDS);
			continue;
		}
		if (out->prev != NULL)
			return codec_bad(in, "two previous records");
		prev = pl_arena_alloc(in->arena, sizeof *prev);
		if (prev == NULL)
			return codec_nomem(in);
		code = record_add(in, field.bytes, prev);
		out->prev = prev;
	}
	if (code == PL_OK && reader.bad)
		code = codec_bad(in, "malformed message");
	return code;
}

static enum pl_code delete_read(struct decoded_answer *answer,
                                struct kv_delete_result *out)
{
	const struct codec_in *in = answer->in;
	struct wire_reader reader = wire_reader(answer->bytes);
	struct wire_field field;
	struct kv_record *records = NULL;
	enum pl_code code = PL_OK;
	size_t room;

	if (!count_fields(answer->bytes, DEL_PREV, &room))
		return codec_bad(in, "malformed message");
	if (room != 0 &&
	    (records = pl_arena_alloc(in->arena, room * sizeof *records)) == NULL)
		return codec_nomem(in);
	*out = (struct kv_delete_result){.prev = records};
	while (code == PL_OK && wire_next(&reader, &field)) {
		switch (field.tag) {
		case DEL_COUNT:
			out->deleted = (int64_t)field.number;
			break;
		case DEL_PREV:
			PL_ASSERT(out->prev_count < room);
			code = record_add(in, field.bytes, &records[out->prev_count++]);
			break;
		default:
			code = answer_other(answer, &field, DEL_FIELDS);
		}
	}
	if (code == PL_OK &&
	    (out->deleted < 0 ||
	     (out->prev_count != 0 && out->prev_count != (uint64_t)out->deleted)))
		code = codec_bad(in, "impossible count");
	return code;
}

/* NOLINTBEGIN(misc-no-recursion): depth bounds it, whatever a server sends. */
static enum pl_code txn_read(struct decoded_answer *answer, struct wire_reader *shape,
                             unsigned depth, struct kv_txn_result *out);

static enum pl_code op_read(const struct codec_in *in, const struct wire_field *field,
                            struct wire_reader *shape, unsigned depth,
                            struct kv_result *out)
{
	struct decoded_answer answer = {.in = in, .bytes = field->bytes};

	switch (field->tag) {
	case OP_GET:
		return get_read(&answer, &out->get);
	case OP_PUT:
		return put_read(&answer, &out->put);
	case OP_DELETE:
		return delete_read(&answer, &out->del);
	default:
		return txn_read(&answer, shape, depth, &out->txn);
	}
}

/* Reads a ResponseOp: exactly one of its fields, and the one that was requested. */
static enum pl_code result_read(const struct codec_in *in, struct pl_span bytes,
                                struct codec_expect *expect, unsigned depth,
                                struct kv_result *out)
{
	static const enum kv_op ops[] = {KV_GET, KV_PUT, KV_DELETE, KV_TXN};
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field, chosen = {0};
	enum kv_op op;

	while (wire_next(&reader, &field)) {
		if (!wire_tag_in(field.tag, OP_FIELDS))
			continue;
		if (chosen.tag != 0 || (field.tag & 7) != WIRE_BYTES)
			return codec_bad(in, "malformed result in a transaction");
		chosen = field;
	}
	if (reader.bad || chosen.tag == 0)
		return codec_bad(in, "malformed result in a transaction");
	op = ops[(chosen.tag >> 3) - 1];
	if (!codec_expect_next(expect, op))
		return codec_bad(in, "results are not those that were asked for");
	*out = (struct kv_result){.op = op};
	return op_read(in, &chosen, expect->known ? &expect->shape : NULL, depth, out);
}

/* Reads which branch was taken, which must be known before its results are checked. */
static enum pl_code txn_branch(struct decoded_answer *answer, struct kv_txn_result *out)
{
	struct wire_reader reader = wire_reader(answer->bytes);
	struct wire_field field;
	enum pl_code code = PL_OK;

	while (code == PL_OK && wire_next(&reader, &field)) {
		switch (field.tag) {
		case TXN_SUCCEEDED:
			out->succeeded = field.number != 0;
			break;
		case TXN_RESULTS:
			break;
		default:
			code = answer_other(answer, &field, TXN_FIELDS);
		}
	}
	return code;
}

static enum pl_code txn_read(struct decoded_answer *answer, struct wire_reader *shape,
                             unsigned depth, struct kv_txn_result *out)
{
	const struct codec_in *in = answer->in;
	struct wire_reader reader = wire_reader(answer->bytes);
	struct codec_expect expect;
	struct wire_field field;
	struct kv_result *results = NULL;
	enum pl_code code;
	size_t room;

	if (depth == KV_TXN_DEPTH_MAX)
		return codec_bad(in, "nested too deeply");
	if (!count_fields(answer->bytes, TXN_RESULTS, &room))
		return codec_bad(in, "malformed message");
	if (room != 0 &&
	    (results = pl_arena_alloc(in->arena, room * sizeof *results)) == NULL)
		return codec_nomem(in);
	*out = (struct kv_txn_result){.results = results};
	code = txn_branch(answer, out);
	codec_expect(shape, out->succeeded, &expect);
	while (code == PL_OK && wire_next(&reader, &field)) {
		if (field.tag != TXN_RESULTS)
			continue;
		PL_ASSERT(out->count < room);
		code = result_read(in, field.bytes, &expect, depth + 1,
		                   &results[out->count++]);
	}
	if (code == PL_OK && !codec_expect_done(&expect))
		code = codec_bad(in, "fewer results than were asked for");
	return code;
}

/* NOLINTEND(misc-no-recursion) */

static enum pl_code decode_answer(struct decoded_answer *answer,
                                  struct wire_reader *shape, struct kv_result *result)
{
	switch (result->op) {
	case KV_GET:
		return get_read(answer, &result->get);
	case KV_PUT:
		return put_read(answer, &result->put);
	case KV_DELETE:
		return delete_read(answer, &result->del);
	case KV_TXN:
		return txn_read(answer, shape, 0, &result->txn);
	case KV_COMPACT:
	case KV_LEASE_GRANT:
	case KV_LEASE_REVOKE:
	case KV_LEASE_KEEP:
	case KV_LEASE_TTL:
	case KV_STATUS:
	case KV_OP_COUNT:
		break;
	}
	PL_UNREACHABLE("not an operation on keys");
}

enum pl_code codec_decode(enum kv_op op, struct pl_span shape, struct pl_span bytes,
                          struct pl_arena *arena, struct kv_result *result,
                          struct pl_err *err)
{
	struct codec_in in = {.arena = arena, .what = kv_op_name(op), .err = err};
	struct wire_reader shape_reader = wire_reader(shape);
	struct kv_result decoded = {.op = op};
	struct decoded_answer answer = {.in = &in, .bytes = bytes};
	enum pl_code code;

	if (op > KV_TXN)
		return codec_pb_decode(&in, op, bytes, result);
	code = decode_answer(&answer, shape.len == 0 ? NULL : &shape_reader, &decoded);
	if (code != PL_OK)
		return code;
	if (!answer.has_header)
		return codec_bad(&in, "no header");
	decoded.header = answer.header;
	*result = decoded;
	return PL_OK;
}
