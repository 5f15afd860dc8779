/*
 * For tests of large gangs whose members rules about pods on other nodes concern. There
 * are two shards: one has the gang and all nodes but those of one partition; the other
 * has that partition, with a pod or two of its own.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_SHARD_RULED_GANG_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_SHARD_RULED_GANG_RIG_H

#include <stdarg.h>
#include <stddef.h>

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/reservations/reservation.h"
#include "tests/harness/torture.h"
#include "tests/support/shardsched/shard/large_gang_rig.h"

enum { ZONES = 3, GANGS_SHARD = 0, OTHER_SHARD = 1, NOWHERE = NODES };
enum { PART_AT = offsetof(struct rig, sched), PART_SIZE = sizeof(struct rig) - PART_AT };

static uint8_t part[2][PART_SIZE];
static unsigned now_is;

static const char spread[] =
	"\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"zone\","
	"\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{"
	"\"matchLabels\":{\"app\":\"a\"}}}],";

__attribute__((format(printf, 1, 2))) static inline const char *text(const char *fmt, ...)
{
	static char room[8][1536];
	static unsigned at;
	char *out = room[at++ % 8];
	va_list args;

	va_start(args, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it was begun above */
	(void)vsnprintf(out, sizeof room[0], fmt, args);
	va_end(args);
	return out;
}

/* Anti-affinity with pods of that app in a zone; or, near, affinity to them. */
static inline const char *by_app(const char *rule, const char *app)
{
	return text("\"affinity\":{\"%s\":{\"requiredDuringSchedulingIgnoredDuring"
	            "Execution\":[{\"topologyKey\":\"zone\",\"labelSelector\":{"
	            "\"matchLabels\":{\"app\":\"%s\"}}}]}},",
	            rule, app);
}

static inline const char *apart(const char *app)
{
	return by_app("podAntiAffinity", app);
}

/* -- the world ------------------------------------------------------------------- */

/* With all that it has, as if a pod had come there and gone. */
static inline void put_alloc(uint32_t n)
{
	const char *alloc = text("/alloc/%04u/east/n-%u", n % RIG_PARTITIONS, n);
	const char *value = rig_value(&rig, alloc);
	const char *at = strstr(value, "\"generation\":");
	char *rest;
	unsigned long generation;

	T_TRUE(at != NULL);
	generation = strtoul(at + strlen("\"generation\":"), &rest, 10);
	rig_put(&rig, alloc,
	        text("%.*s\"generation\":%lu%s", (int)(at - value), value, generation + 1,
	             rest));
}

/* Writes the Node, with its alloc, as its cluster does. */
static inline void put_node(uint32_t n, uint32_t zone, const char *cpu, const char *spec)
{
	put_alloc(n);
	rig_set(&rig.store,
	        pl_span_str(text("/nodes/%04u/east/n-%u", n % RIG_PARTITIONS, n)),
	        pl_span_str(text("{\"metadata\":{\"name\":\"n-%u\",\"labels\":{\"zone\":"
	                         "\"z%u\"}},\"spec\":{%s},\"status\":{\"allocatable\":{"
	                         "\"cpu\":\"%s\",\"memory\":\"64Gi\",\"pods\":"
	                         "\"110\"}}}",
	                         n, zone, spec, cpu)));
	rig_set(&rig.store, PL_SPAN_LIT("/groups/nodes"), PL_SPAN_LIT("{\"v\":1}"));
}

static inline void put_zone(uint32_t n, uint32_t zone, const char *cpu)
{
	put_node(n, zone, cpu, "");
}

static inline void select_shard(unsigned shard)
{
	uint64_t now_ms = rig.now_ms;
	int64_t epoch = rig.epoch;

	memcpy(part[now_is], (uint8_t *)&rig + PART_AT, PART_SIZE);
	memcpy((uint8_t *)&rig + PART_AT, part[shard], PART_SIZE);
	rig.now_ms = now_ms;
	rig.epoch = epoch;
	now_is = shard;
}

static inline uint32_t others(void)
{
	return (local() + 1) % RIG_PARTITIONS;
}

/* Twelve nodes of four cpus in three zones. */
static inline void two_shards(void)
{
	node_cpus = 4;
	begin_unowned();
	for (uint32_t n = 0; n < NODES; n++)
		put_zone(n, n % ZONES, "4");
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		if (p != others())
			rig_own(&rig, p);
	memcpy(part[GANGS_SHARD], (uint8_t *)&rig + PART_AT, PART_SIZE);
	rig.sched = NULL; /* the store belongs to the other rig */
	another_shard();
	rig_own(&rig, others());
	now_is = OTHER_SHARD;
	select_shard(GANGS_SHARD);
}

static inline void close_both(void)
{
	for (unsigned i = 0; i < 2; i++) {
		select_shard(i);
		T_EQ(rig.malformed, 0);
		sched_free(rig.sched);
	}
	free(rig.store.log);
	pl_arena_done(&rig.store.arena);
}

static inline void both_for(uint64_t ms)
{
	for (uint64_t i = 0; i < ms; i += 100) {
		rig.now_ms += 100;
		for (unsigned n = 0; n < 2; n++) {
			select_shard(n);
			rig_run_idle(&rig);
		}
	}
	select_shard(GANGS_SHARD);
}

/* Only the other shard goes on. */
static inline void other_for(uint64_t ms)
{
	select_shard(OTHER_SHARD);
	run_for_ms(ms);
	select_shard(GANGS_SHARD);
}

/* A pod of the other shard, with that app. */
static inline void other_pod(const char *name, const char *app, const char *spec)
{
	rig_put(&rig, text("/schedules/%04u/web/%s/spec", others(), name),
	        text("{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"labels\":{"
	             "\"app\":\"%s\"}},\"spec\":{%s\"containers\":[{\"name\":\"c\","
	             "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
	             name, app, spec));
}

static inline uint32_t node_of(const char *name, uint32_t p)
{
	int phase_is;
	struct pod_state state = rig_state(&rig, p, name, &phase_is);

	return phase_is != STATE_BOUND
	               ? (uint32_t)NOWHERE
	               : (uint32_t)strtoul((const char *)state.node.at + 2, NULL, 10);
}

static inline uint32_t members_in(uint32_t zone)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < MEMBERS; i++) {
		uint32_t node = node_of(text("a-%u", i), local());

		count += node != NOWHERE && node % ZONES == zone;
	}
	return count;
}

/* The txn that binds the gang; RIG_OUT_MAX: it is not out. */
static inline unsigned flip_out(void)
{
	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		for (size_t n = 0; rig.out[i].used && n < rig.out[i].req.txn.then_count;
		     n++) {
			const struct kv_req *op = &rig.out[i].req.txn.then[n];

			if (op->op == KV_PUT &&
			    pl_span_eq(op->put.key, PL_SPAN_LIT("/gangs/web/a")) &&
			    memmem(op->put.value.at, op->put.value.len, "\"bound\"", 7) !=
			            NULL)
				return i;
		}
	return RIG_OUT_MAX;
}

/* All reservations stand, and the txn that binds the gang is out. */
static inline unsigned until_flip(void)
{
	for (unsigned i = 0; i < 100 && flip_out() == RIG_OUT_MAX; i++) {
		(void)answer_all();
		rig.now_ms += 20;
		rig_run(&rig);
	}
	T_TRUE(flip_out() < RIG_OUT_MAX);
	return flip_out();
}

static inline bool is_bind(const struct rig_out *out)
{
	for (size_t i = 0; out->used && i < out->req.txn.then_count; i++)
		if (out->req.txn.then[i].op == KV_PUT &&
		    pl_span_starts(out->req.txn.then[i].put.key, PL_SPAN_LIT("/alloc/")))
			return true;
	return false;
}

/* The other shard has decided a pod, and that txn is out. */
static inline void until_other_binds(void)
{
	bool binds = false;

	select_shard(OTHER_SHARD);
	for (unsigned i = 0; i < 100 && !binds; i++) {
		(void)answer_all();
		rig.now_ms += 20;
		rig_run(&rig);
		for (unsigned n = 0; n < RIG_OUT_MAX; n++)
			binds = binds || is_bind(&rig.out[n]);
	}
	T_TRUE(binds);
	select_shard(GANGS_SHARD);
}

/* The other shard's txns are applied only now. */
static inline void other_hears(void)
{
	select_shard(OTHER_SHARD);
	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		if (rig.out[i].used)
			(void)rig_answer(&rig, i);
	select_shard(GANGS_SHARD);
}

#endif
