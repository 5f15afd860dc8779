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
	const struct taint_times *tainted; /* NULL: not said */
	const struct resources *allocatable;
	const struct images *images;
	uint32_t name;
	uint32_t uid; /* 0: not said */
	bool unschedulable;
};

/* As pod_draft_read. */
PL_NODISCARD enum pl_code node_draft_read(struct pl_arena *arena, struct pl_span json,
                                          struct node_draft *out, struct pl_err *err);

/* What the API server would refuse of it, of what scheduling reads; paths in
 * Kubernetes' form, except that taints are found under spec. */
void node_validate(const struct node_draft *draft, enum validate_scope scope,
                   struct field_errors *out);

/* Holds references until node_drop. PL_NOMEM, or PL_LIMIT with the field. Amounts
 * below zero count as zero. */
PL_NODISCARD enum pl_code node_make(struct model *model, struct pl_arena *arena,
                                    const struct node_draft *draft, struct node *out,
                                    struct pl_err *err);
/* A zeroed one, too. */
void node_drop(struct model *model, struct node *node);

/* Of that topology key (kubernetes.io/hostname) each node that has the label is a domain
 * of its own, whatever its value says: clusters call their nodes alike, and a node's
 * alloc locks that node alone. */
bool node_is_domain(const struct model *model, uint32_t key);

#endif
