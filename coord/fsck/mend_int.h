/* Inside the mending of fsck. */
#ifndef COORD_FSCK_MEND_INT_H
#define COORD_FSCK_MEND_INT_H

#include "coord/fsck/derive.h"
#include "coord/fsck/mend.h"
#include "coord/writes/writes.h"
#include "shardsched/ledger/book.h"

enum {
	MEND_SLOTS = 4,
	MEND_TRIES_MAX = 5,
	MEND_PODS_MAX = 2 * ALLOC_PODS_MAX,
};

struct mend_pod {
	struct alloc_pod pod;
	struct pl_span spec, state;
	int64_t state_rev;
};

enum step { STEP_IDLE, STEP_READ, STEP_READ_PODS, STEP_WRITE };

struct job {
	enum step step;
	struct fsck_mend what;
	unsigned tries;
	struct pl_arena arena;           /* of a try */
	struct keys_text key, other;     /* alloc and Node; pointer and pod */
	struct kv_record target, source; /* as read; a revision of 0: not there */
	struct mend_pod *pod;
	uint32_t pods, asked, read;
	struct pl_span value;
	struct book book;
};

struct mend {
	struct kv *kv;
	struct mend_opts opts;
	struct writes *writes;
	struct model model;
	uint64_t cursor;
	bool failed;
	struct job job[MEND_SLOTS];
};

void mend_no_memory(struct mend *mend);
void mend_settle(struct mend *mend, struct job *job, enum mend_outcome outcome,
                 const char *why);
/* err says why; PL_NOMEM ends it all. */
void mend_refuse(struct mend *mend, struct job *job, const struct pl_err *err);

/* mend_read.c: the first try of a job; another one; what is to be read next; an answer.
 */
void mend_begin(struct mend *mend, struct job *job);
bool mend_begin_try(struct mend *mend, struct job *job);
bool mend_ask(struct mend *mend, struct job *job, struct pl_arena *arena,
              struct kv_req *req);
void mend_take_both(struct mend *mend, struct job *job, const struct kv_txn_result *txn);
void mend_take_pods(struct mend *mend, struct job *job, const struct kv_txn_result *txn);

/* mend_write.c. True: req is to be sent. */
bool mend_write(struct mend *mend, struct job *job, struct pl_arena *arena,
                struct kv_req *req);
void mend_take_written(struct mend *mend, struct job *job, const struct kv_result *result,
                       bool again);

#endif
