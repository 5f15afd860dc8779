#include "shardsched/plugins/disk_limits.h"

enum verdict_code disk_limits_pre_filter(const struct disk_rule *rule,
                                         const struct plugin_call *call,
                                         struct verdict *verdict)
{
	const struct strings *strings = &call->snapshot->model->strings;
	struct disk_limits *limits = call->state;

	if (!spec_has_volumes(call->spec, CLAIM_KINDS | 1U << rule->draft))
		return VERDICT_SKIP;
	limits->rule = rule;
	limits->scalar = strings_find(strings, pl_span_str(rule->scalar));
	limits->machine =
		strings_find(strings, PL_SPAN_LIT("node.kubernetes.io/instance-type"));
	limits->machine_beta =
		strings_find(strings, PL_SPAN_LIT("beta.kubernetes.io/instance-type"));
	attach_scope_init(&limits->scope, call->snapshot, rule->kind);
	if (attach_load_make(&limits->scope, claims_of_call(call), call->arena,
	                     &limits->load))
		return VERDICT_SUCCESS;
	verdict_add(verdict, VERDICT_ERROR, &(struct reason){.code = REASON_FAILED});
	return VERDICT_ERROR;
}

static struct pl_span machine_type(const struct plugin_call *call,
                                   const struct node_row *row)
{
	const struct disk_limits *limits = call->state;
	uint32_t text = 0;

	if (limits->machine != 0)
		text = labels_get(row->node.labels, limits->machine);
	if (text == 0 && limits->machine_beta != 0)
		text = labels_get(row->node.labels, limits->machine_beta);
	return strings_get(&call->snapshot->model->strings, text);
}

static int64_t limit_of(const struct plugin_call *call, const struct node_row *row)
{
	const struct disk_limits *limits = call->state;
	const struct resources *all = row->node.allocatable;

	for (uint64_t i = 0; limits->scalar != 0 && all != NULL && i < all->count; i++)
		if (all->row[i].name == limits->scalar)
			return all->row[i].amount;
	return limits->rule->limit(machine_type(call, row));
}

static bool refuses_node(const struct plugin_call *call, uint32_t slot)
{
	const struct node_row *row = &call->snapshot->row[slot];
	struct disk_limits *limits = call->state;
	const struct attach_count *count = limits->load.count;
	int64_t limit;

	if (catalog_find_csi_node(&call->snapshot->catalog,
	                          (struct catalog_key){0, row->node.name, 0}) != NULL)
		return false;
	limit = limit_of(call, row);
	attach_load_count(&limits->scope, &limits->load, slot, &limit, call->arena);
	return (int64_t)count->present + count->added > limit;
}

void disk_limits_filter(const struct plugin_call *call, struct node_span span)
{
	const struct disk_limits *limits = call->state;

	if (limits->load.wanted_count == 0)
		return;
	SPAN_EACH_WORD(i, span)
	for (uint64_t left = span.bits[i]; left != 0; left &= left - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(left);

		if (refuses_node(call, (span.word + i) * 64 + bit))
			span.bits[i] &= ~(UINT64_C(1) << bit);
	}
}

void disk_limits_why(const struct plugin_call *call, uint32_t slot,
                     struct verdict *verdict)
{
	const struct disk_limits *limits = call->state;

	if (limits->load.wanted_count > 0 && refuses_node(call, slot))
		verdict_add(verdict, VERDICT_UNSCHEDULABLE,
		            &(struct reason){.code = REASON_VOLUME_LIMIT});
}
