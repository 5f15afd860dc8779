/* For tests of remote nodes: "mine" is in a partition of the shard, "other" and "third"
 * are not. */
#ifndef TESTS_SUPPORT_SHARDSCHED_SHARD_REMOTE_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_SHARD_REMOTE_RIG_H

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

static inline const struct sched_node *node_of(const char *name)
{
	return node_find(rig.sched, PL_SPAN_LIT("east"), pl_span_str(name));
}

/* Another shard's pod is on the node. */
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
	rig_run_idle(&rig);
}

/* The digest of another shard, of a partition with one node that changed last at
 * `newest`. */
static inline void put_digest_at(uint32_t p, const char *cpu, unsigned newest)
{
	char key[64], value[512];

	(void)snprintf(key, sizeof key, "/digests/other-%u", p);
	(void)snprintf(
		value, sizeof value,
		"{\"v\":1,\"partitions\":{\"%04u\":[{\"nodes\":1,\"free\":{\"cpu\":"
		"\"%s\",\"memory\":\"68719476736\",\"pods\":\"110\"},\"most\":{"
		"\"cpu\":\"%s\",\"memory\":\"68719476736\",\"pods\":\"110\"},"
		"\"labels\":{\"host\":[]},\"newest\":%u}]}}",
		p, cpu, cpu, newest);
	rig_put(&rig, key, value);
}

static inline void put_digest(uint32_t p, const char *cpu)
{
	put_digest_at(p, cpu, 0);
}

static inline bool is_on(const char *pod, const char *node)
{
	int phase;
	struct pod_state state = rig_state(&rig, 0, pod, &phase);

	return phase == STATE_BOUND && pl_span_eq(state.node, pl_span_str(node));
}

static inline const char *own_digest(void)
{
	return rig_value(&rig, "/digests/east-0");
}

static inline uint32_t puts_of_digests(void)
{
	uint32_t puts = 0;

	for (uint32_t i = 0; i < rig.store.logged; i++)
		puts += pl_span_eq(rig.store.log[i].record.key,
		                   PL_SPAN_LIT("/digests/east-0"));
	return puts;
}

/* On node "other", in each round. */
static inline void a_pod_comes(unsigned turn)
{
	char value[64];

	(void)snprintf(value, sizeof value, "{\"v\":1,\"generation\":%u}", turn + 5);
	rig_put(&rig, "/alloc/0001/east/other", value);
}

#endif
