/*
 * The entries of a node: the pods that its alloc lists and those that a txn is adding to
 * it, in the alloc's order, and the sums of what they use.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/preemption.h"
#include "store/base/alloc.h"

/* -- sums -------------------------------------------------------------------- */

void alloc_sums_add(const struct sched *sched, struct sched_sums *used,
                    const struct spec *spec, uint64_t sign)
{
	const struct resources *requests = spec->requests;

	used->cpu_milli += sign * (uint64_t)requests->cpu_milli;
	used->memory += sign * (uint64_t)requests->memory;
	used->storage += sign * (uint64_t)requests->storage;
	used->nonzero_cpu_milli += sign * (uint64_t)spec_nonzero_cpu_milli(spec);
	used->nonzero_memory += sign * (uint64_t)spec_nonzero_memory(spec);
	for (uint64_t i = 0; i < requests->count; i++)
		used->scalars += sign * (uint64_t)requests->row[i].amount *
		                 pl_hash(sched_text(sched, requests->row[i].name));
}

static void sum_spec(const struct sched *sched, struct sched_node *node,
                     const struct spec *spec, bool add)
{
	uint64_t sign = add ? 1 : UINT64_MAX;

	alloc_sums_add(sched, &node->used, spec, sign);
	if (!add && spec->priority == node->least)
		node->least_stale = true;
	else if (add && spec->priority < node->least)
		node->least = spec->priority;
	node->with_scalars += (uint32_t)sign * (spec->requests->count > 0);
	node->with_ports += (uint32_t)sign * (spec->template->ports.count > 0);
}

int32_t alloc_entries_least_priority(struct sched_node *node)
{
	if (!node->least_stale)
		return node->least;
	node->least = INT32_MAX;
	node->least_stale = false;
	for (uint32_t i = 0; i < node->count; i++) {
		const struct spec *spec = node->listed[i].pod->spec;

		if (spec != NULL && spec->priority < node->least)
			node->least = spec->priority;
	}
	return node->least;
}

bool alloc_sums_agree(const struct sched_node *node)
{
	return memcmp(&node->used, &node->alloc_used, sizeof node->used) == 0;
}

static struct sched_sums sums_of_alloc(const struct alloc *alloc)
{
	const struct alloc_amounts *used = &alloc->used;
	struct sched_sums sums = {.cpu_milli = (uint64_t)used->cpu_milli,
	                          .memory = (uint64_t)used->memory,
	                          .storage = (uint64_t)used->storage,
	                          .pods = (uint64_t)used->pods,
	                          .nonzero_cpu_milli = (uint64_t)used->nonzero_cpu_milli,
	                          .nonzero_memory = (uint64_t)used->nonzero_memory};

	for (uint32_t i = 0; i < used->scalars; i++)
		sums.scalars +=
			(uint64_t)used->scalar[i].amount * pl_hash(used->scalar[i].name);
	return sums;
}

/* -- pods -------------------------------------------------------------------- */

struct alloc_pod alloc_entry_name(const struct sched *sched, const struct sched_pod *pod)
{
	return (struct alloc_pod){.partition = pod->key[0],
	                          .namespace = sched_text(sched, pod->key[1]),
	                          .name = sched_text(sched, pod->key[2])};
}

enum pl_code alloc_entry_room(struct sched_node *node, uint32_t count)
{
	uint32_t want = node->count + count, cap = node->cap < 8 ? 8 : node->cap;
	struct alloc_entry *grown;

	if (want <= node->cap)
		return PL_OK;
	while (cap < want)
		cap += cap / 2;
	grown = pl_realloc(node->listed, cap * sizeof *grown);
	if (grown == NULL)
		return PL_NOMEM;
	node->listed = grown;
	node->cap = cap;
	return PL_OK;
}

uint32_t alloc_entry_find(const struct sched_node *node, const struct sched_pod *pod)
{
	for (uint32_t i = 0; i < node->count; i++)
		if (node->listed[i].pod == pod)
			return i;
	return UINT32_MAX;
}

/* The index at which the pod belongs. */
static uint32_t rank_of_pod(const struct sched *sched, const struct sched_node *node,
                            const struct sched_pod *pod)
{
	struct alloc_pod name = alloc_entry_name(sched, pod);
	uint32_t low = 0, high = node->count;

	while (low < high) {
		uint32_t mid = (low + high) / 2;
		struct alloc_pod other = alloc_entry_name(sched, node->listed[mid].pod);

		if (alloc_pod_cmp(&other, &name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The flags follow from this node's alloc: the pod's state may be known of another time,
 * and may name another node. Spreading stops counting a pod only when the alloc says that
 * it leaves: a plan may come to nothing, and a pod decided as if a victim had left could
 * be bound before the victim leaves. */
static uint32_t placed_flags(const struct sched *sched, const struct sched_node *node,
                             const struct alloc_entry *listed)
{
	const struct sched_pod *pod = listed->pod;
	bool is_victim = pod_is_victim_at(pod, node);

	if (!listed->leaving && !is_victim)
		return pod->exempt || ((pod->flags & POD_NO_STATE) != 0 &&
		                       !pod_is_at(pod, node))
		               ? PLACED_EXEMPT
		               : 0;
	if (!listed->leaving)
		return PLACED_VICTIM | PLACED_PREEMPTED;
	/* Preempted, or a pod of another shard, of which the reason is not known. */
	if (is_victim || pod->why == sched->preempted || !pod_is_owned(sched, pod))
		return PLACED_TERMINATING | PLACED_PREEMPTED;
	return PLACED_TERMINATING;
}

enum pl_code alloc_entry_show(struct sched *sched, const struct sched_node *node,
                              struct alloc_entry *listed, struct pl_err *err)
{
	enum pl_code code = rules_see_namespace(sched, listed->pod->key[1]);

	PL_ASSERT(listed->placed == SNAPSHOT_NONE && alloc_entry_is_known(listed));
	if (code == PL_OK)
		code = pod_add_to_snapshot(sched, listed->pod, node->slot,
		                           placed_flags(sched, node, listed),
		                           &listed->placed, err);
	else
		pl_err_set(err, code, "keep a namespace");
	if (code != PL_OK)
		listed->placed = SNAPSHOT_NONE;
	return code;
}

static void place_entry(struct sched *sched, struct sched_node *node,
                        struct alloc_entry *listed)
{
	struct pl_err err = {0};

	if (alloc_entry_show(sched, node, listed, &err) == PL_OK)
		return;
	/* without the pod the node would seem emptier than it is */
	node_snapshot_failed(sched, node, &err);
}

/* A pod that terminates, or a victim that stays after all, changes for spreading. */
void alloc_entry_mark(struct sched *sched, struct sched_node *node, uint32_t i)
{
	const uint32_t marks =
		PLACED_TERMINATING | PLACED_PREEMPTED | PLACED_VICTIM | PLACED_EXEMPT;
	struct alloc_entry *listed = &node->listed[i];
	uint32_t want = placed_flags(sched, node, listed), *flags;

	if (listed->placed == SNAPSHOT_NONE)
		return;
	flags = &sched->snapshot.placed[listed->placed].flags;
	/* the pod for which room is made has not changed */
	if ((want & PLACED_TERMINATING) != 0)
		want |= *flags & PLACED_PREEMPTED;
	if (((*flags ^ want) & (PLACED_TERMINATING | PLACED_EXEMPT)) == 0) {
		*flags = (*flags & ~marks) | want;
		return;
	}
	/* removed and added again, so that caches of the snapshot forget the pod */
	if ((want & PLACED_TERMINATING) == 0) {
		snapshot_pod_remove(&sched->snapshot, listed->placed);
		listed->placed = SNAPSHOT_NONE;
		place_entry(sched, node, listed);
	} else {
		snapshot_pod_terminate(&sched->snapshot, listed->placed);
		*flags = (*flags & ~marks) | want;
	}
	if (node->slot != SNAPSHOT_NONE)
		emit_queue_event(sched, QUEUE_EV_POD_LABELS, node->slot);
}

/* Specs of some entries are unknown, or may be those of other incarnations. */
static void update_lacks_specs(struct sched *sched, struct sched_node *node)
{
	bool lacks = node->unknown > 0 || node->unconfirmed > 0;

	if (!lacks)
		pl_list_del(&node->incomplete);
	else if (pl_list_empty(&node->incomplete))
		pl_list_add_tail(node->read ? &sched->incomplete : &sched->unread,
		                 &node->incomplete);
}

static void lacks_one_more(struct sched *sched, struct sched_node *node)
{
	node->unknown++;
	update_lacks_specs(sched, node);
}

static void lacks_one_less(struct sched *sched, struct sched_node *node)
{
	PL_ASSERT(node->unknown > 0);
	node->unknown--;
	update_lacks_specs(sched, node);
}

void alloc_entry_set_unconfirmed(struct sched *sched, struct sched_node *node, uint32_t i,
                                 bool unconfirmed)
{
	struct alloc_entry *listed = &node->listed[i];

	if (listed->unconfirmed == unconfirmed)
		return;
	listed->unconfirmed = unconfirmed;
	node->unconfirmed += unconfirmed ? 1 : UINT32_MAX;
	update_lacks_specs(sched, node);
	node_reconcile(sched, node);
}

/* One more entry, or one less (UINT32_MAX), is of a pod whose node is another one. */
static void shared_add(struct sched *sched, struct sched_node *node, uint32_t more)
{
	node->shared += more;
	if (node->shared == 0)
		pl_list_del(&node->sharing);
	else if (pl_list_empty(&node->sharing))
		pl_list_add_tail(&sched->sharing, &node->sharing);
}

static void shared_add_if_listed(struct sched *sched, struct sched_node *node,
                                 const struct sched_pod *pod, uint32_t more)
{
	if (node != NULL && alloc_entry_find(node, pod) != UINT32_MAX)
		shared_add(sched, node, more);
}

void pod_set_node(struct sched *sched, struct sched_pod *pod, struct sched_node *node)
{
	if (pod->node != node && pod->listed > 0) {
		shared_add_if_listed(sched, pod->node, pod, 1);
		shared_add_if_listed(sched, node, pod, UINT32_MAX);
	}
	pod->node = node;
}

void alloc_entry_add(struct sched *sched, struct sched_node *node, struct sched_pod *pod,
                     uint32_t placed, bool sent)
{
	uint32_t i = rank_of_pod(sched, node, pod);
	struct alloc_entry *listed = &node->listed[i];

	PL_ASSERT(node->count < node->cap);
	memmove(listed + 1, listed, (node->count - i) * sizeof *listed);
	*listed =
		(struct alloc_entry){.pod = pod,
	                             .placed = placed,
	                             .sent = sent,
	                             .other = !sent && incarnation_is_other(sched, pod)};
	node->count++;
	node->used.pods++;
	pod->listed++;
	if (pod->node != node)
		shared_add(sched, node, 1);
	if (!alloc_entry_is_known(listed))
		lacks_one_more(sched, node);
	if (pod->spec != NULL)
		sum_spec(sched, node, pod->spec, true);
	if (placed == SNAPSHOT_NONE && node->slot != SNAPSHOT_NONE &&
	    alloc_entry_is_known(listed))
		place_entry(sched, node, listed);
}

uint32_t alloc_entry_del(struct sched *sched, struct sched_node *node, uint32_t i)
{
	struct alloc_entry *listed = &node->listed[i];
	struct sched_pod *pod = listed->pod;
	uint32_t placed = listed->placed;

	PL_ASSERT(i < node->count && pod->listed > 0);
	if (pod->linked == LINKED_TERMINATING)
		pod_unlink(sched, pod);
	if (pod->node != node)
		shared_add(sched, node, UINT32_MAX);
	if (!alloc_entry_is_known(listed))
		lacks_one_less(sched, node);
	if (pod->spec != NULL)
		sum_spec(sched, node, pod->spec, false);
	node->unconfirmed -= listed->unconfirmed;
	update_lacks_specs(sched, node);
	node->count--;
	node->used.pods--;
	pod->listed--;
	pod->flags &= (uint16_t)~POD_TAINTED; /* the mark was about this node's taints */
	memmove(listed, listed + 1, (node->count - i) * sizeof *listed);
	if (pod->node == node && pod->stage == POD_IDLE)
		pod_set_node(sched, pod, NULL);
	return placed;
}

static void entry_drop(struct sched *sched, struct sched_node *node, uint32_t i)
{
	struct sched_pod *pod = node->listed[i].pod;
	uint32_t placed = alloc_entry_del(sched, node, i);

	if (placed != SNAPSHOT_NONE) {
		snapshot_pod_remove(&sched->snapshot, placed);
		emit_queue_event(sched, QUEUE_EV_POD_REMOVED, node->slot);
		reservations_retry_nominated(sched, node);
	}
	pod_reconcile(sched, pod);
}

void alloc_entries_clear(struct sched *sched, struct sched_node *node)
{
	while (node->count > 0)
		entry_drop(sched, node, node->count - 1);
}

/* -- specs ------------------------------------------------------------------- */

/* More nodes list one pod only when allocs were edited by hand. */
enum { NODES_FEW = 16 };

/* The nodes that list the pod are pod->node and nodes in sched.sharing. They are
 * collected first, since fn may remove nodes from that list. */
static void each_of_few_nodes(struct sched *sched, struct sched_pod *pod,
                              alloc_entry_fn *fn, void *ctx)
{
	struct sched_node *node[NODES_FEW];
	uint32_t count = 0, listed = pod->listed;
	uint32_t own = pod->node == NULL ? UINT32_MAX : alloc_entry_find(pod->node, pod);

	if (own != UINT32_MAX && listed == 1) {
		fn(sched, pod->node, own, ctx);
		return;
	}
	if (own != UINT32_MAX)
		node[count++] = pod->node;
	PL_LIST_EACH (link, &sched->sharing) {
		struct sched_node *other = PL_LIST_ITEM(link, struct sched_node, sharing);

		if (count == listed)
			break;
		if (other != pod->node && alloc_entry_find(other, pod) != UINT32_MAX)
			node[count++] = other;
	}
	PL_ASSERT(count == listed);
	for (uint32_t n = 0; n < count; n++) {
		uint32_t i = alloc_entry_find(node[n], pod);

		if (i != UINT32_MAX)
			fn(sched, node[n], i, ctx);
	}
}

void alloc_entry_each(struct sched *sched, struct sched_pod *pod, alloc_entry_fn *fn,
                      void *ctx)
{
	uint32_t left = pod->listed;

	if (left <= NODES_FEW) {
		each_of_few_nodes(sched, pod, fn, ctx);
		return;
	}
	for (struct pl_map_node *at = pl_map_first(&sched->nodes); left > 0;
	     at = pl_map_next(&sched->nodes, at)) {
		struct sched_node *node = PL_CONTAINER_OF(at, struct sched_node, by_name);
		uint32_t i = alloc_entry_find(node, pod);

		if (i == UINT32_MAX)
			continue;
		fn(sched, node, i, ctx);
		left--;
	}
}

static void entry_hide(struct sched *sched, struct sched_node *node,
                       struct alloc_entry *listed)
{
	lacks_one_more(sched, node);
	if (listed->placed != SNAPSHOT_NONE)
		snapshot_pod_remove(&sched->snapshot, listed->placed);
	listed->placed = SNAPSHOT_NONE;
}

static void entry_show(struct sched *sched, struct sched_node *node,
                       struct alloc_entry *listed)
{
	lacks_one_less(sched, node);
	if (node->slot != SNAPSHOT_NONE)
		place_entry(sched, node, listed);
}

static void on_forget_spec(struct sched *sched, struct sched_node *node, uint32_t i,
                           void *ctx)
{
	struct alloc_entry *listed = &node->listed[i];

	(void)ctx;
	sum_spec(sched, node, listed->pod->spec, false);
	if (!listed->other)
		entry_hide(sched, node, listed);
}

static void on_learn_spec(struct sched *sched, struct sched_node *node, uint32_t i,
                          void *ctx)
{
	struct alloc_entry *listed = &node->listed[i];

	(void)ctx;
	sum_spec(sched, node, listed->pod->spec, true);
	if (!listed->other)
		entry_show(sched, node, listed);
	node_reconcile(sched, node);
}

void alloc_entries_forget_spec(struct sched *sched, struct sched_pod *pod)
{
	if (pod->listed > 0 && pod->spec != NULL)
		alloc_entry_each(sched, pod, on_forget_spec, NULL);
}

void alloc_entries_learn_spec(struct sched *sched, struct sched_pod *pod)
{
	if (pod->listed > 0 && pod->spec != NULL)
		alloc_entry_each(sched, pod, on_learn_spec, NULL);
}

/* The sums count every known spec, as they did when this shard put the alloc. */
void alloc_entry_set_other(struct sched *sched, struct sched_node *node, uint32_t i,
                           bool other)
{
	struct alloc_entry *listed = &node->listed[i];

	if (listed->other == other)
		return;
	listed->other = other;
	if (listed->pod->spec != NULL && other)
		entry_hide(sched, node, listed);
	else if (listed->pod->spec != NULL)
		entry_show(sched, node, listed);
	node_reconcile(sched, node);
}

static void on_reconcile(struct sched *sched, struct sched_node *node, uint32_t i,
                         void *ctx)
{
	(void)i;
	(void)ctx;
	node_reconcile(sched, node);
}

void alloc_entries_reconcile(struct sched *sched, struct sched_pod *pod)
{
	if (pod->listed > 0)
		alloc_entry_each(sched, pod, on_reconcile, NULL);
}

/* -- from the alloc and into it ---------------------------------------------- */

/* The pods of an alloc, found or made before anything changes, so that nothing fails
 * later. They are pinned: plans that are cancelled meanwhile do not free them. */
struct listed_pods {
	struct sched_pod **pod;
	bool *fresh;     /* of the alloc's pods: it is not listed yet */
	bool *stays;     /* of the listed pods: the alloc lists it, too */
	uint32_t listed; /* number of listed pods before */
};

static enum pl_code listed_pods_alloc(struct sched *sched, const struct sched_node *node,
                                      uint32_t pods, struct listed_pods *out)
{
	*out = (struct listed_pods){
		.pod = pl_arena_zalloc(&sched->arena, (size_t)pods + 1, sizeof(void *)),
		.fresh = pl_arena_zalloc(&sched->arena, (size_t)pods + 1, 1),
		.stays = pl_arena_zalloc(&sched->arena, (size_t)node->count + 1, 1),
		.listed = node->count};
	return out->pod != NULL && out->fresh != NULL && out->stays != NULL ? PL_OK
	                                                                    : PL_NOMEM;
}

/* Searches the entries from *at on; both lists have one order, so all searches together
 * are one walk. NULL: the pod is not listed. */
static struct sched_pod *find_listed(const struct sched *sched,
                                     const struct sched_node *node, uint32_t *at,
                                     const struct alloc_pod *pod)
{
	for (; *at < node->count; ++*at) {
		struct sched_pod *listed = node->listed[*at].pod;
		struct alloc_pod name = alloc_entry_name(sched, listed);
		int order = alloc_pod_cmp(&name, pod);

		if (order == 0)
			return listed;
		if (order > 0)
			break;
	}
	return NULL;
}

static enum pl_code listed_pods_find(struct sched *sched, const struct sched_node *node,
                                     const struct alloc *alloc, struct listed_pods *out)
{
	enum pl_code code = listed_pods_alloc(sched, node, alloc->pods, out);
	uint32_t at = 0;

	for (uint32_t i = 0; code == PL_OK && i < alloc->pods; i++) {
		const struct alloc_pod *pod = &alloc->pod[i];

		if (pod->partition >= sched->opts.partitions)
			return PL_INVALID;
		out->pod[i] = find_listed(sched, node, &at, pod);
		if (out->pod[i] != NULL) {
			out->pod[i]->pinned = true;
			out->stays[at++] = true;
			continue;
		}
		out->fresh[i] = true;
		out->pod[i] = pod_get(sched, pod->partition, pod->namespace, pod->name);
		if (out->pod[i] == NULL)
			return PL_NOMEM;
		out->pod[i]->pinned = true;
	}
	return code;
}

static void listed_pods_unpin(struct sched *sched, struct sched_pod *const *pods,
                              uint32_t count)
{
	for (uint32_t i = 0; pods != NULL && i < count && pods[i] != NULL; i++) {
		pods[i]->pinned = false;
		pod_tidy(sched, pods[i]);
	}
}

static bool is_same_list(const struct sched_node *node,
                         const struct listed_pods *pods_found, uint32_t count)
{
	bool same = node->count == count;

	for (uint32_t i = 0; same && i < count; i++)
		same = !pods_found->fresh[i];
	return same;
}

static void take_new_pod(struct sched *sched, struct sched_node *node,
                         struct sched_pod *pod)
{
	alloc_entry_add(sched, node, pod, SNAPSHOT_NONE, false);
	if (pod->stage != POD_COMMITTING) {
		if (pod->stage == POD_ASSUMED)
			pod_withdraw(sched, pod);
		pod_set_node(sched, pod, node);
	}
	if (node->slot != SNAPSHOT_NONE)
		emit_queue_event(sched, QUEUE_EV_POD_ADDED, node->slot);
	pod_reconcile(sched, pod);
	incarnation_listed(sched, node, pod);
}

/* The state may have been put right by hand, and it is not watched here. */
static void read_missing_state(struct sched *sched, const struct sched_node *node,
                               struct sched_pod *pod)
{
	if ((pod->flags & POD_NO_STATE) == 0 || pod_is_owned(sched, pod))
		return;
	pod->asks_state = true;
	spec_reads_want(sched, pod, node->rev[FACT_ALLOC]);
}

/* Makes the node list the pods that were found. */
static void change_list(struct sched *sched, struct sched_node *node,
                        const struct listed_pods *pods_found, uint32_t count)
{
	node_redecide_waiting(sched, node);
	PL_ASSERT(node->count == pods_found->listed);
	for (uint32_t i = node->count; i > 0; i--)
		if (!pods_found->stays[i - 1])
			entry_drop(sched, node, i - 1);
	for (uint32_t i = 0; i < count; i++)
		if (pods_found->fresh[i])
			take_new_pod(sched, node, pods_found->pod[i]);
	PL_ASSERT(node->count == count);
}

enum pl_code alloc_entries_set(struct sched *sched, struct sched_node *node,
                               const struct alloc *alloc, struct pl_err *err)
{
	struct listed_pods pods_found = {0};
	struct sched_reservations reservations = {0};
	enum pl_code code = alloc_entry_room(node, alloc->pods);
	bool gap = sched->applied_new || (alloc->generation != node->generation + 1 &&
	                                  alloc->left != node->left);

	if (code == PL_OK)
		code = listed_pods_find(sched, node, alloc, &pods_found);
	if (code == PL_OK)
		code = reservations_read(sched, alloc, &reservations);
	if (code != PL_OK) {
		listed_pods_unpin(sched, pods_found.pod, alloc->pods);
		return pl_err_set(err, code, "%s",
		                  code == PL_INVALID ? "pods, holds: no such partition"
		                                     : "apply an alloc's pods");
	}
	node->alloc_used = sums_of_alloc(alloc);
	node->generation = alloc->generation;
	node->left = alloc->left;
	preemption_cancel(sched, node->plan);
	reservations_unplan_gangs(sched, node);
	if (!reservations_equal(node,
	                        /* pods that wait there were decided by the old
	                         * reservations */
	                        &reservations))
		node_redecide_waiting(sched, node);
	if (!is_same_list(node, &pods_found, alloc->pods))
		change_list(sched, node, &pods_found, alloc->pods);
	for (uint32_t i = 0; i < node->count; i++) {
		node->listed[i].leaving = alloc->pod[i].leaving;
		alloc_entry_mark(sched, node, i);
		read_missing_state(sched, node, node->listed[i].pod);
	}
	reservations_set(sched, node, &reservations);
	for (uint32_t i = 0; i < node->count; i++)
		if (!pods_found.fresh[i])
			incarnation_kept(sched, node, i, gap);
	listed_pods_unpin(sched, pods_found.pod, alloc->pods);
	return PL_OK;
}
