/*
 * NodeVolumeLimits bounds how many volumes of a CSI driver may be attached to a node: by
 * its CSINode, or by its allocatable attachable-volumes-csi-<driver>. A node that has
 * neither takes any number.
 */
#include <string.h>

#include "shardsched/plugins/volume_attach.h"

#define LIMIT_PREFIX "attachable-volumes-csi-"

/* A resource name is shorter than this. Kubernetes shortens longer ones with a hash; no
 * known driver has such a long name, and a CSINode works for it. */
enum { LIMIT_NAME_MAX = 63 };

enum {
	CSI_KINDS = 1 << DRAFT_CLAIM | 1 << DRAFT_EPHEMERAL | 1 << DRAFT_AWS |
	            1 << DRAFT_GCE | 1 << DRAFT_AZURE | 1 << DRAFT_RBD,
};

/* The volumes that the pod would attach to nodes of one kind. */
struct csi_load {
	struct attach_scope scope;
	struct attach_load load;
	uint32_t *scalar; /* by driver: the allocatable resource; 0: no node has it */
	int64_t *most;    /* scratch: limits by driver */
};

struct csi_limits {
	struct csi_load plain;  /* on nodes without a CSINode */
	struct csi_load by_csi; /* on nodes with a CSINode */
};

static uint32_t scalar_of(const struct attach_scope *scope, uint32_t driver)
{
	struct pl_span text = attach_driver_text(scope, driver);
	size_t prefix = sizeof LIMIT_PREFIX - 1;
	char name[LIMIT_NAME_MAX];

	if (prefix + text.len >= sizeof name)
		return 0;
	memcpy(name, LIMIT_PREFIX, prefix);
	memcpy(name + prefix, text.at, text.len);
	return strings_find(&scope->snapshot->model->strings,
	                    pl_span(name, prefix + text.len));
}

static bool csi_load_make(const struct plugin_call *call, bool by_csi,
                          struct csi_load *out)
{
	size_t most = call->spec->volumes;

	attach_scope_init(&out->scope, call->snapshot, ATTACH_CSI);
	out->scope.by_csi = by_csi;
	out->scalar = pl_arena_zalloc(call->arena, most, sizeof *out->scalar);
	out->most = pl_arena_zalloc(call->arena, most, sizeof *out->most);
	if (out->scalar == NULL || out->most == NULL ||
	    !attach_load_make(&out->scope, claims_of_call(call), call->arena, &out->load))
		return false;
	for (uint32_t i = 0; i < out->load.drivers; i++)
		out->scalar[i] = scalar_of(&out->scope, out->load.count[i].driver);
	return true;
}

static enum verdict_code pre_filter(const struct plugin_call *call,
                                    struct plugin_narrow *narrow, struct verdict *verdict)
{
	struct csi_limits *limits = call->state;

	(void)narrow;
	if (!spec_has_volumes(call->spec, CSI_KINDS))
		return VERDICT_SKIP;
	if (csi_load_make(call, false, &limits->plain) &&
	    csi_load_make(call, true, &limits->by_csi))
		return VERDICT_SUCCESS;
	verdict_add(verdict, VERDICT_ERROR, &(struct reason){.code = REASON_FAILED});
	return VERDICT_ERROR;
}

/* Negative: the CSINode has no limit. */
static int64_t limit_of(const struct csi_node *node, uint32_t driver)
{
	for (uint32_t i = 0; node != NULL && i < node->count; i++)
		if (node->limits[i].driver == driver)
			return node->limits[i].volumes;
	return -1;
}

static int64_t allocatable_of(const struct node_row *row, uint32_t scalar)
{
	const struct resources *all = row->node.allocatable;

	for (uint64_t i = 0; scalar != 0 && all != NULL && i < all->count; i++)
		if (all->row[i].name == scalar)
			return all->row[i].amount;
	return -1;
}

/* false: no driver has a limit on that node. */
static bool find_limits(const struct node_row *row, const struct csi_node *node,
                        struct csi_load *csi)
{
	bool any = false;

	for (uint32_t i = 0; i < csi->load.drivers; i++) {
		csi->most[i] = limit_of(node, csi->load.count[i].driver);
		if (csi->most[i] < 0)
			csi->most[i] = allocatable_of(row, csi->scalar[i]);
		any |= csi->most[i] >= 0;
	}
	return any;
}

static bool refuses_node(const struct plugin_call *call, uint32_t slot)
{
	const struct node_row *row = &call->snapshot->row[slot];
	const struct csi_node *node = catalog_find_csi_node(
		&call->snapshot->catalog, (struct catalog_key){0, row->node.name, 0});
	struct csi_limits *limits = call->state;
	struct csi_load *csi = node == NULL ? &limits->plain : &limits->by_csi;

	if (!find_limits(row, node, csi))
		return false;
	attach_load_count(&csi->scope, &csi->load, slot, csi->most, call->arena);
	for (uint32_t i = 0; i < csi->load.drivers; i++) {
		const struct attach_count *count = &csi->load.count[i];

		if (csi->most[i] >= 0 && count->added > 0 &&
		    (int64_t)count->present + count->added > csi->most[i])
			return true;
	}
	return false;
}

static void filter_nodes(const struct plugin_call *call, struct node_span span)
{
	const struct csi_limits *limits = call->state;

	if (limits->plain.load.drivers == 0 && limits->by_csi.load.drivers == 0)
		return;
	SPAN_EACH_WORD(i, span)
	for (uint64_t left = span.bits[i]; left != 0; left &= left - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(left);

		if (refuses_node(call, (span.word + i) * 64 + bit))
			span.bits[i] &= ~(UINT64_C(1) << bit);
	}
}

static void explain_refusal(const struct plugin_call *call, uint32_t slot,
                            struct verdict *verdict)
{
	if (refuses_node(call, slot))
		verdict_add(verdict, VERDICT_UNSCHEDULABLE,
		            &(struct reason){.code = REASON_VOLUME_LIMIT});
}

const struct plugin plugin_node_volume_limits = {
	.name = "NodeVolumeLimits",
	.refusal = PLUGIN_REFUSES_UNSCHEDULABLE,
	.events = QUEUE_ON(CSI_NODE) | QUEUE_ON(POD_ADDED) | QUEUE_ON(POD_REMOVED) |
                  QUEUE_ON(NODE_ADDED) | QUEUE_ON(NODE_ALLOCATABLE) |
                  QUEUE_ON(PVC_ADDED) | QUEUE_ON(PVC_CHANGED) | QUEUE_ON(PV_ADDED) |
                  QUEUE_ON(PV_CHANGED) | QUEUE_ON(STORAGE_CLASS),
	.hint = attach_hint,
	.epoch = claims_epoch_of_all,
	.state_size = sizeof(struct csi_limits),
	.pre_filter = pre_filter,
	.filter = filter_nodes,
	.why = explain_refusal,
};
