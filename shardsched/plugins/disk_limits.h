/*
 * Disk limits bound how many in-tree volumes of a cloud may be attached to a node: by the
 * node's allocatable, or by the cloud's default. Nodes with a CSINode are left to
 * NodeVolumeLimits. One implementation serves a plugin for each cloud.
 */
#ifndef SHARDSCHED_PLUGINS_DISK_LIMITS_H
#define SHARDSCHED_PLUGINS_DISK_LIMITS_H

#include "shardsched/plugins/volume_attach.h"

struct disk_rule {
	enum attach_kind kind;
	unsigned draft;     /* enum draft_source */
	const char *scalar; /* name of the allocatable resource */
	/* Default for a type of machine, as a label of the node says it; perhaps
	 * empty. */
	int64_t (*limit)(struct pl_span machine);
};

struct disk_limits {
	const struct disk_rule *rule;
	struct attach_scope scope;
	struct attach_load load;
	/* strings; 0: no object has such a name */
	uint32_t scalar, machine, machine_beta;
};

enum verdict_code disk_limits_pre_filter(const struct disk_rule *rule,
                                         const struct plugin_call *call,
                                         struct verdict *verdict);
void disk_limits_filter(const struct plugin_call *call, struct node_span span);
void disk_limits_why(const struct plugin_call *call, uint32_t slot,
                     struct verdict *verdict);

#define DISK_LIMITS_EVENTS                                                           \
	(QUEUE_ON(CSI_NODE) | QUEUE_ON(POD_ADDED) | QUEUE_ON(POD_REMOVED) |          \
	 QUEUE_ON(NODE_ADDED) | QUEUE_ON(NODE_ALLOCATABLE) | QUEUE_ON(NODE_LABELS) | \
	 QUEUE_ON(PVC_ADDED) | QUEUE_ON(PVC_CHANGED) | QUEUE_ON(PV_ADDED) |          \
	 QUEUE_ON(PV_CHANGED) | QUEUE_ON(STORAGE_CLASS))

/* Defines a plugin for the rule. */
/* NOLINTBEGIN(bugprone-macro-parentheses): row is a name */
#define DISK_LIMITS_ROW(row, text, of)                                      \
	static enum verdict_code pre_filter(const struct plugin_call *call, \
	                                    struct plugin_narrow *narrow,   \
	                                    struct verdict *verdict)        \
	{                                                                   \
		(void)narrow;                                               \
		return disk_limits_pre_filter(&(of), call, verdict);        \
	}                                                                   \
	const struct plugin row = {                                         \
		.name = text,                                               \
		.refusal = PLUGIN_REFUSES_UNSCHEDULABLE,                    \
		.events = DISK_LIMITS_EVENTS,                               \
		.hint = attach_hint,                                        \
		.epoch = claims_epoch_of_all,                               \
		.state_size = sizeof(struct disk_limits),                   \
		.pre_filter = pre_filter,                                   \
		.filter = disk_limits_filter,                               \
		.why = disk_limits_why,                                     \
	}
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
