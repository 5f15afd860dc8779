/*
 * Resources that a score looks at: as configuration names them, as a pod asks for them,
 * and how much of each a node has.
 */
#ifndef SHARDSCHED_PLUGINS_AMOUNTS_H
#define SHARDSCHED_PLUGINS_AMOUNTS_H

#include "shardsched/framework/plugin.h"
#include "shardsched/plugins/amount_kernels.h"

enum { AMOUNTS_MAX = 64, AMOUNT_WEIGHT_MAX = 100 };

enum amount_kind { AMOUNT_CPU, AMOUNT_MEMORY, AMOUNT_STORAGE, AMOUNT_SCALAR };

struct amount_item {
	enum amount_kind kind;
	uint32_t name; /* string, held */
	int32_t weight;
};

struct amount_list {
	uint32_t count;
	struct amount_item at[AMOUNTS_MAX];
};

/* [{"name": "cpu", "weight": 1}, ...]; absent or empty: cpu and memory by 1. A list
 * that was refused holds what was read of it. */
PL_NODISCARD enum pl_code amount_list_parse(struct model *model, struct pl_json json,
                                            struct amount_list *out, struct pl_err *err);
void amount_list_drop(struct model *model, struct amount_list *list);

/* One of them in a cycle. */
struct amount_request {
	enum amount_kind kind;
	uint32_t column; /* of a scalar */
	int32_t weight;
	int64_t requested; /* by the pod */
};

struct amount_requests {
	const struct snapshot *snapshot;
	const struct amount_kernels *kernels;
	bool nonzero; /* count as LeastAllocated does, else what is really requested */
	uint32_t count;
	struct amount_request at[AMOUNTS_MAX];
};

/* Without what counts nowhere: scalars that the pod does not ask for or no node has. */
void amount_requests_make(const struct plugin_call *call, const struct amount_list *list,
                          bool nonzero, struct amount_requests *out);

struct amount {
	int64_t alloc;
	int64_t requested; /* used and the pod's */
};

struct amount amount_at(const struct amount_requests *requests, uint32_t index,
                        uint32_t slot);

/* Of the 64 slots from there on; false: they are too large for it. */
bool amount_load(const struct amount_requests *requests, uint32_t index, uint32_t slot,
                 struct amount_word *out);

/* Words with so few bits are worked out node by node. */
enum { AMOUNT_FEW = 6 };

static inline bool amount_is_sparse(uint64_t bits)
{
	/* Most are full, and not every processor counts bits by itself. */
	return bits != UINT64_MAX && __builtin_popcountll(bits) <= AMOUNT_FEW;
}

/* Scores by cpu and memory, many words at once. */
struct amount_pass {
	amount_pair_fn *kernel;  /* NULL: that can not be done */
	struct amount_pair from; /* of slot 0 */
	const uint64_t *large;
};

/* asks: cpu and memory, or nothing comes of it. */
void amount_pass_make(const struct amount_requests *requests, amount_pair_fn *kernel,
                      struct amount_pass *out);
/* How many words of the span were scored, from its first one on: that one is sparse,
 * empty, or has too large amounts, when there are none. */
uint32_t amount_pass_run(const struct amount_pass *pass, struct node_span span,
                         int64_t *score);

#endif
