/* For tests of nodes of others: mine is ours, other and third are not. */
#ifndef SHARDSCHED_SHARD_ABROAD_ABROAD_RIG_H
#define SHARDSCHED_SHARD_ABROAD_ABROAD_RIG_H

#include "shardsched/shard/inner.h"
#include "shardsched/shard/sched_rig.h"
#include "shardsched/shard/tables/tables.h"

static struct rig rig;

static inline const struct sched_node *node_of(const char *name)
{
	return node_find(rig.sched, PL_SPAN_LIT("east"), pl_span_str(name));
}

/* Somebody else's. */
static inline void alloc_lists(uint32_t p, const char *node, uint32_t of, const char *pod)
{
	char key[128], value[256];

	(void)snprintf(key, sizeof key, "/alloc/%04u/east/%s", p, node);
	(void)snprintf(
		value, sizeof value,
		"{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"500m\",\"pods\":\"1\"},"
		"\"nonzero\":{\"cpu\":\"500m\",\"memory\":\"209715200\"},"
		"\"pods\":{\"%04u\":{\"web\":[\"%s\"]}}}",
		of, pod);
	rig_put(&rig, key, value);
}

static inline uint32_t scope_of(const char *name)
{
	const struct sched_node *node = node_of(name);

	return node == NULL || node->slot == SNAPSHOT_NONE ? UINT32_MAX : node->scope;
}

static inline void begin(void)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "mine", "4");
	rig_node(&rig, 1, "other", "4");
	rig_node(&rig, 2, "third", "4");
	rig_own(&rig, 0);
	rig_settle(&rig);
}

static inline const char *own_digest(void)
{
	return rig_value(&rig, "/digests/east-0");
}

#endif
