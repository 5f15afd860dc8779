/*
 * The codec's messages as protobuf-c writes and reads them: the reference of the tests
 * and the fuzz targets.
 *
 * Invariant: a failure inside the reference ends the process.
 */
#ifndef TESTS_SUPPORT_STORE_ETCD_CODEC_REF_H
#define TESTS_SUPPORT_STORE_ETCD_CODEC_REF_H

#include "store/etcd/codec.h"

/* Both append to out; KV_GET, KV_PUT, KV_DELETE and KV_TXN only. */
void codec_ref_request(const struct kv_req *req, struct pl_buf *out);
void codec_ref_answer(const struct kv_result *result, struct pl_buf *out);

void codec_ref_watch_create(const struct codec_watch_create *create, struct pl_buf *out);
void codec_ref_watch(const struct codec_watch *watch, struct pl_buf *out);

/* Decodes the bytes and encodes them again. False: they can not be decoded. */
bool codec_ref_answer_reencode(enum kv_op op, struct pl_span bytes, struct pl_buf *out);
bool codec_ref_watch_reencode(struct pl_span bytes, struct pl_buf *out);

#endif
