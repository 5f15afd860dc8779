/* The parts of the faulty kv, as they see each other. */
#ifndef TESTS_SUPPORT_STORE_KV_FAULTY_IMPL_H
#define TESTS_SUPPORT_STORE_KV_FAULTY_IMPL_H

#include "store/base/list.h"
#include "store/base/rng.h"
#include "store/kv/wrapper.h"
#include "tests/support/store/kv/faulty.h"

#define FAULTY_NEVER UINT64_MAX

struct faulty {
	struct kv_wrapper wrapper;
	struct pl_rng rng;
	/* reported ones included, until the store is done with them */
	struct pl_list calls;
	struct pl_list watches; /* the same */
	size_t unreported;      /* calls and watches whose user waits for the end */
	bool paused;
	bool closing;
	uint64_t counts[FAULTY_WHAT_COUNT];
	size_t rule_count;
	uint64_t fired[FAULTY_RULES_MAX];
	struct faulty_rule rules[FAULTY_RULES_MAX];
	uint8_t bytes[]; /* the prefixes of the rules */
};

/* Draws whether one rule hits. */
bool faulty_fires(struct faulty *f, size_t rule);
uint64_t faulty_delay(struct faulty *f, const struct faulty_rule *rule);

/* One user less waits. Must be called before calling out, because it may start to close
 * the wrapped kv once the last user has been told. */
void faulty_reported(struct faulty *f);

/* faulty_call.c */
enum pl_code faulty_start(struct kv *kv, const struct kv_req *req, uint64_t timeout_ms,
                          kv_done_fn *done, void *ctx, struct kv_call **out,
                          struct pl_err *err);
void faulty_cancel(struct kv *kv, struct kv_call *handle);
void faulty_calls_on_note(struct faulty *f); /* after a note was delivered */
void faulty_calls_close(struct faulty *f);

/* faulty_watch.c */
enum pl_code faulty_watch(struct kv *kv, const struct kv_watch_req *req, kv_watch_fn *fn,
                          void *ctx, struct kv_watch **out, struct pl_err *err);
void faulty_unwatch(struct kv *kv, struct kv_watch *handle);
enum pl_code faulty_progress(struct kv *kv, struct kv_watch *handle, int64_t revision,
                             struct pl_err *err);
void faulty_watches_pause(struct faulty *f);
void faulty_watches_close(struct faulty *f);

#endif
