#include "coord/assign/assign.h"

#include <stdlib.h>

#include "coord/assign/assign_int.h"
#include "store/base/alloc.h"
#include "store/base/hash.h"

static struct assign_member *member_of(struct pl_map_node *node)
{
	return PL_CONTAINER_OF(node, struct assign_member, node);
}

static struct assign_member *find_member(const struct assign *assign, struct pl_span id)
{
	struct pl_map_node *node = pl_map_get(&assign->members, id);

	return node == NULL ? NULL : member_of(node);
}

/* The logarithm is expensive. Most candidates lose already by a cheap lower bound of
 * it, so the exact value is computed only for the rest. */
bool assign_wins(const struct assign_slot *slot, uint32_t weight, uint64_t hash,
                 struct pl_span id, uint64_t *log)
{
	uint64_t ours, theirs;

	if (assign_loses(slot, weight, assign_log2_least(hash)))
		return false;
	*log = assign_log2(hash);
	if (slot->owner == NULL)
		return true;
	ours = weight * slot->log;
	theirs = slot->owner->weight * *log;
	return ours > theirs ||
	       (ours == theirs && pl_span_cmp(id, slot->owner->node.key) < 0);
}

bool assign_would_win(const struct assign_slot *slot, uint32_t weight, uint64_t hash,
                      struct pl_span id)
{
	uint64_t ours;

	if (slot->owner == NULL)
		return true;
	if (assign_loses(slot, weight, assign_log2_least(hash)))
		return false;
	ours = weight * slot->log;
	if (pl_span_cmp(id, slot->owner->node.key) >= 0)
		ours--; /* of two equal scores the smaller id wins */
	return assign_log2_at_most(hash, ours / slot->owner->weight);
}

static void offer_slot(struct assign_slot *slot, uint32_t partition,
                       struct assign_member *member)
{
	uint64_t log;

	if (!assign_wins(slot, member->weight, assign_hash(member->seed, partition),
	                 member->node.key, &log))
		return;
	if (slot->owner != NULL)
		slot->owner->count--;
	member->count++;
	slot->owner = member;
	slot->log = log;
}

/* Gives the slot to the best member, after its owner has left or got a lower weight. */
static void reassign_slot(struct assign *assign, uint32_t partition)
{
	struct assign_slot *slot = &assign->slot[partition];

	slot->owner->count--;
	slot->owner = NULL;
	PL_MAP_EACH (node, &assign->members)
		offer_slot(slot, partition, member_of(node));
}

static struct assign *assign_alloc(uint32_t partitions)
{
	struct assign *assign;

	PL_ASSERT(partitions > 0 && partitions <= ASSIGN_PARTITIONS_MAX);
	assign = pl_calloc(1, sizeof *assign + partitions * sizeof assign->slot[0]);
	if (assign == NULL)
		return NULL;
	pl_map_init(&assign->members);
	assign->partitions = partitions;
	return assign;
}

static enum pl_code no_memory(struct pl_err *err)
{
	return pl_err_set(err, PL_NOMEM, "an assignment");
}

enum pl_code assign_new(uint32_t partitions, struct assign **out, struct pl_err *err)
{
	struct assign *assign = assign_alloc(partitions);

	if (assign == NULL)
		return no_memory(err);
	*out = assign;
	return PL_OK;
}

void assign_clear(struct assign *assign)
{
	for (uint32_t p = 0; p < assign->partitions; p++)
		assign->slot[p] = (struct assign_slot){0};
	PL_MAP_EACH (node, &assign->members) {
		pl_map_del(&assign->members, node);
		free(member_of(node));
	}
}

void assign_free(struct assign *assign)
{
	if (assign == NULL)
		return;
	assign_clear(assign);
	pl_map_done(&assign->members);
	free(assign);
}

static struct assign_member *add_member(struct assign *assign, struct pl_span id)
{
	struct assign_member *member = pl_calloc(1, sizeof *member + id.len);

	PL_ASSERT(id.len > 0);
	if (member == NULL)
		return NULL;
	memcpy(member->id, id.at, id.len);
	if (pl_map_add(&assign->members, &member->node, pl_span(member->id, id.len)) !=
	    NULL)
		PL_UNREACHABLE("it was not there");
	return member;
}

enum pl_code assign_put_salted(struct assign *assign, struct pl_span id, uint32_t weight,
                               uint32_t salt, struct pl_err *err)
{
	struct assign_member *member = find_member(assign, id);

	PL_ASSERT(weight > 0 && weight <= ASSIGN_WEIGHT_MAX);
	if (member != NULL && member->weight == weight && member->salt == salt)
		return PL_OK;
	if (member == NULL && assign->members.count >= ASSIGN_MEMBERS_MAX)
		return pl_err_set(err, PL_LIMIT, "more than %d members",
		                  ASSIGN_MEMBERS_MAX);
	if (member == NULL)
		member = add_member(assign, id);
	if (member == NULL)
		return no_memory(err);
	member->weight = weight;
	member->salt = salt;
	member->seed = assign_seed(pl_hash(id), salt);
	for (uint32_t p = 0; p < assign->partitions; p++) {
		if (assign->slot[p].owner == member)
			reassign_slot(assign, p);
		else
			offer_slot(&assign->slot[p], p, member);
	}
	return PL_OK;
}

enum pl_code assign_put(struct assign *assign, struct pl_span id, uint32_t weight,
                        struct pl_err *err)
{
	return assign_put_salted(assign, id, weight, 0, err);
}

void assign_del(struct assign *assign, struct pl_span id)
{
	struct assign_member *member = find_member(assign, id);

	if (member == NULL)
		return;
	pl_map_del(&assign->members, &member->node);
	for (uint32_t p = 0; p < assign->partitions && member->count > 0; p++) {
		if (assign->slot[p].owner == member)
			reassign_slot(assign, p);
	}
	PL_ASSERT(member->count == 0);
	free(member);
}

/* The copy has the same members with the same salts, so every slot has the same
 * winner. */
enum pl_code assign_copy(const struct assign *assign, struct assign **out,
                         struct pl_err *err)
{
	struct assign *copy = assign_alloc(assign->partitions);

	if (copy == NULL)
		return no_memory(err);
	PL_MAP_EACH (node, &assign->members) {
		const struct assign_member *from = member_of(node);
		struct assign_member *member = add_member(copy, from->node.key);

		if (member == NULL) {
			assign_free(copy);
			return no_memory(err);
		}
		member->seed = from->seed;
		member->weight = from->weight;
		member->salt = from->salt;
		member->count = from->count;
		member->mark = from->mark;
	}
	for (uint32_t p = 0; p < assign->partitions; p++) {
		const struct assign_slot *from = &assign->slot[p];

		if (from->owner != NULL)
			copy->slot[p] = (struct assign_slot){
				find_member(copy, from->owner->node.key), from->log};
	}
	*out = copy;
	return PL_OK;
}

void assign_mark(struct assign *assign, struct pl_span id, uint32_t mark)
{
	struct assign_member *member = find_member(assign, id);

	PL_ASSERT(member != NULL);
	member->mark = mark;
}

uint32_t assign_mark_of(const struct assign *assign, uint32_t partition)
{
	PL_ASSERT(partition < assign->partitions);
	PL_ASSERT(assign->slot[partition].owner != NULL);
	return assign->slot[partition].owner->mark;
}

uint32_t assign_partitions(const struct assign *assign)
{
	return assign->partitions;
}

size_t assign_members(const struct assign *assign)
{
	return assign->members.count;
}

struct pl_span assign_of(const struct assign *assign, uint32_t partition)
{
	const struct assign_member *owner;

	PL_ASSERT(partition < assign->partitions);
	owner = assign->slot[partition].owner;
	return owner == NULL ? pl_span(NULL, 0) : owner->node.key;
}

uint32_t assign_count(const struct assign *assign, struct pl_span id)
{
	const struct assign_member *member = find_member(assign, id);

	return member == NULL ? 0 : member->count;
}
