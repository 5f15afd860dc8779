/*
 * The store once more, as simply as can be, for tests to compare with: a fixed
 * handful of keys, and a full copy of all of them for each revision.
 */
#ifndef TESTS_SUPPORT_STORE_MEMKV_MODEL_H
#define TESTS_SUPPORT_STORE_MEMKV_MODEL_H

#include "store/kv/kv.h"

enum {
	MODEL_KEYS = 12,
	MODEL_REVISIONS = 4096,
	MODEL_EVENTS = 64, /* of one revision */
	MODEL_LEASES = 6,
	MODEL_RESULTS = 256,
};

/* In order. */
extern const struct pl_span model_key[MODEL_KEYS];

struct model_record {
	int64_t version; /* 0: no such key */
	int64_t create, mod, lease;
	char value[8];
};

struct model_state {
	struct model_record record[MODEL_KEYS];
};

struct model_event {
	unsigned key;
	bool is_delete;
	struct model_record after;
};

struct model_lease {
	bool there;
	int64_t ttl_s;
	uint64_t expiry_ms;
	uint64_t seq;
};

struct model {
	int64_t revision, compacted;
	uint64_t now_ms, lease_seq;
	struct model_lease lease[MODEL_LEASES]; /* ids 1 and up */
	struct model_state state[MODEL_REVISIONS];
	struct model_event event[MODEL_REVISIONS][MODEL_EVENTS];
	unsigned events[MODEL_REVISIONS];
};

void model_init(struct model *model);

/* What the request must be answered with; T_* failures when it was not. */
void model_check(struct model *model, const struct kv_req *req, enum pl_code code,
                 const struct kv_result *result);

/* Leases run out on the way. */
void model_advance(struct model *model, uint64_t now_ms);

/* The note of a revision that a watch must get, or none. compacted: as it was
 * when the watch read the revision. */
bool model_note_wanted(const struct model *model, const struct kv_watch_req *req,
                       int64_t revision);
void model_note_check(const struct model *model, const struct kv_watch_req *req,
                      int64_t revision, int64_t compacted,
                      const struct kv_watch_note *note);

#endif
