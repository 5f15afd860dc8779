/*
 * What a node lists: the pods of its alloc, and those that are on their way into it, in
 * the alloc's order; and what all of them use.
 */
#include "shardsched/shard/room/preempts.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/tell.h"
#include "store/base/alloc.h"

/* -- sums ------------------------------------------------------------ */

void listed_add_up(const struct sched *sched, struct sched_sums *used,
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

static void sum(const struct sched *sched, struct sched_node *node,
                const struct spec *spec, bool add)
{
	uint64_t sign = add ? 1 : UINT64_MAX;

	listed_add_up(sched, &node->used, spec, sign);
	if (!add && spec->priority == node->least)
		node->least_old = true;
	else if (add && spec->priority < node->least)
		node->least = spec->priority;
	node->with_scalars += (uint32_t)sign * (spec->requests->count > 0);
	node->with_ports += (uint32_t)sign * (spec->form->ports.count > 0);
}

int32_t listed_least(struct sched_node *node)
{
	if (!node->least_old)
		return node->least;
	node->least = INT32_MAX;
	node->least_old = false;
	for (uint32_t i = 0; i < node->count; i++) {
		const struct spec *spec = node->listed[i].pod->spec;

		if (spec != NULL && spec->priority < node->least)
			node->least = spec->priority;
	}
	return node->least;
}

bool listed_agrees(const struct sched_node *node)
{
	return memcmp(&node->used, &node->said, sizeof node->used) == 0;
}

static struct sched_sums said_by(const struct alloc *alloc)
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

/* -- pods ------------------------------------------------------------ */

struct alloc_pod listed_name(const struct sched *sched, const struct sched_pod *pod)
{
	return (struct alloc_pod){.partition = pod->key[0],
	                          .space = sched_text(sched, pod->key[1]),
	                          .name = sched_text(sched, pod->key[2])};
}

enum pl_code listed_room(struct sched_node *node, uint32_t count)
{
	uint32_t want = node->count + count, cap = node->cap < 8 ? 8 : node->cap;
	struct listed *grown;

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

uint32_t listed_find(const struct sched_node *node, const struct sched_pod *pod)
{
	for (uint32_t i = 0; i < node->count; i++)
		if (node->listed[i].pod == pod)
			return i;
	return UINT32_MAX;
}

/* Where it belongs. */
static uint32_t rank_of_pod(const struct sched *sched, const struct sched_node *node,
                            const struct sched_pod *pod)
{
	struct alloc_pod name = listed_name(sched, pod);
	uint32_t low = 0, high = node->count;

	while (low < high) {
		uint32_t mid = (low + high) / 2;
		struct alloc_pod other = listed_name(sched, node->listed[mid].pod);

		if (alloc_pod_cmp(&other, &name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* By what this node's alloc says. What is known of the pod's state may be of another
 * time, and of another node. To spreading it is gone only then: a plan may come to
 * nothing, and who was decided as if it stood could be bound before it. */
static uint32_t flags_of(const struct sched *sched, const struct sched_node *node,
                         const struct listed *listed)
{
	const struct sched_pod *pod = listed->pod;
	bool doomed = pod_is_doomed_at(pod, node);

	if (!listed->leaving && !doomed)
		return pod->spared || ((pod->flags & POD_MUTE) != 0 &&
		                       !pod_is_at(pod, node))
		               ? PLACED_STAYS
		               : 0;
	if (!listed->leaving)
		return PLACED_DOOMED | PLACED_PREEMPTED;
	/* To make room. Of pods of others nobody knows. */
	if (doomed || pod->why == sched->preempted || !pod_is_owned(sched, pod))
		return PLACED_TERMINATING | PLACED_PREEMPTED;
	return PLACED_TERMINATING;
}

enum pl_code listed_show(struct sched *sched, const struct sched_node *node,
                         struct listed *listed, struct pl_err *err)
{
	enum pl_code code = groups_see_space(sched, listed->pod->key[1]);

	PL_ASSERT(listed->placed == SNAPSHOT_NONE && listed_is_known(listed));
	if (code == PL_OK)
		code = pod_show(sched, listed->pod, node->slot,
		                flags_of(sched, node, listed), &listed->placed, err);
	else
		pl_err_set(err, code, "keep a namespace");
	if (code != PL_OK)
		listed->placed = SNAPSHOT_NONE;
	return code;
}

static void place(struct sched *sched, struct sched_node *node, struct listed *listed)
{
	struct pl_err err = {0};

	if (listed_show(sched, node, listed, &err) == PL_OK)
		return;
	node_lose(sched, node, &err); /* it would seem emptier than it is */
}

/* To spreading it is gone; or it is not, after all. */
void listed_mark(struct sched *sched, struct sched_node *node, uint32_t i)
{
	const uint32_t marks =
		PLACED_TERMINATING | PLACED_PREEMPTED | PLACED_DOOMED | PLACED_STAYS;
	struct listed *listed = &node->listed[i];
	uint32_t want = flags_of(sched, node, listed), *flags;

	if (listed->placed == SNAPSHOT_NONE)
		return;
	flags = &sched->snapshot.placed[listed->placed].flags;
	if ((want & PLACED_TERMINATING) != 0) /* whom it makes room for has not changed */
		want |= *flags & PLACED_PREEMPTED;
	if (((*flags ^ want) & (PLACED_TERMINATING | PLACED_STAYS)) == 0) {
		*flags = (*flags & ~marks) | want;
		return;
	}
	if ((want & PLACED_TERMINATING) == 0) { /* so that whoever keeps it forgets it */
		snapshot_pod_remove(&sched->snapshot, listed->placed);
		listed->placed = SNAPSHOT_NONE;
		place(sched, node, listed);
	} else {
		snapshot_pod_terminate(&sched->snapshot, listed->placed);
		*flags = (*flags & ~marks) | want;
	}
	if (node->slot != SNAPSHOT_NONE)
		tell_event(sched, QUEUE_EV_POD_LABELS, node->slot);
}

/* The spec of one, or whether that is its own. */
static void lacks(struct sched *sched, struct sched_node *node)
{
	bool lacks = node->unknown > 0 || node->doubted > 0;

	if (!lacks)
		pl_list_del(&node->lacking);
	else if (pl_list_empty(&node->lacking))
		pl_list_add_tail(node->read ? &sched->lacking : &sched->unread,
		                 &node->lacking);
}

static void lacks_more(struct sched *sched, struct sched_node *node)
{
	node->unknown++;
	lacks(sched, node);
}

static void lacks_less(struct sched *sched, struct sched_node *node)
{
	PL_ASSERT(node->unknown > 0);
	node->unknown--;
	lacks(sched, node);
}

void listed_set_doubted(struct sched *sched, struct sched_node *node, uint32_t i,
                        bool doubted)
{
	struct listed *listed = &node->listed[i];

	if (listed->doubted == doubted)
		return;
	listed->doubted = doubted;
	node->doubted += doubted ? 1 : UINT32_MAX;
	lacks(sched, node);
	node_settle(sched, node);
}

/* One more whose node is another, or one less. */
static void share(struct sched *sched, struct sched_node *node, uint32_t more)
{
	node->shared += more;
	if (node->shared == 0)
		pl_list_del(&node->sharing);
	else if (pl_list_empty(&node->sharing))
		pl_list_add_tail(&sched->sharing, &node->sharing);
}

static void share_if_listed(struct sched *sched, struct sched_node *node,
                            const struct sched_pod *pod, uint32_t more)
{
	if (node != NULL && listed_find(node, pod) != UINT32_MAX)
		share(sched, node, more);
}

void listed_set_node(struct sched *sched, struct sched_pod *pod, struct sched_node *node)
{
	if (pod->node != node && pod->listed > 0) {
		share_if_listed(sched, pod->node, pod, 1);
		share_if_listed(sched, node, pod, UINT32_MAX);
	}
	pod->node = node;
}

void listed_add(struct sched *sched, struct sched_node *node, struct sched_pod *pod,
                uint32_t placed, bool sent)
{
	uint32_t i = rank_of_pod(sched, node, pod);
	struct listed *listed = &node->listed[i];

	PL_ASSERT(node->count < node->cap);
	memmove(listed + 1, listed, (node->count - i) * sizeof *listed);
	*listed = (struct listed){.pod = pod,
	                          .placed = placed,
	                          .sent = sent,
	                          .other = !sent && lives_is_other(sched, pod)};
	node->count++;
	node->used.pods++;
	pod->listed++;
	if (pod->node != node)
		share(sched, node, 1);
	if (!listed_is_known(listed))
		lacks_more(sched, node);
	if (pod->spec != NULL)
		sum(sched, node, pod->spec, true);
	if (placed == SNAPSHOT_NONE && node->slot != SNAPSHOT_NONE &&
	    listed_is_known(listed))
		place(sched, node, listed);
}

uint32_t listed_del(struct sched *sched, struct sched_node *node, uint32_t i)
{
	struct listed *listed = &node->listed[i];
	struct sched_pod *pod = listed->pod;
	uint32_t placed = listed->placed;

	PL_ASSERT(i < node->count && pod->listed > 0);
	if (pod->linked == LINKED_ENDING)
		pod_unlink(sched, pod);
	if (pod->node != node)
		share(sched, node, UINT32_MAX);
	if (!listed_is_known(listed))
		lacks_less(sched, node);
	if (pod->spec != NULL)
		sum(sched, node, pod->spec, false);
	node->doubted -= listed->doubted;
	lacks(sched, node);
	node->count--;
	node->used.pods--;
	pod->listed--;
	pod->flags &= (uint16_t)~POD_TAINTED; /* it was this node that it had to leave */
	memmove(listed, listed + 1, (node->count - i) * sizeof *listed);
	if (pod->node == node && pod->place == POD_IDLE)
		listed_set_node(sched, pod, NULL);
	return placed;
}

static void drop(struct sched *sched, struct sched_node *node, uint32_t i)
{
	struct sched_pod *pod = node->listed[i].pod;
	uint32_t placed = listed_del(sched, node, i);

	if (placed != SNAPSHOT_NONE) {
		snapshot_pod_remove(&sched->snapshot, placed);
		tell_event(sched, QUEUE_EV_POD_REMOVED, node->slot);
		holds_have_room(sched, node);
	}
	pod_settle(sched, pod);
}

void listed_clear(struct sched *sched, struct sched_node *node)
{
	while (node->count > 0)
		drop(sched, node, node->count - 1);
}

/* -- specs ----------------------------------------------------------- */

/* By more than that only where somebody has meddled. */
enum { LISTED_BY_FEW = 16 };

/* They are its node and nodes that share; what is called may make them share no more. */
static void each_of_few(struct sched *sched, struct sched_pod *pod, listed_fn *fn,
                        void *ctx)
{
	struct sched_node *node[LISTED_BY_FEW];
	uint32_t count = 0, listed = pod->listed;
	uint32_t own = pod->node == NULL ? UINT32_MAX : listed_find(pod->node, pod);

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
		if (other != pod->node && listed_find(other, pod) != UINT32_MAX)
			node[count++] = other;
	}
	PL_ASSERT(count == listed);
	for (uint32_t n = 0; n < count; n++) {
		uint32_t i = listed_find(node[n], pod);

		if (i != UINT32_MAX)
			fn(sched, node[n], i, ctx);
	}
}

void listed_each(struct sched *sched, struct sched_pod *pod, listed_fn *fn, void *ctx)
{
	uint32_t left = pod->listed;

	if (left <= LISTED_BY_FEW) {
		each_of_few(sched, pod, fn, ctx);
		return;
	}
	for (struct pl_map_node *at = pl_map_first(&sched->nodes); left > 0;
	     at = pl_map_next(&sched->nodes, at)) {
		struct sched_node *node = PL_CONTAINER_OF(at, struct sched_node, by_name);
		uint32_t i = listed_find(node, pod);

		if (i == UINT32_MAX)
			continue;
		fn(sched, node, i, ctx);
		left--;
	}
}

static void hide(struct sched *sched, struct sched_node *node, struct listed *listed)
{
	lacks_more(sched, node);
	if (listed->placed != SNAPSHOT_NONE)
		snapshot_pod_remove(&sched->snapshot, listed->placed);
	listed->placed = SNAPSHOT_NONE;
}

static void show(struct sched *sched, struct sched_node *node, struct listed *listed)
{
	lacks_less(sched, node);
	if (node->slot != SNAPSHOT_NONE)
		place(sched, node, listed);
}

static void forget_at(struct sched *sched, struct sched_node *node, uint32_t i, void *ctx)
{
	struct listed *listed = &node->listed[i];

	(void)ctx;
	sum(sched, node, listed->pod->spec, false);
	if (!listed->other)
		hide(sched, node, listed);
}

static void learn_at(struct sched *sched, struct sched_node *node, uint32_t i, void *ctx)
{
	struct listed *listed = &node->listed[i];

	(void)ctx;
	sum(sched, node, listed->pod->spec, true);
	if (!listed->other)
		show(sched, node, listed);
	node_settle(sched, node);
}

void listed_forget_spec(struct sched *sched, struct sched_pod *pod)
{
	if (pod->listed > 0 && pod->spec != NULL)
		listed_each(sched, pod, forget_at, NULL);
}

void listed_learn_spec(struct sched *sched, struct sched_pod *pod)
{
	if (pod->listed > 0 && pod->spec != NULL)
		listed_each(sched, pod, learn_at, NULL);
}

/* The sums are of the specs that are known, as when the alloc was put by us. */
void listed_set_other(struct sched *sched, struct sched_node *node, uint32_t i,
                      bool other)
{
	struct listed *listed = &node->listed[i];

	if (listed->other == other)
		return;
	listed->other = other;
	if (listed->pod->spec != NULL && other)
		hide(sched, node, listed);
	else if (listed->pod->spec != NULL)
		show(sched, node, listed);
	node_settle(sched, node);
}

static void settle_at(struct sched *sched, struct sched_node *node, uint32_t i, void *ctx)
{
	(void)i;
	(void)ctx;
	node_settle(sched, node);
}

void listed_settle(struct sched *sched, struct sched_pod *pod)
{
	if (pod->listed > 0)
		listed_each(sched, pod, settle_at, NULL);
}

/* -- from the alloc and into it --------------------------------------- */

/* Pods of an alloc, found or made, so that nothing fails later. They stay until they are
 * let go, whatever is called off meanwhile. */
struct found {
	struct sched_pod **pod;
	bool *fresh;     /* of these: it is not listed yet */
	bool *stays;     /* of what is listed: it is among these */
	uint32_t listed; /* so many are */
};

static enum pl_code found_room(struct sched *sched, const struct sched_node *node,
                               uint32_t pods, struct found *out)
{
	*out = (struct found){
		.pod = pl_arena_zalloc(&sched->arena, (size_t)pods + 1, sizeof(void *)),
		.fresh = pl_arena_zalloc(&sched->arena, (size_t)pods + 1, 1),
		.stays = pl_arena_zalloc(&sched->arena, (size_t)node->count + 1, 1),
		.listed = node->count};
	return out->pod != NULL && out->fresh != NULL && out->stays != NULL ? PL_OK
	                                                                    : PL_NOMEM;
}

/* Listed from there on; both are in one order, so nobody is looked for twice. NULL: it is
 * not. */
static struct sched_pod *find_listed(const struct sched *sched,
                                     const struct sched_node *node, uint32_t *at,
                                     const struct alloc_pod *pod)
{
	for (; *at < node->count; ++*at) {
		struct sched_pod *listed = node->listed[*at].pod;
		struct alloc_pod name = listed_name(sched, listed);
		int order = alloc_pod_cmp(&name, pod);

		if (order == 0)
			return listed;
		if (order > 0)
			break;
	}
	return NULL;
}

static enum pl_code find_all(struct sched *sched, const struct sched_node *node,
                             const struct alloc *alloc, struct found *out)
{
	enum pl_code code = found_room(sched, node, alloc->pods, out);
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
		out->pod[i] = pod_get(sched, pod->partition, pod->space, pod->name);
		if (out->pod[i] == NULL)
			return PL_NOMEM;
		out->pod[i]->pinned = true;
	}
	return code;
}

static void let_go(struct sched *sched, struct sched_pod *const *pods, uint32_t count)
{
	for (uint32_t i = 0; pods != NULL && i < count && pods[i] != NULL; i++) {
		pods[i]->pinned = false;
		pod_tidy(sched, pods[i]);
	}
}

static bool is_same(const struct sched_node *node, const struct found *found,
                    uint32_t count)
{
	bool same = node->count == count;

	for (uint32_t i = 0; same && i < count; i++)
		same = !found->fresh[i];
	return same;
}

static void take(struct sched *sched, struct sched_node *node, struct sched_pod *pod)
{
	listed_add(sched, node, pod, SNAPSHOT_NONE, false);
	if (pod->place != POD_SENT) {
		if (pod->place == POD_WAITS)
			pod_withdraw(sched, pod);
		listed_set_node(sched, pod, node);
	}
	if (node->slot != SNAPSHOT_NONE)
		tell_event(sched, QUEUE_EV_POD_ADDED, node->slot);
	pod_settle(sched, pod);
	lives_come(sched, node, pod);
}

/* Somebody may have put it right, which nobody watches here. */
static void ask_mute(struct sched *sched, const struct sched_node *node,
                     struct sched_pod *pod)
{
	if ((pod->flags & POD_MUTE) == 0 || pod_is_owned(sched, pod))
		return;
	pod->asks_state = true;
	specs_want(sched, pod, node->rev[FACT_ALLOC]);
}

/* Afterwards it lists these, in their order. */
static void change(struct sched *sched, struct sched_node *node,
                   const struct found *found, uint32_t count)
{
	node_give_back(sched, node);
	PL_ASSERT(node->count == found->listed);
	for (uint32_t i = node->count; i > 0; i--)
		if (!found->stays[i - 1])
			drop(sched, node, i - 1);
	for (uint32_t i = 0; i < count; i++)
		if (found->fresh[i])
			take(sched, node, found->pod[i]);
	PL_ASSERT(node->count == count);
}

enum pl_code listed_set(struct sched *sched, struct sched_node *node,
                        const struct alloc *alloc, struct pl_err *err)
{
	struct found found = {0};
	struct sched_holds holds = {0};
	enum pl_code code = listed_room(node, alloc->pods);
	bool gap = sched->taken_anew || (alloc->generation != node->generation + 1 &&
	                                 alloc->left != node->left);

	if (code == PL_OK)
		code = find_all(sched, node, alloc, &found);
	if (code == PL_OK)
		code = holds_read(sched, alloc, &holds);
	if (code != PL_OK) {
		let_go(sched, found.pod, alloc->pods);
		return pl_err_set(err, code, "%s",
		                  code == PL_INVALID ? "pods, holds: no such partition"
		                                     : "take an alloc's pods");
	}
	node->said = said_by(alloc);
	node->generation = alloc->generation;
	node->left = alloc->left;
	preempts_cancel(sched, node->plan);
	holds_unplan_gangs(sched, node);
	if (!holds_are(node, &holds)) /* what waits there was decided for others */
		node_give_back(sched, node);
	if (!is_same(node, &found, alloc->pods))
		change(sched, node, &found, alloc->pods);
	for (uint32_t i = 0; i < node->count; i++) {
		node->listed[i].leaving = alloc->pod[i].leaving;
		listed_mark(sched, node, i);
		ask_mute(sched, node, node->listed[i].pod);
	}
	holds_take(sched, node, &holds);
	for (uint32_t i = 0; i < node->count; i++)
		if (!found.fresh[i])
			lives_stay(sched, node, i, gap);
	let_go(sched, found.pod, alloc->pods);
	return PL_OK;
}
