#include "coord/service/shards/partition_targets.h"

#include <stdlib.h>

#include "store/base/alloc.h"

struct shard_target {
	struct pl_map_node node;
	uint64_t round;
	uint32_t weight;
	uint32_t salt;
	uint8_t id[];
};

static struct shard_target *target_of(struct pl_map_node *node)
{
	return PL_CONTAINER_OF(node, struct shard_target, node);
}

enum pl_code partition_targets_init(struct partition_targets *targets,
                                    uint32_t partitions, struct pl_err *err)
{
	*targets = (struct partition_targets){0};
	pl_map_init(&targets->weights);
	return assign_new(partitions, &targets->assign, err);
}

static void remove_target(struct partition_targets *targets, struct shard_target *target)
{
	pl_map_del(&targets->weights, &target->node);
	free(target);
}

void partition_targets_done(struct partition_targets *targets)
{
	PL_MAP_EACH (node, &targets->weights)
		remove_target(targets, target_of(node));
	pl_map_done(&targets->weights);
	assign_free(targets->assign);
}

/* 0: has no part in it. */
static uint32_t weight_of(const struct shards_view *view,
                          const struct roster_entry *entry)
{
	const struct config_value *shards, *weights;
	uint64_t weight;

	if (entry->malformed || entry->member.state != MEMBERSHIP_ACTIVE)
		return 0;
	shards = config_watch_value(view->config, CONFIG_SHARDS);
	if (config_drains(&shards->shards, entry->member.id))
		return 0;
	weights = config_watch_value(view->config, CONFIG_WEIGHTS);
	weight = (uint64_t)entry->member.weight *
	         config_factor(&weights->weights, entry->member.id) / ASSIGN_WEIGHT_ONE;
	if (weight == 0)
		return 1;
	return weight > ASSIGN_WEIGHT_MAX ? ASSIGN_WEIGHT_MAX : (uint32_t)weight;
}

static struct shard_target *target_new(struct partition_targets *targets,
                                       struct pl_span id)
{
	struct shard_target *target = pl_calloc(1, sizeof *target + id.len);
	struct pl_map_node *other;

	if (target == NULL)
		return NULL;
	memcpy(target->id, id.at, id.len);
	other = pl_map_add(&targets->weights, &target->node, pl_span(target->id, id.len));
	PL_ASSERT(other == NULL);
	return target;
}

static enum pl_code put_member(struct partition_targets *targets,
                               const struct membership *member, uint32_t weight,
                               bool *changed, struct pl_err *err)
{
	struct pl_span id = member->id;
	struct pl_map_node *node = pl_map_get(&targets->weights, id);
	struct shard_target *target =
		node == NULL ? target_new(targets, id) : target_of(node);
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

static void sweep_targets(struct partition_targets *targets, bool *changed)
{
	PL_MAP_EACH (node, &targets->weights) {
		if (target_of(node)->round == targets->round)
			continue;
		assign_del(targets->assign, node->key);
		remove_target(targets, target_of(node));
		*changed = true;
	}
}

enum pl_code partition_targets_refresh(struct partition_targets *targets,
                                       const struct shards_view *view, bool *changed,
                                       struct pl_err *err)
{
	enum pl_code code = PL_OK;

	*changed = false;
	targets->round++;
	for (const struct roster_entry *entry = roster_first(view->roster);
	     entry != NULL && code == PL_OK; entry = roster_next(view->roster, entry)) {
		uint32_t weight = weight_of(view, entry);

		if (weight > 0)
			code = put_member(targets, &entry->member, weight, changed, err);
	}
	if (code == PL_OK)
		sweep_targets(targets, changed);
	return code;
}
