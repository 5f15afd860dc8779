/*
 * The nodes and pods that may be in the store in random histories of one core.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_SHARD_SCHED_RANDOM_WORLD_H
#define TESTS_SUPPORT_SHARDSCHED_SHARD_SCHED_RANDOM_WORLD_H

#include "store/keys/partition.h"
#include "tests/support/shardsched/shard/sched_rig.h"

enum { NODES = 6, PODS = 48, NAME_SIZE = 16 };

/* Memory of a pod that requests none, as scores count it. */
#define MEMORY (INT64_C(200) << 20)

static struct rig rig;
static struct pl_rng rng;

static inline uint32_t below(uint32_t n)
{
	return (uint32_t)pl_rng_below(&rng, n);
}

static inline const char *name_of(char kind, uint32_t i)
{
	static char text[4][NAME_SIZE];
	static unsigned at;
	char *out = text[at++ % 4];

	(void)snprintf(out, NAME_SIZE, "%c-%u", kind, i);
	return out;
}

static inline uint32_t partition_of_name(uint32_t i)
{
	uint32_t local = 0;

	T_OK(partition_of_node(PL_SPAN_LIT("east"), pl_span_str(name_of('n', i)),
	                       RIG_PARTITIONS, &local, &rig.err),
	     &rig.err);
	return local;
}

static inline uint32_t partition_of_pod_number(uint32_t i)
{
	return i * 7 % RIG_PARTITIONS;
}

static inline const char *key_of(const char *kind, uint32_t p, const char *of,
                                 const char *name, const char *tail)
{
	static char text[4][128];
	static unsigned at;
	char *out = text[at++ % 4];

	(void)snprintf(out, 128, "/%s/%04u/%s/%s%s", kind, p, of, name, tail);
	return out;
}

static inline const char *spec_key(uint32_t i)
{
	return key_of("schedules", partition_of_pod_number(i), "web", name_of('p', i),
	              "/spec");
}

static inline const char *state_key(uint32_t i)
{
	return key_of("schedules", partition_of_pod_number(i), "web", name_of('p', i),
	              "/state");
}

static inline const char *alloc_key(uint32_t i)
{
	return key_of("alloc", partition_of_name(i), "east", name_of('n', i), "");
}

static inline const char *node_key(uint32_t i)
{
	return key_of("nodes", partition_of_name(i), "east", name_of('n', i), "");
}

/* -- what is in the store ---------------------------------------------------------- */

static inline int64_t number_in(const char *json, const char *member)
{
	const char *at = strstr(json, member);

	T_TRUE(at != NULL);
	return strtol(at + strlen(member), NULL, 10);
}

static inline int64_t cpu_of_pod(uint32_t i)
{
	return number_in(rig_value(&rig, spec_key(i)), "\"cpu\":\"") * 1000;
}

static inline int64_t cpu_of_node(uint32_t i)
{
	return number_in(rig_value(&rig, node_key(i)), "\"cpu\":\"") * 1000;
}

static inline bool is_cordoned(uint32_t i)
{
	return strstr(rig_value(&rig, node_key(i)), "unschedulable") != NULL;
}

static inline bool has(const char *key)
{
	return rig_value(&rig, key)[0] != 0;
}

static inline struct alloc alloc_of(uint32_t i)
{
	return rig_alloc(&rig, partition_of_name(i), name_of('n', i));
}

static inline int phase_of(uint32_t i)
{
	int phase;

	(void)rig_state(&rig, partition_of_pod_number(i), name_of('p', i), &phase);
	return phase;
}

static inline bool awaits_finalizers(uint32_t i)
{
	int phase;
	struct pod_state state =
		rig_state(&rig, partition_of_pod_number(i), name_of('p', i), &phase);

	return phase >= 0 && state.awaits_finalizers;
}

static inline uint32_t number_of(struct pl_span name)
{
	uint32_t number = 0;

	for (size_t i = 2; i < name.len; i++)
		number = number * 10 + name.at[i] - '0';
	return number;
}

static inline void put_state(uint32_t i, enum state_phase phase, uint32_t node)
{
	struct pl_buf buf = {.max = 4096};
	const struct pod_state state = {
		.phase = phase,
		.uid = PL_SPAN_LIT("u"),
		.cluster = phase == STATE_BOUND ? PL_SPAN_LIT("east") : PL_SPAN_LIT(""),
		.node = phase == STATE_BOUND ? pl_span_str(name_of('n', node))
	                                     : PL_SPAN_LIT(""),
		.shard = PL_SPAN_LIT("rival"),
		.epoch = 1,
		.since_ms = (int64_t)rig.now_ms};

	T_OK(state_print(&state, &buf, &rig.err), &rig.err);
	rig_set(&rig.store, pl_span_str(state_key(i)), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

/* Writes the alloc with the pod added or removed; pod PODS: as it is. */
static inline void put_alloc_as(struct alloc alloc, uint32_t node, uint32_t add,
                                uint32_t drop)
{
	struct alloc_pod pods[PODS + 1];
	struct pl_buf buf = {.max = 1 << 16};
	uint32_t count = 0;
	char name[NAME_SIZE];

	(void)snprintf(name, sizeof name, "p-%u", add);
	if (add < PODS)
		pods[count++] =
			(struct alloc_pod){.partition = partition_of_pod_number(add),
		                           .namespace = PL_SPAN_LIT("web"),
		                           .name = pl_span_str(name)};
	for (uint32_t n = 0; n < alloc.pods; n++) {
		uint32_t at = count;

		if (number_of(alloc.pod[n].name) == drop)
			continue;
		while (at > 0 && alloc_pod_cmp(&pods[at - 1], &alloc.pod[n]) > 0) {
			pods[at] = pods[at - 1];
			at--;
		}
		pods[at] = alloc.pod[n];
		count++;
	}
	alloc.generation++;
	alloc.used = (struct alloc_amounts){.pods = count};
	for (uint32_t n = 0; n < count; n++)
		alloc.used.cpu_milli += cpu_of_pod(number_of(pods[n].name));
	for (uint32_t n = 0; n < alloc.holds; n++) {
		alloc.used.cpu_milli += alloc.hold[n].used.cpu_milli;
		alloc.used.pods += alloc.hold[n].used.pods;
	}
	alloc.used.nonzero_cpu_milli = alloc.used.cpu_milli;
	alloc.used.nonzero_memory = alloc.used.pods * MEMORY;
	alloc.pod = pods;
	alloc.pods = count;
	T_OK(alloc_print(&alloc, &buf, &rig.err), &rig.err);
	rig_set(&rig.store, pl_span_str(alloc_key(node)), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

static inline void put_alloc(uint32_t node, uint32_t add, uint32_t drop)
{
	put_alloc_as(alloc_of(node), node, add, drop);
}

static inline bool fits(uint32_t pod, uint32_t node)
{
	return has(node_key(node)) && !is_cordoned(node) &&
	       alloc_of(node).used.cpu_milli + cpu_of_pod(pod) <= cpu_of_node(node);
}

static inline uint32_t node_of_pod(uint32_t i)
{
	int phase;
	struct pod_state state =
		rig_state(&rig, partition_of_pod_number(i), name_of('p', i), &phase);

	return phase == STATE_BOUND || phase == STATE_TERMINATING ? number_of(state.node)
	                                                          : NODES;
}

#endif
