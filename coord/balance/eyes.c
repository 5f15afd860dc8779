#include "coord/balance/eyes.h"

#include <stdlib.h>

#include "store/base/alloc.h"

/* What stays known of an id between two looks. */
struct peer {
	struct pl_map_node node;
	uint64_t seen_ms; /* in the roster; or since when the table names it */
	uint64_t look;    /* the last one that it was in */
	bool assigned;
	uint8_t id[];
};

static struct peer *peer_of(struct pl_map_node *node)
{
	return PL_CONTAINER_OF(node, struct peer, node);
}

static void peer_free(struct eyes *eyes, struct peer *peer)
{
	if (peer->assigned)
		assign_del(eyes->assign, peer->node.key);
	pl_map_del(&eyes->peers, &peer->node);
	free(peer);
}

enum pl_code eyes_init(struct eyes *eyes, uint32_t partitions, struct pl_err *err)
{
	*eyes = (struct eyes){.partitions = partitions};
	pl_map_init(&eyes->peers);
	eyes->reporter = pl_calloc(partitions, sizeof *eyes->reporter);
	eyes->load = pl_calloc(partitions, sizeof *eyes->load);
	if (eyes->reporter != NULL && eyes->load != NULL &&
	    assign_new(partitions, &eyes->assign, NULL) == PL_OK)
		return PL_OK;
	eyes_done(eyes);
	return pl_err_set(err, PL_NOMEM, "balancer");
}

void eyes_done(struct eyes *eyes)
{
	PL_MAP_EACH (node, &eyes->peers)
		peer_free(eyes, peer_of(node));
	pl_map_done(&eyes->peers);
	assign_free(eyes->assign);
	free(eyes->members);
	free(eyes->reporter);
	free(eyes->load);
}

static struct peer *peer_get(struct eyes *eyes, struct pl_span id, uint64_t now_ms)
{
	struct pl_map_node *node = pl_map_get(&eyes->peers, id);
	struct peer *peer;

	if (node != NULL)
		return peer_of(node);
	peer = pl_calloc(1, sizeof *peer + id.len);
	if (peer == NULL)
		return NULL;
	memcpy(peer->id, id.at, id.len);
	peer->seen_ms = now_ms;
	node = pl_map_add(&eyes->peers, &peer->node, pl_span(peer->id, id.len));
	PL_ASSERT(node == NULL);
	return peer;
}

static bool grow(struct eyes *eyes)
{
	uint32_t cap = eyes->cap == 0 ? 16 : eyes->cap * 2;
	struct balance_member *members;

	if (eyes->count < eyes->cap)
		return true;
	members = pl_realloc(eyes->members, cap * sizeof *members);
	if (members == NULL)
		return false;
	eyes->members = members;
	eyes->cap = cap;
	return true;
}

/* NULL: err. */
static struct balance_member *add(struct eyes *eyes, struct pl_span id, uint64_t now_ms,
                                  struct peer **peer, struct pl_err *err)
{
	struct balance_member *member;

	if (eyes->count >= BALANCE_MEMBERS_MAX) {
		pl_err_set(err, PL_LIMIT, "more than %d members", BALANCE_MEMBERS_MAX);
		return NULL;
	}
	*peer = peer_get(eyes, id, now_ms);
	if (*peer == NULL || !grow(eyes)) {
		pl_err_set(err, PL_NOMEM, "the balancer's view of its members");
		return NULL;
	}
	(*peer)->look = eyes->looks;
	member = &eyes->members[eyes->count++];
	*member = (struct balance_member){.id = (*peer)->node.key,
	                                  .weight = ASSIGN_WEIGHT_ONE};
	return member;
}

static void take_report(struct eyes *eyes, const struct member *member, uint16_t who)
{
	for (uint32_t i = 0; i < member->partition_count; i++) {
		uint32_t p = member->partitions[i];

		if (p >= eyes->partitions)
			continue;
		eyes->reporter[p] =
			eyes->reporter[p] == BALANCE_NOBODY ? who : BALANCE_MANY;
		eyes->load[p] = member->loads == NULL ? 0 : member->loads[i];
	}
}

static enum pl_code set_assigned(struct eyes *eyes, const struct balance_member *m,
                                 struct peer *peer, struct pl_err *err)
{
	enum pl_code code;

	if (!m->counts) {
		if (peer->assigned)
			assign_del(eyes->assign, m->id);
		peer->assigned = false;
		return PL_OK;
	}
	code = assign_put_salted(eyes->assign, m->id, assign_weight(m->weight, m->factor),
	                         m->salt, err);
	if (code != PL_OK)
		return code;
	peer->assigned = true;
	assign_mark(eyes->assign, m->id, eyes->count - 1);
	return PL_OK;
}

/* A record that does not parse has a factor all the same, and no part in anything. */
static enum pl_code take_entry(struct eyes *eyes, const struct roster_entry *entry,
                               const struct config_shards *shards,
                               const struct config_weights *weights, uint64_t now_ms,
                               struct pl_err *err)
{
	struct peer *peer;
	struct balance_member *m = add(eyes, entry->member.id, now_ms, &peer, err);

	if (m == NULL)
		return err->code;
	peer->seen_ms = now_ms;
	m->factor = config_factor(weights, m->id);
	if (!entry->garbled) {
		m->weight = entry->member.weight;
		m->salt = entry->member.salt;
		m->counts = entry->member.state == MEMBER_ACTIVE &&
		            !config_drains(shards, m->id);
		take_report(eyes, &entry->member, (uint16_t)(eyes->count - 1));
	}
	return set_assigned(eyes, m, peer, err);
}

/* Whom the table names and nobody sees. */
static enum pl_code take_gone(struct eyes *eyes, const struct config_weights *weights,
                              uint64_t now_ms, struct pl_err *err)
{
	for (uint32_t i = 0; i < weights->factor_count; i++) {
		const struct config_factor *named = &weights->factors[i];
		struct pl_map_node *node = pl_map_get(&eyes->peers, named->id);
		struct balance_member *m;
		struct peer *peer;
		enum pl_code code;

		if (node != NULL && peer_of(node)->look == eyes->looks)
			continue;
		m = add(eyes, named->id, now_ms, &peer, err);
		if (m == NULL)
			return err->code;
		m->factor = named->factor;
		m->gone_ms = now_ms - peer->seen_ms;
		code = set_assigned(eyes, m, peer, err);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

static void sweep(struct eyes *eyes)
{
	PL_MAP_EACH (node, &eyes->peers) {
		if (peer_of(node)->look != eyes->looks)
			peer_free(eyes, peer_of(node));
	}
}

enum pl_code eyes_look(struct eyes *eyes, const struct roster *roster,
                       const struct config_shards *shards,
                       const struct config_weights *weights, uint64_t now_ms,
                       struct balance_view **out, struct pl_err *err)
{
	const struct roster_entry *entry = roster_first(roster);
	enum pl_code code = PL_OK;

	eyes->looks++;
	eyes->count = 0;
	for (uint32_t p = 0; p < eyes->partitions; p++) {
		eyes->reporter[p] = BALANCE_NOBODY;
		eyes->load[p] = 0;
	}
	for (; code == PL_OK && entry != NULL; entry = roster_next(roster, entry))
		code = take_entry(eyes, entry, shards, weights, now_ms, err);
	if (code == PL_OK)
		code = take_gone(eyes, weights, now_ms, err);
	if (code != PL_OK)
		return code;
	sweep(eyes);
	eyes->view = (struct balance_view){.members = eyes->members,
	                                   .member_count = eyes->count,
	                                   .reporter = eyes->reporter,
	                                   .load = eyes->load,
	                                   .assign = eyes->assign};
	*out = &eyes->view;
	return PL_OK;
}
