/*
 * Lives: a pod that was deleted may come again under its name, as another one, with other
 * labels. An alloc lists who it was then; a spec is whose it was when it was read. Both
 * may be of two. So
 *
 *	who comes, and whose spec was known from before, counts for nothing,
 *	who stays, while others have left unseen, counts as who it was,
 *	who has a spec that was made after the alloc counts for nothing,
 *
 * and nothing is put on that node, and the view has come no further than to before the
 * alloc: then that is how it was. Both are read again for that, in one transaction. Who
 * is seen to have ended by then goes on counting for nothing: its end has put the locks
 *of its terms.
 *
 * Owned pods are watched, so of these it is known how far what is known of them goes.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"

/* Something newer than what is known here has come before, and waits for that answer. */
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

/* Who comes with the alloc that is being taken came at some time after the one that was
 * known before, be it long ago; and after what the view has brought, unless that has
 * waited for a call. */
static int64_t came_since(const struct sched *sched, const struct sched_node *node)
{
	int64_t known = node->rev[FACT_ALLOC], viewed = sched->fleet_view.revision;
	bool follows = viewed > known && viewed < sched->applied_rev &&
	               !is_view_held_back(sched, node);

	return (follows ? viewed : known) + 1;
}

/* Its alloc was as it is known until then. */
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

/* Its news waits for the call that is being answered. */
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

/* Its spec is as it was at that time, or later. */
static bool is_spec_followed(const struct sched *sched, const struct sched_pod *pod,
                             int64_t revision)
{
	const struct sched_partition *part = &sched->partition[pod->key[0]];

	return part->owned && part->upto[SCHED_SCHEDULES] >= revision && pod->txn == 0 &&
	       !is_spec_deferred(sched, pod);
}

/* -- the alloc is news ---------------------------------------------------------- */

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
		return pod->edited; /* else it is another, beyond doubt */
	return !is_spec_followed(sched, pod, sched->applied_rev);
}

static void mark_unconfirmed(struct sched *sched, const struct sched_node *node,
                             struct sched_pod *pod)
{
	pod->relisted = true;
	if (pod->spec == NULL && !pod_is_owned(sched, pod) &&
	    (pod->flags & POD_BAD_SPEC) != 0) {
		pod->flags &= (uint16_t)~POD_BAD_SPEC;
		pod->rev[FACT_SPEC] = 0; /* if it is the same, that is found anew */
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

/* What is followed has come so far by itself. */
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

/* -- the spec is ----------------------------------------------------------------- */

/* Maybe the alloc has not changed since, and somebody has meddled: what stands there is
 * asked. A spec that comes while it is doubted, and before it is asked for, may be from
 * before that. */
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

/* -- who watches it changes -------------------------------------------------------- */

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
