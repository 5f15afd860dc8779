/* Shared by the parts of the codec. */
#ifndef STORE_ETCD_CODEC_INTERNAL_H
#define STORE_ETCD_CODEC_INTERNAL_H

#include "store/etcd/codec.h"
#include "store/etcd/wire.h"
#include "store/kv/check.h"

/* Room for size bytes behind out, or an error that says what did not fit. */
PL_NODISCARD enum pl_code codec_reserve(struct pl_buf *out, size_t size,
                                        struct pl_err *err);

/* What codec_decode has to know of a transaction (codec_shape.c). Nothing is
 * left in shape on failure. */
PL_NODISCARD enum pl_code codec_shape(const struct kv_txn *txn, struct pl_buf *shape,
                                      struct pl_err *err);

/* The operations of one list of a transaction as they were asked for. */
struct codec_expect {
	struct wire_reader shape; /* where it goes on */
	bool known;               /* false: anything is fine */
	uint64_t run;             /* operations left of the same kind */
	enum kv_op op;
};

/* shape stands at a transaction and is left behind it; NULL: not known. Then each
 * operation of the branch is asked for with _next(), and in the end _done() says
 * whether all have been. A nested transaction is read from expect->shape, right
 * after _next() has said that it is one. */
void codec_expect(struct wire_reader *shape, bool succeeded, struct codec_expect *out);
bool codec_expect_next(struct codec_expect *expect, enum kv_op op);
bool codec_expect_done(struct codec_expect *expect);

/* Everything but KV_GET, KV_PUT, KV_DELETE and KV_TXN, through protobuf-c. */
PL_NODISCARD enum pl_code codec_pb_encode(const struct kv_req *req, struct pl_buf *out,
                                          struct pl_err *err);
/* -- keys: etcd's key and range_end ------------------------------------ */

/* A key that is empty stands for the least one, "\0"; an end of "\0" for none. */
struct codec_range {
	struct pl_span key;
	struct pl_span end; /* of a prefix: the prefix, cut after its last byte < 0xff */
	bool end_is_next;   /* the last byte of end is to be counted up by one */
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

/* -- a decode under way ------------------------------------------------ */

struct codec_in {
	struct pl_arena *arena;
	const char *what; /* "get", for errors */
	struct pl_err *err;
};

PL_NODISCARD enum pl_code codec_bad(const struct codec_in *in, const char *why);
PL_NODISCARD enum pl_code codec_nomem(const struct codec_in *in);

PL_NODISCARD enum pl_code codec_read_header(const struct codec_in *in,
                                            struct pl_span bytes,
                                            struct kv_header *header);

/* The counterpart of codec_pb_encode. */
PL_NODISCARD enum pl_code codec_pb_decode(const struct codec_in *in, enum kv_op op,
                                          struct pl_span bytes, struct kv_result *result);

/* Into a record that is all zero. */
bool codec_read_record(struct pl_span bytes, struct kv_record *record);
/* Of a stored key, that is, not of a deletion. */
bool codec_record_ok(const struct kv_record *record);

#endif
