/*
 * The disruption budgets of some namespaces while their pods are asked to go: read
 * together with the pods, at one revision; what is taken of them is put in the
 * transaction that asks, which compares them, and /budgets/lock: none was made since, and
 * none is there that was not when they were read, as in a store that was put back to an
 * older snapshot.
 *
 *	wards_space() for each, wards_ops(), the answer: wards_read() of each
 *	wards_release(); wards_take() pod after pod, wards_book()
 */
#ifndef COORD_SUBMIT_WARDS_H
#define COORD_SUBMIT_WARDS_H

#include "shardsched/ledger/book.h"
#include "shardsched/ledger/budget.h"

enum { WARDS_SPACES_MAX = 16, WARDS_OPS_MAX = WARDS_SPACES_MAX + 1 };

struct ward {
	struct keys_text key;
	struct pl_span space, name;
	int64_t rev;
	struct budget object;
	struct budget_record found, taken;
	bool touched;
};

struct wards {
	struct model *model;
	struct pl_arena arena; /* what was read, and taken */
	struct pl_span space[WARDS_SPACES_MAX];
	uint32_t spaces;
	bool used; /* some pod goes */
	struct ward *ward;
	uint32_t count, cap;
	int64_t lock_rev; /* as it was read; 0: it was not there */
};

void wards_init(struct wards *wards, struct model *model);
void wards_done(struct wards *wards);
/* No namespaces. */
void wards_clear(struct wards *wards);

/* Borrowed until wards_clear. False: there are too many. */
bool wards_space(struct wards *wards, struct pl_span space);
/* How many operations read the budgets of each, and the lock; and these. PL_NOMEM. */
uint32_t wards_op_count(const struct wards *wards);
PL_NODISCARD enum pl_code wards_ops(struct wards *wards, struct pl_arena *arena,
                                    struct kv_req *op);
/* What was read is forgotten; and read anew. PL_NOMEM. */
void wards_forget(struct wards *wards);
PL_NODISCARD enum pl_code wards_read(struct wards *wards,
                                     const struct kv_get_result *found,
                                     struct pl_err *err);

/* Nothing is taken. */
void wards_release(struct wards *wards);
/* One that covers such pods and allows no more to go now (past: whatever it allows, that
 * can not note one more); NULL: there is none. */
const struct ward *wards_against(const struct wards *wards, struct pl_span space,
                                 const struct labels *labels, bool past);
/* The pod of that state goes, allowed or not. PL_NOMEM, PL_LIMIT. */
PL_NODISCARD enum pl_code wards_take(struct wards *wards, struct pl_span space,
                                     const struct labels *labels, struct pl_span name,
                                     int64_t state_rev, struct pl_err *err);
/* What was taken, into the book. False: it does not fit, or book.code. */
bool wards_book(struct wards *wards, struct book *book);

#endif
