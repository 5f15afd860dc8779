/* The inside of the codec, shared by its files. */
#ifndef STORE_ETCD_CODEC_INTERNAL_H
#define STORE_ETCD_CODEC_INTERNAL_H

#include "store/etcd/codec.h"
#include "store/etcd/wire.h"
#include "store/kv/check.h"

/* Reserves size bytes at the end of out; the error says what did not fit. */
PL_NODISCARD enum pl_code codec_reserve(struct pl_buf *out, size_t size,
                                        struct pl_err *err);

/* Appends what codec_decode() must know of a transaction (codec_shape.c). On failure
 * shape is left empty. */
PL_NODISCARD enum pl_code codec_shape(const struct kv_txn *txn, struct pl_buf *shape,
                                      struct pl_err *err);

/* The operations of one list of a transaction, as they were requested. */
struct codec_expect {
	struct wire_reader shape; /* the rest of the shape */
	bool known;               /* false: no shape, any operation is accepted */
	uint64_t run;             /* operations of the same kind that are left */
	enum kv_op op;
};

/* Begins with the transaction at which *shape stands, and moves *shape behind it; shape
 * NULL: not known. Then codec_expect_next() is called for each result of the branch, and
 * codec_expect_done() says whether all have come. A nested transaction is read from
 * expect->shape, right after codec_expect_next() has said that it is one. */
void codec_expect(struct wire_reader *shape, bool succeeded, struct codec_expect *out);
bool codec_expect_next(struct codec_expect *expect, enum kv_op op);
bool codec_expect_done(struct codec_expect *expect);

/* Encodes everything but KV_GET, KV_PUT, KV_DELETE and KV_TXN, through protobuf-c. */
PL_NODISCARD enum pl_code codec_pb_encode(const struct kv_req *req, struct pl_buf *out,
                                          struct pl_err *err);
/* -- keys: etcd's key and range_end ------------------------------------ */

/* etcd's key and range_end. An empty key stands for the least key "\0", an end of "\0"
 * for no end. */
struct codec_range {
	struct pl_span key;
	/* for a prefix: the prefix, cut after its last byte below 0xff */
	struct pl_span end;
	bool end_is_next; /* the last byte of end has to be incremented */
};

struct codec_range codec_range(const struct kv_keys *keys);

static inline uint8_t *codec_range_end(uint8_t *at, uint32_t tag,
                                       const struct codec_range *range)
{
	at = wire_bytes(at, tag, range->end);
	if (range->end_is_next)
		at[-1]++;
	return at;
}

/* -- decoding -------------------------------------------------------------- */

struct codec_in {
	struct pl_arena *arena;
	const char *what; /* "get", for error texts */
	struct pl_err *err;
};

PL_NODISCARD enum pl_code codec_bad(const struct codec_in *in, const char *why);
PL_NODISCARD enum pl_code codec_nomem(const struct codec_in *in);

PL_NODISCARD enum pl_code codec_read_header(const struct codec_in *in,
                                            struct pl_span bytes,
                                            struct kv_header *header);

/* Decodes what codec_pb_encode() encodes the requests of. */
PL_NODISCARD enum pl_code codec_pb_decode(const struct codec_in *in, enum kv_op op,
                                          struct pl_span bytes, struct kv_result *result);

/* Reads into a record that is all zero; false: malformed. */
bool codec_read_record(struct pl_span bytes, struct kv_record *record);
/* Whether the record can be that of a stored key, not of a deletion. */
bool codec_record_ok(const struct kv_record *record);

#endif
