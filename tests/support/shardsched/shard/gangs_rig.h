/*
 * For tests of gangs of several cores over one store: members p-<gang>-<i> of g-<gang>,
 * their records, and shards that die, whose transactions are applied long after.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_SHARD_GANGS_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_SHARD_GANGS_RIG_H

#include "shardsched/records/gang_record.h"
#include "tests/support/shardsched/shard/shards_rig.h"

enum { DEAD = 64 };

/* A shard that has died, and what it had sent. */
struct dead_shard {
	struct sched *sched;
	struct rig_out out[RIG_OUT_MAX];
};

static struct dead_shard dead[DEAD];
static uint32_t deads;
static uint32_t ops; /* the most operations in a transaction */
static uint64_t dead_ever, late_txns;

static inline uint32_t partition_of_gang(uint32_t gang)
{
	char name[8];
	struct partition_group group = {.namespace = PL_SPAN_LIT("web")};
	uint32_t out = 0;

	(void)snprintf(name, sizeof name, "g-%u", gang);
	group.gang = pl_span_str(name);
	T_OK(partition_of_group(&group, RIG_PARTITIONS, &out, &rig.err), &rig.err);
	return out;
}

/* Asks for a cpu; labels and spec are members of these objects. */
static inline void put_member_with(uint32_t gang, uint32_t i, unsigned least,
                                   const char *labels, const char *spec)
{
	char key[96], json[1024];
	int len;

	(void)snprintf(key, sizeof key, "/schedules/%04u/web/p-%u-%u/spec",
	               partition_of_gang(gang), gang, i);
	len = snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"p-%u-%u\","
	               "\"labels\":{%s},\"annotations\":{\"placet.io/gang\":\"g-%u\","
	               "\"placet.io/gang-min\":\"%u\"}},\"spec\":{%s\"containers\":[{"
	               "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
	               gang, i, labels, gang, least, spec);
	T_TRUE((size_t)len < sizeof json);
	rig_put(&rig, key, json);
}

static inline bool is_bound(uint32_t gang, uint32_t i, struct pod_state *state)
{
	char name[16];
	int phase;

	(void)snprintf(name, sizeof name, "p-%u-%u", gang, i);
	*state = rig_state(&rig, partition_of_gang(gang), name, &phase);
	return phase == STATE_BOUND;
}

/* Deletes spec and state, as the submitter does. */
static inline void unput_member(uint32_t gang, uint32_t i)
{
	char key[96];

	(void)snprintf(key, sizeof key, "/schedules/%04u/web/p-%u-%u/",
	               partition_of_gang(gang), gang, i);
	rig.store.revision++;
	rig_unset_all(&rig.store, kv_prefix(pl_span_str(key)));
}

/* -- records --------------------------------------------------------------------- */

static inline bool record_of(uint32_t gang, struct gang_record *out)
{
	char key[32];
	struct kv_record *found;

	(void)snprintf(key, sizeof key, "/gangs/web/g-%u", gang);
	found = rig_get(&rig.store, pl_span_str(key));
	*out = (struct gang_record){0};
	if (found != NULL)
		T_OK(gang_record_parse(found->value, &rig.store.arena, out, &rig.err),
		     &rig.err);
	return found != NULL;
}

static inline const struct gang_record_node *node_of(const struct gang_record *record,
                                                     const char *name)
{
	for (uint32_t i = 0; i < record->nodes; i++)
		if (pl_span_eq(record->node[i].name, pl_span_str(name)))
			return &record->node[i];
	return NULL;
}

static inline bool is_planned(const struct gang_record_node *node, uint32_t gang,
                              uint32_t i)
{
	char name[16];

	(void)snprintf(name, sizeof name, "p-%u-%u", gang, i);
	for (uint32_t n = 0; node != NULL && n < node->pods; n++)
		if (pl_span_eq(node->pod[n].name, pl_span_str(name)))
			return true;
	return false;
}

/* -- shards that die ---------------------------------------------------------------- */

static inline void set_ops(void)
{
	for (unsigned i = 0; i < SHARDS; i++) {
		select_shard(i);
		sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = ops});
	}
}

/* Another shard takes its place; what it sent may be applied now, later, or never. */
static inline void die(void)
{
	static const char *const names[SHARDS] = {"a", "b", "c"};
	const struct sched_opts opts = {.shard = names[now_is],
	                                .partitions = RIG_PARTITIONS,
	                                .seed = deads,
	                                .inflight = 3,
	                                .batch_size = 8};
	struct dead_shard *it = &dead[deads++];
	unsigned was = now_is;

	it->sched = rig.sched;
	memcpy(it->out, rig.out, sizeof it->out);
	memset((uint8_t *)&rig + PART_AT, 0, PART_SIZE);
	rig.now_ms = 0;
	T_OK(sched_new(&opts, &rig.sched, &rig.err), &rig.err);
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = ops});
	wants[was] = 0;
	dead_ever++;
}

static inline void shard_dies(void)
{
	unsigned was = now_is;
	uint64_t now_ms = rig.now_ms;
	int64_t epoch = rig.epoch;

	if (deads == DEAD)
		return;
	die();
	rig.now_ms = now_ms;
	rig.epoch = epoch;
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++) {
		if (owner[p] != was)
			continue;
		select_shard(owner[p] = below(SHARDS));
		rig_own(&rig, p);
	}
}

static inline void the_dead_speak(void)
{
	for (uint32_t i = 0; i < deads; i++)
		for (unsigned n = 0; n < RIG_OUT_MAX; n++) {
			struct rig_out *out = &dead[i].out[n];

			if (!out->used || !pl_rng_chance(&rng, 1, 3))
				continue;
			out->used = false;
			late_txns += rig_exec(&rig.store, &out->req.txn).txn.succeeded;
		}
}

static inline void bury(void)
{
	while (deads > 0)
		sched_free(dead[--deads].sched);
}

#endif
