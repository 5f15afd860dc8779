/*
 * The disruption budgets of some namespaces while their pods are asked to go: read
 * together with the pods, at one revision; what is taken of them is put in the
 * transaction that asks, which compares them and that no other has been made since.
 *
 *	wards_space() for each, wards_ops(), the answer: wards_read() of each
 *	wards_release(); wards_take() pod after pod, wards_book()
 */
#ifndef COORD_SUBMIT_WARDS_H
#define COORD_SUBMIT_WARDS_H

#include "shardsched/ledger/book.h"
#include "shardsched/ledger/budget.h"

enum { WARDS_SPACES_MAX = 16 };

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
	bool used[WARDS_SPACES_MAX];
	uint32_t spaces;
	struct ward *ward;
	uint32_t count, cap;
	int64_t rev; /* of the read */
};

void wards_init(struct wards *wards, struct model *model);
void wards_done(struct wards *wards);
/* No namespaces. */
void wards_clear(struct wards *wards);

/* Borrowed until wards_clear. False: there are too many. */
bool wards_space(struct wards *wards, struct pl_span space);
/* What reads the budgets of each, in that order. PL_NOMEM. */
PL_NODISCARD enum pl_code wards_ops(struct wards *wards, struct pl_arena *arena,
                                    struct kv_req *op);
/* What was read is forgotten; and read anew. PL_NOMEM. */
void wards_forget(struct wards *wards, int64_t revision);
PL_NODISCARD enum pl_code wards_read(struct wards *wards,
                                     const struct kv_get_result *found,
                                     struct pl_err *err);

/* Nothing is taken. */
void wards_release(struct wards *wards);
/* One that covers such pods and allows no more to go now; NULL: there is none. */
const struct ward *wards_against(const struct wards *wards, struct pl_span space,
                                 const struct labels *labels);
/* The pod of that state goes, allowed or not. PL_NOMEM, PL_LIMIT. */
PL_NODISCARD enum pl_code wards_take(struct wards *wards, struct pl_span space,
                                     const struct labels *labels, struct pl_span name,
                                     int64_t state_rev, struct pl_err *err);
/* What was taken, into the book. False: it does not fit, or book.code. */
bool wards_book(struct wards *wards, struct book *book);

#endif
