/*
 * The world of random histories under rules: nodes in zones, kinds of pods that have
 * rules about each other, and the store.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_SHARD_RULES_RANDOM_WORLD_H
#define TESTS_SUPPORT_SHARDSCHED_SHARD_RULES_RANDOM_WORLD_H

#include <stdarg.h>

#include "store/keys/partition.h"
#include "tests/support/shardsched/shard/sched_rig.h"

enum {
	NODES = 9,
	ZONES = 3,
	PODS = 70,
	KINDS = 11,
	NOWHERE = NODES,
};

/* Rules are about pods of one app: 'a' for app "a"; 0: no rule. */
struct rules_pod_kind {
	char app;
	char apart; /* anti-affinity by zone */
	/* anti-affinity by zone with pods of namespace web only, of pods of db */
	char apart_from;
	/* the same with pods of namespaces of team a only, of pods of db */
	char apart_team;
	char near;   /* affinity by zone */
	char spread; /* by zone, maxSkew 1 */
	char spread_host;
	char levels; /* spread by zone, by a term of the pod's own */
};

static const struct rules_pod_kind kinds[KINDS] = {
	{.app = 'a'},
	{.app = 's', .spread = 's'},
	{.app = 'x', .apart = 'x'},
	{.app = 'x'},
	{.app = 'f', .near = 'f'},
	{.app = 'g', .near = 's'},
	{.app = 'd', .apart_from = 'y'},
	{.app = 'h', .spread_host = 'h'},
	{.app = 'y', .near = 'a', .spread = 'y'},
	{.app = 'k', .levels = 'a'},
	{.app = 'e', .apart_team = 'x'},
};

static inline const struct rules_pod_kind *kind_of(uint32_t pod)
{
	return &kinds[pod % KINDS];
}

static inline bool is_web(uint32_t pod)
{
	return kind_of(pod)->apart_from == 0 && kind_of(pod)->apart_team == 0;
}

static inline const char *space_of(uint32_t pod)
{
	return is_web(pod) ? "web" : "db";
}

static struct rig_store store;
static struct pl_rng rng;
static struct pl_err err;

static inline uint32_t below(uint32_t n)
{
	return (uint32_t)pl_rng_below(&rng, n);
}

__attribute__((format(printf, 1, 2))) static inline const char *text(const char *fmt, ...)
{
	static char room[16][1024];
	static unsigned at;
	char *out = room[at++ % 16];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(out, 1024, fmt, args);
	va_end(args);
	return out;
}

static inline uint32_t partition_of_name(uint32_t i)
{
	uint32_t p = 0;

	T_OK(partition_of_node(PL_SPAN_LIT("east"), pl_span_str(text("n-%u", i)),
	                       RIG_PARTITIONS, &p, &err),
	     &err);
	return p;
}

static inline uint32_t partition_of_pod_number(uint32_t i)
{
	uint32_t p = 0;

	T_OK(partition_of_pod(pl_span_str(space_of(i)), pl_span_str(text("p-%u", i)),
	                      RIG_PARTITIONS, &p, &err),
	     &err);
	return p;
}

static inline const char *spec_key(uint32_t i)
{
	return text("/schedules/%04u/%s/p-%u/spec", partition_of_pod_number(i),
	            space_of(i), i);
}

static inline const char *state_key(uint32_t i)
{
	return text("/schedules/%04u/%s/p-%u/state", partition_of_pod_number(i),
	            space_of(i), i);
}

static inline const char *alloc_key(uint32_t i)
{
	return text("/alloc/%04u/east/n-%u", partition_of_name(i), i);
}

static inline const char *node_key(uint32_t i)
{
	return text("/nodes/%04u/east/n-%u", partition_of_name(i), i);
}

static inline const char *value_of(const char *key)
{
	struct kv_record *record = rig_get(&store, pl_span_str(key));

	return record == NULL ? "" : (const char *)record->value.at;
}

static inline void set(const char *key, const char *value)
{
	rig_set(&store, pl_span_str(key), pl_span_str(value));
}

static inline const char *selecting(char app)
{
	return text("\"labelSelector\":{\"matchLabels\":{\"app\":\"%c\"}}", app);
}

/* A selector of the app's pods and of an app that does not exist: each pod that writes it
 * so has a term of its own, and so many terms select one pod. */
static inline const char *selecting_own(char app, uint32_t i)
{
	return text("\"labelSelector\":{\"matchExpressions\":[{\"key\":\"app\","
	            "\"operator\":\"In\",\"values\":[\"%c\",\"none-%u\"]}]}",
	            app, i / KINDS);
}

static inline const char *pod_json(uint32_t i)
{
	const struct rules_pod_kind *kind = kind_of(i);
	const char *zone = "\"topologyKey\":\"zone\"", *rules = "";

	if (kind->apart != 0)
		rules = text(
			",\"affinity\":{\"podAntiAffinity\":{"
			"\"requiredDuringSchedulingIgnoredDuringExecution\":[{%s,%s}]}}",
			selecting(kind->apart), zone);
	if (kind->apart_from != 0)
		rules = text(",\"affinity\":{\"podAntiAffinity\":{"
		             "\"requiredDuringSchedulingIgnoredDuringExecution\":[{%s,%s,"
		             "\"namespaceSelector\":{\"matchLabels\":{"
		             "\"kubernetes.io/metadata.name\":\"web\"}}}]}}",
		             selecting(kind->apart_from), zone);
	if (kind->apart_team != 0)
		rules = text(
			",\"affinity\":{\"podAntiAffinity\":{"
			"\"requiredDuringSchedulingIgnoredDuringExecution\":[{%s,%s,"
			"\"namespaceSelector\":{\"matchLabels\":{\"team\":\"a\"}}}]}}",
			selecting(kind->apart_team), zone);
	if (kind->near != 0)
		rules = text(
			",\"affinity\":{\"podAffinity\":{"
			"\"requiredDuringSchedulingIgnoredDuringExecution\":[{%s,%s}]}}",
			selecting(kind->near), zone);
	if (kind->spread != 0)
		rules = text("%s,\"topologySpreadConstraints\":[{%s,%s,\"maxSkew\":1,"
		             "\"whenUnsatisfiable\":\"DoNotSchedule\"}]",
		             rules, selecting(kind->spread), zone);
	if (kind->levels != 0)
		rules = text(",\"topologySpreadConstraints\":[{%s,%s,\"maxSkew\":1,"
		             "\"whenUnsatisfiable\":\"DoNotSchedule\"}]",
		             selecting_own(kind->levels, i), zone);
	if (kind->spread_host != 0)
		rules = text(",\"topologySpreadConstraints\":[{%s,\"topologyKey\":"
		             "\"kubernetes.io/hostname\",\"maxSkew\":1,"
		             "\"whenUnsatisfiable\":\"DoNotSchedule\"}]",
		             selecting(kind->spread_host));
	return text(
		"{\"metadata\":{\"namespace\":\"%s\",\"name\":\"p-%u\",\"uid\":\"u-%u\","
		"\"labels\":{\"app\":\"%c\"}},\"spec\":{\"priority\":0%s,\"containers\":"
		"[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
		space_of(i), i, i, kind->app, rules);
}

/* Two nodes each have the same hostname, as nodes of two clusters may: they are different
 * nodes all the same. */
static inline void put_node(uint32_t i, uint32_t zone)
{
	store.revision++;
	set(node_key(i),
	    text("{\"metadata\":{\"name\":\"n-%u\",\"labels\":{\"zone\":\"z%u\","
	         "\"kubernetes.io/hostname\":\"n-%u\"}},\"status\":{\"allocatable\":{"
	         "\"cpu\":\"9\",\"memory\":\"64Gi\",\"pods\":\"110\"}}}",
	         i, zone, i / 2));
}

#define WEB_KEY "/objects/core/namespaces/web"
#define LABELS_KEY "/objects/core/namespaces"

/* 0: the namespace has no object. */
static inline void put_team(char team)
{
	store.revision++;
	if (team == 0)
		rig_unset(&store, PL_SPAN_LIT(WEB_KEY));
	else
		set(WEB_KEY, text("{\"metadata\":{\"name\":\"web\",\"labels\":{"
		                  "\"kubernetes.io/metadata.name\":\"web\",\"team\":"
		                  "\"%c\"}}}",
		                  team));
	set(LABELS_KEY, "{\"v\":1}");
	set("/groups/nodes", "{\"v\":1}");
}

static inline uint32_t number_of(struct pl_span name)
{
	uint32_t number = 0;

	for (size_t i = 2; i < name.len; i++)
		number = number * 10 + name.at[i] - '0';
	return number;
}

static inline struct alloc alloc_of(uint32_t node)
{
	struct alloc alloc = {0};

	T_OK(alloc_parse(pl_span_str(value_of(alloc_key(node))), &store.arena, &alloc,
	                 &err),
	     &err);
	return alloc;
}

#endif
