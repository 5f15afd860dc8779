/* A node as scheduling sees it; allocatable is the capacity where it is not given. */
#ifndef SHARDSCHED_MODEL_NODE_H
#define SHARDSCHED_MODEL_NODE_H

#include "shardsched/model/images.h"
#include "shardsched/model/labels.h"
#include "shardsched/model/resources.h"
#include "shardsched/model/taints.h"
#include "shardsched/model/validate.h"

struct node_draft {
	struct draft_meta meta;
	struct draft_taints taints;
	struct draft_amounts capacity;
	struct draft_amounts allocatable;
	struct draft_images images;
	bool unschedulable;
};

struct node {
	const struct labels *labels;
	const struct taints *taints;
	const struct taint_times *tainted; /* NULL: no taint has a time */
	const struct resources *allocatable;
	const struct images *images;
	uint32_t name;
	uint32_t uid; /* 0: absent */
	bool unschedulable;
};

/* Contract as of pod_draft_read. */
PL_NODISCARD enum pl_code node_draft_read(struct pl_arena *arena, struct pl_span json,
                                          struct node_draft *out, struct pl_err *err);

/* Reports the faults that the API server would report in the fields that scheduling
 * reads. Paths are in Kubernetes' form, except that taints are found under spec. */
void node_validate(const struct node_draft *draft, enum validate_scope scope,
                   struct field_errors *out);

/* The node holds references until node_drop. PL_NOMEM; PL_LIMIT with the field. Negative
 * amounts count as zero. */
PL_NODISCARD enum pl_code node_make(struct model *model, struct pl_arena *arena,
                                    const struct node_draft *draft, struct node *out,
                                    struct pl_err *err);
/* A zeroed node may be dropped, too. */
void node_drop(struct model *model, struct node *node);

/* Whether each node with that label is a topology domain of its own, whatever the label's
 * value is. That holds for kubernetes.io/hostname: nodes of two clusters may have one
 * name, and a node's alloc locks that node alone. */
bool node_is_domain(const struct model *model, uint32_t key);

#endif
