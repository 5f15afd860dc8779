/* Requests, answers and watch messages by chance from a seed, for tests and benches.
 * Everything lives in the arena, which has no maximum. */
#ifndef TESTS_SUPPORT_STORE_ETCD_CODEC_GEN_H
#define TESTS_SUPPORT_STORE_ETCD_CODEC_GEN_H

#include "store/base/rng.h"
#include "store/etcd/codec.h"

/* Of KV_GET, KV_PUT, KV_DELETE and KV_TXN; always one that can be encoded. */
struct kv_req codec_gen_request(struct pl_rng *rng, struct pl_arena *arena);

/* An answer that the server could give to the request. */
struct kv_result codec_gen_answer(struct pl_rng *rng, struct pl_arena *arena,
                                  const struct kv_req *req);

struct kv_watch_req codec_gen_watch_req(struct pl_rng *rng, struct pl_arena *arena);
struct codec_watch codec_gen_watch(struct pl_rng *rng, struct pl_arena *arena);

#endif
