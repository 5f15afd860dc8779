/* Allocs and Nodes: keeps what they say, and compares it with the pods at the end. */
#include <inttypes.h>
#include <stdlib.h>

#include "coord/service/fsck/fsck_int.h"
#include "store/base/hash.h"
#include "store/keys/partition.h"

static const struct pl_span no_key;

static bool is_own_partition(const struct fsck_core *core, const struct keys_id *id)
{
	uint32_t partition;

	return partition_of_node(id->scope, id->name, core->partitions, &partition,
	                         NULL) == PL_OK &&
	       partition == id->partition;
}

/* Reports a record in a wrong partition; nothing else of it is judged. */
static bool check_partition(struct fsck_core *core, const struct kv_record *record,
                            const struct keys_id *id, enum fsck_code code)
{
	if (is_own_partition(core, id))
		return true;
	fsck_report(core, code, record->key, no_key,
	            "its name does not fall in this partition");
	return false;
}

/* -- allocs ------------------------------------------------------------------------ */

/* Room of pods that leave may be nominated for others already. */
static bool may_exceed(const struct alloc *alloc)
{
	for (uint32_t i = 0; i < alloc->pods; i++)
		if (alloc->pod[i].leaving)
			return true;
	return false;
}

static void add_promise(struct fsck_core *core, struct fsck_node *node,
                        const struct alloc_amounts *used)
{
	if (node->promise == 0) {
		if (!name_table_room((void **)&core->promise, &core->promise_cap,
		                     core->promises, sizeof *core->promise)) {
			fsck_no_memory(core);
			return;
		}
		core->promise[core->promises++] = (struct fsck_sums){0};
		node->promise = core->promises;
	}
	fsck_sums_add(&core->promise[node->promise - 1], used);
	for (uint32_t i = 0; i < used->scalars; i++)
		for (uint32_t n = 0; n < node->scalars; n++) {
			struct fsck_scalar *of = &core->scalar[node->first_scalar + n];

			if (of->name == pl_hash(used->scalar[i].name))
				of->amount -= used->scalar[i].amount;
		}
}

static void keep_scalars(struct fsck_core *core, struct fsck_node *node,
                         const struct alloc_amounts *used)
{
	node->first_scalar = core->scalars;
	for (uint32_t i = 0; i < used->scalars; i++) {
		if (!name_table_room((void **)&core->scalar, &core->scalar_cap,
		                     core->scalars, sizeof *core->scalar)) {
			fsck_no_memory(core);
			return;
		}
		core->scalar[core->scalars++] =
			(struct fsck_scalar){.name = pl_hash(used->scalar[i].name),
		                             .amount = used->scalar[i].amount};
		node->scalars++;
	}
}

static void list_pod(struct fsck_core *core, uint32_t number, const struct alloc_pod *pod,
                     struct pl_span alloc_key)
{
	struct keys_text text, other;
	struct pl_span name = fsck_name(&text, pod->namespace, pod->name);
	uint32_t entry = fsck_entry_add(core, name);
	struct fsck_row row = {.pod = entry,
	                       .node = number,
	                       .partition = (uint16_t)pod->partition,
	                       .leaving = pod->leaving};
	const struct fsck_node *first;
	uint32_t before;

	if (entry == FSCK_NONE)
		return;
	before = core->entry[entry].listed;
	if (before != FSCK_NONE) {
		first = &core->node[core->row[before].node];
		fsck_report(
			core, FSCK_ALLOC_POD_TWICE, alloc_key,
			fsck_key(&other, KEYS_ALLOC, first->partition,
		                 name_table_get(&core->nodes, core->row[before].node)),
			PL_SPAN_FMT " is listed in two places", PL_SPAN_ARG(name));
	}
	(void)fsck_row_add(core, &core->entry[entry].listed, row);
}

static void feed_amounts(struct fsck_core *core, uint32_t number,
                         const struct alloc *alloc)
{
	struct fsck_node *node = &core->node[number];

	fsck_sums_add(&node->stated, &alloc->used);
	for (uint32_t i = 0; i < alloc->holds; i++)
		fsck_sums_add(&node->sum, &alloc->hold[i].used);
	for (uint32_t i = 0; i < alloc->ports; i++)
		node->stated_ports += fsck_port_hash(&alloc->port[i]);
	keep_scalars(core, node, &alloc->used);
	for (uint32_t i = 0; i < alloc->holds && may_exceed(alloc); i++)
		if (alloc->hold[i].kind == ALLOC_RESERVATION_NOMINATED &&
		    core->code == PL_OK)
			add_promise(core, node, &alloc->hold[i].used);
}

void fsck_feed_alloc(struct fsck_core *core, const struct kv_record *record,
                     const struct keys_id *id)
{
	struct pl_err err = {0};
	struct alloc alloc;
	enum pl_code code;
	uint32_t number;

	core->counts.allocs++;
	if (!check_partition(core, record, id, FSCK_ALLOC_PARTITION))
		return;
	number = fsck_node_add(core, id->scope, id->name, id->partition);
	if (number == FSCK_NONE)
		return;
	core->node[number].flags |= NODE_HAS_ALLOC;
	code = alloc_parse(record->value, &core->scratch, &alloc, &err);
	if (code == PL_NOMEM) {
		fsck_no_memory(core);
		return;
	}
	if (code != PL_OK) {
		core->node[number].flags |= NODE_BAD_ALLOC | NODE_MEND;
		core->allocs_unreadable = true;
		fsck_report(core, FSCK_ALLOC_MALFORMED, record->key, no_key,
		            "it is malformed: %s", err.msg);
		return;
	}
	if (alloc.pods > 0 || alloc.holds > 0)
		core->node[number].flags |= NODE_HOLDS_SOME;
	feed_amounts(core, number, &alloc);
	for (uint32_t i = 0; i < alloc.pods && core->code == PL_OK; i++)
		list_pod(core, number, &alloc.pod[i], record->key);
	for (uint32_t i = 0; i < alloc.holds && core->code == PL_OK; i++)
		fsck_keep_hold(core, number, &alloc.hold[i]);
}

/* -- Nodes ------------------------------------------------------------------------- */

static bool scalars_fit(const struct fsck_core *core, const struct fsck_node *node,
                        const struct resources *has)
{
	for (uint32_t i = 0; i < node->scalars; i++) {
		const struct fsck_scalar *used = &core->scalar[node->first_scalar + i];
		int64_t amount = 0;

		for (uint64_t n = 0; n < has->count; n++)
			if (pl_hash(model_text(&core->model, has->row[n].name)) ==
			    used->name)
				amount = has->row[n].amount;
		if (used->amount > amount)
			return false;
	}
	return true;
}

static bool amounts_fit(const struct fsck_core *core, const struct fsck_node *node,
                        const struct resources *has)
{
	static const struct fsck_sums none;
	const struct fsck_sums *used = &node->stated, *less = &none;

	if (node->promise != 0)
		less = &core->promise[node->promise - 1];
	return used->cpu_milli - less->cpu_milli <= has->cpu_milli &&
	       used->memory - less->memory <= has->memory &&
	       used->storage - less->storage <= has->storage &&
	       used->pods - less->pods <= has->pods && scalars_fit(core, node, has);
}

static void feed_capacity(struct fsck_core *core, uint32_t number,
                          const struct kv_record *record)
{
	struct fsck_node *node = &core->node[number];
	struct field_errors errors;
	struct parse parse = {.model = &core->model,
	                      .arena = &core->scratch,
	                      .errors = &errors,
	                      .scope = VALIDATE_STORED};
	struct pl_err err = {0};
	struct node parsed = {0};
	enum pl_code code = node_parse(&parse, record->value, &parsed, &err);

	if (code == PL_NOMEM) {
		fsck_no_memory(core);
		return;
	}
	if (code != PL_OK) {
		node->flags |= NODE_BAD_NODE;
		fsck_report(core, FSCK_NODE_MALFORMED, record->key, no_key,
		            "it is malformed: %s", err.msg);
		return;
	}
	if (!amounts_fit(core, node, parsed.allocatable))
		node->flags |= NODE_IS_OVER;
	fsck_rules_node(core, number, &parsed);
	node_drop(&core->model, &parsed);
}

void fsck_feed_node(struct fsck_core *core, const struct kv_record *record,
                    const struct keys_id *id)
{
	uint32_t number;

	core->counts.nodes++;
	if (!check_partition(core, record, id, FSCK_NODE_PARTITION))
		return;
	number = fsck_node_add(core, id->scope, id->name, id->partition);
	if (number == FSCK_NONE)
		return;
	core->node[number].flags |= NODE_HAS_NODE;
	core->node[number].node_rev = record->mod_revision;
	if (record->mod_revision > core->newest_node_rev)
		core->newest_node_rev = record->mod_revision;
	if ((core->node[number].flags & NODE_HAS_ALLOC) == 0) {
		core->node[number].flags |= NODE_MEND;
		core->allocs_unreadable = true;
	}
	feed_capacity(core, number, record);
}

/* -- the end ----------------------------------------------------------------------- */

static int port_cmp(const void *a, const void *b)
{
	const struct fsck_port *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* A port that several pods of a node share is counted once. */
static void sum_ports(struct fsck_core *core)
{
	if (core->ports > 0)
		qsort(core->port, core->ports, sizeof *core->port, port_cmp);
	for (uint32_t i = 0; i < core->ports; i++)
		if (i == 0 || port_cmp(&core->port[i - 1], &core->port[i]) != 0)
			core->node[core->port[i].node].sum_ports += core->port[i].hash;
}

/* The first amount that differs from the sum; NULL: none. */
static const char *wrong_sum(const struct fsck_node *node, int64_t *stated, int64_t *sum)
{
	const struct {
		const char *name;
		int64_t stated, sum;
	} rows[] = {
		{"cpu (in thousandths)", node->stated.cpu_milli, node->sum.cpu_milli},
		{"memory", node->stated.memory, node->sum.memory},
		{"ephemeral-storage", node->stated.storage, node->sum.storage},
		{"pods", node->stated.pods, node->sum.pods},
		{"nonzero cpu (in thousandths)", node->stated.nonzero_cpu_milli,
	         node->sum.nonzero_cpu_milli},
		{"nonzero memory", node->stated.nonzero_memory, node->sum.nonzero_memory},
	};

	*stated = *sum = 0;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (rows[i].stated == rows[i].sum)
			continue;
		*stated = rows[i].stated;
		*sum = rows[i].sum;
		return rows[i].name;
	}
	if (node->stated.scalars != node->sum.scalars)
		return "other resources";
	return node->stated_ports != node->sum_ports ? "ports" : NULL;
}

static void check_sum(struct fsck_core *core, struct fsck_node *node, struct pl_span key)
{
	int64_t stated, sum;
	const char *wrong = wrong_sum(node, &stated, &sum);

	if (wrong == NULL || (node->flags & NODE_NO_SUM) != 0)
		return;
	node->flags |= NODE_MEND;
	if (stated != sum)
		fsck_report(core, FSCK_ALLOC_SUM, key, no_key,
		            "%s: it says %" PRId64 ", its pods and holds are %" PRId64,
		            wrong, stated, sum);
	else
		fsck_report(core, FSCK_ALLOC_SUM, key, no_key,
		            "%s: it says others than its pods and holds have", wrong);
}

static void check_room(struct fsck_core *core, const struct fsck_node *node,
                       struct pl_span key, struct pl_span node_key)
{
	if ((node->flags & NODE_IS_OVER) == 0)
		return;
	if (node->bound_rev > node->node_rev)
		fsck_report(
			core, FSCK_ALLOC_OVER, key, node_key,
			"more is taken than the node has, and a shard placed there since "
			"the node was changed last");
	else
		fsck_report(core, FSCK_NODE_OVER, node_key, key,
		            "more is taken than the node has since it was changed");
}

/* Reports pods that are bound to a node of which there is neither Node nor alloc. */
static void end_absent(struct fsck_core *core, const struct fsck_node *node,
                       struct pl_span name)
{
	struct keys_text text;

	for (uint32_t i = node->unlisted; i != FSCK_NONE; i = core->row[i].next) {
		core->counts.bound--;
		fsck_report(core, FSCK_STATE_NO_NODE,
		            fsck_key(&text, KEYS_STATE, core->row[i].partition,
		                     name_table_get(&core->pods, core->row[i].pod)),
		            no_key, "it is bound to " PL_SPAN_FMT ", which is not there",
		            PL_SPAN_ARG(name));
	}
}

/* Reports an alloc without its Node. The repair deletes it if it holds nothing. */
static void end_alone(struct fsck_core *core, struct fsck_node *node,
                      struct pl_span alloc, struct pl_span key)
{
	bool empty = (node->flags & (NODE_HOLDS_SOME | NODE_BAD_ALLOC)) == 0 &&
	             node->unlisted == FSCK_NONE;

	if (empty)
		node->flags |= NODE_MEND;
	fsck_report(core, FSCK_ALLOC_NO_NODE, alloc, key, "there is no such node%s",
	            empty ? ""
	                  : ": apply it (placet nodes apply), or take it away (placet "
	                    "nodes delete --force)");
}

static void end_node(struct fsck_core *core, uint32_t number)
{
	struct fsck_node *node = &core->node[number];
	struct pl_span name = name_table_get(&core->nodes, number);
	struct keys_text alloc_text, node_text;
	struct pl_span alloc = fsck_key(&alloc_text, KEYS_ALLOC, node->partition, name);
	struct pl_span key = fsck_key(&node_text, KEYS_NODE, node->partition, name);

	if ((node->flags & (NODE_HAS_NODE | NODE_HAS_ALLOC)) == 0) {
		end_absent(core, node, name);
		return;
	}
	if ((node->flags & NODE_HAS_NODE) == 0)
		end_alone(core, node, alloc, key);
	if ((node->flags & NODE_HAS_ALLOC) == 0)
		fsck_report(core, FSCK_NODE_NO_ALLOC, key, alloc,
		            "nothing can be placed there");
	else if ((node->flags & NODE_BAD_ALLOC) == 0)
		check_sum(core, node, alloc);
	if ((node->flags & NODE_HAS_NODE) != 0)
		check_room(core, node, alloc, key);
}

void fsck_end_nodes(struct fsck_core *core)
{
	sum_ports(core);
	for (uint32_t i = 0; i < core->nodes.count; i++)
		end_node(core, i);
}
