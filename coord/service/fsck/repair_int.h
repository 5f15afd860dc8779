/* Internals of the repair. */
#ifndef COORD_SERVICE_FSCK_REPAIR_INT_H
#define COORD_SERVICE_FSCK_REPAIR_INT_H

#include "coord/bulk/bulk_writer.h"
#include "coord/service/fsck/derive_alloc.h"
#include "coord/service/fsck/repair.h"
#include "shardsched/records/txn_builder.h"

enum {
	REPAIR_SLOTS = 4,
	REPAIR_TRIES_MAX = 5,
	REPAIR_PODS_MAX = 2 * ALLOC_PODS_MAX + ALLOC_RESERVATIONS_MAX,
	REPAIR_TERMS_MAX = 32, /* terms of a registry in one transaction */
};

/* One input of an alloc: a pod, or a gang with a reservation (its name, and its record
 * as the state). */
struct repair_pod {
	struct alloc_pod pod;
	bool gang;
	struct pl_span spec, state;
	int64_t spec_rev, state_rev; /* 0: there is no such key */
};

/* A term that is to be added to a registry or removed from it. */
struct repair_term {
	struct fsck_term is;
	struct keys_text lock;
	int64_t lock_rev; /* revision at present */
};

enum repair_step { STEP_IDLE, STEP_READ, STEP_READ_PODS, STEP_WRITE };

struct repair_job {
	enum repair_step step;
	struct fsck_repair what;
	unsigned tries;
	struct pl_arena arena; /* emptied before each try */
	struct keys_text key,
		other; /* second key: the Node of an alloc, the pod of a pointer, the
		        * alloc of a state */
	struct kv_record target, source; /* as read; revision 0: there is no such key */
	struct kv_record third; /* of a lock: the global registry; of a place: the spec */
	struct repair_pod *pod;
	uint32_t pods, asked, read;
	struct repair_term *term;
	uint32_t terms, first_term, next_term; /* cursors of fsck_core_term */
	struct pl_span value;
	struct txn_builder builder;
};

struct repair {
	struct kv *kv;
	struct repair_opts opts;
	struct bulk_writer *writer;
	struct model model;
	uint64_t cursor;
	bool failed;
	struct repair_job job[REPAIR_SLOTS];
};

void repair_no_memory(struct repair *repair);
void repair_finish(struct repair *repair, struct repair_job *job,
                   enum repair_outcome outcome, const char *why);
/* err has the reason; PL_NOMEM ends the whole repair. */
void repair_refuse(struct repair *repair, struct repair_job *job,
                   const struct pl_err *err);

/* Keeps the value that is to be written until the end of the try. */
PL_NODISCARD static inline enum pl_code repair_value(struct repair_job *job,
                                                     const struct pl_buf *text,
                                                     struct pl_err *err)
{
	job->value = pl_arena_dup(&job->arena, pl_buf_span(text));
	return job->value.at == NULL ? pl_err_set(err, PL_NOMEM, "repair") : PL_OK;
}

/* repair_read.c: begins a job; begins another try of it; requests the next read; takes
 * an answer. */
void repair_begin(struct repair *repair, struct repair_job *job);
bool repair_begin_try(struct repair *repair, struct repair_job *job);
bool repair_request(struct repair *repair, struct repair_job *job, struct pl_arena *arena,
                    struct kv_req *req);
void repair_apply_both(struct repair *repair, struct repair_job *job,
                       const struct kv_txn_result *txn);
void repair_apply_pods(struct repair *repair, struct repair_job *job,
                       const struct kv_txn_result *txn);
bool repair_keep(struct repair_job *job, const struct kv_result *got,
                 struct kv_record *out);

/* repair_rules.c: the same for registries, locks and /groups/nodes. True: the registry
 * has more terms to be repaired. */
bool repair_rules_more(struct repair *repair, struct repair_job *job);
void repair_rules_begin(struct repair_job *job);
bool repair_rules_begin_try(struct repair *repair, struct repair_job *job);
bool repair_rules_request(struct repair_job *job, struct pl_arena *arena,
                          struct kv_req *req);
void repair_rules_apply(struct repair *repair, struct repair_job *job,
                        const struct kv_txn_result *txn);
/* Derives the value; empty: the key is to be deleted. *same: nothing is to be written. */
enum pl_code repair_rules_derive(struct repair *repair, struct repair_job *job,
                                 bool *same, struct pl_err *err);
bool repair_rules_build(struct repair_job *job);

/* repair_place.c: the same for a state that is lost or does not parse. */
void repair_place_begin(struct repair_job *job);
bool repair_place_request(struct repair_job *job, struct pl_arena *arena,
                          struct kv_req *req);
void repair_place_apply(struct repair *repair, struct repair_job *job,
                        const struct kv_txn_result *txn);
enum pl_code repair_place_derive(struct repair *repair, struct repair_job *job,
                                 bool *same, struct pl_err *err);
bool repair_place_build(struct repair_job *job);

static inline bool repair_is_of_rules(const struct repair_job *job)
{
	return job->what.what == FSCK_REPAIR_REGISTRY ||
	       job->what.what == FSCK_REPAIR_LOCK || job->what.what == FSCK_REPAIR_SHAPE;
}

/* repair_write.c. True: req is to be sent. */
bool repair_write(struct repair *repair, struct repair_job *job, struct pl_arena *arena,
                  struct kv_req *req);
void repair_apply_written(struct repair *repair, struct repair_job *job,
                          const struct kv_result *result, bool again);

#endif
