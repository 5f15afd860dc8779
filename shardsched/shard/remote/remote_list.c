/*
 * Visits: nodes and allocs of a partition of somebody else, listed once, at one revision,
 * to look for a node there. What was seen grows old: a commit on it fails when it is not
 * so any more, and brings what is. What nobody uses is forgotten.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/pending_status.h"

enum {
	LISTS_OUT_MAX = 4,
	LIST_KEPT_MS = 30000,     /* after its last use */
	LIST_FRESH_MS = 100,      /* at least, */
	LIST_FRESH_MAX_MS = 1000, /* at most, and between: */
	LIST_FRESH_TIMES = 10,    /* as long as listing it took */
	LIST_PAUSE_MS = 50,       /* what is so young is not listed again */
};

static struct remote_list *list_of(struct sched *sched, uint32_t partition)
{
	PL_ASSERT(partition < sched->opts.partitions);
	return &sched->partition[partition].remote_list;
}

bool remote_knows(const struct sched *sched, uint32_t partition)
{
	return sched->fleet_view.known || sched->partition[partition].remote_list.known;
}

bool remote_follows(const struct sched *sched, uint32_t partition)
{
	const struct remote_list *remote_list = &sched->partition[partition].remote_list;

	return remote_knows(sched, partition) || sched->fleet_view.begun ||
	       (remote_list->out && !remote_list->moot);
}

void remote_reconcile(struct sched *sched, uint32_t partition)
{
	PL_LIST_EACH (link, &sched->partition[partition].nodes)
		node_reconcile(sched,
		               PL_LIST_ITEM(link, struct sched_node, of_partition));
}

void remote_forget(struct sched *sched, uint32_t partition)
{
	struct sched_partition *part = &sched->partition[partition];
	bool any_excluded = false;

	PL_ASSERT(!part->owned);
	if (part->remote_list.out) /* what it has brought by now goes, too */
		part->remote_list.failed = true;
	PL_LIST_EACH (link, &part->nodes) {
		struct sched_node *node =
			PL_LIST_ITEM(link, struct sched_node, of_partition);

		any_excluded = any_excluded || node->excluded_ms != 0;
		node_forget(sched, node);
	}
	if (any_excluded) /* nobody would hear that it is not any more */
		digest_entry_recheck(sched, partition);
}

/* No visit has them any more. What the view, which is being listed, has brought by now it
 * does not bring again. */
static void release_nodes(struct sched *sched, uint32_t partition)
{
	if (sched->fleet_view.begun)
		remote_reconcile(sched, partition);
	else
		remote_forget(sched, partition);
}

/* -- to be made -------------------------------------------------------- */

void remote_list_request(struct sched *sched, uint32_t partition)
{
	struct remote_list *remote_list = list_of(sched, partition);

	PL_ASSERT(!sched->partition[partition].owned);
	if (remote_list->wanted || (remote_list->out && !remote_list->moot))
		return;
	remote_list->wanted = true;
	sched->remote_lists.wanted++;
}

static bool is_list_due(struct sched *sched, uint32_t partition)
{
	const struct remote_list *remote_list = list_of(sched, partition);

	return remote_list->wanted && !remote_list->out &&
	       remote_list->after_ms <= sched->now_ms;
}

/* In turn, so that none waits for ever. */
bool remote_list_next(struct sched *sched, uint32_t *partition)
{
	struct remote_lists *remote_lists = &sched->remote_lists;
	struct sched_partition *part;
	uint32_t left = sched->opts.partitions;

	if (remote_lists->wanted == 0 || remote_lists->out == LISTS_OUT_MAX)
		return false;
	while (!is_list_due(sched, remote_lists->next)) {
		remote_lists->next = (remote_lists->next + 1) % sched->opts.partitions;
		if (--left == 0)
			return false;
	}
	part = &sched->partition[remote_lists->next];
	part->remote_list.wanted = part->remote_list.moot = part->remote_list.failed =
		false;
	part->remote_list.out = true;
	part->remote_list.began_ms = sched->now_ms;
	remote_lists->wanted--;
	remote_lists->out++;
	part->generation[SCHED_NODES]++;
	part->generation[SCHED_ALLOCS]++;
	*partition = remote_lists->next;
	return true;
}

static void forget_list(struct sched *sched, uint32_t partition)
{
	struct remote_list *remote_list = list_of(sched, partition);

	sched->remote_lists.known -= remote_list->known;
	remote_list->known = remote_list->all_read = false;
	remote_list->read = 0;
}

void remote_list_drop(struct sched *sched, uint32_t partition)
{
	struct remote_list *remote_list = list_of(sched, partition);

	sched->remote_lists.wanted -= remote_list->wanted;
	remote_list->wanted = false;
	remote_list->moot = remote_list->out;
	remote_list->after_ms = 0;
	remote_list_ok(sched, partition);
	forget_list(sched, partition);
	remote_wake_listed(sched);
}

/* What is listed quickly is listed often: most conflicts come from what is old. */
static uint64_t fresh_for_ms(uint64_t took_ms)
{
	uint64_t ms = took_ms * LIST_FRESH_TIMES;

	if (ms < LIST_FRESH_MS)
		return LIST_FRESH_MS;
	return ms < LIST_FRESH_MAX_MS ? ms : LIST_FRESH_MAX_MS;
}

static bool is_list_fresh(const struct sched *sched,
                          const struct remote_list *remote_list)
{
	uint64_t age_ms = sched->now_ms - remote_list->at_ms;

	return remote_list->known && age_ms < remote_list->fresh_ms &&
	       (!remote_list->stale || age_ms < LIST_PAUSE_MS);
}

bool remote_list_is_fresh(struct sched *sched, uint32_t partition)
{
	struct remote_list *remote_list = list_of(sched, partition);
	uint64_t age_ms = sched->now_ms - remote_list->at_ms;

	if (sched->fleet_view.revision != 0)
		return true;
	if (!remote_list->known)
		return false;
	remote_list->used_ms = sched->now_ms;
	if (remote_list->stale || age_ms >= remote_list->fresh_ms / 2)
		remote_list_request(sched, partition);
	return is_list_fresh(sched, remote_list);
}

bool remote_list_is_due(const struct sched *sched, uint32_t partition)
{
	const struct remote_list *remote_list = &sched->partition[partition].remote_list;

	return is_list_fresh(sched, remote_list) ||
	       (remote_list->known && !remote_list->wanted && !remote_list->out);
}

/* -- what is seen ------------------------------------------------------ */

static bool is_list_on(struct sched *sched, uint32_t partition)
{
	const struct remote_list *remote_list = list_of(sched, partition);

	return remote_list->out && !remote_list->moot &&
	       !sched->partition[partition].owned;
}

/* What is garbled is told by who owns it. */
void sched_remote_list_records(struct sched *sched, uint32_t partition,
                               const struct kv_record *records, size_t count)
{
	struct keys_id id;

	for (size_t i = 0; i < count && is_list_on(sched, partition); i++)
		if (keys_parse(records[i].key, &id, NULL) == PL_OK &&
		    (id.kind == KEYS_NODE || id.kind == KEYS_ALLOC) &&
		    id.partition == partition &&
		    !cache_apply(sched, &id, &records[i], false))
			list_of(sched, partition)->failed = true;
}

static bool is_fact_gone(const struct sched_partition *part,
                         const struct sched_node *node, enum sched_part list_of,
                         int64_t revision)
{
	enum fact fact = list_of == SCHED_NODES ? FACT_NODE : FACT_ALLOC;

	return node->rev[fact] != 0 && node->rev[fact] <= revision &&
	       node->seen[fact] != part->generation[list_of];
}

static void sweep_nodes(struct sched *sched, struct sched_partition *part,
                        int64_t revision)
{
	PL_LIST_EACH (link, &part->nodes) {
		struct sched_node *node =
			PL_LIST_ITEM(link, struct sched_node, of_partition);
		bool alloc = is_fact_gone(part, node, SCHED_ALLOCS, revision);

		if (is_fact_gone(part, node, SCHED_NODES, revision))
			cache_sweep_node(sched, node, FACT_NODE, revision);
		if (alloc)
			cache_sweep_node(sched, node, FACT_ALLOC, revision);
	}
}

/* True: what was listed is of use. */
static bool list_ended(struct sched *sched, uint32_t partition)
{
	struct remote_list *remote_list = list_of(sched, partition);
	bool on = is_list_on(sched, partition);

	PL_ASSERT(remote_list->out);
	remote_list->out = false;
	sched->remote_lists.out--;
	return on;
}

static void reconcile_unseen(struct sched *sched, uint32_t partition)
{
	if (remote_list_keeps_failing(sched, partition)) /* too old for anything by now */
		forget_list(sched, partition);
	if (!sched->partition[partition].owned && !remote_knows(sched, partition))
		release_nodes(sched, partition);
}

void sched_remote_list_failed(struct sched *sched, uint32_t partition,
                              const struct pl_err *why)
{
	if (list_ended(sched, partition))
		remote_list_on_failed(sched, partition, why);
	reconcile_unseen(sched, partition);
}

static void list_not_kept(struct sched *sched, uint32_t partition)
{
	struct pl_err err = {0};

	(void)pl_err_set(&err, PL_NOMEM, "what was listed could not be kept");
	remote_list_on_failed(sched, partition, &err);
	reconcile_unseen(sched, partition);
}

void sched_remote_list_end(struct sched *sched, uint32_t partition, int64_t revision)
{
	struct remote_list *remote_list = list_of(sched, partition);

	PL_ASSERT(revision > 0);
	if (!list_ended(sched, partition)) {
		reconcile_unseen(sched, partition);
		return;
	}
	if (remote_list->failed) {
		list_not_kept(sched, partition);
		return;
	}
	remote_list_ok(sched, partition);
	sweep_nodes(sched, &sched->partition[partition], revision);
	sched->remote_lists.known += !remote_list->known;
	remote_list->known = true;
	pending_status_recheck(sched);
	remote_list->stale = remote_list->all_read = false; /* others may have come */
	remote_list->revision = revision;
	remote_list->at_ms = remote_list->used_ms = sched->now_ms;
	remote_list->fresh_ms = fresh_for_ms(sched->now_ms - remote_list->began_ms);
	if (sched->remote_lists.due_ms == 0)
		sched->remote_lists.due_ms = sched->now_ms + LIST_KEPT_MS;
	remote_reconcile(sched, partition);
	remote_wake_listed(sched);
}

/* -- and grows old ----------------------------------------------------- */

void remote_lists_run(struct sched *sched)
{
	struct remote_lists *remote_lists = &sched->remote_lists;
	uint64_t due_ms = UINT64_MAX;

	if (remote_lists->due_ms == 0 || sched->now_ms < remote_lists->due_ms)
		return;
	for (uint32_t i = 0; i < sched->opts.partitions && remote_lists->known > 0; i++) {
		struct remote_list *remote_list = list_of(sched, i);
		uint64_t end_ms = remote_list->used_ms + LIST_KEPT_MS;

		if (!remote_list->known)
			continue;
		if (end_ms <= sched->now_ms && !remote_list->out) {
			forget_list(sched, i);
			if (!sched->fleet_view.known)
				release_nodes(sched, i);
		} else {
			due_ms = end_ms < due_ms ? end_ms : due_ms;
		}
	}
	if (due_ms <= sched->now_ms)
		due_ms = sched->now_ms + LIST_KEPT_MS;
	remote_lists->due_ms = remote_lists->known == 0 ? 0 : due_ms;
}

uint64_t remote_lists_deadline_ms(const struct sched *sched)
{
	const struct remote_lists *remote_lists = &sched->remote_lists;
	uint64_t at_ms = remote_lists->due_ms == 0 ? UINT64_MAX : remote_lists->due_ms;

	for (uint32_t i = 0; remote_lists->wanted > 0 && i < sched->opts.partitions;
	     i++) {
		const struct remote_list *remote_list = &sched->partition[i].remote_list;

		if (remote_list->wanted && remote_list->after_ms > sched->now_ms &&
		    remote_list->after_ms < at_ms)
			at_ms = remote_list->after_ms;
	}
	return at_ms;
}
