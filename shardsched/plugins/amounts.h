/*
 * Amounts are the resources that a score looks at: as configuration names them, as a pod
 * requests them, and as a node has them.
 */
#ifndef SHARDSCHED_PLUGINS_AMOUNTS_H
#define SHARDSCHED_PLUGINS_AMOUNTS_H

#include "shardsched/framework/plugin.h"
#include "shardsched/plugins/amount_kernels.h"

enum { AMOUNTS_MAX = 64, AMOUNT_WEIGHT_MAX = 100 };

enum amount_kind { AMOUNT_CPU, AMOUNT_MEMORY, AMOUNT_STORAGE, AMOUNT_SCALAR };

struct amount_item {
	enum amount_kind kind;
	uint32_t name; /* string, with a reference */
	int32_t weight;
};

struct amount_list {
	uint32_t count;
	struct amount_item at[AMOUNTS_MAX];
};

/* Parses [{"name": "cpu", "weight": 1}, ...]; absent or empty: cpu and memory with weight
 * 1. On failure out has the entries read so far, which amount_list_drop releases. */
PL_NODISCARD enum pl_code amount_list_parse(struct model *model, struct pl_json json,
                                            struct amount_list *out, struct pl_err *err);
void amount_list_drop(struct model *model, struct amount_list *list);

/* One resource of the list in a cycle. */
struct amount_request {
	enum amount_kind kind;
	uint32_t column; /* only of a scalar */
	int32_t weight;
	int64_t requested; /* by the pod */
};

struct amount_requests {
	const struct snapshot *snapshot;
	const struct amount_kernels *kernels;
	/* requests count as for LeastAllocated (at least 100m and 200Mi a container) */
	bool nonzero;
	uint32_t count;
	struct amount_request at[AMOUNTS_MAX];
};

/* Leaves out scalars that the pod does not request or no node has. */
void amount_requests_make(const struct plugin_call *call, const struct amount_list *list,
                          bool nonzero, struct amount_requests *out);

struct amount {
	int64_t alloc;
	int64_t requested; /* used, including the pod's request */
};

struct amount amount_at(const struct amount_requests *requests, uint32_t index,
                        uint32_t slot);

/* Loads the 64 slots from slot on; false: their amounts are too large. */
bool amount_load(const struct amount_requests *requests, uint32_t index, uint32_t slot,
                 struct amount_word *out);

/* Words with so few bits are computed node by node. */
enum { AMOUNT_FEW = 6 };

static inline bool amount_is_sparse(uint64_t bits)
{
	/* Most words are full, and not every processor has an instruction to count
	 * bits. */
	return bits != UINT64_MAX && __builtin_popcountll(bits) <= AMOUNT_FEW;
}

/* Scores by cpu and memory, many words at a time. */
struct amount_pass {
	amount_pair_fn *kernel;  /* NULL: not possible for these requests */
	struct amount_pair from; /* of slot 0 */
	const uint64_t *large;
};

/* requests must be cpu and memory, or the pass does nothing. */
void amount_pass_make(const struct amount_requests *requests, amount_pair_fn *kernel,
                      struct amount_pass *out);
/* Returns how many words of the span were scored, from the first one on. 0: the first
 * word is sparse, empty, or has too large amounts. */
uint32_t amount_pass_run(const struct amount_pass *pass, struct node_span span,
                         int64_t *score);

#endif
