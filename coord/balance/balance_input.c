#include "coord/balance/balance_input.h"

#include <stdlib.h>

#include "store/base/alloc.h"

/* Facts about a member that are kept between two looks. */
struct input_peer {
	struct pl_map_node node;
	uint64_t seen_ms; /* when the roster had it last; or when the table named it
	                   * first */
	uint64_t look;    /* number of the last look that had it */
	bool assigned;
	uint8_t id[];
};

static struct input_peer *peer_of(struct pl_map_node *node)
{
	return PL_CONTAINER_OF(node, struct input_peer, node);
}

static void peer_free(struct balance_input *input, struct input_peer *peer)
{
	if (peer->assigned)
		assign_del(input->assign, peer->node.key);
	pl_map_del(&input->peers, &peer->node);
	free(peer);
}

enum pl_code balance_input_init(struct balance_input *input, uint32_t partitions,
                                struct pl_err *err)
{
	*input = (struct balance_input){.partitions = partitions};
	pl_map_init(&input->peers);
	input->reporter = pl_calloc(partitions, sizeof *input->reporter);
	input->load = pl_calloc(partitions, sizeof *input->load);
	if (input->reporter != NULL && input->load != NULL &&
	    assign_new(partitions, &input->assign, NULL) == PL_OK)
		return PL_OK;
	balance_input_done(input);
	return pl_err_set(err, PL_NOMEM, "balancer");
}

void balance_input_done(struct balance_input *input)
{
	PL_MAP_EACH (node, &input->peers)
		peer_free(input, peer_of(node));
	pl_map_done(&input->peers);
	assign_free(input->assign);
	free(input->members);
	free(input->reporter);
	free(input->load);
}

static struct input_peer *peer_get(struct balance_input *input, struct pl_span id,
                                   uint64_t now_ms)
{
	struct pl_map_node *node = pl_map_get(&input->peers, id);
	struct input_peer *peer;

	if (node != NULL)
		return peer_of(node);
	peer = pl_calloc(1, sizeof *peer + id.len);
	if (peer == NULL)
		return NULL;
	memcpy(peer->id, id.at, id.len);
	peer->seen_ms = now_ms;
	node = pl_map_add(&input->peers, &peer->node, pl_span(peer->id, id.len));
	PL_ASSERT(node == NULL);
	return peer;
}

static bool grow_members(struct balance_input *input)
{
	uint32_t cap = input->cap == 0 ? 16 : input->cap * 2;
	struct balance_member *members;

	if (input->count < input->cap)
		return true;
	members = pl_realloc(input->members, cap * sizeof *members);
	if (members == NULL)
		return false;
	input->members = members;
	input->cap = cap;
	return true;
}

/* NULL: it failed with *err. */
static struct balance_member *add_member(struct balance_input *input, struct pl_span id,
                                         uint64_t now_ms, struct input_peer **peer,
                                         struct pl_err *err)
{
	struct balance_member *member;

	if (input->count >= BALANCE_MEMBERS_MAX) {
		pl_err_set(err, PL_LIMIT, "more than %d members", BALANCE_MEMBERS_MAX);
		return NULL;
	}
	*peer = peer_get(input, id, now_ms);
	if (*peer == NULL || !grow_members(input)) {
		pl_err_set(err, PL_NOMEM, "the balancer's view of its members");
		return NULL;
	}
	(*peer)->look = input->looks;
	member = &input->members[input->count++];
	*member = (struct balance_member){.id = (*peer)->node.key,
	                                  .weight = ASSIGN_WEIGHT_ONE};
	return member;
}

static void apply_report(struct balance_input *input, const struct membership *member,
                         uint16_t who)
{
	for (uint32_t i = 0; i < member->partition_count; i++) {
		uint32_t p = member->partitions[i];

		if (p >= input->partitions)
			continue;
		input->reporter[p] =
			input->reporter[p] == BALANCE_NONE ? who : BALANCE_MANY;
		input->load[p] = member->loads == NULL ? 0 : member->loads[i];
	}
}

static enum pl_code set_assigned(struct balance_input *input,
                                 const struct balance_member *m, struct input_peer *peer,
                                 struct pl_err *err)
{
	enum pl_code code;

	if (!m->counts) {
		if (peer->assigned)
			assign_del(input->assign, m->id);
		peer->assigned = false;
		return PL_OK;
	}
	code = assign_put_salted(input->assign, m->id,
	                         assign_weight(m->weight, m->factor), m->salt, err);
	if (code != PL_OK)
		return code;
	peer->assigned = true;
	assign_mark(input->assign, m->id, input->count - 1);
	return PL_OK;
}

/* Adds a member of the roster. A record that does not parse keeps its factor but takes
 * no part. */
static enum pl_code apply_entry(struct balance_input *input,
                                const struct roster_entry *entry,
                                const struct config_shards *shards,
                                const struct config_weights *weights, uint64_t now_ms,
                                struct pl_err *err)
{
	struct input_peer *peer;
	struct balance_member *m =
		add_member(input, entry->member.id, now_ms, &peer, err);

	if (m == NULL)
		return err->code;
	peer->seen_ms = now_ms;
	m->factor = config_factor(weights, m->id);
	if (!entry->malformed) {
		m->weight = entry->member.weight;
		m->salt = entry->member.salt;
		m->counts = entry->member.state == MEMBERSHIP_ACTIVE &&
		            !config_drains(shards, m->id);
		apply_report(input, &entry->member, (uint16_t)(input->count - 1));
	}
	return set_assigned(input, m, peer, err);
}

/* Adds the members that the table names and the roster does not have. */
static enum pl_code apply_gone(struct balance_input *input,
                               const struct config_weights *weights, uint64_t now_ms,
                               struct pl_err *err)
{
	for (uint32_t i = 0; i < weights->factor_count; i++) {
		const struct config_factor *named = &weights->factors[i];
		struct pl_map_node *node = pl_map_get(&input->peers, named->id);
		struct balance_member *m;
		struct input_peer *peer;
		enum pl_code code;

		if (node != NULL && peer_of(node)->look == input->looks)
			continue;
		m = add_member(input, named->id, now_ms, &peer, err);
		if (m == NULL)
			return err->code;
		m->factor = named->factor;
		m->gone_ms = now_ms - peer->seen_ms;
		code = set_assigned(input, m, peer, err);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

static void sweep_peers(struct balance_input *input)
{
	PL_MAP_EACH (node, &input->peers) {
		if (peer_of(node)->look != input->looks)
			peer_free(input, peer_of(node));
	}
}

enum pl_code balance_input_look(struct balance_input *input, const struct roster *roster,
                                const struct config_shards *shards,
                                const struct config_weights *weights, uint64_t now_ms,
                                struct balance_view **out, struct pl_err *err)
{
	const struct roster_entry *entry = roster_first(roster);
	enum pl_code code = PL_OK;

	input->looks++;
	input->count = 0;
	for (uint32_t p = 0; p < input->partitions; p++) {
		input->reporter[p] = BALANCE_NONE;
		input->load[p] = 0;
	}
	for (; code == PL_OK && entry != NULL; entry = roster_next(roster, entry))
		code = apply_entry(input, entry, shards, weights, now_ms, err);
	if (code == PL_OK)
		code = apply_gone(input, weights, now_ms, err);
	if (code != PL_OK)
		return code;
	sweep_peers(input);
	input->view = (struct balance_view){.members = input->members,
	                                    .member_count = input->count,
	                                    .reporter = input->reporter,
	                                    .load = input->load,
	                                    .assign = input->assign};
	*out = &input->view;
	return PL_OK;
}
