#include "coord/shard/shard_int.h"

/*
 * The choice of a joining shard's salt, once it sees all the others: the active shards
 * with the salts of their records, then the shards that join at the moment and came
 * before it, with the salts that they will choose by the same rule.
 */

/* If more shards join at once, each chooses as if it were alone: computing the choices
 * of all the others would take quadratic time in each of them. */
enum { JOINERS_MAX = 16 };

bool join_ready(const struct shard *shard)
{
	return shard->up && shard->peers_known && !shard->peers_stale &&
	       shard->view_synced && shard->config_synced && shard->config != NULL &&
	       shard->roster != NULL && roster_synced(shard->roster) &&
	       roster_get(shard->roster, shard_id(shard)) != NULL;
}

/* The joining shards that came before us, in their order; JOINERS_MAX + 1: too many. */
static unsigned list_joiners(const struct shard *shard, int64_t before,
                             const struct roster_entry *out[JOINERS_MAX])
{
	const struct roster_entry *entry = roster_first(shard->roster);
	unsigned count = 0;

	for (; entry != NULL; entry = roster_next(shard->roster, entry)) {
		unsigned at;

		if (entry->malformed || entry->member.state != MEMBERSHIP_JOINING ||
		    entry->create_revision >= before)
			continue;
		if (count == JOINERS_MAX)
			return JOINERS_MAX + 1;
		for (at = count++;
		     at > 0 && out[at - 1]->create_revision > entry->create_revision;
		     at--)
			out[at] = out[at - 1];
		out[at] = entry;
	}
	return count;
}

static void add_joiner(const struct shard *shard, struct assign *view,
                       const struct roster_entry *entry)
{
	struct pl_span id = entry->member.id;
	uint32_t weight = peers_weight(shard, id, entry->member.weight);
	uint32_t salt = entry->member.salt;

	if (weight == 0)
		return;
	if (salt == 0)
		salt = assign_choose(view, id, weight);
	/* Without memory the view is a little less exact. */
	if (assign_put_salted(view, id, weight, salt, NULL) != PL_OK)
		return;
}

/* 0 if it can not be computed: the shares are then less even. */
uint32_t join_salt(const struct shard *shard)
{
	const struct roster_entry *own = roster_get(shard->roster, shard_id(shard));
	const struct roster_entry *others[JOINERS_MAX];
	uint32_t weight, salt = 0;
	struct assign *view = NULL;
	unsigned count;

	PL_ASSERT(own != NULL);
	if (assign_copy(shard->assign, &view, NULL) != PL_OK)
		return 0;
	count = list_joiners(shard, own->create_revision, others);
	for (unsigned i = 0; i < count && count <= JOINERS_MAX; i++)
		add_joiner(shard, view, others[i]);
	weight = peers_weight(shard, shard_id(shard), shard->opts.weight);
	/* An earlier record of this shard may still be in the assignment. */
	assign_del(view, shard_id(shard));
	if (weight != 0)
		salt = assign_choose(view, shard_id(shard), weight);
	assign_free(view);
	return salt;
}
