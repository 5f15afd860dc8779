/*
 * NodeResourcesFit: a node has room for one more pod, and as much free of each resource
 * as the pod requests. A resource that is not requested is not lacking, on whatever node.
 *
 * A word of nodes is judged at once from columns; scalars and storage only for pods that
 * request them. Words with few candidates left, and all words while some node's amounts
 * do not fit in the columns, are judged node by node from rows.
 */
#include "shardsched/plugins/fit.h"

#include "shardsched/plugins/node_event.h"
#include "shardsched/plugins/plugins.h"

static bool lists_name(const struct model *model, const struct fit_names *names,
                       struct pl_span text)
{
	for (uint32_t i = 0; i < names->count; i++) {
		if (pl_span_eq(model_text(model, names->name[i]), text))
			return true;
	}
	return false;
}

/* Arguments may leave the scalar to an extender. */
bool fit_counts(const struct model *model, const void *args_, uint32_t scalar)
{
	const struct fit_args *args = args_;
	struct pl_span text = model_text(model, scalar);
	struct pl_span group = text;

	if (args->ignored.count + args->ignored_groups.count == 0 ||
	    !resource_is_extended(text))
		return true;
	for (group.len = 0; group.len < text.len && text.at[group.len] != '/';)
		group.len++;
	return !lists_name(model, &args->ignored, text) &&
	       !lists_name(model, &args->ignored_groups, group);
}

static int64_t scalar_free(const struct snapshot *snapshot, uint32_t name, uint32_t slot)
{
	uint32_t at = snapshot_scalar(snapshot, name);

	if (at == SNAPSHOT_NONE)
		return 0;
	return snapshot->scalar[at].alloc[slot] - snapshot->scalar[at].used[slot];
}

static void add_reason(struct verdict *verdict, enum reason_code code, uint32_t subject,
                       int64_t lacks)
{
	struct reason reason = {.code = code, .subject = subject, .lacks = lacks};

	verdict_add(verdict, VERDICT_UNSCHEDULABLE, &reason);
}

/* How much is missing; 0: enough is free, or none is needed. */
static int64_t shortfall(int64_t need, int64_t free)
{
	return need > 0 && need > free ? need - free : 0;
}

static int64_t storage_shortfall(const struct spec *spec, const struct node_row *row)
{
	return shortfall(spec->requests->storage, row->alloc.storage - row->used.storage);
}

static void explain_refusal(const struct plugin_call *call, uint32_t slot,
                            struct verdict *verdict)
{
	const struct node_row *row = &call->snapshot->row[slot];
	const struct resources *need = call->spec->requests;
	const struct {
		enum reason_code code;
		int64_t lacks;
	} check[] = {
		{REASON_FIT_PODS, shortfall(1, row->alloc.pods - row->used.pods)},
		{REASON_FIT_CPU,
	         shortfall(need->cpu_milli, row->alloc.cpu_milli - row->used.cpu_milli)},
		{REASON_FIT_MEMORY,
	         shortfall(need->memory, row->alloc.memory - row->used.memory)},
		{REASON_FIT_STORAGE, storage_shortfall(call->spec, row)},
	};

	for (size_t i = 0; i < sizeof(check) / sizeof(check[0]); i++) {
		if (check[i].lacks > 0)
			add_reason(verdict, check[i].code, 0, check[i].lacks);
	}
	for (uint64_t i = 0; i < need->count; i++) {
		uint32_t name = need->row[i].name;
		int64_t lacks = shortfall(need->row[i].amount,
		                          scalar_free(call->snapshot, name, slot));

		if (lacks > 0 && fit_counts(call->snapshot->model, call->args, name))
			add_reason(verdict, REASON_FIT_SCALAR, name, lacks);
	}
}

/* Pods, cpu, memory and storage, without scalars. */
static bool has_room(const struct spec *spec, const struct node_row *row)
{
	const struct resources *need = spec->requests;

	return row->alloc.pods > row->used.pods &&
	       shortfall(need->cpu_milli, row->alloc.cpu_milli - row->used.cpu_milli) ==
	               0 &&
	       shortfall(need->memory, row->alloc.memory - row->used.memory) == 0 &&
	       storage_shortfall(spec, row) == 0;
}

static uint64_t filter_rows(const struct plugin_call *call, uint32_t slot, uint64_t bits)
{
	for (uint64_t left = bits; left != 0; left &= left - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(left);

		if (!has_room(call->spec, &call->snapshot->row[slot + bit]))
			bits &= ~(UINT64_C(1) << bit);
	}
	return bits;
}

/* Whether enough candidates are left, and columns hold all amounts. */
static bool can_use_columns(const struct plugin_call *call, uint64_t bits)
{
	return !amount_is_sparse(bits) && call->snapshot->hot.wide == 0 &&
	       call->spec->requests->cpu_milli <= INT32_MAX;
}

static void filter_columns(const struct plugin_call *call,
                           const struct amount_kernels *kernels, struct node_span span)
{
	const struct hot_columns *hot = &call->snapshot->hot;
	const struct resources *need = call->spec->requests;
	size_t slot = (size_t)span.word * 64;
	const struct amount_fits in = {
		.cpu_alloc = hot->cpu_alloc + slot,
		.cpu_used = hot->cpu_used + slot,
		.memory_alloc = hot->memory_alloc + slot,
		.memory_used = hot->memory_used + slot,
		.cpu = need->cpu_milli == 0 ? INT32_MIN : (int32_t)need->cpu_milli,
		.memory = need->memory == 0 ? INT64_MIN : need->memory,
	};

	kernels->fits(&in, span.words, span.bits);
	if (need->storage == 0)
		return;
	SPAN_EACH_WORD(i, span)
	span.bits[i] &= kernels->mask_at_least(
		call->snapshot->storage_free + slot + (size_t)i * 64, need->storage);
}

/* Filters by pods, cpu, memory and storage. */
static void filter_by_amounts(const struct plugin_call *call, struct node_span span)
{
	const struct amount_kernels *kernels = amount_kernels();
	const uint64_t *vacant = call->snapshot->vacant.word + span.word;

	SPAN_EACH_WORD(i, span)
	span.bits[i] &= vacant[i];
	while (span.words > 0) {
		struct node_span run = {span.word, 0, span.bits};

		while (run.words < span.words &&
		       can_use_columns(call, span.bits[run.words]))
			run.words++;
		if (run.words > 0) {
			filter_columns(call, kernels, run);
		} else {
			run.words = 1;
			span.bits[0] = filter_rows(call, span.word * 64, span.bits[0]);
		}
		span = node_span_from(span, run.words);
	}
}

/* Clears the bits of the nodes that lack the scalar. */
static void filter_scalar(const struct plugin_call *call, const struct resource_row *need,
                          struct node_span span)
{
	uint32_t at = snapshot_scalar(call->snapshot, need->name);
	const struct scalar_column *column;

	if (at == SNAPSHOT_NONE) {
		SPAN_EACH_WORD(i, span)
		span.bits[i] = 0;
		return;
	}
	column = &call->snapshot->scalar[at];
	SPAN_EACH_WORD(i, span)
	{
		uint32_t slot = (span.word + i) * 64;

		if (span.bits[i] != 0)
			span.bits[i] &= amount_kernels()->free(
				column->alloc + slot, column->used + slot, need->amount);
	}
}

static void filter_nodes(const struct plugin_call *call, struct node_span span)
{
	const struct resources *need = call->spec->requests;

	filter_by_amounts(call, span);
	for (uint64_t i = 0; i < need->count; i++) {
		if (need->row[i].amount > 0 &&
		    fit_counts(call->snapshot->model, call->args, need->row[i].name))
			filter_scalar(call, &need->row[i], span);
	}
}

/* There is nothing to do, but kube-scheduler's configuration has this plugin at the
 * point. */
static enum verdict_code pre_filter(const struct plugin_call *call,
                                    struct plugin_narrow *narrow, struct verdict *verdict)
{
	(void)call;
	(void)narrow;
	(void)verdict;
	return VERDICT_SUCCESS;
}

static bool has_allocatable(const struct plugin_call *call, uint32_t slot)
{
	const struct node_amounts *alloc = &call->snapshot->row[slot].alloc;
	const struct resources *need = call->spec->requests;

	for (uint64_t i = 0; i < need->count; i++) {
		uint32_t at = snapshot_scalar(call->snapshot, need->row[i].name);
		int64_t most =
			at == SNAPSHOT_NONE ? 0 : call->snapshot->scalar[at].alloc[slot];

		if (shortfall(need->row[i].amount, most) > 0 &&
		    fit_counts(call->snapshot->model, call->args, need->row[i].name))
			return false;
	}
	return alloc->pods > 0 && shortfall(need->cpu_milli, alloc->cpu_milli) == 0 &&
	       shortfall(need->memory, alloc->memory) == 0 &&
	       shortfall(need->storage, alloc->storage) == 0;
}

/* Whether the pod fits on the node of the event if all other pods may be evicted from it.
 * The node of a removed pod is not known for sure. */
static bool queueing_hint(const struct plugin_call *call, const struct queue_event *event)
{
	uint32_t slot = event->kind == QUEUE_EV_POD_REMOVED
	                        ? SNAPSHOT_NONE
	                        : node_event_slot(call, event);
	uint64_t bit = UINT64_C(1) << slot % 64;

	if (slot == SNAPSHOT_NONE)
		return true;
	if ((call->spec->flags & SPEC_NEVER_PREEMPTS) == 0)
		return has_allocatable(call, slot);
	filter_nodes(call, (struct node_span){slot / 64, 1, &bit});
	return bit != 0;
}

const struct plugin plugin_fit = {
	.name = "NodeResourcesFit",
	.refusal = PLUGIN_REFUSES_UNSCHEDULABLE,
	.normal = PLUGIN_AS_IS,
	.weight = 1,
	.events = NODE_EVENTS | QUEUE_ON(NODE_ALLOCATABLE) | QUEUE_ON(POD_REMOVED),
	.hint = queueing_hint,
	.args_size = sizeof(struct fit_args),
	.args_parse = fit_args_parse,
	.args_drop = fit_args_drop,
	.pre_filter = pre_filter,
	.filter = filter_nodes,
	.why = explain_refusal,
	.counts = fit_counts,
	.score = fit_score,
};
