/*
 * Lives: a pod that was deleted may come again under its name, as another one, with other
 * labels. An alloc lists who it was then; a spec is whose it was when it was read. Both
 * may be of two. So, until the spec is read, and whether the alloc still stands,
 *
 *	who comes counts for nothing, if its spec was known from before,
 *	who stays, while the alloc changed more than once, counts as who it was,
 *	who has a spec that was made after the alloc counts for nothing,
 *
 * and the view has come no further than to before the alloc: then that is how it was. The
 * last are not waited for: whoever is listed has ended, which has put the locks of its
 * terms, whenever it was.
 *
 * Owned pods are watched, so of these it is known how far what is known of them goes. Of
 * others nobody cares while there is no view, which rules rely on.
 */
#include "shardsched/shard/inner.h"
#include "shardsched/shard/tables/tables.h"

/* Something newer than what is known here has come before, and waits for that answer. */
static bool is_held_back(const struct sched *sched, const struct sched_node *node)
{
	const struct held *held = sched->answered == NULL ? NULL : sched->answered->held;

	for (; held != NULL; held = held->next) {
		struct keys_id id;

		if (keys_parse(held->record.key, &id, NULL) == PL_OK &&
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
	int64_t known = node->rev[FACT_ALLOC], viewed = sched->whole.revision;
	bool follows =
		viewed > known && viewed < sched->taken_rev && !is_held_back(sched, node);

	return (follows ? viewed : known) + 1;
}

/* Its alloc was as it is known until then. */
static int64_t known_until(const struct sched *sched, const struct sched_node *node)
{
	const struct sched_partition *part = &sched->partition[node->partition];
	int64_t rev = node->rev[FACT_ALLOC];

	if (node->call != 0 || is_held_back(sched, node))
		return rev;
	if (node == sched->seen.node)
		rev = sched->seen.revision;
	if (part->owned && part->upto[SCHED_ALLOCS] > rev)
		rev = part->upto[SCHED_ALLOCS];
	return sched->whole.revision > rev ? sched->whole.revision : rev;
}

/* Its spec is as it was at that time, or later. */
static bool is_followed(const struct sched *sched, const struct sched_pod *pod,
                        int64_t revision)
{
	const struct sched_partition *part = &sched->partition[pod->key[0]];

	return part->owned && part->upto[SCHED_SCHEDULES] >= revision && pod->call == 0 &&
	       sched->answered == NULL;
}

/* -- the alloc is news ---------------------------------------------------------- */

static bool is_newer(const struct sched *sched, const struct sched_pod *pod)
{
	return pod->rev[FACT_SPEC] > sched->taken_rev;
}

bool lives_is_other(const struct sched *sched, const struct sched_pod *pod)
{
	if (pod->spec == NULL)
		return false;
	return is_newer(sched, pod) ||
	       (sched->whole.revision != 0 && !is_followed(sched, pod, sched->taken_rev));
}

static bool is_doubtful(const struct sched *sched, const struct sched_pod *pod)
{
	if (pod->spec != NULL && is_newer(sched, pod))
		return pod->edited; /* else it is another, beyond doubt */
	return !is_followed(sched, pod, sched->taken_rev);
}

static void doubt(struct sched *sched, const struct sched_node *node,
                  struct sched_pod *pod, bool other)
{
	pod->relisted = true;
	if (pod->spec == NULL && !pod_is_owned(sched, pod) &&
	    (pod->flags & POD_BAD_SPEC) != 0) {
		pod->flags &= (uint16_t)~POD_BAD_SPEC;
		pod->rev[FACT_SPEC] = 0; /* if it is the same, that is found anew */
	}
	if (pod->spec != NULL && (other || sched->whole.revision != 0))
		specs_doubt(sched, pod, came_since(sched, node));
}

void lives_come(struct sched *sched, const struct sched_node *node, struct sched_pod *pod)
{
	int64_t since = came_since(sched, node);

	if (pod->spec == NULL && (pod->unknown_rev == 0 || since < pod->unknown_rev))
		pod->unknown_rev = since;
	if (is_doubtful(sched, pod))
		doubt(sched, node, pod, lives_is_other(sched, pod));
}

void lives_stay(struct sched *sched, const struct sched_node *node, uint32_t i, bool gap)
{
	const struct listed *listed = &node->listed[i];

	if ((gap || listed->other) && is_doubtful(sched, listed->pod))
		doubt(sched, node, listed->pod, listed->other);
}

/* -- the spec is ----------------------------------------------------------------- */

/* Maybe the alloc has not changed since, and somebody has meddled: what stands there is
 * asked. */
static void be_born(struct sched *sched, struct sched_node *node, uint32_t i, void *ctx)
{
	const int64_t *born = ctx;
	bool was = node->listed[i].other;
	bool other = !node->listed[i].sent && *born > known_until(sched, node);

	listed_set_other(sched, node, i, other);
	if (other && !was)
		specs_doubt(sched, node->listed[i].pod, INT64_MAX);
}

void lives_born(struct sched *sched, struct sched_pod *pod, int64_t revision)
{
	if (pod->listed > 0)
		listed_each(sched, pod, be_born, &revision);
}

static void find_other(struct sched *sched, struct sched_node *node, uint32_t i,
                       void *ctx)
{
	struct sched_node **found = ctx;

	(void)sched;
	if (node->listed[i].other)
		*found = node;
}

struct sched_node *lives_other_at(struct sched *sched, struct sched_pod *pod)
{
	struct sched_node *found = NULL;

	if (pod->listed > 0)
		listed_each(sched, pod, find_other, &found);
	return found;
}

/* -- what is made up for --------------------------------------------------------- */

static void find_newest(struct sched *sched, struct sched_node *node, uint32_t i,
                        void *ctx)
{
	int64_t *newest = ctx;

	(void)sched;
	(void)i;
	if (node->rev[FACT_ALLOC] > *newest)
		*newest = node->rev[FACT_ALLOC];
}

/* Of the allocs that list it. */
static int64_t newest_of(struct sched *sched, struct sched_pod *pod)
{
	int64_t newest = 0;

	if (pod->listed > 0)
		listed_each(sched, pod, find_newest, &newest);
	return newest;
}

void lives_lost(struct sched *sched, struct sched_pod *pod)
{
	if (pod->spec != NULL && pod->relisted && sched->whole.revision != 0)
		specs_doubt(sched, pod, 1);
}

static void make_up(struct sched *sched, struct sched_pod *pod)
{
	if (pod->spec == NULL || !pod->relisted || pod->listed == 0)
		return;
	if (lives_other_at(sched, pod) == NULL &&
	    is_followed(sched, pod, newest_of(sched, pod)))
		pod->relisted = false;
	else
		specs_doubt(sched, pod, 1);
}

void lives_viewed(struct sched *sched, struct sched_node *node)
{
	for (uint32_t i = 0; i < node->count; i++)
		make_up(sched, node->listed[i].pod);
}

void lives_followed(struct sched *sched, struct sched_pod *pod)
{
	if (sched->whole.revision != 0 || is_followed(sched, pod, newest_of(sched, pod)))
		make_up(sched, pod);
}
