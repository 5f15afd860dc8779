/*
 * Remote lists: a partition of another shard is listed once to look for a node there.
 * What was listed grows old; a commit that relies on something outdated fails, and its
 * answer brings what is true. A list that no pod uses for a while is forgotten.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/pending_status.h"

enum {
	LISTS_OUT_MAX = 4,        /* lists that run at once */
	LIST_KEPT_MS = 30000,     /* after a list was last used */
	LIST_FRESH_MS = 100,      /* a list is good for deciding at least so long, */
	LIST_FRESH_MAX_MS = 1000, /* at most so long, and between them */
	LIST_FRESH_TIMES = 10,    /* so many times as long as listing took */
	LIST_PAUSE_MS = 50,       /* a younger list is used although it is stale */
};

static struct remote_list *list_of(struct sched *sched, uint32_t partition)
{
	PL_ASSERT(partition < sched->opts.partitions);
	return &sched->partition[partition].remote_list;
}

/* -- state ------------------------------------------------------------------ */

#define BIT(x) (1u << (x))

static const unsigned states_after[LIST_STATES] = {
	[LIST_IDLE] = BIT(LIST_WANTED),
	[LIST_WANTED] = BIT(LIST_RUNNING) | BIT(LIST_IDLE),
	[LIST_RUNNING] = BIT(LIST_SPOILED) | BIT(LIST_MOOT) | BIT(LIST_IDLE),
	[LIST_SPOILED] = BIT(LIST_MOOT) | BIT(LIST_IDLE),
	[LIST_MOOT] = BIT(LIST_MOOT_WANTED) | BIT(LIST_IDLE),
	[LIST_MOOT_WANTED] = BIT(LIST_MOOT) | BIT(LIST_WANTED),
};

static bool is_wanted(enum remote_list_state state)
{
	return state == LIST_WANTED || state == LIST_MOOT_WANTED;
}

/* The driver runs it, whatever it is still good for. */
static bool is_out(enum remote_list_state state)
{
	return state >= LIST_RUNNING;
}

/* Keeps the counts of all lists in step. */
static void set_state(struct sched *sched, struct remote_list *list,
                      enum remote_list_state state)
{
	PL_ASSERT((states_after[list->state] & BIT(state)) != 0);
	sched->remote_lists.wanted += is_wanted(state);
	sched->remote_lists.wanted -= is_wanted(list->state);
	sched->remote_lists.out += is_out(state);
	sched->remote_lists.out -= is_out(list->state);
	list->state = state;
}

static void set_contents(struct sched *sched, struct remote_list *list,
                         enum remote_list_contents contents)
{
	sched->remote_lists.known += contents != LIST_UNKNOWN;
	sched->remote_lists.known -= list->contents != LIST_UNKNOWN;
	list->contents = contents;
}

void remote_list_set_stale(struct sched *sched, uint32_t partition)
{
	struct remote_list *list = list_of(sched, partition);

	if (list->contents == LIST_KNOWN)
		set_contents(sched, list, LIST_STALE);
}

bool remote_knows(const struct sched *sched, uint32_t partition)
{
	return sched->fleet_view.known ||
	       remote_list_is_known(&sched->partition[partition].remote_list);
}

bool remote_follows(const struct sched *sched, uint32_t partition)
{
	const struct remote_list *list = &sched->partition[partition].remote_list;

	return remote_knows(sched, partition) || fleet_view_is_on(&sched->fleet_view) ||
	       list->state == LIST_RUNNING || list->state == LIST_SPOILED;
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
	/* The records that a running list has brought so far are forgotten, too. */
	if (part->remote_list.state == LIST_RUNNING)
		set_state(sched, &part->remote_list, LIST_SPOILED);
	PL_LIST_EACH (link, &part->nodes) {
		struct sched_node *node =
			PL_LIST_ITEM(link, struct sched_node, of_partition);

		any_excluded = any_excluded || node->excluded_ms != 0;
		node_forget(sched, node);
	}
	/* A forgotten node can not report that its exclusion is over. */
	if (any_excluded)
		digest_entry_recheck(sched, partition);
}

/* No remote list has the nodes any more. While the fleet view is being listed they stay:
 * the view does not bring again what it has brought. */
static void release_nodes(struct sched *sched, uint32_t partition)
{
	if (fleet_view_is_on(&sched->fleet_view))
		remote_reconcile(sched, partition);
	else
		remote_forget(sched, partition);
}

/* -- requests ----------------------------------------------------------------- */

void remote_list_request(struct sched *sched, uint32_t partition)
{
	struct remote_list *list = list_of(sched, partition);

	PL_ASSERT(!sched->partition[partition].owned);
	if (list->state == LIST_IDLE)
		set_state(sched, list, LIST_WANTED);
	else if (list->state == LIST_MOOT)
		set_state(sched, list, LIST_MOOT_WANTED);
}

static bool is_list_due(struct sched *sched, uint32_t partition)
{
	const struct remote_list *list = list_of(sched, partition);

	return list->state == LIST_WANTED && list->after_ms <= sched->now_ms;
}

/* Partitions take turns, so that none of them waits for ever. */
bool remote_list_next(struct sched *sched, uint32_t *partition)
{
	struct remote_lists *lists = &sched->remote_lists;
	struct sched_partition *part;
	uint32_t left = sched->opts.partitions;

	if (lists->wanted == 0 || lists->out == LISTS_OUT_MAX)
		return false;
	while (!is_list_due(sched, lists->next)) {
		lists->next = (lists->next + 1) % sched->opts.partitions;
		if (--left == 0)
			return false;
	}
	part = &sched->partition[lists->next];
	set_state(sched, &part->remote_list, LIST_RUNNING);
	part->remote_list.began_ms = sched->now_ms;
	part->generation[SCHED_NODES]++;
	part->generation[SCHED_ALLOCS]++;
	*partition = lists->next;
	return true;
}

static void forget_list(struct sched *sched, uint32_t partition)
{
	struct remote_list *list = list_of(sched, partition);

	set_contents(sched, list, LIST_UNKNOWN);
	list->all_read = false;
	list->read = 0;
}

void remote_list_drop(struct sched *sched, uint32_t partition)
{
	struct remote_list *list = list_of(sched, partition);

	if (list->state == LIST_WANTED)
		set_state(sched, list, LIST_IDLE);
	else if (is_out(list->state) && list->state != LIST_MOOT)
		set_state(sched, list, LIST_MOOT);
	list->after_ms = 0;
	remote_list_ok(sched, partition);
	forget_list(sched, partition);
	remote_wake_listed(sched);
}

/* A partition that is listed quickly is listed often: most conflicts come from outdated
 * lists. */
static uint64_t fresh_for_ms(uint64_t took_ms)
{
	uint64_t ms = took_ms * LIST_FRESH_TIMES;

	if (ms < LIST_FRESH_MS)
		return LIST_FRESH_MS;
	return ms < LIST_FRESH_MAX_MS ? ms : LIST_FRESH_MAX_MS;
}

static bool is_list_fresh(const struct sched *sched, const struct remote_list *list)
{
	uint64_t age_ms = sched->now_ms - list->at_ms;

	return remote_list_is_known(list) && age_ms < list->fresh_ms &&
	       (list->contents == LIST_KNOWN || age_ms < LIST_PAUSE_MS);
}

bool remote_list_is_fresh(struct sched *sched, uint32_t partition)
{
	struct remote_list *list = list_of(sched, partition);
	uint64_t age_ms = sched->now_ms - list->at_ms;

	if (sched->fleet_view.revision != 0)
		return true;
	if (!remote_list_is_known(list))
		return false;
	list->used_ms = sched->now_ms;
	if (list->contents == LIST_STALE || age_ms >= list->fresh_ms / 2)
		remote_list_request(sched, partition);
	return is_list_fresh(sched, list);
}

bool remote_list_is_due(const struct sched *sched, uint32_t partition)
{
	const struct remote_list *list = &sched->partition[partition].remote_list;

	return is_list_fresh(sched, list) ||
	       (remote_list_is_known(list) && list->state == LIST_IDLE);
}

/* -- what the driver brings ----------------------------------------------------- */

static bool is_list_on(struct sched *sched, uint32_t partition)
{
	const struct remote_list *list = list_of(sched, partition);

	return (list->state == LIST_RUNNING || list->state == LIST_SPOILED) &&
	       !sched->partition[partition].owned;
}

/* Malformed keys are passed over: the partition's owner reports them. */
void sched_remote_list_records(struct sched *sched, uint32_t partition,
                               const struct kv_record *records, size_t count)
{
	struct remote_list *list = list_of(sched, partition);
	struct keys_id id;

	for (size_t i = 0; i < count && is_list_on(sched, partition); i++)
		if (keys_parse(records[i].key, &id, NULL) == PL_OK &&
		    (id.kind == KEYS_NODE || id.kind == KEYS_ALLOC) &&
		    id.partition == partition &&
		    !cache_apply(sched, &id, &records[i], false) &&
		    list->state == LIST_RUNNING)
			set_state(sched, list, LIST_SPOILED);
}

/* The fact is older than the list, which did not bring it. */
static bool is_fact_gone(const struct sched_partition *part,
                         const struct sched_node *node, enum sched_part of,
                         int64_t revision)
{
	enum fact fact = of == SCHED_NODES ? FACT_NODE : FACT_ALLOC;

	return node->rev[fact] != 0 && node->rev[fact] <= revision &&
	       node->seen[fact] != part->generation[of];
}

/* Both facts are judged first: the first sweep may free the node. */
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

/* Gives the state that the list ended in: RUNNING, SPOILED, or MOOT. */
static enum remote_list_state list_ended(struct sched *sched, uint32_t partition)
{
	struct remote_list *list = list_of(sched, partition);
	enum remote_list_state ended =
		is_list_on(sched, partition) ? list->state : LIST_MOOT;

	PL_ASSERT(is_out(list->state));
	set_state(sched, list, is_wanted(list->state) ? LIST_WANTED : LIST_IDLE);
	return ended;
}

/* The list that ended brought nothing that counts. */
static void reconcile_unseen(struct sched *sched, uint32_t partition)
{
	/* An earlier list is too old for anything by now. */
	if (remote_list_keeps_failing(sched, partition))
		forget_list(sched, partition);
	if (!sched->partition[partition].owned && !remote_knows(sched, partition))
		release_nodes(sched, partition);
}

void sched_remote_list_failed(struct sched *sched, uint32_t partition,
                              const struct pl_err *why)
{
	if (list_ended(sched, partition) != LIST_MOOT)
		remote_list_on_failed(sched, partition, why);
	reconcile_unseen(sched, partition);
}

static void list_not_kept(struct sched *sched, uint32_t partition)
{
	struct pl_err err = {0};

	(void)pl_err_set(&err, PL_NOMEM, "keep what a remote list brings");
	remote_list_on_failed(sched, partition, &err);
	reconcile_unseen(sched, partition);
}

static void list_is_complete(struct sched *sched, uint32_t partition, int64_t revision)
{
	struct remote_list *list = list_of(sched, partition);

	remote_list_ok(sched, partition);
	sweep_nodes(sched, &sched->partition[partition], revision);
	set_contents(sched, list, LIST_KNOWN);
	pending_status_recheck(sched);
	list->all_read = false; /* other pods may stand there by now */
	list->revision = revision;
	list->at_ms = list->used_ms = sched->now_ms;
	list->fresh_ms = fresh_for_ms(sched->now_ms - list->began_ms);
	if (sched->remote_lists.due_ms == 0)
		sched->remote_lists.due_ms = sched->now_ms + LIST_KEPT_MS;
	remote_reconcile(sched, partition);
	remote_wake_listed(sched);
}

void sched_remote_list_end(struct sched *sched, uint32_t partition, int64_t revision)
{
	enum remote_list_state ended = list_ended(sched, partition);

	PL_ASSERT(revision > 0);
	if (ended == LIST_MOOT)
		reconcile_unseen(sched, partition);
	else if (ended == LIST_SPOILED)
		list_not_kept(sched, partition);
	else
		list_is_complete(sched, partition, revision);
}

/* -- age ------------------------------------------------------------------------ */

void remote_lists_run(struct sched *sched)
{
	struct remote_lists *lists = &sched->remote_lists;
	uint64_t due_ms = UINT64_MAX;

	if (lists->due_ms == 0 || sched->now_ms < lists->due_ms)
		return;
	for (uint32_t i = 0; i < sched->opts.partitions && lists->known > 0; i++) {
		struct remote_list *list = list_of(sched, i);
		uint64_t end_ms = list->used_ms + LIST_KEPT_MS;

		if (!remote_list_is_known(list))
			continue;
		if (end_ms <= sched->now_ms && !is_out(list->state)) {
			forget_list(sched, i);
			if (!sched->fleet_view.known)
				release_nodes(sched, i);
		} else {
			due_ms = end_ms < due_ms ? end_ms : due_ms;
		}
	}
	if (due_ms <= sched->now_ms)
		due_ms = sched->now_ms + LIST_KEPT_MS;
	lists->due_ms = lists->known == 0 ? 0 : due_ms;
}

uint64_t remote_lists_deadline_ms(const struct sched *sched)
{
	const struct remote_lists *lists = &sched->remote_lists;
	uint64_t at_ms = lists->due_ms == 0 ? UINT64_MAX : lists->due_ms;

	for (uint32_t i = 0; lists->wanted > 0 && i < sched->opts.partitions; i++) {
		const struct remote_list *list = &sched->partition[i].remote_list;

		if (is_wanted(list->state) && list->after_ms > sched->now_ms &&
		    list->after_ms < at_ms)
			at_ms = list->after_ms;
	}
	return at_ms;
}
