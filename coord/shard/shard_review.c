#include "coord/shard/shard_int.h"

/*
 * The review: everything that follows from what was recorded, in one go.
 *
 *	members -> joined -> state -> claims' targets, elections -> record -> leaving
 *
 * A shard that has joined stays joined. If its session or its view was lost for a
 * while it comes back in its old state, so that its partitions do not move twice.
 */

enum {
	LEAVE_SEEN_MS = 500,   /* time for the other members to see that this shard
	                        * drains */
	LEAVE_SLACK_MS = 1000, /* for the releases, after the handover */
	TOGETHER_MS = 300,
};

uint64_t shard_handover_ms(const struct shard *shard)
{
	struct config_value coord;

	if (shard->config != NULL)
		return config_watch_value(shard->config, CONFIG_COORD)->coord.handover_ms;
	config_default(CONFIG_COORD, &coord);
	return coord.coord.handover_ms;
}

static void review_joined(struct shard *shard)
{
	const struct config_value *shards;

	if (shard->config != NULL && shard->peers_known) {
		shards = config_watch_value(shard->config, CONFIG_SHARDS);
		shard->drain_ordered = config_drains(&shards->shards, shard_id(shard));
	}
	if (shard->joined || !join_ready(shard))
		return;
	shard->salt = join_salt(shard);
	shard->joined = true;
}

static enum membership_state state_wanted(const struct shard *shard)
{
	if (!shard->joined)
		return MEMBERSHIP_JOINING;
	return shard->drain_ordered || shard->phase == SHARD_PHASE_LEAVE
	               ? MEMBERSHIP_DRAINING
	               : MEMBERSHIP_ACTIVE;
}

static void review_state(struct shard *shard)
{
	enum membership_state state = state_wanted(shard);

	if (shard->state == state)
		return;
	shard->state = state;
	shard->publish = PUBLISH_NOW;
	shard_report(shard, &(struct shard_note){.what = state == MEMBERSHIP_ACTIVE
	                                                         ? SHARD_ACTIVE
	                                                         : SHARD_DRAINING});
}

static void review_drained(struct shard *shard)
{
	bool drained = shard->state == MEMBERSHIP_DRAINING && shard->owned == 0;
	bool was = shard->drained;

	shard->drained = drained;
	if (drained && !was)
		shard_report(shard, &(struct shard_note){.what = SHARD_DRAINED});
}

/* Whether the roster shows this shard as draining. If it released partitions before
 * the others know that it drains, no member would take them. */
static bool seen_draining(const struct shard *shard)
{
	const struct roster_entry *entry =
		shard->roster == NULL ? NULL : roster_get(shard->roster, shard_id(shard));

	return entry != NULL && !entry->malformed &&
	       entry->member.state == MEMBERSHIP_DRAINING;
}

static uint32_t active_here(const struct shard *shard)
{
	const struct roster_entry *entry = roster_first(shard->roster);
	uint32_t count = 0;

	for (; entry != NULL; entry = roster_next(shard->roster, entry)) {
		const struct membership *member = &entry->member;

		count += !entry->malformed && member->state == MEMBERSHIP_ACTIVE &&
		         member->pid == shard->opts.pid &&
		         pl_span_eq(member->boot, pl_span_str(shard->opts.boot)) &&
		         pl_span_eq(member->host, pl_span_str(shard->opts.host));
	}
	return count;
}

/* Whether other shards of this process are still waited for. Of shards that start
 * together the first one would otherwise take everything, begin to work on it, and
 * hand most of it over a moment later. */
static bool is_gathering(struct shard *shard, bool leaving)
{
	uint64_t now = kv_now_ms(shard->kv);

	if (shard->gathered || leaving || shard->roster == NULL)
		return false;
	if (shard->together_ms == 0)
		shard->together_ms = now + TOGETHER_MS;
	shard->gathered = shard->opts.together <= 1 || now >= shard->together_ms ||
	                  active_here(shard) >= shard->opts.together;
	return !shard->gathered;
}

static void review_assign(struct shard *shard)
{
	bool leaving =
		shard->phase == SHARD_PHASE_LEAVE &&
		(seen_draining(shard) || kv_now_ms(shard->kv) >= shard->leave_wait_ms);

	if (shard->claims == NULL || !shard->peers_known ||
	    (!shard->assign_due && shard->leaving == leaving) ||
	    is_gathering(shard, leaving))
		return;
	shard->assign_due = false;
	shard->leaving = leaving;
	claims_assign(shard->claims, shard->assign, leaving);
}

static void review_campaign(struct shard *shard)
{
	bool campaign = shard->up && shard->state == MEMBERSHIP_ACTIVE && !shard->refused;

	for (unsigned i = 0; i < ROLE_COUNT; i++) {
		struct shard_elect *elect = &shard->elect[i];
		uint32_t rank = shard->rank_due ? peers_rank(shard, i) : elect->rank;

		if (elect->elect == NULL || !shard->peers_known ||
		    (elect->reported && elect->campaign == campaign &&
		     elect->rank == rank))
			continue;
		elect->reported = true;
		elect->campaign = campaign;
		elect->rank = rank;
		elect_campaign(elect->elect, campaign, rank);
	}
	shard->rank_due = shard->rank_due && !shard->peers_known;
}

static void review_rewound(struct shard *shard)
{
	if (shard->rewind == REWIND_NONE)
		return;
	if (shard->rewind == REWIND_BEGUN) {
		shard->rewind = REWIND_SPREAD;
		for (unsigned i = 0; i < ROLE_COUNT; i++)
			if (shard->elect[i].elect != NULL)
				elect_rewound(shard->elect[i].elect);
		if (shard->janitor != NULL)
			janitor_rewound(shard->janitor);
		if (shard->part[PART_SESSION] == PART_ON)
			session_look(shard->session);
	}
	if (shard->rewound_left != 0)
		return;
	shard->rewind = REWIND_NONE;
	shard_report(shard, &(struct shard_note){.what = SHARD_REWOUND});
}

static void review_leave_begin(struct shard *shard)
{
	uint64_t now = kv_now_ms(shard->kv);

	if (shard->phase != SHARD_PHASE_LEAVE || shard->leave_end_ms != 0)
		return;
	shard->leave_wait_ms = now + LEAVE_SEEN_MS;
	shard->leave_end_ms = now + shard_handover_ms(shard) + LEAVE_SLACK_MS;
}

/* Without a session no partition is owned, so nothing is to be handed over. */
static void review_leave_end(struct shard *shard)
{
	if (shard->phase != SHARD_PHASE_LEAVE)
		return;
	if (shard->owned == 0 || !shard->up || shard->refused ||
	    kv_now_ms(shard->kv) >= shard->leave_end_ms)
		shard->phase = SHARD_PHASE_STOP;
}

void shard_review(struct shard *shard)
{
	review_leave_begin(shard);
	guard_review(shard);
	peers_review(shard);
	review_joined(shard);
	review_state(shard);
	review_assign(shard);
	review_campaign(shard);
	review_rewound(shard);
	publish_pace(shard);
	publish_review(shard);
	review_drained(shard);
	review_leave_end(shard);
}

uint64_t shard_review_ms(const struct shard *shard)
{
	uint64_t at = peers_deadline_ms(shard);
	uint64_t publish_ms = publish_deadline_ms(shard);

	if (shard->phase == SHARD_PHASE_STOP)
		return UINT64_MAX;
	if (publish_ms < at)
		at = publish_ms;
	if (shard->assign_due && !shard->gathered && shard->together_ms != 0 &&
	    shard->together_ms < at)
		at = shard->together_ms;
	if (shard->phase == SHARD_PHASE_LEAVE && !shard->leaving && shard->peers_known &&
	    shard->leave_wait_ms < at)
		at = shard->leave_wait_ms;
	if (shard->phase == SHARD_PHASE_LEAVE && shard->leave_end_ms < at)
		at = shard->leave_end_ms;
	return at;
}
