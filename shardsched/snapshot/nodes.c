#include "shardsched/snapshot/snapshot_inner.h"

static struct bucket_link *link_of(const void *owner, uint32_t id)
{
	const struct snapshot *snapshot = owner;

	return &snapshot->row[id - 1].by_name;
}

void nodes_init(struct snapshot *snapshot)
{
	buckets_init(&snapshot->inner->by_name, snapshot, link_of);
}

/* -- finding ---------------------------------------------------------------------- */

static uint32_t find_from(const struct snapshot *snapshot, uint32_t id, uint32_t name)
{
	while (id != 0 && snapshot->row[id - 1].node.name != name)
		id = snapshot->row[id - 1].by_name.next;
	return id == 0 ? SNAPSHOT_NONE : id - 1;
}

uint32_t snapshot_node_named(const struct snapshot *snapshot, uint32_t name,
                             uint32_t after)
{
	uint32_t id;

	if (name == 0)
		return SNAPSHOT_NONE;
	if (after == SNAPSHOT_NONE)
		id = buckets_chain(&snapshot->inner->by_name, number_hash(name));
	else
		id = snapshot->row[after].by_name.next;
	return find_from(snapshot, id, name);
}

uint32_t snapshot_node_find(const struct snapshot *snapshot, uint32_t cluster,
                            uint32_t name)
{
	uint32_t slot = snapshot_node_named(snapshot, name, SNAPSHOT_NONE);

	while (slot != SNAPSHOT_NONE && snapshot->row[slot].cluster != cluster)
		slot = snapshot_node_named(snapshot, name, slot);
	return slot;
}

/* -- columns ---------------------------------------------------------------------- */

static void update_amounts(struct snapshot *snapshot, uint32_t slot)
{
	struct node_row *row = &snapshot->row[slot];
	const struct resources *amounts = row->node.allocatable;

	row->alloc = (struct node_amounts){0};
	if (amounts != NULL)
		row->alloc = (struct node_amounts){amounts->cpu_milli, amounts->memory,
		                                   amounts->storage, amounts->pods};
	hot_update_alloc(snapshot, slot);
}

static void update_taint_sets(struct snapshot *snapshot, uint32_t slot)
{
	const struct taints *taints = snapshot->row[slot].node.taints;
	uint32_t effects = taints == NULL ? 0 : taints->effects;

	snapshot->taints[slot] = taints == NULL ? 0 : taints->item.id;
	pl_bitset_put(snapshot->hard_taints, slot, (effects & TAINT_HARD) != 0);
	pl_bitset_put(snapshot->soft_taints, slot,
	              (effects & TAINT_BIT(TAINT_PREFER_NO_SCHEDULE)) != 0);
}

static void update_columns(struct snapshot *snapshot, uint32_t slot)
{
	const struct node *node = &snapshot->row[slot].node;

	pl_bitset_put(snapshot->live, slot, node->name != 0);
	pl_bitset_put(snapshot->unschedulable, slot, node->unschedulable);
	update_taint_sets(snapshot, slot);
	update_amounts(snapshot, slot);
}

/* A row without a node. */
static void row_clear(struct node_row *row)
{
	*row = (struct node_row){.first_pod = SNAPSHOT_NONE,
	                         .first_port = SNAPSHOT_NONE,
	                         .first_nomination = SNAPSHOT_NONE,
	                         .first_reservation = SNAPSHOT_NONE};
}

/* -- coming, changing, going ------------------------------------------------------ */

static void ref_node(struct model *model, const struct node *node)
{
	strings_ref(&model->strings, node->name);
	strings_ref(&model->strings, node->uid);
	model_ref(model, MODEL_LABELS, node->labels);
	model_ref(model, MODEL_TAINTS, node->taints);
	model_ref(model, MODEL_TAINT_TIMES, node->tainted);
	model_ref(model, MODEL_RESOURCES, node->allocatable);
	model_ref(model, MODEL_IMAGES, node->images);
}

static enum pl_code reserve_slot(struct snapshot *snapshot, struct pl_err *err)
{
	struct snapshot_inner *inner = snapshot->inner;

	if (!buckets_ready(&inner->by_name))
		return pl_err_set(err, PL_NOMEM, "room for a node");
	if (inner->free_slot != SNAPSHOT_NONE || snapshot->slots < snapshot->capacity)
		return PL_OK;
	return snapshot_grow(snapshot, err);
}

static enum pl_code reserve_all(struct snapshot *snapshot, const struct node *node,
                                const struct node *old, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	if (node->allocatable != NULL && node->allocatable != old->allocatable)
		code = scalars_ready(snapshot, node->allocatable, err);
	if (code == PL_OK && node->images != old->images)
		code = images_ready(&snapshot->inner->images, node->images->count, err);
	if (code == PL_OK && node->labels != old->labels)
		code = label_columns_ready(snapshot, err);
	return code;
}

static uint32_t take_slot(struct snapshot *snapshot)
{
	struct snapshot_inner *inner = snapshot->inner;
	uint32_t slot = inner->free_slot;

	if (slot != SNAPSHOT_NONE) {
		inner->free_slot = snapshot->row[slot].by_name.next;
		return slot;
	}
	slot = snapshot->slots++;
	row_clear(&snapshot->row[slot]);
	return slot;
}

static void note_change(struct snapshot *snapshot, uint32_t slot)
{
	snapshot->nodes_epoch++;
	snapshot_touch(snapshot, slot);
}

enum pl_code snapshot_node_add(struct snapshot *snapshot, uint32_t cluster,
                               const struct node *node, uint32_t *slot,
                               struct pl_err *err)
{
	static const struct node nothing;
	struct node_row *row;
	enum pl_code code;

	PL_ASSERT(node->name != 0 && !snapshot->inner->probing);
	if (snapshot_node_find(snapshot, cluster, node->name) != SNAPSHOT_NONE)
		return pl_err_set(err, PL_EXISTS, "a node of this name exists");
	code = reserve_slot(snapshot, err);
	if (code == PL_OK)
		code = reserve_all(snapshot, node, &nothing, err);
	if (code != PL_OK)
		return code;
	*slot = take_slot(snapshot);
	row = &snapshot->row[*slot];
	ref_node(snapshot->model, node);
	row->node = *node;
	row->cluster = strings_ref(&snapshot->model->strings, cluster);
	row->by_name = (struct bucket_link){.hash = number_hash(node->name)};
	buckets_add(&snapshot->inner->by_name, *slot + 1);
	update_columns(snapshot, *slot);
	pl_bitset_add(snapshot->local, *slot);
	pl_bitset_add(snapshot->open, *slot);
	scalars_node_add(snapshot, *slot, node->allocatable);
	images_add(&snapshot->inner->images, node->images);
	label_columns_move(snapshot, *slot, node->labels);
	snapshot->nodes++;
	snapshot->images_epoch++;
	note_change(snapshot, *slot);
	return PL_OK;
}

static bool is_same(const struct node *a, const struct node *b)
{
	return a->labels == b->labels && a->taints == b->taints &&
	       a->allocatable == b->allocatable && a->images == b->images &&
	       a->uid == b->uid && a->unschedulable == b->unschedulable;
}

enum pl_code snapshot_node_change(struct snapshot *snapshot, uint32_t slot,
                                  const struct node *node, struct pl_err *err)
{
	struct node_row *row = &snapshot->row[slot];
	struct node old = row->node;
	enum pl_code code;

	PL_ASSERT(old.name != 0 && old.name == node->name && !snapshot->inner->probing);
	PL_ASSERT(old.allocatable != NULL && node->allocatable != NULL);
	if (is_same(node, &old))
		return PL_OK;
	code = reserve_all(snapshot, node, &old, err);
	if (code != PL_OK)
		return code;
	ref_node(snapshot->model, node);
	row->node = *node;
	update_columns(snapshot, slot);
	if (node->allocatable != old.allocatable) {
		scalars_node_add(snapshot, slot, node->allocatable);
		scalars_node_remove(snapshot, slot, old.allocatable, node->allocatable);
	}
	if (node->images != old.images) {
		images_add(&snapshot->inner->images, node->images);
		images_remove(&snapshot->inner->images, old.images);
		snapshot->images_epoch++;
	}
	if (node->labels != old.labels)
		label_columns_move(snapshot, slot, node->labels);
	node_drop(snapshot->model, &old);
	note_change(snapshot, slot);
	return PL_OK;
}

void snapshot_node_set_scope(struct snapshot *snapshot, uint32_t slot,
                             enum node_scope scope)
{
	bool local = scope == NODE_LOCAL, open = scope != NODE_EXCLUDED;

	PL_ASSERT(pl_bitset_has(snapshot->live, slot) && !snapshot->inner->probing);
	if (pl_bitset_has(snapshot->local, slot) == local &&
	    pl_bitset_has(snapshot->open, slot) == open)
		return;
	pl_bitset_put(snapshot->local, slot, local);
	pl_bitset_put(snapshot->open, slot, open);
	snapshot_touch(snapshot, slot);
}

void snapshot_node_remove(struct snapshot *snapshot, uint32_t slot)
{
	struct node_row *row = &snapshot->row[slot];
	struct node old = row->node;
	uint64_t generation = row->generation;

	PL_ASSERT(old.name != 0 && !snapshot->inner->probing);
	PL_ASSERT(row->pods == 0 && row->first_nomination == SNAPSHOT_NONE);
	PL_ASSERT(row->first_reservation == SNAPSHOT_NONE);
	label_columns_move(snapshot, slot, NULL);
	images_remove(&snapshot->inner->images, old.images);
	scalars_node_remove(snapshot, slot, old.allocatable, NULL);
	buckets_del(&snapshot->inner->by_name, slot + 1);
	strings_unref(&snapshot->model->strings, row->cluster);
	row_clear(row);
	row->generation = generation;
	update_columns(snapshot, slot);
	pl_bitset_del(snapshot->local, slot);
	pl_bitset_del(snapshot->open, slot);
	row->by_name.next = snapshot->inner->free_slot;
	snapshot->inner->free_slot = slot;
	snapshot->nodes--;
	snapshot->images_epoch++;
	node_drop(snapshot->model, &old);
	note_change(snapshot, slot);
}
