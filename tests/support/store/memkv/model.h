/*
 * A naive model of the store for tests: a fixed handful of keys, and a full copy of all
 * of them for each revision.
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

/* Sorted. */
extern const struct pl_span model_key[MODEL_KEYS];

struct model_record {
	int64_t version; /* 0: the key does not exist */
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
	struct model_lease lease[MODEL_LEASES]; /* ids from 1 on */
	struct model_state state[MODEL_REVISIONS];
	struct model_event event[MODEL_REVISIONS][MODEL_EVENTS];
	unsigned events[MODEL_REVISIONS];
};

void model_init(struct model *model);

/* Checks the answer to a request, and fails the test if it is wrong. */
void model_check(struct model *model, const struct kv_req *req, enum pl_code code,
                 const struct kv_result *result);

/* Moves the clock; leases run out on the way. */
void model_advance(struct model *model, uint64_t now_ms);

/* Whether a watch must get a note of a revision. compacted: the compacted revision when
 * the watch read it. */
bool model_note_wanted(const struct model *model, const struct kv_watch_req *req,
                       int64_t revision);
void model_note_check(const struct model *model, const struct kv_watch_req *req,
                      int64_t revision, int64_t compacted,
                      const struct kv_watch_note *note);

#endif
