/* Reads the parts that answers and watch messages share: headers and records. */
#include "store/etcd/codec_internal.h"

enum {
	/* ResponseHeader */
	HDR_CLUSTER = WIRE_TAG(1, WIRE_VARINT),
	HDR_MEMBER = WIRE_TAG(2, WIRE_VARINT),
	HDR_REVISION = WIRE_TAG(3, WIRE_VARINT),
	HDR_TERM = WIRE_TAG(4, WIRE_VARINT),
	HDR_FIELDS = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4,
	/* KeyValue */
	KV_KEY = WIRE_TAG(1, WIRE_BYTES),
	KV_CREATE = WIRE_TAG(2, WIRE_VARINT),
	KV_MOD = WIRE_TAG(3, WIRE_VARINT),
	KV_VER = WIRE_TAG(4, WIRE_VARINT),
	KV_VAL = WIRE_TAG(5, WIRE_BYTES),
	KV_LSE = WIRE_TAG(6, WIRE_VARINT),
	KV_FIELDS = 0x7e,
};

enum pl_code codec_bad(const struct codec_in *in, const char *why)
{
	return pl_err_set(in->err, PL_PROTO, "%s answer: %s", in->what, why);
}

enum pl_code codec_nomem(const struct codec_in *in)
{
	return pl_err_set(in->err, PL_NOMEM, "%s answer: no memory to decode it",
	                  in->what);
}

enum pl_code codec_read_header(const struct codec_in *in, struct pl_span bytes,
                               struct kv_header *header)
{
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;

	while (wire_next(&reader, &field)) {
		switch (field.tag) {
		case HDR_CLUSTER:
			header->cluster_id = field.number;
			break;
		case HDR_MEMBER:
			header->member_id = field.number;
			break;
		case HDR_REVISION:
			header->revision = (int64_t)field.number;
			break;
		case HDR_TERM:
			header->raft_term = field.number;
			break;
		default:
			reader.bad |= wire_tag_in(field.tag, HDR_FIELDS);
		}
	}
	if (reader.bad || header->revision < 0)
		return codec_bad(in, "malformed header");
	return PL_OK;
}

bool codec_read_record(struct pl_span bytes, struct kv_record *record)
{
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;

	while (wire_next(&reader, &field)) {
		switch (field.tag) {
		case KV_KEY:
			record->key = field.bytes;
			break;
		case KV_CREATE:
			record->create_revision = (int64_t)field.number;
			break;
		case KV_MOD:
			record->mod_revision = (int64_t)field.number;
			break;
		case KV_VER:
			record->version = (int64_t)field.number;
			break;
		case KV_VAL:
			record->value = field.bytes;
			break;
		case KV_LSE:
			record->lease = (int64_t)field.number;
			break;
		default:
			reader.bad |= wire_tag_in(field.tag, KV_FIELDS);
		}
	}
	return !reader.bad;
}

bool codec_record_ok(const struct kv_record *record)
{
	return record->key.len != 0 && record->create_revision > 0 &&
	       record->mod_revision >= record->create_revision && record->version > 0;
}
