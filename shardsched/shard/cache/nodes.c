/*
 * Nodes: the table, their membership in the snapshot, and their scope (node.h).
 *
 * A node is a member when its Node and its alloc are known and its partition is open or,
 * when another shard owns it, followed by a remote list or by the fleet view. Pods are
 * placed on a member when everything about it is understood: the specs of all listed pods
 * are known, the alloc's sums are those of its pods and reservations, the alloc has room
 * for another entry, no gang holds a reservation, and its amounts can be counted. Any
 * other member is excluded; its pods count for rules all the same.
 */
#include <stdlib.h>

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/preemption.h"
#include "shardsched/shard/termination/termination.h"
#include "store/base/alloc.h"

/* -- the table --------------------------------------------------------------- */

static struct pl_span key_of(const uint32_t key[2])
{
	return pl_span(key, 2 * sizeof key[0]);
}

struct sched_node *node_by_key(const struct sched *sched, const uint32_t key[2])
{
	struct pl_map_node *at = pl_map_get(&sched->nodes, key_of(key));

	return at == NULL ? NULL : PL_CONTAINER_OF(at, struct sched_node, by_name);
}

struct sched_node *node_find(const struct sched *sched, struct pl_span cluster,
                             struct pl_span name)
{
	const uint32_t key[2] = {strings_find(&sched->model.strings, cluster),
	                         strings_find(&sched->model.strings, name)};

	return key[0] == 0 || key[1] == 0 ? NULL : node_by_key(sched, key);
}

static struct sched_node *node_new(struct sched *sched, uint32_t partition,
                                   const uint32_t key[2])
{
	struct sched_node *node = pl_calloc(1, sizeof *node);

	if (node == NULL)
		return NULL;
	node->key[0] = strings_ref(&sched->model.strings, key[0]);
	node->key[1] = strings_ref(&sched->model.strings, key[1]);
	node->partition = partition;
	node->slot = SNAPSHOT_NONE;
	node->least = INT32_MAX;
	pl_list_init(&node->ready);
	pl_list_init(&node->waiting);
	pl_list_init(&node->mismatched);
	pl_list_init(&node->incomplete);
	pl_list_init(&node->sharing);
	pl_list_init(&node->reserving);
	pl_list_init(&node->uncounted);
	pl_list_init(&node->batch);
	pl_list_init(&node->ending);
	pl_list_init(&node->departure);
	pl_list_init(&node->tainted);
	pl_list_init(&node->of_partition);
	(void)!pl_map_add(&sched->nodes, &node->by_name, key_of(node->key));
	return node;
}

struct sched_node *node_get(struct sched *sched, uint32_t partition,
                            struct pl_span cluster, struct pl_span name)
{
	struct strings *strings = &sched->model.strings;
	struct sched_partition *part = &sched->partition[partition];
	struct sched_node *node = NULL;
	uint32_t key[2] = {0};

	if (strings_add(strings, cluster, &key[0]) == PL_OK &&
	    strings_add(strings, name, &key[1]) == PL_OK) {
		node = node_by_key(sched, key);
		if (node == NULL)
			node = node_new(sched, partition, key);
	}
	strings_unref(strings, key[0]);
	strings_unref(strings, key[1]);
	if (node != NULL && pl_list_empty(&node->of_partition)) {
		node->partition = partition;
		pl_list_add_tail(&part->nodes, &node->of_partition);
	}
	return node;
}

static void node_free(struct sched *sched, struct sched_node *node)
{
	PL_ASSERT(node->slot == SNAPSHOT_NONE && node->waiting_count == 0);
	PL_ASSERT(pl_list_empty(&node->ending));
	sched->orphans_due = true;
	pl_list_del(&node->tainted);
	pl_list_del(&node->of_partition);
	pl_list_del(&node->departure);
	pl_list_del(&node->ready);
	pl_list_del(&node->mismatched);
	pl_list_del(&node->incomplete);
	pl_list_del(&node->sharing);
	pl_list_del(&node->reserving);
	pl_map_del(&sched->nodes, &node->by_name);
	node_drop(&sched->model, &node->node);
	strings_unref(&sched->model.strings, node->key[0]);
	strings_unref(&sched->model.strings, node->key[1]);
	free(node->tainted_ms);
	free(node->listed);
	free(node->reservation);
	free(node);
}

void node_tidy(struct sched *sched, struct sched_node *node)
{
	if (node->rev[FACT_NODE] == 0 && node->rev[FACT_ALLOC] == 0 && node->txn == 0 &&
	    node->count == 0 && node->reservations == 0 && node->waiting_count == 0)
		node_free(sched, node);
}

/* -- the snapshot ------------------------------------------------------------ */

static enum pl_code slots_reserve(struct sched *sched)
{
	const size_t each = sizeof(void *);
	uint32_t cap = sched->snapshot.capacity;
	struct sched_node **grown;

	if (cap <= sched->by_slot_cap)
		return PL_OK;
	grown = pl_realloc(sched->by_slot, cap * each);
	if (grown == NULL)
		return PL_NOMEM;
	memset(grown + sched->by_slot_cap, 0, (cap - sched->by_slot_cap) * each);
	sched->by_slot = grown;
	sched->by_slot_cap = cap;
	return PL_OK;
}

static enum pl_code place_entries(struct sched *sched, struct sched_node *node,
                                  struct pl_err *err)
{
	enum pl_code code = PL_OK;

	for (uint32_t i = 0; i < node->count && code == PL_OK; i++)
		if (alloc_entry_is_known(&node->listed[i]))
			code = alloc_entry_show(sched, node, &node->listed[i], err);
	return code;
}

/* The node is excluded until its scope is set. */
static enum pl_code snapshot_enter_as(struct sched *sched, struct sched_node *node,
                                      bool counted, struct pl_err *err)
{
	struct node is = node->node;
	enum pl_code code;

	if (!counted)
		is.allocatable = NULL;
	code = snapshot_node_add(&sched->snapshot, node->key[0], &is, &node->slot, err);
	if (code != PL_OK) {
		node->slot = SNAPSHOT_NONE;
		return code;
	}
	node_set_membership(node, counted ? NODE_COUNTED : NODE_UNCOUNTED);
	node->scope = NODE_EXCLUDED;
	snapshot_node_set_scope(&sched->snapshot, node->slot, NODE_EXCLUDED);
	if (!counted)
		pl_list_add_tail(&sched->uncounted, &node->uncounted);
	code = slots_reserve(sched);
	if (code == PL_OK) {
		sched->by_slot[node->slot] = node;
		code = place_entries(sched, node, err);
		if (code == PL_OK)
			code = reservations_show(sched, node, err);
	} else {
		pl_err_set(err, code, "keep a node");
	}
	if (code != PL_OK)
		node_leave(sched, node);
	return code;
}

/* A node with more kinds of amounts than the snapshot counts enters as UNCOUNTED: that is
 * a limit of the snapshot, and rules see the node all the same. */
static bool snapshot_enter(struct sched *sched, struct sched_node *node)
{
	struct pl_err err = {0};
	enum pl_code code = snapshot_enter_as(sched, node, true, &err);

	if (code == PL_LIMIT) {
		if (sched->uncounted_ms == 0) {
			report_trouble(sched, &err);
			sched->uncounted_ms = sched->now_ms + SCHED_REPAIR_MS;
		}
		code = snapshot_enter_as(sched, node, false, &err);
	}
	if (code == PL_OK)
		return true;
	sched->shrunk = true;
	report_repair(sched, &err);
	return false;
}

void node_snapshot_failed(struct sched *sched, struct sched_node *node,
                          const struct pl_err *err)
{
	node_leave(sched, node);
	if (err->code == PL_LIMIT) {
		(void)snapshot_enter(sched, node);
		return;
	}
	sched->shrunk = true;
	report_repair(sched, err);
}

void node_leave(struct sched *sched, struct sched_node *node)
{
	if (node->slot == SNAPSHOT_NONE)
		return;
	node_redecide_waiting(sched, node);
	for (uint32_t i = 0; i < node->count; i++) {
		struct alloc_entry *listed = &node->listed[i];

		if (listed->placed != SNAPSHOT_NONE)
			snapshot_pod_remove(&sched->snapshot, listed->placed);
		listed->placed = SNAPSHOT_NONE;
	}
	reservations_hide(sched, node);
	snapshot_node_remove(&sched->snapshot, node->slot);
	if (node->slot < sched->by_slot_cap)
		sched->by_slot[node->slot] = NULL;
	emit_queue_event(sched, QUEUE_EV_NODE_REMOVED, node->slot);
	node->slot = SNAPSHOT_NONE;
	node_set_membership(node, NODE_OUT);
	pl_list_del(&node->uncounted);
}

/* Most remote nodes that were only listed are never used. Their specs are read when they
 * may be (remote/node_reads.c), or when a pod or a reservation of this shard is there. */
static bool wants_specs(const struct sched *sched, const struct sched_node *node)
{
	bool is = node_is_local(sched, node) || sched->fleet_view.known ||
	          node->reservations > 0;

	for (uint32_t i = 0; !is && i < node->count; i++)
		is = pod_is_owned(sched, node->listed[i].pod);
	return is;
}

static void start_reading_specs(struct sched *sched, struct sched_node *node)
{
	node->read = true;
	if (pl_list_empty(&node->incomplete))
		return;
	pl_list_del(&node->incomplete);
	pl_list_add_tail(&sched->incomplete, &node->incomplete);
}

static void want_listed_specs(struct sched *sched, struct sched_node *node)
{
	for (uint32_t i = 0; i < node->count; i++)
		if (node->listed[i].pod->spec == NULL)
			spec_reads_want(sched, node->listed[i].pod,
			                node->rev[FACT_ALLOC]);
}

/* The sums do not agree: specs of remote pods may have changed since they were read. */
static void want_specs_again(struct sched *sched, struct sched_node *node)
{
	if (node->sums != NODE_SUMS_AGREE)
		return;
	for (uint32_t i = 0; i < node->count; i++)
		if (!pod_is_owned(sched, node->listed[i].pod))
			spec_reads_want(sched, node->listed[i].pod,
			                node->rev[FACT_ALLOC]);
	node_set_sums(node, NODE_SUMS_RECHECKED);
}

bool node_is_local(const struct sched *sched, const struct sched_node *node)
{
	const struct sched_partition *part = &sched->partition[node->partition];

	return part->owned && part->open && !part->quiet;
}

static bool may_be_member(const struct sched *sched, const struct sched_node *node)
{
	return node->node.name != 0 && node->alloc >= NODE_ALLOC_READ &&
	       (node_is_local(sched, node) || remote_knows(sched, node->partition));
}

/* Entries that a txn under way adds are not in the store's alloc yet. */
static bool adds_up(const struct sched_node *node)
{
	return node->unknown > 0 || node->txn != 0 || alloc_sums_agree(node);
}

static enum node_scope scope_of(const struct sched *sched, const struct sched_node *node)
{
	const struct sched_partition *part = &sched->partition[node->partition];

	if (node->refused || node->unknown > 0 || node->unconfirmed > 0 ||
	    !adds_up(node) || reservations_close_node(node) || node->full ||
	    !node_is_counted(node))
		return NODE_EXCLUDED;
	if (node_is_local(sched, node))
		return NODE_LOCAL;
	if (part->owned) /* to be handed over, or not listed yet */
		return NODE_EXCLUDED;
	return node->excluded_ms > sched->now_ms ? NODE_EXCLUDED : NODE_REMOTE;
}

/* Pods that wait there were decided for the other scope. */
static void set_scope(struct sched *sched, struct sched_node *node, enum node_scope scope)
{
	bool opens = node->scope == NODE_EXCLUDED && scope != NODE_EXCLUDED;

	if (node->scope != scope || scope == NODE_EXCLUDED) {
		node->moving = node->scope == NODE_LOCAL && scope == NODE_REMOTE;
		node_redecide_waiting(sched, node);
		node->moving = false;
	}
	node->scope = (uint8_t)scope;
	snapshot_node_set_scope(&sched->snapshot, node->slot, scope);
	if (!opens)
		return;
	emit_queue_event(sched, QUEUE_EV_NODE_ADDED, node->slot);
	reservations_retry_nominated(sched, node);
}

static void reconcile_snapshot(struct sched *sched, struct sched_node *node)
{
	pl_list_del(&node->mismatched);
	if (!may_be_member(sched, node)) {
		node_leave(sched, node);
		return;
	}
	if (!node->read && wants_specs(sched, node))
		start_reading_specs(sched, node);
	if (node->unknown > 0) {
		if (node->read)
			want_listed_specs(sched, node);
	} else if (!adds_up(node)) {
		want_specs_again(sched, node);
		if (node_is_local(sched, node))
			mismatch_suspect_node(sched, node);
	} else {
		node_set_sums(node, NODE_SUMS_AGREE);
	}
	if (node->slot != SNAPSHOT_NONE || snapshot_enter(sched, node))
		set_scope(sched, node, scope_of(sched, node));
	reservations_reconcile_node(sched, node);
}

void node_reconcile(struct sched *sched, struct sched_node *node)
{
	reconcile_snapshot(sched, node);
	taint_eviction_reconcile(sched, node);
	departure_enqueue(sched, node);
	node_set_ready(sched, node);
}

void node_want_specs(struct sched *sched, struct sched_node *node)
{
	start_reading_specs(sched, node);
	node_reconcile(sched, node);
}

void node_set_full(struct sched *sched, struct sched_node *node)
{
	node->full = true;
	node_reconcile(sched, node);
}

/* Other nodes may have left since, and their kinds of amounts with them. A few nodes a
 * turn. */
void nodes_retry_uncounted(struct sched *sched)
{
	enum { TURN = 64 };
	struct pl_list *last = sched->uncounted.prev, *link;

	if (sched->uncounted_ms == 0 || sched->now_ms < sched->uncounted_ms)
		return;
	sched->uncounted_ms = 0;
	for (unsigned i = 0; i < TURN && !pl_list_empty(&sched->uncounted); i++) {
		struct sched_node *node;

		link = sched->uncounted.next;
		node = PL_LIST_ITEM(link, struct sched_node, uncounted);
		node_leave(sched, node);
		node_reconcile(sched, node);
		if (link == last)
			break;
	}
	if (sched->uncounted_ms == 0 && !pl_list_empty(&sched->uncounted))
		sched->uncounted_ms = sched->now_ms + SCHED_REPAIR_MS;
}

/* -- pods that wait ---------------------------------------------------------- */

void node_redecide_waiting(struct sched *sched, struct sched_node *node)
{
	preemption_cancel(sched, node->plan);
	while (!pl_list_empty(&node->waiting))
		pod_conflicted(sched,
		               PL_LIST_ITEM(node->waiting.next, struct sched_pod, link));
	PL_ASSERT(node->waiting_count == 0);
}

uint32_t *node_waiting(struct sched *sched, const struct sched_node *node)
{
	return node->scope == NODE_LOCAL ? &sched->waiting : &sched->remote.waiting;
}

void node_add_waiting(struct sched *sched, struct sched_node *node, struct sched_pod *pod)
{
	pod_set_node(sched, pod, node);
	pod_set_stage(pod, POD_ASSUMED);
	pod_link(pod, &node->waiting, LINKED_WAITING);
	node->waiting_count++;
	++*node_waiting(sched, node);
	preemption_cancel_of(sched, pod);
	reservations_reconcile_pod(sched, pod);
}

bool node_may_write(const struct sched *sched, const struct sched_node *node)
{
	return node->alloc >= NODE_ALLOC_READ && node->unknown == 0 &&
	       node->unconfirmed == 0 && adds_up(node) &&
	       (node_is_local(sched, node) || remote_knows(sched, node->partition));
}

void node_set_ready(struct sched *sched, struct sched_node *node)
{
	bool ends = !pl_list_empty(&node->ending) && departure_is_due(node);
	bool alone =
		(ends || (!cooldown_is_on(sched) && (reservations_go(sched, node) ||
	                                             preemption_goes(sched, node)))) &&
		node_may_write(sched, node);
	bool goes = node->txn == 0 && node->batched == 0 &&
	            (node->waiting_count > 0 || alone);
	bool local = node_is_local(sched, node);

	/* The partition may have come or gone while the node was in a ready list. */
	if (!goes || node->ready_local != local)
		pl_list_del(&node->ready);
	if (goes && pl_list_empty(&node->ready))
		pl_list_add_tail(local ? &sched->ready : &sched->remote.ready,
		                 &node->ready);
	node->ready_local = local;
}

/* -- the end ----------------------------------------------------------------- */

void node_forget(struct sched *sched, struct sched_node *node)
{
	node_leave(sched, node);
	node_redecide_waiting(sched, node);
	alloc_entries_clear(sched, node);
	reservations_clear(sched, node);
	pl_list_del(&node->ready);
	pl_list_del(&node->departure);
	pl_list_del(&node->mismatched);
	pl_list_del(&node->of_partition);
	node_drop(&sched->model, &node->node);
	node->node = (struct node){0};
	taint_eviction_reconcile(sched, node);
	node->rev[FACT_NODE] = node->rev[FACT_ALLOC] = 0;
	node->alloc = NODE_ALLOC_ABSENT;
	node_set_sums(node, NODE_SUMS_AGREE);
	node->full = node->read = node->refused = false;
	node->alloc_used = (struct sched_sums){0};
	node->reset = node->txn != 0;
	node_tidy(sched, node);
}

void nodes_done(struct sched *sched)
{
	PL_MAP_EACH (at, &sched->nodes) {
		struct sched_node *node = PL_CONTAINER_OF(at, struct sched_node, by_name);

		node->txn = 0;
		node_forget(sched, node);
	}
	pl_map_done(&sched->nodes);
}
