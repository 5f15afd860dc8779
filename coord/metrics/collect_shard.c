#include "coord/metrics/collect.h"
#include "store/kv/guarded.h"

void collect_work(struct metric_set *set, struct pl_span shard, const struct work *work)
{
	struct work_metrics metrics;

	work_metrics(work, &metrics);
	metric_add(set, M_RELISTS, METRIC_VALUES(PL_SPAN_LIT("part")),
	           (double)metrics.lists[WORK_LIST_PART]);
	metric_add(set, M_RELISTS, METRIC_VALUES(PL_SPAN_LIT("view")),
	           (double)metrics.lists[WORK_LIST_VIEW]);
	metric_fold(set, M_WATCH_LAG_SECONDS, NULL, &metrics.lag_ms, 1e-3);
	metric_put(set, M_WATCH_LAG_REVISIONS, METRIC_VALUES(shard),
	           (double)metrics.lag_revisions);
	metric_fold(set, M_OPENING_SECONDS, NULL, &metrics.opening_ms, 1e-3);
	metric_fold(set, M_TURN_SECONDS, NULL, &metrics.turn_ns, 1e-9);
	metric_add(set, M_PARTITIONS_OPEN, METRIC_VALUES(shard), work_opened(work));
	if (work_sched(work) != NULL)
		collect_sched(set, shard, work_sched(work));
}

/* -- the shard ----------------------------------------------------------------------------- */

/* False: no member has said its load. */
static bool imbalance(const struct roster *roster, double *out)
{
	double all = 0, most = 0;
	unsigned members = 0;

	for (const struct roster_entry *entry = roster_first(roster); entry != NULL;
	     entry = roster_next(roster, entry)) {
		double load = 0;

		if (entry->malformed || entry->member.state != MEMBERSHIP_ACTIVE)
			continue;
		for (uint32_t i = 0;
		     entry->member.loads != NULL && i < entry->member.partition_count;
		     i++)
			load += entry->member.loads[i];
		all += load;
		most = load > most ? load : most;
		members++;
	}
	if (all <= 0)
		return false;
	*out = most * members / all;
	return true;
}

static void collect_guard(struct metric_set *set, struct shard *shard)
{
	const struct kv *kv = shard_kv(shard);
	const struct guarded_metrics *guarded;

	if (kv == NULL)
		return;
	guarded = guarded_metrics(kv);
	metric_add(set, M_GUARDED_WRITES, METRIC_VALUES(PL_SPAN_LIT("sent")),
	           (double)guarded->writes);
	metric_add(set, M_GUARDED_WRITES, METRIC_VALUES(PL_SPAN_LIT("fenced")),
	           (double)guarded->fenced);
	metric_add(set, M_GUARDED_WRITES, METRIC_VALUES(PL_SPAN_LIT("refused")),
	           (double)guarded->refused);
}

void collect_shard(struct metric_set *set, struct pl_span id, struct shard *shard,
                   struct kv *kv)
{
	struct pl_span state = pl_span_str(membership_state_name(shard_state(shard)));
	uint64_t now_ms = kv_now_ms(kv), safe_ms = shard_safe_until_ms(shard);
	double ratio;

	metric_put(set, M_PARTITIONS, NULL, shard_partitions(shard));
	metric_put(set, M_PARTITIONS_OWNED, METRIC_VALUES(id), shard_owned(shard));
	metric_put(set, M_SHARD_STATE, METRIC_VALUES(id, state), 1);
	metric_put(set, M_LEASE_SECONDS, METRIC_VALUES(id),
	           safe_ms > now_ms ? (double)(safe_ms - now_ms) / 1000 : 0);
	collect_guard(set, shard);
	if (shard_roster(shard) == NULL)
		return;
	metric_put(set, M_MEMBERS, NULL, (double)roster_count(shard_roster(shard)));
	if (imbalance(shard_roster(shard), &ratio))
		metric_put(set, M_IMBALANCE, NULL, ratio);
}

/* -- notes --------------------------------------------------------------------------------- */

static void count_event(struct metric_set *set, const char *event)
{
	metric_add(set, M_SHARD_EVENTS, METRIC_VALUES(pl_span_str(event)), 1);
}

static void count_change(struct metric_set *set, const char *change, const char *reason)
{
	metric_add(set, M_PARTITION_CHANGES,
	           METRIC_VALUES(pl_span_str(change), pl_span_str(reason)), 1);
}

static const char *lost_reason(enum claims_why why)
{
	static const char *const names[] = {
		[CLAIMS_KEPT] = "kept",     [CLAIMS_HANDED_OVER] = "handed_over",
		[CLAIMS_GONE] = "gone",     [CLAIMS_SESSION] = "session",
		[CLAIMS_FENCED] = "fenced", [CLAIMS_REWOUND] = "rewound",
		[CLAIMS_CLOSED] = "closed",
	};

	return names[why];
}

void collect_note(struct metric_set *set, const struct shard_note *note)
{
	switch (note->what) {
	case SHARD_META:
	case SHARD_CLOSED:
		return;
	case SHARD_UP:
		count_event(set, "up");
		return;
	case SHARD_ACTIVE:
		count_event(set, "active");
		return;
	case SHARD_DRAINING:
		count_event(set, "draining");
		return;
	case SHARD_DRAINED:
		count_event(set, "drained");
		return;
	case SHARD_DOUBT:
		count_event(set, "doubt");
		return;
	case SHARD_DOWN:
		count_event(set, "down");
		return;
	case SHARD_OWN:
		count_change(set, "own", "");
		return;
	case SHARD_QUIESCE:
		count_change(set, "quiesce", "");
		return;
	case SHARD_LOST:
		count_change(set, "lost", lost_reason(note->why));
		return;
	case SHARD_FENCED:
		count_change(set, "fenced", "");
		return;
	case SHARD_MALFORMED:
		count_event(set, "malformed");
		return;
	case SHARD_CONFIG:
		count_event(set, note->err == NULL ? "config" : "config_refused");
		return;
	case SHARD_LEAD:
	case SHARD_FOLLOW:
		metric_put(set, M_LEADING, METRIC_VALUES(pl_span_str(note->role)),
		           note->what == SHARD_LEAD);
		return;
	case SHARD_BALANCED:
		count_event(set, "balanced");
		metric_add(set, M_MOVES, NULL, note->moves);
		return;
	case SHARD_SWEPT:
		count_event(set, note->key.len == 0 ? "compacted" : "swept");
		return;
	case SHARD_REWOUND:
		count_event(set, "rewound");
		return;
	case SHARD_TROUBLE:
		metric_add(set, M_TROUBLES, METRIC_VALUES(pl_span_str(note->part)), 1);
		return;
	case SHARD_REFUSED:
		count_event(set, "refused");
		return;
	}
}
