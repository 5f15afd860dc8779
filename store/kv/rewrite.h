/*
 * Copies of requests, answers and notes in an arena: as they are (a deep copy, to keep
 * one), or with other keys (for a decorator that renames keys).
 *
 * All functions fail with PL_NOMEM, or with what a callback gives. The output is then
 * untouched, but the arena is not.
 */
#ifndef STORE_KV_REWRITE_H
#define STORE_KV_REWRITE_H

#include "store/base/arena.h"
#include "store/kv/types.h"

struct kv_rewrite {
	struct pl_arena *arena;
	/* Replaces a key of a request or an answer: PL_OK, or why not. */
	enum pl_code (*key)(const struct kv_rewrite *rewrite, struct pl_span *key);
	enum pl_code (*keys)(const struct kv_rewrite *rewrite, struct kv_keys *keys);
	enum pl_code (*value)(const struct kv_rewrite *rewrite, struct pl_span *value);
	/* False: the key is left out of a lease's keys. NULL: all keys are kept. */
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

/* Deep copies, which share nothing with the source. */
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
