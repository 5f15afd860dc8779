/*
 * Incarnations: a pod that was deleted may be created again under its name with other
 * labels. An alloc lists the incarnation of its time, a spec belongs to the incarnation
 * that stood there when it was read, and the two may differ. Therefore
 *
 *	a newly listed pod whose spec was known from before counts for nothing,
 *	a pod that stays listed across a gap counts with the known spec,
 *	a pod whose spec is younger than the alloc counts for nothing.
 *
 * Until spec and alloc have been read in one transaction, nothing is put on that node and
 * the fleet view counts as applied only up to before the alloc. A pod that turns out to
 * have ended by then keeps counting for nothing: the txn that ended it has put the locks
 * of its terms.
 *
 * Specs of owned partitions are watched, so it is known up to which revision they are
 * current.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"

/* A newer alloc has come and is deferred until the txn that is being answered is
 * applied. */
static bool is_view_held_back(const struct sched *sched, const struct sched_node *node)
{
	const struct deferred_event *deferred =
		sched->answered == NULL ? NULL : sched->answered->deferred;

	for (; deferred != NULL; deferred = deferred->next) {
		struct keys_id id;

		if (keys_parse(deferred->record.key, &id, NULL) == PL_OK &&
		    id.kind == KEYS_ALLOC && node_find(sched, id.scope, id.name) == node)
			return true;
	}
	return false;
}

/* The lowest revision at which a newly listed pod can have been listed: after the alloc
 * that was known before, however old that is, and after what the fleet view has brought,
 * unless a newer alloc is deferred. */
static int64_t came_since(const struct sched *sched, const struct sched_node *node)
{
	int64_t known = node->rev[FACT_ALLOC], viewed = sched->fleet_view.revision;
	bool follows = viewed > known && viewed < sched->applied_rev &&
	               !is_view_held_back(sched, node);

	return (follows ? viewed : known) + 1;
}

/* The last revision up to which the node's alloc is known to be the one in the cache. */
static int64_t known_until(const struct sched *sched, const struct sched_node *node)
{
	const struct sched_partition *part = &sched->partition[node->partition];
	int64_t rev = node->rev[FACT_ALLOC];

	if (node->txn != 0 || is_view_held_back(sched, node))
		return rev;
	if (node == sched->seen.node && rev == sched->seen.alloc)
		rev = sched->seen.revision;
	if (part->owned && part->upto[SCHED_ALLOCS] > rev)
		rev = part->upto[SCHED_ALLOCS];
	return sched->fleet_view.revision > rev ? sched->fleet_view.revision : rev;
}

/* An event about the pod's spec is deferred to the txn that is being answered. */
static bool is_spec_deferred(const struct sched *sched, const struct sched_pod *pod)
{
	const struct deferred_event *deferred =
		sched->answered == NULL ? NULL : sched->answered->deferred;

	for (; deferred != NULL; deferred = deferred->next) {
		struct keys_id id;

		if (keys_parse(deferred->record.key, &id, NULL) == PL_OK &&
		    id.kind == KEYS_SPEC &&
		    pod_find(sched, id.partition, id.scope, id.name) == pod)
			return true;
	}
	return false;
}

/* The known spec is that of the revision or a later one. */
static bool is_spec_followed(const struct sched *sched, const struct sched_pod *pod,
                             int64_t revision)
{
	const struct sched_partition *part = &sched->partition[pod->key[0]];

	return part->owned && part->upto[SCHED_SCHEDULES] >= revision && pod->txn == 0 &&
	       !is_spec_deferred(sched, pod);
}

/* -- a new alloc ------------------------------------------------------------- */

static bool is_spec_newer(const struct sched *sched, const struct sched_pod *pod)
{
	return pod->rev[FACT_SPEC] > sched->applied_rev;
}

bool incarnation_is_other(const struct sched *sched, const struct sched_pod *pod)
{
	return pod->spec != NULL && (is_spec_newer(sched, pod) ||
	                             !is_spec_followed(sched, pod, sched->applied_rev));
}

static bool is_entry_uncertain(const struct sched *sched, const struct sched_pod *pod)
{
	if (pod->spec != NULL && is_spec_newer(sched, pod))
		/* created after the alloc: certainly another incarnation */
		return pod->edited;
	return !is_spec_followed(sched, pod, sched->applied_rev);
}

static void mark_unconfirmed(struct sched *sched, const struct sched_node *node,
                             struct sched_pod *pod)
{
	pod->relisted = true;
	if (pod->spec == NULL && !pod_is_owned(sched, pod) &&
	    (pod->flags & POD_BAD_SPEC) != 0) {
		pod->flags &= (uint16_t)~POD_BAD_SPEC;
		/* a spec of the same incarnation is applied again when it is read */
		pod->rev[FACT_SPEC] = 0;
	}
	if (pod->spec != NULL)
		spec_reads_recheck(sched, pod, came_since(sched, node));
}

void incarnation_listed(struct sched *sched, const struct sched_node *node,
                        struct sched_pod *pod)
{
	int64_t since = came_since(sched, node);

	if (pod->spec == NULL && (pod->unknown_rev == 0 || since < pod->unknown_rev))
		pod->unknown_rev = since;
	if (is_entry_uncertain(sched, pod))
		mark_unconfirmed(sched, node, pod);
}

/* The watch of an owned partition has passed the alloc's revision. */
static void mark_confirmed(struct sched *sched, struct sched_node *node, uint32_t i)
{
	const struct sched_pod *pod = node->listed[i].pod;

	alloc_entry_set_unconfirmed(sched, node, i, false);
	if (pod->spec != NULL && !is_spec_newer(sched, pod))
		alloc_entry_set_other(sched, node, i, false);
}

void incarnation_kept(struct sched *sched, struct sched_node *node, uint32_t i, bool gap)
{
	const struct alloc_entry *listed = &node->listed[i];

	if (!gap && !listed->other && !listed->unconfirmed)
		return;
	if (!is_entry_uncertain(sched, listed->pod)) {
		mark_confirmed(sched, node, i);
		return;
	}
	if (!listed->other && listed->pod->spec != NULL)
		alloc_entry_set_unconfirmed(sched, node, i, true);
	if (gap || listed->other)
		mark_unconfirmed(sched, node, listed->pod);
}

/* -- a new spec -------------------------------------------------------------- */

/* Perhaps the alloc has not changed since and the pod was replaced by hand, so both are
 * read. A spec that arrives while the entry is unconfirmed, and before it is requested,
 * may be older than that. */
static void on_spec_since(struct sched *sched, struct sched_node *node, uint32_t i,
                          void *ctx)
{
	const int64_t *born = ctx;
	bool was = node->listed[i].other;
	bool other = !node->listed[i].sent && *born > known_until(sched, node);

	if (!other && node->listed[i].pod->relisted)
		return;
	alloc_entry_set_other(sched, node, i, other);
	alloc_entry_set_unconfirmed(sched, node, i, false);
	if (other && !was)
		spec_reads_recheck(sched, node->listed[i].pod, 1);
}

void incarnation_spec_since(struct sched *sched, struct sched_pod *pod, int64_t revision)
{
	if (pod->listed > 0)
		alloc_entry_each(sched, pod, on_spec_since, &revision);
}

static void on_find_other(struct sched *sched, struct sched_node *node, uint32_t i,
                          void *ctx)
{
	struct sched_node **found = ctx;

	(void)sched;
	if (node->listed[i].other || node->listed[i].unconfirmed)
		*found = node;
}

struct sched_node *incarnation_other_at(struct sched *sched, struct sched_pod *pod)
{
	struct sched_node *found = NULL;

	if (pod->listed > 0)
		alloc_entry_each(sched, pod, on_find_other, &found);
	return found;
}

static void on_find_newest(struct sched *sched, struct sched_node *node, uint32_t i,
                           void *ctx)
{
	int64_t *newest = ctx;

	(void)sched;
	(void)i;
	if (node->rev[FACT_ALLOC] > *newest)
		*newest = node->rev[FACT_ALLOC];
}

int64_t incarnation_newest_alloc(struct sched *sched, struct sched_pod *pod)
{
	int64_t newest = 0;

	if (pod->listed > 0)
		alloc_entry_each(sched, pod, on_find_newest, &newest);
	return newest;
}

/* -- the partition is acquired or lost --------------------------------------- */

void incarnation_followed(struct sched *sched, struct sched_pod *pod)
{
	if (pod->spec == NULL || !pod->relisted || pod->listed == 0)
		return;
	if (incarnation_other_at(sched, pod) == NULL &&
	    is_spec_followed(sched, pod, incarnation_newest_alloc(sched, pod)))
		pod->relisted = false;
	else
		spec_reads_recheck(sched, pod, 1);
}

void incarnation_unfollowed(struct sched *sched, struct sched_pod *pod)
{
	if (pod->spec != NULL && pod->relisted)
		spec_reads_recheck(sched, pod, 1);
}
