/* The own digest of a partition: its nodes, grouped by their taints. */
#include <stdlib.h>

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/reservations/reservation.h"
#include "store/base/alloc.h"

#define MIX UINT64_C(0x9e3779b97f4a7c15)

/* The taint by which the digest shows a cordoned node: pods that tolerate it may be
 * placed. */
#define CORDONED "node.kubernetes.io/unschedulable=:NoSchedule"

/* A class of nodes while it is made. */
struct label_draft {
	uint32_t key;
	uint32_t value[DIGEST_VALUES_MAX];
	uint32_t values;
	bool any;
};

struct class_draft {
	const struct taints *taints; /* NULL: none that keep pods away */
	bool cordoned;
	bool other, more;
	uint32_t nodes;
	struct digest_capacity free, most;
	int64_t scalar_free[DIGEST_SCALARS_MAX], scalar_most[DIGEST_SCALARS_MAX];
	struct label_draft label[DIGEST_LABELS_MAX];
	uint32_t labels;
	/* The labels added last, which the next node often shares */
	const struct labels *last;
	int32_t least;
	int64_t newest;
};

struct class_drafts {
	struct class_draft at[DIGEST_CLASSES_MAX];
	uint32_t count;
};

static struct class_draft *draft_for(struct class_drafts *drafts, const struct node *node)
{
	bool hard = node->taints != NULL && (node->taints->effects & TAINT_HARD) != 0;
	const struct taints *taints = hard ? node->taints : NULL;
	struct class_draft *last = &drafts->at[DIGEST_CLASSES_MAX - 1];

	for (uint32_t i = 0; i < drafts->count; i++)
		if (drafts->at[i].taints == taints &&
		    drafts->at[i].cordoned == node->unschedulable && !drafts->at[i].other)
			return &drafts->at[i];
	if (drafts->count < DIGEST_CLASSES_MAX) {
		drafts->at[drafts->count].taints = taints;
		drafts->at[drafts->count].cordoned = node->unschedulable;
		drafts->at[drafts->count].least = DIGEST_NO_PODS;
		return &drafts->at[drafts->count++];
	}
	last->other = true;
	return last;
}

static void add_value(struct label_draft *label, uint32_t value)
{
	for (uint32_t i = 0; i < label->values; i++)
		if (label->value[i] == value)
			return;
	if (label->any || label->values == DIGEST_VALUES_MAX) {
		label->any = true;
		return;
	}
	label->value[label->values++] = value;
}

static void add_labels(struct class_draft *draft, const struct labels *labels)
{
	if (draft->last == labels)
		return;
	draft->last = labels;
	for (uint32_t i = 0; i < labels->count; i++) {
		uint32_t n = 0;

		while (n < draft->labels && draft->label[n].key != labels->row[i].key)
			n++;
		if (n == DIGEST_LABELS_MAX) {
			draft->more = true;
			continue;
		}
		draft->labels += n == draft->labels;
		draft->label[n].key = labels->row[i].key;
		add_value(&draft->label[n], labels->row[i].value);
	}
}

static void add_amount(int64_t *free, int64_t *most, int64_t alloc, int64_t used)
{
	int64_t left = alloc > used ? alloc - used : 0;

	*free = resources_sum(*free, left);
	*most = left > *most ? left : *most;
}

/* Used by pods, and reserved for others. */
static void add_amounts(const struct sched *sched, struct class_draft *draft,
                        const struct sched_node *node)
{
	const struct node_row *row = &sched->snapshot.row[node->slot];
	struct digest_capacity *free = &draft->free, *most = &draft->most;
	struct node_amounts kept = reservations_nominated_amounts(node);

	add_amount(&free->cpu_milli, &most->cpu_milli, row->alloc.cpu_milli,
	           row->used.cpu_milli + kept.cpu_milli);
	add_amount(&free->memory, &most->memory, row->alloc.memory,
	           row->used.memory + kept.memory);
	add_amount(&free->storage, &most->storage, row->alloc.storage,
	           row->used.storage + kept.storage);
	add_amount(&free->pods, &most->pods, row->alloc.pods, row->used.pods + kept.pods);
}

static int32_t lower_priority(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

static int64_t later_rev(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void add_node(struct sched *sched, struct class_drafts *drafts,
                     struct sched_node *node)
{
	const struct snapshot *snapshot = &sched->snapshot;
	const struct node_row *row = &snapshot->row[node->slot];
	struct class_draft *draft = draft_for(drafts, &row->node);

	draft->nodes++;
	add_amounts(sched, draft, node);
	for (unsigned i = 0; i < SNAPSHOT_SCALARS_MAX; i++)
		if (snapshot->scalar[i].name != 0)
			add_amount(&draft->scalar_free[i], &draft->scalar_most[i],
			           snapshot->scalar[i].alloc[node->slot],
			           snapshot->scalar[i].used[node->slot]);
	draft->least = lower_priority(draft->least,
	                              lower_priority(alloc_entries_least_priority(node),
	                                             reservations_least_priority(node)));
	draft->newest = later_rev(draft->newest,
	                          later_rev(node->rev[FACT_NODE], node->rev[FACT_ALLOC]));
	add_labels(draft, row->node.labels);
}

static bool keep_scalars(struct sched *sched, struct pl_arena *arena,
                         const int64_t *amount, struct digest_capacity *out)
{
	struct digest_scalar *scalar =
		pl_arena_zalloc(arena, SNAPSHOT_SCALARS_MAX, sizeof *scalar);

	if (scalar == NULL)
		return false;
	for (unsigned i = 0; i < SNAPSHOT_SCALARS_MAX; i++)
		if (sched->snapshot.scalar[i].name != 0 && amount[i] > 0)
			scalar[out->scalars++] = (struct digest_scalar){
				pl_arena_dup(arena,
			                     sched_text(sched,
			                                sched->snapshot.scalar[i].name)),
				amount[i]};
	out->scalar = scalar;
	return true;
}

static bool keep_labels(struct sched *sched, struct pl_arena *arena,
                        const struct class_draft *draft, struct digest_class *out)
{
	struct digest_label *label =
		pl_arena_zalloc(arena, draft->labels + 1, sizeof *label);

	for (uint32_t i = 0; label != NULL && i < draft->labels; i++) {
		const struct label_draft *from = &draft->label[i];
		struct pl_span *value =
			pl_arena_zalloc(arena, from->values + 1, sizeof *value);

		if (value == NULL)
			return false;
		label[i].key = pl_arena_dup(arena, sched_text(sched, from->key));
		label[i].value = value;
		for (uint32_t n = 0; !from->any && n < from->values; n++)
			value[label[i].values++] =
				pl_arena_dup(arena, sched_text(sched, from->value[n]));
	}
	out->label = label;
	out->labels = draft->labels;
	return label != NULL;
}

static bool keep_taints(struct sched *sched, struct pl_arena *arena,
                        const struct class_draft *draft, struct digest_class *out)
{
	const struct taints *taints = draft->taints;
	struct pl_span *text = pl_arena_zalloc(arena, DIGEST_TAINTS_MAX, sizeof *text);

	for (uint32_t i = 0; text != NULL && taints != NULL && i < taints->count; i++) {
		const struct taint *taint = &taints->row[i];
		const char *effect = taint_effect_word((enum taint_effect)taint->effect);

		if ((TAINT_BIT(taint->effect) & TAINT_HARD) == 0)
			continue;
		if (out->taints == DIGEST_TAINTS_MAX) {
			out->other = true;
			break;
		}
		pl_buf_clear(&sched->buf, sched->buf.cap);
		if (pl_buf_printf(&sched->buf, "%.*s=%.*s:%s",
		                  PL_SPAN_ARG(sched_text(sched, taint->key)),
		                  PL_SPAN_ARG(sched_text(sched, taint->value)),
		                  effect) != PL_OK)
			return false;
		text[out->taints++] = pl_arena_dup(arena, pl_buf_span(&sched->buf));
	}
	if (text != NULL && draft->cordoned && out->taints == DIGEST_TAINTS_MAX)
		out->other = true;
	else if (text != NULL && draft->cordoned)
		text[out->taints++] = PL_SPAN_LIT(CORDONED);
	out->taint = text;
	return text != NULL;
}

static bool keep_classes(struct sched *sched, const struct class_drafts *drafts,
                         struct own_digest *own)
{
	struct digest_class *class;

	pl_arena_reset(&own->arena);
	own->part.classes = 0;
	class = pl_arena_zalloc(&own->arena, drafts->count + 1, sizeof *class);
	for (uint32_t i = 0; class != NULL && i < drafts->count; i++) {
		const struct class_draft *draft = &drafts->at[i];

		class[i].nodes = draft->nodes;
		class[i].least = draft->least;
		class[i].newest = draft->newest;
		class[i].more = draft->more;
		class[i].other = draft->other;
		class[i].free = draft->free;
		class[i].most = draft->most;
		if (!keep_scalars(sched, &own->arena, draft->scalar_free,
		                  &class[i].free) ||
		    !keep_scalars(sched, &own->arena, draft->scalar_most,
		                  &class[i].most) ||
		    !keep_labels(sched, &own->arena, draft, &class[i]) ||
		    !keep_taints(sched, &own->arena, draft, &class[i]))
			return false;
	}
	own->part.class = class;
	own->part.classes = class == NULL ? 0 : drafts->count;
	return class != NULL;
}

static void summarize_part(const struct digest_partition *part,
                           struct digest_summary *out)
{
	*out = (struct digest_summary){.kind = part->classes + 1};
	for (uint32_t i = 0; i < part->classes; i++) {
		const struct digest_class *class = &part->class[i];
		const struct digest_capacity *rooms[] = {&class->free, &class->most};

		out->kind = out->kind * MIX + digest_class_kind(class);
		out->nodes += class->nodes;
		for (unsigned n = 0; n < 2; n++) {
			out->amount[n][0] =
				resources_sum(out->amount[n][0], rooms[n]->cpu_milli);
			out->amount[n][1] =
				resources_sum(out->amount[n][1], rooms[n]->memory);
			out->amount[n][2] =
				resources_sum(out->amount[n][2], rooms[n]->pods);
			out->amount[n][3] =
				resources_sum(out->amount[n][3], rooms[n]->storage);
		}
		for (uint32_t n = 0; n < class->most.scalars; n++)
			out->kind =
				out->kind * MIX + (uint64_t) class->most.scalar[n].amount;
	}
	out->hash = digest_partition_hash(part);
}

/* Only nodes that can be chosen count: local and not excluded. */
uint32_t digest_make(struct sched *sched, uint32_t partition)
{
	struct sched_partition *part = &sched->partition[partition];
	struct own_digest *own = &part->own;
	struct class_drafts *drafts = pl_calloc(1, sizeof *drafts);
	uint32_t nodes = 1;

	if (drafts == NULL)
		return nodes;
	PL_LIST_EACH (link, &part->nodes) {
		struct sched_node *node =
			PL_LIST_ITEM(link, struct sched_node, of_partition);

		if (node->slot != SNAPSHOT_NONE && node->scope == NODE_LOCAL)
			add_node(sched, drafts, node);
		nodes++;
	}
	own->part.partition = partition;
	own->made = keep_classes(sched, drafts, own);
	own->dirty = !own->made;
	if (own->made)
		summarize_part(&own->part, &own->now);
	free(drafts);
	return nodes;
}
