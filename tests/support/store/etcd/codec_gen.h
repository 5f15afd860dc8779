/*
 * Random requests, answers and watch messages from a seed, for tests and benches.
 *
 * Invariant: everything is allocated in the arena, which must have no maximum.
 */
#ifndef TESTS_SUPPORT_STORE_ETCD_CODEC_GEN_H
#define TESTS_SUPPORT_STORE_ETCD_CODEC_GEN_H

#include "store/base/rng.h"
#include "store/etcd/codec.h"

/* A request with KV_GET, KV_PUT, KV_DELETE or KV_TXN that can always be encoded. */
struct kv_req codec_gen_request(struct pl_rng *rng, struct pl_arena *arena);

/* An answer that the server could give to the request. */
struct kv_result codec_gen_answer(struct pl_rng *rng, struct pl_arena *arena,
                                  const struct kv_req *req);

struct kv_watch_req codec_gen_watch_req(struct pl_rng *rng, struct pl_arena *arena);
struct codec_watch codec_gen_watch(struct pl_rng *rng, struct pl_arena *arena);

#endif
