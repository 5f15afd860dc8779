/* Encodes and decodes the small messages through protobuf-c: leases, compaction, status
 * and authentication. None of them is frequent. */
#include <inttypes.h>
#include <protobuf-c/protobuf-c.h>
#include <string.h>

#include "rpc.pb-c.h"
#include "store/etcd/codec_internal.h"

enum { VERSION_LEN_MAX = 64, TOKEN_LEN_MAX = 16 * 1024 };

static enum pl_code pack_message(const ProtobufCMessage *message, struct pl_buf *out,
                                 struct pl_err *err)
{
	size_t size = protobuf_c_message_get_packed_size(message);
	enum pl_code code = codec_reserve(out, size, err);

	if (code != PL_OK)
		return code;
	out->len += protobuf_c_message_pack(message, out->at + out->len);
	return PL_OK;
}

enum pl_code codec_pb_encode(const struct kv_req *req, struct pl_buf *out,
                             struct pl_err *err)
{
	Epb__CompactionRequest compact = EPB__COMPACTION_REQUEST__INIT;
	Epb__LeaseGrantRequest grant = EPB__LEASE_GRANT_REQUEST__INIT;
	Epb__LeaseRevokeRequest revoke = EPB__LEASE_REVOKE_REQUEST__INIT;
	Epb__LeaseTimeToLiveRequest ttl = EPB__LEASE_TIME_TO_LIVE_REQUEST__INIT;
	Epb__StatusRequest status = EPB__STATUS_REQUEST__INIT;

	switch (req->op) {
	case KV_COMPACT:
		compact.revision = req->compact.revision;
		compact.physical = req->compact.physical;
		return pack_message(&compact.base, out, err);
	case KV_LEASE_GRANT:
		grant.id = req->lease.id;
		grant.ttl = req->lease.ttl_s;
		return pack_message(&grant.base, out, err);
	case KV_LEASE_REVOKE:
		revoke.id = req->lease.id;
		return pack_message(&revoke.base, out, err);
	case KV_LEASE_KEEP:
		return codec_keepalive_encode(req->lease.id, out, err);
	case KV_LEASE_TTL:
		ttl.id = req->lease.id;
		ttl.keys = req->lease.want_keys;
		return pack_message(&ttl.base, out, err);
	case KV_STATUS:
		return pack_message(&status.base, out, err);
	case KV_GET:
	case KV_PUT:
	case KV_DELETE:
	case KV_TXN:
	case KV_OP_COUNT:
		break;
	}
	PL_UNREACHABLE("an operation on keys");
}

enum pl_code codec_keepalive_encode(int64_t lease, struct pl_buf *out, struct pl_err *err)
{
	Epb__LeaseKeepAliveRequest keepalive = EPB__LEASE_KEEP_ALIVE_REQUEST__INIT;

	keepalive.id = lease;
	return pack_message(&keepalive.base, out, err);
}

/* Written directly: protobuf-c needs a writable copy, and a password should not lie in
 * more places than necessary. */
enum pl_code codec_auth_encode(const char *user, const char *password, struct pl_buf *out,
                               struct pl_err *err)
{
	const uint32_t name_tag = WIRE_TAG(1, WIRE_BYTES);
	const uint32_t password_tag = WIRE_TAG(2, WIRE_BYTES);
	struct pl_span name = pl_span_str(user);
	struct pl_span secret = pl_span_str(password);
	size_t size =
		wire_bytes_size(name_tag, name) + wire_bytes_size(password_tag, secret);
	enum pl_code code;

	if (name.len == 0)
		return pl_err_set(err, PL_INVALID, "authenticate: empty user name");
	code = codec_reserve(out, size, err);
	if (code != PL_OK)
		return code;
	(void)wire_bytes(wire_bytes(out->at + out->len, name_tag, name), password_tag,
	                 secret);
	out->len += size;
	return PL_OK;
}

/* -- decoding ---------------------------------------------------------- */

struct arena_allocator {
	struct pl_arena *arena;
	bool failed;
};

static void *arena_alloc(void *data, size_t size)
{
	struct arena_allocator *from = data;
	void *at = pl_arena_alloc(from->arena, size);

	from->failed |= at == NULL;
	return at;
}

static void arena_free(void *data, void *at)
{
	(void)data;
	(void)at;
}

/* Unpacks into the arena, where nothing is freed separately. */
static enum pl_code unpack_message(const struct codec_in *in,
                                   const ProtobufCMessageDescriptor *type,
                                   struct pl_span bytes, ProtobufCMessage **out)
{
	struct arena_allocator from = {.arena = in->arena};
	ProtobufCAllocator allocator = {
		.alloc = arena_alloc, .free = arena_free, .allocator_data = &from};
	const uint8_t *at = bytes.len == 0 ? (const uint8_t *)"" : bytes.at;

	*out = protobuf_c_message_unpack(type, &allocator, bytes.len, at);
	if (*out == NULL)
		return from.failed ? codec_nomem(in) : codec_bad(in, "malformed message");
	return PL_OK;
}

static enum pl_code header_of(const struct codec_in *in,
                              const Epb__ResponseHeader *header, struct kv_header *out)
{
	if (header == NULL)
		return codec_bad(in, "no header");
	if (header->revision < 0)
		return codec_bad(in, "malformed header");
	*out = (struct kv_header){
		.cluster_id = header->cluster_id,
		.member_id = header->member_id,
		.revision = header->revision,
		.raft_term = header->raft_term,
	};
	return PL_OK;
}

/* Reads an answer that holds only a header: compaction and revocation. */
static enum pl_code empty_read(const struct codec_in *in, struct pl_span bytes,
                               struct kv_result *out)
{
	ProtobufCMessage *message;
	enum pl_code code = unpack_message(in, &epb__lease_revoke_response__descriptor,
	                                   bytes, &message);

	if (code != PL_OK)
		return code;
	return header_of(in, ((Epb__LeaseRevokeResponse *)message)->header, &out->header);
}

static enum pl_code grant_read(const struct codec_in *in, struct pl_span bytes,
                               struct kv_result *out)
{
	ProtobufCMessage *message;
	enum pl_code code = unpack_message(in, &epb__lease_grant_response__descriptor,
	                                   bytes, &message);
	const Epb__LeaseGrantResponse *got;

	if (code != PL_OK)
		return code;
	got = (const Epb__LeaseGrantResponse *)message;
	if (got->id == 0 || got->ttl <= 0)
		return codec_bad(in, "no lease in it");
	out->lease = (struct kv_lease_result){.id = got->id, .ttl_s = got->ttl};
	return header_of(in, got->header, &out->header);
}

static enum pl_code keys_read(const struct codec_in *in,
                              const Epb__LeaseTimeToLiveResponse *got,
                              struct kv_lease_result *out)
{
	struct pl_span *keys;

	if (got->n_keys == 0)
		return PL_OK;
	keys = pl_arena_zalloc(in->arena, got->n_keys, sizeof *keys);
	if (keys == NULL)
		return codec_nomem(in);
	for (size_t i = 0; i < got->n_keys; i++) {
		if (got->keys[i].len == 0)
			return codec_bad(in, "empty key");
		keys[i] = pl_span(got->keys[i].data, got->keys[i].len);
	}
	out->keys = keys;
	out->key_count = got->n_keys;
	return PL_OK;
}

static enum pl_code ttl_read(const struct codec_in *in, struct pl_span bytes,
                             struct kv_result *out)
{
	ProtobufCMessage *message;
	enum pl_code code = unpack_message(
		in, &epb__lease_time_to_live_response__descriptor, bytes, &message);
	const Epb__LeaseTimeToLiveResponse *got;

	if (code != PL_OK)
		return code;
	got = (const Epb__LeaseTimeToLiveResponse *)message;
	code = header_of(in, got->header, &out->header);
	if (code != PL_OK)
		return code;
	/* etcd says -1 for a lease that does not exist, and less for one that has expired
	 * but is not revoked yet. */
	if (got->ttl < 0)
		return pl_err_set(in->err, PL_NOLEASE, "lease %" PRIx64 " is gone",
		                  (uint64_t)got->id);
	if (got->id == 0 || got->granted_ttl <= 0)
		return codec_bad(in, "no lease in it");
	out->lease = (struct kv_lease_result){
		.id = got->id, .ttl_s = got->ttl, .granted_s = got->granted_ttl};
	return keys_read(in, got, &out->lease);
}

static enum pl_code keepalive_read(const struct codec_in *in, struct pl_span bytes,
                                   struct kv_result *out)
{
	struct codec_keepalive keepalive = {0};
	enum pl_code code = codec_keepalive_decode(bytes, &keepalive, in->err);

	if (code != PL_OK)
		return code;
	if (keepalive.ttl_s == 0)
		return pl_err_set(in->err, PL_NOLEASE, "lease %" PRIx64 " is gone",
		                  (uint64_t)keepalive.id);
	out->header = keepalive.header;
	out->lease =
		(struct kv_lease_result){.id = keepalive.id, .ttl_s = keepalive.ttl_s};
	return PL_OK;
}

/* Copies text into a C string if every byte is visible ASCII, because it ends up on
 * terminals, in logs and in headers. */
static enum pl_code visible_text(const struct codec_in *in,
                                 const ProtobufCBinaryData *text, size_t len_max,
                                 const char **out)
{
	struct pl_span copy;

	if (text->len == 0 || text->len > len_max)
		return codec_bad(in, text->len == 0 ? "empty text" : "text too long");
	for (size_t i = 0; i < text->len; i++)
		if (text->data[i] <= ' ' || text->data[i] > '~')
			return codec_bad(in, "unprintable text");
	copy = pl_arena_dup(in->arena, pl_span(text->data, text->len));
	if (copy.at == NULL)
		return codec_nomem(in);
	*out = (const char *)copy.at;
	return PL_OK;
}

static bool has_alarm(const Epb__StatusResponse *got, const char *alarm)
{
	for (size_t i = 0; i < got->n_errors; i++)
		if (memmem(got->errors[i].data, got->errors[i].len, alarm,
		           strlen(alarm)) != NULL)
			return true;
	return false;
}

static enum pl_code status_read(const struct codec_in *in, struct pl_span bytes,
                                struct kv_result *out)
{
	ProtobufCMessage *message;
	enum pl_code code =
		unpack_message(in, &epb__status_response__descriptor, bytes, &message);
	const Epb__StatusResponse *got;

	if (code != PL_OK)
		return code;
	got = (const Epb__StatusResponse *)message;
	if (got->db_size < 0 || got->db_size_in_use < 0)
		return codec_bad(in, "negative size");
	out->status = (struct kv_status_result){
		.db_bytes = got->db_size,
		.db_bytes_in_use = got->db_size_in_use,
		.leader = got->leader,
		.raft_index = got->raft_index,
		.alarm_nospace = has_alarm(got, "alarm:NOSPACE"),
		.alarm_corrupt = has_alarm(got, "alarm:CORRUPT"),
	};
	code = visible_text(in, &got->version, VERSION_LEN_MAX, &out->status.version);
	return code != PL_OK ? code : header_of(in, got->header, &out->header);
}

static enum pl_code decode_message(const struct codec_in *in, struct pl_span bytes,
                                   struct kv_result *out)
{
	switch (out->op) {
	case KV_COMPACT:
	case KV_LEASE_REVOKE:
		return empty_read(in, bytes, out);
	case KV_LEASE_GRANT:
		return grant_read(in, bytes, out);
	case KV_LEASE_KEEP:
		return keepalive_read(in, bytes, out);
	case KV_LEASE_TTL:
		return ttl_read(in, bytes, out);
	case KV_STATUS:
		return status_read(in, bytes, out);
	case KV_GET:
	case KV_PUT:
	case KV_DELETE:
	case KV_TXN:
	case KV_OP_COUNT:
		break;
	}
	PL_UNREACHABLE("an operation on keys");
}

enum pl_code codec_pb_decode(const struct codec_in *in, enum kv_op op,
                             struct pl_span bytes, struct kv_result *result)
{
	struct kv_result decoded = {.op = op};
	enum pl_code code = decode_message(in, bytes, &decoded);

	if (code == PL_OK)
		*result = decoded;
	return code;
}

enum pl_code codec_keepalive_decode(struct pl_span bytes, struct codec_keepalive *out,
                                    struct pl_err *err)
{
	/* The stream brings an answer a lease a second, so no memory is allocated. */
	struct codec_in in = {.what = kv_op_name(KV_LEASE_KEEP), .err = err};
	struct wire_reader reader = wire_reader(bytes);
	struct codec_keepalive keepalive = {0};
	struct wire_field field;
	bool has_header = false;
	enum pl_code code = PL_OK;

	while (code == PL_OK && wire_next(&reader, &field)) {
		switch (field.tag) {
		case WIRE_TAG(1, WIRE_BYTES):
			reader.bad |= has_header;
			has_header = true;
			code = codec_read_header(&in, field.bytes, &keepalive.header);
			break;
		case WIRE_TAG(2, WIRE_VARINT):
			keepalive.id = (int64_t)field.number;
			break;
		case WIRE_TAG(3, WIRE_VARINT):
			keepalive.ttl_s = (int64_t)field.number;
			break;
		default:
			reader.bad |= wire_tag_in(field.tag, 0xe);
		}
	}
	if (code != PL_OK)
		return code;
	if (reader.bad || !has_header || keepalive.id == 0 || keepalive.ttl_s < 0)
		return codec_bad(&in, "malformed message");
	*out = keepalive;
	return PL_OK;
}

enum pl_code codec_auth_decode(struct pl_span bytes, struct pl_arena *arena,
                               const char **token, struct pl_err *err)
{
	struct codec_in in = {.arena = arena, .what = "authenticate", .err = err};
	ProtobufCMessage *message;
	enum pl_code code = unpack_message(&in, &epb__authenticate_response__descriptor,
	                                   bytes, &message);

	if (code != PL_OK)
		return code;
	return visible_text(&in, &((Epb__AuthenticateResponse *)message)->token,
	                    TOKEN_LEN_MAX, token);
}
