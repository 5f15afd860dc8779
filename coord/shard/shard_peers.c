#include <stdlib.h>

#include "coord/shard/shard_int.h"
#include "store/base/alloc.h"

/*
 * The peers: which shards take part in the assignment. An entry of the roster does if
 * it parses, is active, and is not ordered to drain; its weight is that of its record
 * times its factor. Only differences are passed to the assignment, so a refreshed
 * record costs little.
 */

enum { RETRY_MS = 1000 };

static struct shard_peer *peer_of(struct pl_map_node *node)
{
	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct shard_peer, node);
}

static struct shard_peer *peer_new(struct shard *shard, struct pl_span id)
{
	struct shard_peer *peer = pl_calloc(1, sizeof *peer + id.len + 1);
	struct pl_map_node *other;

	if (peer == NULL)
		return NULL;
	peer->id = (char *)(peer + 1);
	memcpy(peer->id, id.at, id.len);
	for (unsigned i = 0; i < ROLE_COUNT; i++)
		peer->hash[i] = elect_hash(role_name(i), id);
	other = pl_map_add(&shard->peers, &peer->node, pl_span(peer->id, id.len));
	PL_ASSERT(other == NULL);
	return peer;
}

static void again_later(struct shard *shard)
{
	shard->peers_stale = true;
	shard->peers_retry_ms = kv_now_ms(shard->kv) + RETRY_MS;
}

/* weight 0: the peer leaves the assignment. */
static void set_weight(struct shard *shard, struct shard_peer *peer, uint32_t weight,
                       uint32_t salt)
{
	if (peer->weight == weight && (weight == 0 || peer->salt == salt))
		return;
	if (weight == 0) {
		assign_del(shard->assign, peer->node.key);
	} else if (assign_put_salted(shard->assign, peer->node.key, weight, salt, NULL) !=
	           PL_OK) {
		again_later(shard);
		return;
	}
	shard->rank_due = shard->rank_due || peer->weight == 0 || weight == 0;
	shard->assign_due = true;
	peer->weight = weight;
	peer->salt = salt;
}

static void peer_free(struct shard *shard, struct shard_peer *peer)
{
	pl_map_del(&shard->peers, &peer->node);
	free(peer);
}

uint32_t peers_weight(const struct shard *shard, struct pl_span id, uint32_t own)
{
	const struct config_value *shards =
		config_watch_value(shard->config, CONFIG_SHARDS);
	const struct config_value *weights =
		config_watch_value(shard->config, CONFIG_WEIGHTS);
	uint64_t weight = own;

	if (config_drains(&shards->shards, id))
		return 0;
	weight = weight * config_factor(&weights->weights, id) / ASSIGN_WEIGHT_ONE;
	if (weight == 0)
		return 1;
	return weight > ASSIGN_WEIGHT_MAX ? ASSIGN_WEIGHT_MAX : (uint32_t)weight;
}

static uint32_t weight_of(const struct shard *shard, const struct roster_entry *entry)
{
	if (entry->malformed || entry->member.state != MEMBERSHIP_ACTIVE)
		return 0;
	return peers_weight(shard, entry->member.id, entry->member.weight);
}

/* True: the record does not parse, and that has not been reported yet. */
static bool apply_entry(struct shard *shard, struct pl_span id,
                        const struct roster_entry *entry)
{
	struct shard_peer *peer = peer_of(pl_map_get(&shard->peers, id));

	if (peer == NULL)
		peer = peer_new(shard, id);
	if (peer == NULL) {
		again_later(shard);
		return false;
	}
	peer->seen = true;
	set_weight(shard, peer, weight_of(shard, entry), entry->member.salt);
	if (!entry->malformed || peer->malformed_revision == entry->mod_revision)
		return false;
	peer->malformed_revision = entry->mod_revision;
	return true;
}

static void report_malformed(struct shard *shard, struct pl_span id,
                             const struct roster_entry *entry)
{
	struct keys_id key_id = {.kind = KEYS_SHARD, .name = id};
	struct shard_note note = {.what = SHARD_MALFORMED, .key = id, .err = &entry->why};
	struct keys_text key;

	if (keys_build(&key_id, &key, NULL) == PL_OK)
		note.key = keys_span(&key);
	shard_report(shard, &note);
}

void peers_change(struct shard *shard, struct pl_span id,
                  const struct roster_entry *entry)
{
	struct shard_peer *peer;

	if (!shard->peers_known || shard->config == NULL) {
		shard->peers_stale = true;
		return;
	}
	if (entry == NULL) {
		peer = peer_of(pl_map_get(&shard->peers, id));
		if (peer == NULL)
			return;
		set_weight(shard, peer, 0, 0);
		peer_free(shard, peer);
		return;
	}
	if (apply_entry(shard, id, entry))
		report_malformed(shard, id, entry);
}

static void sweep_peers(struct shard *shard)
{
	PL_MAP_EACH (node, &shard->peers) {
		struct shard_peer *peer = peer_of(node);

		if (peer->seen)
			continue;
		set_weight(shard, peer, 0, 0);
		peer_free(shard, peer);
	}
}

static bool may_reload(const struct shard *shard)
{
	return shard->peers_stale && shard->roster != NULL && shard->config != NULL &&
	       shard->config_synced && roster_synced(shard->roster);
}

/* Goes through all entries: after a list, another configuration, or a failure. */
void peers_review(struct shard *shard)
{
	if (!may_reload(shard) || kv_now_ms(shard->kv) < shard->peers_retry_ms)
		return;
	shard->peers_stale = false;
	PL_MAP_EACH (node, &shard->peers)
		peer_of(node)->seen = false;
	for (const struct roster_entry *entry = roster_first(shard->roster);
	     entry != NULL; entry = roster_next(shard->roster, entry))
		if (apply_entry(shard, entry->member.id, entry))
			report_malformed(shard, entry->member.id, entry);
	sweep_peers(shard);
	if (shard->peers_stale)
		return;
	if (!shard->peers_known)
		shard->assign_due = true;
	shard->peers_known = true;
}

uint64_t peers_deadline_ms(const struct shard *shard)
{
	return may_reload(shard) ? shard->peers_retry_ms : UINT64_MAX;
}

/* The number of active peers that come before this shard. */
uint32_t peers_rank(const struct shard *shard, enum shard_role role)
{
	uint32_t before = 0;

	PL_MAP_EACH (node, &shard->peers) {
		const struct shard_peer *peer = peer_of(node);

		before += peer->weight != 0 && peer->hash[role] < shard->elect[role].hash;
	}
	return before;
}

void peers_done(struct shard *shard)
{
	PL_MAP_EACH (node, &shard->peers)
		peer_free(shard, peer_of(node));
	pl_map_done(&shard->peers);
}
