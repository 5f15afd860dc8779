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
	MEND_PODS_MAX = 2 * ALLOC_PODS_MAX + ALLOC_HOLDS_MAX,
	MEND_TERMS_MAX = 32, /* of a registry in one transaction */
};

/* What an alloc follows from: pods, and gangs that room is held for (their name, and
 * their record as a state). */
struct mend_pod {
	struct alloc_pod pod;
	bool gang;
	struct pl_span spec, state;
	int64_t spec_rev, state_rev; /* 0: it is not there */
};

/* A term that is to come into a registry, or to go. */
struct mend_term {
	struct fsck_term is;
	struct keys_text lock;
	int64_t lock_rev; /* as it is now */
};

enum step { STEP_IDLE, STEP_READ, STEP_READ_PODS, STEP_WRITE };

struct job {
	enum step step;
	struct fsck_mend what;
	unsigned tries;
	struct pl_arena arena; /* of a try */
	struct keys_text key,
		other; /* alloc and Node; pointer and pod; state and alloc */
	struct kv_record target, source; /* as read; a revision of 0: not there */
	struct kv_record third; /* of a lock: the global registry; of a place: the spec */
	struct mend_pod *pod;
	uint32_t pods, asked, read;
	struct mend_term *term;
	uint32_t terms, first_term, next_term; /* cursors of fsck_core_term */
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

/* What is to be written, kept for the try. */
PL_NODISCARD static inline enum pl_code mend_value(struct job *job,
                                                   const struct pl_buf *text,
                                                   struct pl_err *err)
{
	job->value = pl_arena_dup(&job->arena, pl_buf_span(text));
	return job->value.at == NULL ? pl_err_set(err, PL_NOMEM, "mend") : PL_OK;
}

/* mend_read.c: the first try of a job; another one; what is to be read next; an answer.
 */
void mend_begin(struct mend *mend, struct job *job);
bool mend_begin_try(struct mend *mend, struct job *job);
bool mend_ask(struct mend *mend, struct job *job, struct pl_arena *arena,
              struct kv_req *req);
void mend_take_both(struct mend *mend, struct job *job, const struct kv_txn_result *txn);
void mend_take_pods(struct mend *mend, struct job *job, const struct kv_txn_result *txn);
bool mend_keep(struct job *job, const struct kv_result *got, struct kv_record *out);

/* mend_groups.c: the same for registries, locks and /groups/nodes. True: there is more
 * of that registry. */
bool mend_groups_more(struct mend *mend, struct job *job);
void mend_groups_begin(struct job *job);
bool mend_groups_begin_try(struct mend *mend, struct job *job);
bool mend_groups_ask(struct job *job, struct pl_arena *arena, struct kv_req *req);
void mend_groups_take(struct mend *mend, struct job *job,
                      const struct kv_txn_result *txn);
/* What is to stand there; empty: nothing. *same: it is so. */
enum pl_code mend_groups_derive(struct mend *mend, struct job *job, bool *same,
                                struct pl_err *err);
bool mend_groups_book(struct job *job);

/* mend_place.c: the same for a state that is lost or makes no sense. */
void mend_place_begin(struct job *job);
bool mend_place_ask(struct job *job, struct pl_arena *arena, struct kv_req *req);
void mend_place_take(struct mend *mend, struct job *job, const struct kv_txn_result *txn);
enum pl_code mend_place_derive(struct mend *mend, struct job *job, bool *same,
                               struct pl_err *err);
bool mend_place_book(struct job *job);

static inline bool mend_is_of_groups(const struct job *job)
{
	return job->what.what == FSCK_MEND_REGISTRY || job->what.what == FSCK_MEND_LOCK ||
	       job->what.what == FSCK_MEND_SHAPE;
}

/* mend_write.c. True: req is to be sent. */
bool mend_write(struct mend *mend, struct job *job, struct pl_arena *arena,
                struct kv_req *req);
void mend_take_written(struct mend *mend, struct job *job, const struct kv_result *result,
                       bool again);

#endif
