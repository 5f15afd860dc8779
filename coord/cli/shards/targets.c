#include "coord/cli/shards/targets.h"

#include <stdlib.h>

#include "store/base/alloc.h"

struct target {
	struct pl_map_node node;
	uint64_t round;
	uint32_t weight;
	uint32_t salt;
	uint8_t id[];
};

static struct target *of(struct pl_map_node *node)
{
	return PL_CONTAINER_OF(node, struct target, node);
}

enum pl_code targets_init(struct targets *targets, uint32_t partitions,
                          struct pl_err *err)
{
	*targets = (struct targets){0};
	pl_map_init(&targets->weights);
	return assign_new(partitions, &targets->assign, err);
}

static void forget(struct targets *targets, struct target *target)
{
	pl_map_del(&targets->weights, &target->node);
	free(target);
}

void targets_done(struct targets *targets)
{
	PL_MAP_EACH (node, &targets->weights)
		forget(targets, of(node));
	pl_map_done(&targets->weights);
	assign_free(targets->assign);
}

/* 0: has no part in it. */
static uint32_t weight_of(const struct scene *scene, const struct roster_entry *entry)
{
	const struct config_value *shards, *weights;
	uint64_t weight;

	if (entry->garbled || entry->member.state != MEMBER_ACTIVE)
		return 0;
	shards = config_watch_value(scene->config, CONFIG_SHARDS);
	if (config_drains(&shards->shards, entry->member.id))
		return 0;
	weights = config_watch_value(scene->config, CONFIG_WEIGHTS);
	weight = (uint64_t)entry->member.weight *
	         config_factor(&weights->weights, entry->member.id) / ASSIGN_WEIGHT_ONE;
	if (weight == 0)
		return 1;
	return weight > ASSIGN_WEIGHT_MAX ? ASSIGN_WEIGHT_MAX : (uint32_t)weight;
}

static struct target *target_new(struct targets *targets, struct pl_span id)
{
	struct target *target = pl_calloc(1, sizeof *target + id.len);
	struct pl_map_node *other;

	if (target == NULL)
		return NULL;
	memcpy(target->id, id.at, id.len);
	other = pl_map_add(&targets->weights, &target->node, pl_span(target->id, id.len));
	PL_ASSERT(other == NULL);
	return target;
}

static enum pl_code put(struct targets *targets, const struct member *member,
                        uint32_t weight, bool *changed, struct pl_err *err)
{
	struct pl_span id = member->id;
	struct pl_map_node *node = pl_map_get(&targets->weights, id);
	struct target *target = node == NULL ? target_new(targets, id) : of(node);
	enum pl_code code;

	if (target == NULL)
		return pl_err_set(err, PL_NOMEM, "assignment");
	target->round = targets->round;
	if (target->weight == weight && target->salt == member->salt)
		return PL_OK;
	code = assign_put_salted(targets->assign, id, weight, member->salt, err);
	if (code == PL_OK) {
		target->weight = weight;
		target->salt = member->salt;
		*changed = true;
	}
	return code;
}

static void sweep(struct targets *targets, bool *changed)
{
	PL_MAP_EACH (node, &targets->weights) {
		if (of(node)->round == targets->round)
			continue;
		assign_del(targets->assign, node->key);
		forget(targets, of(node));
		*changed = true;
	}
}

enum pl_code targets_refresh(struct targets *targets, const struct scene *scene,
                             bool *changed, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	*changed = false;
	targets->round++;
	for (const struct roster_entry *entry = roster_first(scene->roster);
	     entry != NULL && code == PL_OK; entry = roster_next(scene->roster, entry)) {
		uint32_t weight = weight_of(scene, entry);

		if (weight > 0)
			code = put(targets, &entry->member, weight, changed, err);
	}
	if (code == PL_OK)
		sweep(targets, changed);
	return code;
}
