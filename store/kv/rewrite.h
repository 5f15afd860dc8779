/*
 * Requests, answers and notes rebuilt in an arena: as they are (a deep copy, for
 * whoever has to keep one), or with other keys (a decorator that renames).
 *
 * All fail with PL_NOMEM, or with what the mapping says; the output is untouched
 * then, the arena is not.
 */
#ifndef STORE_KV_REWRITE_H
#define STORE_KV_REWRITE_H

#include "store/base/arena.h"
#include "store/kv/types.h"

struct kv_rewrite {
	struct pl_arena *arena;
	/* A key of a request or an answer: PL_OK, or why not. */
	enum pl_code (*key)(const struct kv_rewrite *rewrite, struct pl_span *key);
	enum pl_code (*keys)(const struct kv_rewrite *rewrite, struct kv_keys *keys);
	enum pl_code (*value)(const struct kv_rewrite *rewrite, struct pl_span *value);
	/* NULL: all. A key of a lease for which it is false is left out. */
	bool (*lease_key)(const struct kv_rewrite *rewrite, struct pl_span key);
	const void *ctx;
};

PL_NODISCARD enum pl_code kv_rewrite_req(const struct kv_rewrite *rewrite,
                                         const struct kv_req *req, struct kv_req *out);
PL_NODISCARD enum pl_code kv_rewrite_result(const struct kv_rewrite *rewrite,
                                            const struct kv_result *result,
                                            struct kv_result *out);
/* err stays borrowed. */
PL_NODISCARD enum pl_code kv_rewrite_note(const struct kv_rewrite *rewrite,
                                          const struct kv_watch_note *note,
                                          struct kv_watch_note *out);

/* Deep copies: nothing of the source is referred to. */
PL_NODISCARD enum pl_code kv_req_copy(struct pl_arena *arena, const struct kv_req *req,
                                      struct kv_req *out);
PL_NODISCARD enum pl_code kv_result_copy(struct pl_arena *arena,
                                         const struct kv_result *result,
                                         struct kv_result *out);
PL_NODISCARD enum pl_code kv_watch_req_copy(struct pl_arena *arena,
                                            const struct kv_watch_req *req,
                                            struct kv_watch_req *out);
PL_NODISCARD enum pl_code kv_note_copy(struct pl_arena *arena,
                                       const struct kv_watch_note *note,
                                       struct kv_watch_note *out);
PL_NODISCARD enum pl_code kv_record_copy(struct pl_arena *arena,
                                         const struct kv_record *record,
                                         struct kv_record *out);
PL_NODISCARD enum pl_code kv_event_copy(struct pl_arena *arena,
                                        const struct kv_event *event,
                                        struct kv_event *out);

#endif
