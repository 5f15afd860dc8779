/*
 * A fixture for tests of shards: several shards over one store in memory, on virtual
 * time. At every OWN it checks that no other shard may act on that partition.
 */
#ifndef TESTS_SUPPORT_COORD_SHARD_SHARD_FIXTURE_H
#define TESTS_SUPPORT_COORD_SHARD_SHARD_FIXTURE_H

#include <stdlib.h>

#include "coord/config/config_edit.h"
#include "coord/shard/shard.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

enum {
	NODES_MAX = 4,
	PARTITIONS = 24,
	TTL_S = 6,
	STEP_MS = 20,
	SETTLED_MS = 30000, /* longer than any handover and expiry in these cases */
	REPORTS = SHARD_CLOSED + 1,
};

struct shard_node {
	struct kv *kv;
	struct shard *shard; /* NULL: it does not run */
	int64_t lease;
	uint64_t handover_ms; /* of the last QUIESCE */
	/* Called with every note, before the fixture; may be NULL. */
	void (*also)(struct shard_node *node, const struct shard_note *note);
	void *also_ctx;
	int64_t epoch[PARTITIONS];
	uint32_t fenced_partition;
	unsigned reports[REPORTS];
	enum claims_why why[PARTITIONS]; /* of the last LOST */
	struct pl_err refused, config_refused, malformed;
	bool quiet;             /* answers QUIESCE at once */
	bool epochs_may_return; /* set where the store goes back in time */
	char id[32];
};

static struct kit kit;
static struct shard_node nodes[NODES_MAX];
static unsigned node_count;
static int64_t last_epoch[PARTITIONS];
static unsigned moves;
/* For the nodes that are opened from now on: */
static const struct faulty_rule *fault_rules;
static size_t fault_rule_count;
static uint64_t fault_seed;
static uint32_t together;

static inline void on_own(struct shard_node *node, const struct shard_note *note)
{
	uint32_t p = note->partition;

	T_TRUE(p < PARTITIONS && node->epoch[p] == 0);
	T_TRUE(note->epoch > last_epoch[p] || node->epochs_may_return);
	for (unsigned i = 0; i < node_count; i++)
		T_TRUE(nodes[i].shard == NULL || shard_epoch(nodes[i].shard, p) == 0 ||
		       &nodes[i] == node);
	T_EQ(shard_epoch(node->shard, p), note->epoch);
	node->epoch[p] = note->epoch;
	last_epoch[p] = note->epoch;
	moves++;
}

static inline void on_lost(struct shard_node *node, const struct shard_note *note)
{
	T_EQ(node->epoch[note->partition], note->epoch);
	T_EQ(shard_epoch(node->shard, note->partition), 0);
	T_TRUE(note->why != CLAIMS_FENCED || node->fenced_partition == note->partition);
	node->epoch[note->partition] = 0;
	node->why[note->partition] = note->why;
}

static inline void on_shard(void *ctx, const struct shard_note *note)
{
	struct shard_node *node = ctx;

	node->reports[note->what]++;
	if (node->also != NULL)
		node->also(node, note);
	if (note->what == SHARD_OWN)
		on_own(node, note);
	if (note->what == SHARD_LOST)
		on_lost(node, note);
	if (note->what == SHARD_FENCED)
		node->fenced_partition = note->partition;
	if (note->what == SHARD_QUIESCE)
		node->handover_ms = note->deadline_ms - kit.now_ms;
	for (uint32_t p = 0; note->what == SHARD_DOWN && p < PARTITIONS; p++)
		T_EQ(node->epoch[p], 0); /* every LOST has been reported before */
	if (note->what == SHARD_QUIESCE && node->quiet)
		shard_quiet(node->shard, note->partition, note->epoch);
	if (note->what == SHARD_UP)
		node->lease = note->lease;
	if (note->what == SHARD_REFUSED)
		node->refused = *note->err;
	if (note->what == SHARD_CONFIG && note->err != NULL)
		node->config_refused = *note->err;
	if (note->what == SHARD_MALFORMED)
		node->malformed = *note->err;
	if (note->what == SHARD_CLOSED)
		node->shard = NULL;
}

static inline bool pid_lives(void *ctx, int64_t pid)
{
	(void)ctx;
	return pid != 666;
}

static inline int64_t wall_ms(void *ctx)
{
	(void)ctx;
	return INT64_C(1795000000000) + (int64_t)kit.now_ms;
}

static inline void node_open(struct shard_node *node, const char *id, int64_t pid)
{
	struct shard_opts opts = {.id = id,
	                          .host = "h",
	                          .boot = "b",
	                          .version = "0.1.0",
	                          .api = "10.0.0.1:7400",
	                          .zone = "z",
	                          .pid = pid,
	                          .partitions = PARTITIONS,
	                          .ttl_s = TTL_S,
	                          .together = together,
	                          .seed = (uint64_t)(node - nodes) + 7,
	                          .pid_lives = pid_lives,
	                          .wall_ms = wall_ms,
	                          .ctx = node};

	*node = (struct shard_node){.quiet = true};
	(void)snprintf(node->id, sizeof node->id, "%s", id);
	T_OK(memkv_session(kit.mem, &node->kv, &kit.err), &kit.err);
	if (fault_rule_count != 0)
		T_OK(faulty_open(node->kv, fault_seed++, fault_rules, fault_rule_count,
		                 &node->kv, &kit.err),
		     &kit.err);
	T_OK(shard_open(node->kv, &opts, on_shard, &node->shard, &kit.err), &kit.err);
	if (node >= nodes + node_count)
		node_count = (unsigned)(node - nodes) + 1;
}

static inline void run_ms(uint64_t ms)
{
	for (uint64_t end = kit.now_ms + ms; kit.now_ms < end;)
		kit_run(&kit, kit.now_ms + STEP_MS);
}

/* Runs until the note has come, at most within_ms. */
static inline void until(const struct shard_node *node, enum shard_what what,
                         uint64_t within_ms)
{
	uint64_t end = kit.now_ms + within_ms;

	while (node->reports[what] == 0) {
		if (kit.now_ms >= end)
			t_fail(__FILE__, __LINE__, "%s did not report %d within %u ms",
			       node->id, (int)what, (unsigned)within_ms);
		kit_run(&kit, kit.now_ms + STEP_MS);
	}
}

static inline void node_close(struct shard_node *node)
{
	if (node->shard != NULL) {
		shard_abandon(node->shard);
		kit_run(&kit, kit.now_ms + STEP_MS);
	}
	T_TRUE(node->shard == NULL);
	T_EQ(node->reports[SHARD_CLOSED], 1);
	kit_close_session(&kit, node->kv);
}

static inline void up(void)
{
	memset(last_epoch, 0, sizeof last_epoch);
	node_count = 0;
	moves = 0;
	kit_open(&kit, NULL);
}

static inline void down(void)
{
	for (unsigned i = 0; i < node_count; i++)
		node_close(&nodes[i]);
	kit_close(&kit);
}

static inline unsigned owned_by_all(void)
{
	unsigned owned = 0;

	for (uint32_t p = 0; p < PARTITIONS; p++)
		for (unsigned i = 0; i < node_count; i++)
			owned += nodes[i].shard != NULL &&
			         shard_epoch(nodes[i].shard, p) != 0;
	return owned;
}

static inline uint32_t owned_partition(const struct shard_node *node)
{
	for (uint32_t p = 0; p < PARTITIONS; p++)
		if (shard_epoch(node->shard, p) != 0)
			return p;
	t_fail(__FILE__, __LINE__, "%s has none", node->id);
}

static inline void settle(void)
{
	run_ms(SETTLED_MS);
	T_EQ(owned_by_all(), PARTITIONS);
}

static inline void open_three(void)
{
	up();
	for (unsigned i = 0; i < 3; i++)
		node_open(&nodes[i], (const char *[]){"a", "b", "c"}[i], 100 + i);
	settle();
	for (unsigned i = 0; i < 3; i++)
		T_TRUE(shard_owned(nodes[i].shard) >= 2);
}

static inline const char *value_at(const char *key)
{
	T_EQ(kit_get_at(&kit, kv_key(kit_key(key)), 0), PL_OK);
	return kit.result.get.count == 0
	               ? NULL
	               : (const char *)kit.result.get.records[0].value.at;
}

static inline void on_edited(void *ctx, uint64_t version, const struct pl_err *err)
{
	T_TRUE(err == NULL);
	*(uint64_t *)ctx = version;
}

static inline void configure(enum config_name name, const char *json)
{
	struct config_edit_opts opts = {.name = name,
	                                .config = pl_span_str(json),
	                                .by = PL_SPAN_LIT("test"),
	                                .why = PL_SPAN_LIT("it is wanted"),
	                                .at_ms = wall_ms(NULL),
	                                .expect_version = -1,
	                                .seed = 5};
	uint64_t version = 0;

	T_OK(config_edit_start(kit.kv, &opts, on_edited, &version, NULL, &kit.err),
	     &kit.err);
	run_ms(STEP_MS);
	T_TRUE(version > 0);
}

/* The leader, once everything has settled; both roles have the same ranking. */
static inline struct shard_node *leader_of(const char *role)
{
	const char *value = NULL;
	char key[64];

	(void)snprintf(key, sizeof key, "/leader/%s", role);
	value = value_at(key);
	for (unsigned i = 0; value != NULL && i < node_count; i++) {
		char quoted[64];

		(void)snprintf(quoted, sizeof quoted, "\"%s\"", nodes[i].id);
		if (strstr(value, quoted) != NULL)
			return &nodes[i];
	}
	t_fail(__FILE__, __LINE__, "none leads as %s", role);
}

/* Does what an operator does after restoring the store. */
static inline void another_life(const char *partitions)
{
	char text[256];

	(void)snprintf(text, sizeof text,
	               "{\"v\":1,\"partitions\":%s,\"created\":"
	               "\"2026-11-21T05:00:00.000Z\",\"version\":\"0.1.0\","
	               "\"incarnation\":\"0123456789abcdef0123456789abcdef\"}",
	               partitions);
	(void)kit_put(&kit, "/placet/meta", text);
}

#endif
