/*
 * A turn of the core: every subsystem does what is due, in the order of the table, and
 * says when it has to run again. Whatever a subsystem derives is seen by those after it in
 * the same turn. sched_next then hands out what the turn has made.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/label_promotion.h"
#include "shardsched/shard/pending_status.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/preemption.h"
#include "shardsched/shard/termination/termination.h"
#include "shardsched/shard/txn/batch.h"
#include "shardsched/shard/txn/commit.h"
#include "shardsched/shard/txn/inflight.h"

static uint64_t earlier_ms(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* 0 stands for a time that is not set. */
static uint64_t if_set_ms(uint64_t at_ms)
{
	return at_ms == 0 ? UINT64_MAX : at_ms;
}

/* -- parts of a turn that have no file of their own ---------------------------------- */

/* Tries again what failed for want of memory or room. */
static void repair_run(struct sched *sched)
{
	if (sched->repair_ms == 0 || sched->now_ms < sched->repair_ms)
		return;
	sched->repair_ms = 0;
	sched->promotion_failed = sched->shrunk = false;
	if (sched->gang_records.missed)
		report_relist_view(sched, SCHED_GANGS);
	fleet_view_repair(sched);
	PL_MAP_EACH (at, &sched->nodes) {
		struct sched_node *node = PL_CONTAINER_OF(at, struct sched_node, by_name);

		node->full = false;
		node_reconcile(sched, node);
	}
	PODS_EACH(pod, sched)
	{
		pod->flags &= (uint16_t)~POD_REFUSED;
		pod_reconcile(sched, pod);
	}
	preemption_clear_exempt(sched);
}

static uint64_t repair_deadline_ms(const struct sched *sched)
{
	return if_set_ms(sched->repair_ms);
}

static uint64_t uncounted_deadline_ms(const struct sched *sched)
{
	return if_set_ms(sched->uncounted_ms);
}

static void retry_run(struct sched *sched)
{
	for (unsigned i = 0; i < SCHED_TXNS; i++)
		if (sched->txn[i].state == TXN_RETRY &&
		    sched->txn[i].at_ms <= sched->now_ms)
			txn_set_state(&sched->txn[i], TXN_NEW);
}

static uint64_t retry_deadline_ms(const struct sched *sched)
{
	uint64_t at_ms = UINT64_MAX;

	for (unsigned i = 0; i < SCHED_TXNS; i++)
		if (sched->txn[i].state == TXN_RETRY)
			at_ms = earlier_ms(at_ms, sched->txn[i].at_ms);
	return at_ms;
}

static uint64_t migration_deadline_ms(const struct sched *sched)
{
	return is_migrating(sched) ? 0 : UINT64_MAX;
}

/* Places pods on nodes, and puts nodes into txns. Gangs and batches are part of it: they
 * run between the others. */
static void placement_run(struct sched *sched)
{
	bool promoted = label_promotion_run(sched);

	if (promoted)
		queue_run(sched->queue, sched->now_ms);
	disruption_run(sched);
	batch_run(sched);
	if (promoted)
		gangs_run(sched);
	if (promoted)
		sched->turn_tried = decide_run(sched, sched->turn_work);
	batch_run(sched);
	if (promoted)
		large_gangs_run(sched);
	commit_run(sched);
}

static uint64_t placement_deadline_ms(const struct sched *sched)
{
	if (decide_is_ready(sched) || commit_is_ready(sched) || batch_is_ready(sched) ||
	    sched->disruption.review)
		return 0;
	return sched->promotion_failed ? UINT64_MAX : queue_deadline_ms(sched->queue);
}

static uint64_t remote_deadline_ms(const struct sched *sched)
{
	return remote_commit_is_ready(sched) ? 0 : remote_commit_deadline_ms(sched);
}

/* -- the table ------------------------------------------------------------------------ */

/* A row of the turn. NULL: the subsystem has no such part. */
struct subsystem {
	const char *name;
	void (*run)(struct sched *sched);
	uint64_t (*deadline_ms)(const struct sched *sched); /* 0: now */
	void (*check)(const struct sched *sched);
	bool waits; /* the subsystem does not run while pods migrate */
};

/* Rows after the migration rely on it having gone as far as this turn lets it. */
static const struct subsystem subsystems[] = {
	{"lock backoff", lock_backoff_run, lock_backoff_deadline_ms, NULL, false},
	{"rules", rules_tidy, NULL, NULL, false},
	{"repair", repair_run, repair_deadline_ms, NULL, false},
	{"cooldown", cooldown_run, cooldown_deadline_ms, NULL, false},
	{"uncounted nodes", nodes_retry_uncounted, uncounted_deadline_ms, NULL, false},
	{"txn retries", retry_run, retry_deadline_ms, NULL, false},
	{"mismatches", mismatch_run, mismatch_deadline_ms, NULL, false},
	{"reservations", reservations_run, reservations_deadline_ms, NULL, false},
	{"departures", departures_run, departures_deadline_ms, NULL, false},
	{"migration", config_migrate_run, migration_deadline_ms, NULL, false},
	{"placement", placement_run, placement_deadline_ms, NULL, true},
	{"gangs", NULL, gangs_deadline_ms, gangs_check, false},
	{"large gangs", NULL, large_gangs_deadline_ms, large_gangs_check, false},
	{"disruption", NULL, NULL, disruption_check, false},
	{"taint eviction", taint_eviction_run, taint_eviction_deadline_ms, NULL, false},
	{"termination", termination_run, termination_deadline_ms, NULL, false},
	{"remote commits", remote_commit_run, remote_deadline_ms, NULL, true},
	{"pending status", pending_status_run, pending_status_deadline_ms, NULL, false},
	{"registration", registration_run, registration_deadline_ms, NULL, false},
	{"spec reads", spec_reads_run, spec_reads_deadline_ms, NULL, false},
	{"remote lists", remote_lists_run, remote_lists_deadline_ms, NULL, false},
	{"fleet view", NULL, fleet_view_deadline_ms, NULL, false},
	{"own digest", own_digest_run, own_digest_deadline_ms, NULL, false},
};

enum { SUBSYSTEMS = sizeof subsystems / sizeof subsystems[0] };

unsigned sched_run(struct sched *sched, uint64_t now_ms, int64_t wall_ms, unsigned work)
{
	PL_ASSERT(now_ms >= sched->now_ms);
	sched->now_ms = now_ms;
	sched->wall_ms = wall_ms;
	sched_measure_at(sched, now_ms);
	sched->turn_work = work;
	sched->turn_tried = 0;
	for (unsigned i = 0; i < SUBSYSTEMS; i++)
		if (subsystems[i].run != NULL &&
		    !(subsystems[i].waits && is_migrating(sched)))
			subsystems[i].run(sched);
	return sched->turn_tried;
}

uint64_t sched_deadline_ms(const struct sched *sched)
{
	uint64_t at_ms = UINT64_MAX;

	for (unsigned i = 0; i < SUBSYSTEMS && at_ms > 0; i++)
		if (subsystems[i].deadline_ms != NULL)
			at_ms = earlier_ms(at_ms, subsystems[i].deadline_ms(sched));
	return at_ms;
}

void subsystems_check(const struct sched *sched)
{
	for (unsigned i = 0; i < SUBSYSTEMS; i++)
		if (subsystems[i].check != NULL)
			subsystems[i].check(sched);
}

/* -- what the driver does ------------------------------------------------------------- */

bool sched_next(struct sched *sched, struct sched_action *out)
{
	uint32_t partition;

	if (report_next(sched, out))
		return true;
	if (remote_list_next(sched, &partition)) {
		*out = (struct sched_action){.what = SCHED_REMOTE_LIST,
		                             .partition = partition};
		return true;
	}
	for (uint32_t i = 0; i < SCHED_TXNS; i++) {
		struct shard_txn *txn = &sched->txn[i];

		if (txn->state != TXN_NEW)
			continue;
		txn_set_state(txn, TXN_SENT);
		txn->attempts++;
		*out = (struct sched_action){.what = SCHED_TXN,
		                             .txn = i,
		                             .req = txn->req,
		                             .timeout_ms = sched->opts.txn_timeout_ms};
		return true;
	}
	return false;
}
