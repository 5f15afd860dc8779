/*
 * Visits: nodes and allocs of a partition of somebody else, listed once, at one revision,
 * to look for a node there. What was seen grows old: a commit on it fails when it is not
 * so any more, and brings what is. What nobody uses is forgotten.
 */
#include "shardsched/shard/inner.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/unsched.h"

enum {
	VISITS_OUT_MAX = 4,
	VISIT_KEPT_MS = 30000,     /* after its last use */
	VISIT_FRESH_MS = 100,      /* at least, */
	VISIT_FRESH_MAX_MS = 1000, /* at most, and between: */
	VISIT_FRESH_TIMES = 10,    /* as long as listing it took */
	VISIT_PAUSE_MS = 50,       /* what is so young is not listed again */
};

static struct visit *of(struct sched *sched, uint32_t partition)
{
	PL_ASSERT(partition < sched->opts.partitions);
	return &sched->partition[partition].visit;
}

bool abroad_knows(const struct sched *sched, uint32_t partition)
{
	return sched->whole.known || sched->partition[partition].visit.known;
}

bool abroad_follows(const struct sched *sched, uint32_t partition)
{
	const struct visit *visit = &sched->partition[partition].visit;

	return abroad_knows(sched, partition) || sched->whole.begun ||
	       (visit->out && !visit->moot);
}

void abroad_settle(struct sched *sched, uint32_t partition)
{
	PL_LIST_EACH (link, &sched->partition[partition].nodes)
		node_settle(sched, PL_LIST_ITEM(link, struct sched_node, of_partition));
}

void abroad_forget(struct sched *sched, uint32_t partition)
{
	struct sched_partition *part = &sched->partition[partition];
	bool aside = false;

	PL_ASSERT(!part->owned);
	if (part->visit.out) /* what it has brought by now goes, too */
		part->visit.failed = true;
	PL_LIST_EACH (link, &part->nodes) {
		struct sched_node *node =
			PL_LIST_ITEM(link, struct sched_node, of_partition);

		aside = aside || node->aside_ms != 0;
		node_forget(sched, node);
	}
	if (aside) /* nobody would hear that it is not any more */
		offer_doubt(sched, partition);
}

/* No visit has them any more. What the view, which is being listed, has brought by now it
 * does not bring again. */
static void let_go(struct sched *sched, uint32_t partition)
{
	if (sched->whole.begun)
		abroad_settle(sched, partition);
	else
		abroad_forget(sched, partition);
}

/* -- to be made -------------------------------------------------------- */

void visit_want(struct sched *sched, uint32_t partition)
{
	struct visit *visit = of(sched, partition);

	PL_ASSERT(!sched->partition[partition].owned);
	if (visit->wanted || (visit->out && !visit->moot))
		return;
	visit->wanted = true;
	sched->visits.wanted++;
}

static bool is_due(struct sched *sched, uint32_t partition)
{
	const struct visit *visit = of(sched, partition);

	return visit->wanted && !visit->out && visit->after_ms <= sched->now_ms;
}

/* In turn, so that none waits for ever. */
bool visit_next(struct sched *sched, uint32_t *partition)
{
	struct visits *visits = &sched->visits;
	struct sched_partition *part;
	uint32_t left = sched->opts.partitions;

	if (visits->wanted == 0 || visits->out == VISITS_OUT_MAX)
		return false;
	while (!is_due(sched, visits->next)) {
		visits->next = (visits->next + 1) % sched->opts.partitions;
		if (--left == 0)
			return false;
	}
	part = &sched->partition[visits->next];
	part->visit.wanted = part->visit.moot = part->visit.failed = false;
	part->visit.out = true;
	part->visit.begun_ms = sched->now_ms;
	visits->wanted--;
	visits->out++;
	part->generation[SCHED_NODES]++;
	part->generation[SCHED_ALLOCS]++;
	*partition = visits->next;
	return true;
}

static void forget(struct sched *sched, uint32_t partition)
{
	struct visit *visit = of(sched, partition);

	sched->visits.known -= visit->known;
	visit->known = visit->all_read = false;
	visit->read = 0;
}

void visit_drop(struct sched *sched, uint32_t partition)
{
	struct visit *visit = of(sched, partition);

	sched->visits.wanted -= visit->wanted;
	visit->wanted = false;
	visit->moot = visit->out;
	visit->after_ms = 0;
	visit_well(sched, partition);
	forget(sched, partition);
	abroad_visited(sched);
}

/* What is listed quickly is listed often: most conflicts come from what is old. */
static uint64_t fresh_ms(uint64_t took_ms)
{
	uint64_t ms = took_ms * VISIT_FRESH_TIMES;

	if (ms < VISIT_FRESH_MS)
		return VISIT_FRESH_MS;
	return ms < VISIT_FRESH_MAX_MS ? ms : VISIT_FRESH_MAX_MS;
}

static bool is_fresh(const struct sched *sched, const struct visit *visit)
{
	uint64_t age_ms = sched->now_ms - visit->at_ms;

	return visit->known && age_ms < visit->fresh_ms &&
	       (!visit->stale || age_ms < VISIT_PAUSE_MS);
}

bool visit_is_fresh(struct sched *sched, uint32_t partition)
{
	struct visit *visit = of(sched, partition);
	uint64_t age_ms = sched->now_ms - visit->at_ms;

	if (sched->whole.revision != 0)
		return true;
	if (!visit->known)
		return false;
	visit->used_ms = sched->now_ms;
	if (visit->stale || age_ms >= visit->fresh_ms / 2)
		visit_want(sched, partition);
	return is_fresh(sched, visit);
}

bool visit_is_due(const struct sched *sched, uint32_t partition)
{
	const struct visit *visit = &sched->partition[partition].visit;

	return is_fresh(sched, visit) || (visit->known && !visit->wanted && !visit->out);
}

/* -- what is seen ------------------------------------------------------ */

static bool is_on(struct sched *sched, uint32_t partition)
{
	const struct visit *visit = of(sched, partition);

	return visit->out && !visit->moot && !sched->partition[partition].owned;
}

/* What is garbled is told by who owns it. */
void sched_visit_records(struct sched *sched, uint32_t partition,
                         const struct kv_record *records, size_t count)
{
	struct keys_id id;

	for (size_t i = 0; i < count && is_on(sched, partition); i++)
		if (keys_parse(records[i].key, &id, NULL) == PL_OK &&
		    (id.kind == KEYS_NODE || id.kind == KEYS_ALLOC) &&
		    id.partition == partition &&
		    !news_take(sched, &id, &records[i], false))
			of(sched, partition)->failed = true;
}

static bool is_gone(const struct sched_partition *part, const struct sched_node *node,
                    enum sched_part of, int64_t revision)
{
	enum fact fact = of == SCHED_NODES ? FACT_NODE : FACT_ALLOC;

	return node->rev[fact] != 0 && node->rev[fact] <= revision &&
	       node->seen[fact] != part->generation[of];
}

static void sweep(struct sched *sched, struct sched_partition *part, int64_t revision)
{
	PL_LIST_EACH (link, &part->nodes) {
		struct sched_node *node =
			PL_LIST_ITEM(link, struct sched_node, of_partition);
		bool alloc = is_gone(part, node, SCHED_ALLOCS, revision);

		if (is_gone(part, node, SCHED_NODES, revision))
			news_sweep_node(sched, node, FACT_NODE, revision);
		if (alloc)
			news_sweep_node(sched, node, FACT_ALLOC, revision);
	}
}

/* True: what was listed is of use. */
static bool come_back(struct sched *sched, uint32_t partition)
{
	struct visit *visit = of(sched, partition);
	bool on = is_on(sched, partition);

	PL_ASSERT(visit->out);
	visit->out = false;
	sched->visits.out--;
	return on;
}

static void settle_unseen(struct sched *sched, uint32_t partition)
{
	if (visit_fails(sched, partition)) /* too old for anything by now */
		forget(sched, partition);
	if (!sched->partition[partition].owned && !abroad_knows(sched, partition))
		let_go(sched, partition);
}

void sched_visit_failed(struct sched *sched, uint32_t partition, const struct pl_err *why)
{
	if (come_back(sched, partition))
		visit_failed(sched, partition, why);
	settle_unseen(sched, partition);
}

static void end_unkept(struct sched *sched, uint32_t partition)
{
	struct pl_err err = {0};

	(void)pl_err_set(&err, PL_NOMEM, "what was listed could not be kept");
	visit_failed(sched, partition, &err);
	settle_unseen(sched, partition);
}

void sched_visit_end(struct sched *sched, uint32_t partition, int64_t revision)
{
	struct visit *visit = of(sched, partition);

	PL_ASSERT(revision > 0);
	if (!come_back(sched, partition)) {
		settle_unseen(sched, partition);
		return;
	}
	if (visit->failed) {
		end_unkept(sched, partition);
		return;
	}
	visit_well(sched, partition);
	sweep(sched, &sched->partition[partition], revision);
	sched->visits.known += !visit->known;
	visit->known = true;
	unsched_learn(sched);
	visit->stale = visit->all_read = false; /* others may have come */
	visit->revision = revision;
	visit->at_ms = visit->used_ms = sched->now_ms;
	visit->fresh_ms = fresh_ms(sched->now_ms - visit->begun_ms);
	if (sched->visits.due_ms == 0)
		sched->visits.due_ms = sched->now_ms + VISIT_KEPT_MS;
	abroad_settle(sched, partition);
	abroad_visited(sched);
}

/* -- and grows old ----------------------------------------------------- */

void visits_run(struct sched *sched)
{
	struct visits *visits = &sched->visits;
	uint64_t due_ms = UINT64_MAX;

	if (visits->due_ms == 0 || sched->now_ms < visits->due_ms)
		return;
	for (uint32_t i = 0; i < sched->opts.partitions && visits->known > 0; i++) {
		struct visit *visit = of(sched, i);
		uint64_t end_ms = visit->used_ms + VISIT_KEPT_MS;

		if (!visit->known)
			continue;
		if (end_ms <= sched->now_ms && !visit->out) {
			forget(sched, i);
			if (!sched->whole.known)
				let_go(sched, i);
		} else {
			due_ms = end_ms < due_ms ? end_ms : due_ms;
		}
	}
	if (due_ms <= sched->now_ms)
		due_ms = sched->now_ms + VISIT_KEPT_MS;
	visits->due_ms = visits->known == 0 ? 0 : due_ms;
}

uint64_t visits_deadline_ms(const struct sched *sched)
{
	const struct visits *visits = &sched->visits;
	uint64_t at_ms = visits->due_ms == 0 ? UINT64_MAX : visits->due_ms;

	for (uint32_t i = 0; visits->wanted > 0 && i < sched->opts.partitions; i++) {
		const struct visit *visit = &sched->partition[i].visit;

		if (visit->wanted && visit->after_ms > sched->now_ms &&
		    visit->after_ms < at_ms)
			at_ms = visit->after_ms;
	}
	return at_ms;
}
