/* Shards over one store in memory, on virtual time. */
#include <stdlib.h>

#include "coord/config/config_edit.h"
#include "coord/session/session.h"
#include "coord/shard/shard.h"
#include "store/memkv/kit.h"

enum {
	NODES_MAX = 4,
	PARTITIONS = 24,
	TTL_S = 6,
	STEP_MS = 20,
	SETTLED_MS = 30000, /* more than any settling and expiry of these cases */
	TOLD_COUNT = SHARD_CLOSED + 1,
};

struct node {
	struct kv *kv;
	struct shard *shard; /* NULL: not there */
	int64_t lease;
	int64_t epoch[PARTITIONS];
	unsigned told[TOLD_COUNT];
	enum claims_why why[PARTITIONS]; /* of the last loss */
	struct pl_err refused, config_refused, garbled;
	bool quiet; /* answers QUIESCE at once */
	char id[32];
};

static struct kit kit;
static struct node nodes[NODES_MAX];
static unsigned node_count;
static int64_t last_epoch[PARTITIONS];
static unsigned moves;

static void on_own(struct node *node, const struct shard_note *note)
{
	uint32_t p = note->partition;

	T_TRUE(p < PARTITIONS && node->epoch[p] == 0);
	T_TRUE(note->epoch > last_epoch[p]);
	for (unsigned i = 0; i < node_count; i++)
		T_TRUE(nodes[i].shard == NULL || shard_epoch(nodes[i].shard, p) == 0 ||
		       &nodes[i] == node);
	T_EQ(shard_epoch(node->shard, p), note->epoch);
	node->epoch[p] = note->epoch;
	last_epoch[p] = note->epoch;
	moves++;
}

static void on_lost(struct node *node, const struct shard_note *note)
{
	T_EQ(node->epoch[note->partition], note->epoch);
	node->epoch[note->partition] = 0;
	node->why[note->partition] = note->why;
}

static void on_shard(void *ctx, const struct shard_note *note)
{
	struct node *node = ctx;

	node->told[note->what]++;
	if (note->what == SHARD_OWN)
		on_own(node, note);
	if (note->what == SHARD_LOST)
		on_lost(node, note);
	if (note->what == SHARD_QUIESCE && node->quiet)
		shard_quiet(node->shard, note->partition, note->epoch);
	if (note->what == SHARD_UP)
		node->lease = note->lease;
	if (note->what == SHARD_REFUSED)
		node->refused = *note->err;
	if (note->what == SHARD_CONFIG && note->err != NULL)
		node->config_refused = *note->err;
	if (note->what == SHARD_GARBLED)
		node->garbled = *note->err;
	if (note->what == SHARD_CLOSED)
		node->shard = NULL;
}

static bool pid_lives(void *ctx, int64_t pid)
{
	(void)ctx;
	return pid != 666;
}

static int64_t wall_ms(void *ctx)
{
	(void)ctx;
	return INT64_C(1795000000000) + (int64_t)kit.now_ms;
}

static void node_open(struct node *node, const char *id, int64_t pid)
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
	                          .seed = (uint64_t)(node - nodes) + 7,
	                          .pid_lives = pid_lives,
	                          .wall_ms = wall_ms,
	                          .ctx = node};

	*node = (struct node){.quiet = true};
	(void)snprintf(node->id, sizeof node->id, "%s", id);
	T_OK(memkv_session(kit.mem, &node->kv, &kit.err), &kit.err);
	T_OK(shard_open(node->kv, &opts, on_shard, &node->shard, &kit.err), &kit.err);
	if (node >= nodes + node_count)
		node_count = (unsigned)(node - nodes) + 1;
}

static void run_ms(uint64_t ms)
{
	for (uint64_t end = kit.now_ms + ms; kit.now_ms < end;)
		kit_run(&kit, kit.now_ms + STEP_MS);
}

/* Runs until told so, at most so long. */
static void until(const struct node *node, enum shard_what what, uint64_t within_ms)
{
	uint64_t end = kit.now_ms + within_ms;

	while (node->told[what] == 0) {
		if (kit.now_ms >= end)
			t_fail(__FILE__, __LINE__, "%s was not told %d within %u ms",
			       node->id, (int)what, (unsigned)within_ms);
		kit_run(&kit, kit.now_ms + STEP_MS);
	}
}

static void node_close(struct node *node)
{
	if (node->shard != NULL) {
		shard_abandon(node->shard);
		kit_run(&kit, kit.now_ms + STEP_MS);
	}
	T_TRUE(node->shard == NULL);
	T_EQ(node->told[SHARD_CLOSED], 1);
	kit_close_session(&kit, node->kv);
}

static void up(void)
{
	memset(last_epoch, 0, sizeof last_epoch);
	node_count = 0;
	moves = 0;
	kit_open(&kit, NULL);
}

static void down(void)
{
	for (unsigned i = 0; i < node_count; i++)
		node_close(&nodes[i]);
	kit_close(&kit);
}

static unsigned owned_by_all(void)
{
	unsigned owned = 0;

	for (uint32_t p = 0; p < PARTITIONS; p++)
		for (unsigned i = 0; i < node_count; i++)
			owned += nodes[i].shard != NULL &&
			         shard_epoch(nodes[i].shard, p) != 0;
	return owned;
}

static void settle(void)
{
	run_ms(SETTLED_MS);
	T_EQ(owned_by_all(), PARTITIONS);
}

static void open_three(void)
{
	up();
	for (unsigned i = 0; i < 3; i++)
		node_open(&nodes[i], (const char *[]){"a", "b", "c"}[i], 100 + i);
	settle();
	for (unsigned i = 0; i < 3; i++)
		T_TRUE(shard_owned(nodes[i].shard) >= 2);
}

static const char *value_at(const char *key)
{
	T_EQ(kit_get_at(&kit, kv_key(kit_key(key)), 0), PL_OK);
	return kit.result.get.count == 0
	               ? NULL
	               : (const char *)kit.result.get.records[0].value.at;
}

static void on_edited(void *ctx, uint64_t version, const struct pl_err *err)
{
	T_TRUE(err == NULL);
	*(uint64_t *)ctx = version;
}

static void configure(enum config_name name, const char *json)
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

/* -- coming and going --------------------------------------------------------- */

T_CASE(one_shard_takes_all)
{
	up();
	node_open(&nodes[0], "a", 100);
	until(&nodes[0], SHARD_ACTIVE, 5000);
	settle();
	T_EQ(shard_partitions(nodes[0].shard), PARTITIONS);
	T_EQ(shard_owned(nodes[0].shard), PARTITIONS);
	T_EQ(shard_state(nodes[0].shard), MEMBER_ACTIVE);
	T_TRUE(strstr(value_at("/shards/a"), "\"state\":\"active\"") != NULL);
	T_TRUE(strstr(value_at("/shards/a"), "\"partitions\":[0,1,2,3,") != NULL);
	T_TRUE(strstr(value_at("/partitions/0023/owner"), "\"a\"") != NULL);
	T_EQ(nodes[0].told[SHARD_LEAD], 2);
	down();
}

T_CASE(three_shards_share)
{
	unsigned before;

	open_three();
	before = moves;
	T_TRUE(before <= 3 * PARTITIONS);
	run_ms(SETTLED_MS);
	T_EQ(moves, before); /* and then nothing moves any more */
	T_EQ(nodes[0].told[SHARD_LEAD] + nodes[1].told[SHARD_LEAD] +
	             nodes[2].told[SHARD_LEAD],
	     2);
	down();
}

T_CASE(one_who_comes_takes_only_for_itself)
{
	open_three();
	moves = 0;
	node_open(&nodes[3], "d", 104);
	settle();
	T_EQ(moves, shard_owned(nodes[3].shard));
	T_TRUE(moves > 0);
	down();
}

T_CASE(one_who_leaves_hands_everything_over)
{
	uint64_t since;

	open_three();
	since = kit.now_ms;
	shard_leave(nodes[1].shard);
	until(&nodes[1], SHARD_CLOSED, 10000);
	T_TRUE(kit.now_ms - since < 2000); /* nothing was in flight */
	T_EQ(nodes[1].told[SHARD_DRAINING], 1);
	T_EQ(nodes[1].told[SHARD_DRAINED], 1);
	for (uint32_t p = 0; p < PARTITIONS; p++)
		T_EQ(nodes[1].epoch[p], 0);
	T_TRUE(value_at("/shards/b") == NULL);
	run_ms(1000);
	T_EQ(owned_by_all(), PARTITIONS); /* long before any lease could run out */
	down();
}

T_CASE(work_in_flight_is_waited_for_and_no_longer_than_promised)
{
	uint64_t since;

	open_three();
	nodes[1].quiet = false;
	since = kit.now_ms;
	shard_leave(nodes[1].shard);
	run_ms(1000);
	T_TRUE(nodes[1].shard != NULL && nodes[1].told[SHARD_QUIESCE] > 0);
	for (uint32_t p = 0; p < PARTITIONS; p++)
		T_TRUE(!shard_may_begin(nodes[1].shard, p));
	until(&nodes[1], SHARD_CLOSED, 60000);
	T_TRUE(kit.now_ms - since < 15000);
	settle();
	down();
}

T_CASE(the_last_one_leaves_nothing_behind)
{
	up();
	node_open(&nodes[0], "a", 100);
	settle();
	shard_leave(nodes[0].shard);
	until(&nodes[0], SHARD_CLOSED, 20000);
	T_TRUE(value_at("/shards/a") == NULL);
	T_EQ(kit_get_at(&kit, kv_prefix(kit_key("/partitions/")), 0), PL_OK);
	T_EQ(kit.result.get.count, 0);
	T_EQ(kit_get_at(&kit, kv_prefix(kit_key("/leader/")), 0), PL_OK);
	T_EQ(kit.result.get.count, 0);
	down();
}

T_CASE(the_partitions_of_the_dead_are_taken_once_its_lease_is_gone)
{
	unsigned owned;
	uint64_t since;

	open_three();
	owned = shard_owned(nodes[2].shard);
	shard_abandon(nodes[2].shard);
	since = kit.now_ms;
	run_ms(1000);
	T_EQ(nodes[2].told[SHARD_CLOSED], 1);
	T_EQ(owned_by_all(), PARTITIONS - owned);
	while (owned_by_all() < PARTITIONS && kit.now_ms - since < 60000)
		run_ms(STEP_MS);
	T_TRUE(kit.now_ms - since <= TTL_S * 1000 + 1000);
	down();
}

T_CASE(leaving_and_abandoning_end_from_any_moment)
{
	for (uint64_t ms = 0; ms < 2500; ms += 60) {
		up();
		node_open(&nodes[0], "a", 100);
		node_open(&nodes[1], "b", 101);
		for (uint64_t i = 0; i < ms; i += STEP_MS)
			run_ms(STEP_MS);
		shard_leave(nodes[0].shard);
		if (ms % 120 == 0) {
			run_ms(STEP_MS);
			if (nodes[0].shard != NULL)
				shard_abandon(nodes[0].shard);
		}
		until(&nodes[0], SHARD_CLOSED, 20000);
		down();
	}
}

/* -- who is refused ------------------------------------------------------------- */

T_CASE(an_id_in_use_is_refused)
{
	open_three();
	node_open(&nodes[3], "a", 104);
	until(&nodes[3], SHARD_REFUSED, 60000);
	T_EQ(nodes[3].refused.code, PL_EXISTS);
	T_EQ(nodes[3].told[SHARD_OWN], 0);
	shard_leave(nodes[3].shard);
	until(&nodes[3], SHARD_CLOSED, 10000);
	T_EQ(owned_by_all(), PARTITIONS);
	T_TRUE(value_at("/shards/a") != NULL);
	down();
}

T_CASE(other_partitions_than_there_are_is_refused)
{
	struct shard_opts opts = {.id = "x",
	                          .partitions = PARTITIONS + 1,
	                          .ttl_s = TTL_S,
	                          .seed = 3,
	                          .ctx = &nodes[1]};

	up();
	node_open(&nodes[0], "a", 100);
	settle();
	nodes[1] = (struct node){.id = "x"};
	T_OK(memkv_session(kit.mem, &nodes[1].kv, &kit.err), &kit.err);
	T_OK(shard_open(nodes[1].kv, &opts, on_shard, &nodes[1].shard, &kit.err),
	     &kit.err);
	node_count = 2;
	until(&nodes[1], SHARD_REFUSED, 5000);
	T_EQ(nodes[1].refused.code, PL_CONFLICT);
	down();
}

T_CASE(options_that_make_no_sense_open_nothing)
{
	struct shard_opts opts = {.id = "No", .ttl_s = TTL_S};
	struct shard *shard = NULL;

	up();
	T_CODE(shard_open(kit.kv, &opts, on_shard, &shard, &kit.err), PL_INVALID, NULL);
	opts.id = "a";
	opts.weight = MEMBER_WEIGHT_MAX + 1;
	T_CODE(shard_open(kit.kv, &opts, on_shard, &shard, &kit.err), PL_INVALID, NULL);
	T_TRUE(shard == NULL);
	down();
}

/* -- what operators do ------------------------------------------------------------ */

T_CASE(drained_by_configuration_and_back)
{
	open_three();
	configure(CONFIG_SHARDS, "{\"drain\":[\"b\"]}");
	until(&nodes[1], SHARD_DRAINED, 30000);
	T_EQ(shard_state(nodes[1].shard), MEMBER_DRAINING);
	T_EQ(shard_owned(nodes[1].shard), 0);
	settle();
	T_TRUE(strstr(value_at("/shards/b"), "\"state\":\"draining\"") != NULL);
	configure(CONFIG_SHARDS, "{\"drain\":[]}");
	settle();
	T_EQ(shard_state(nodes[1].shard), MEMBER_ACTIVE);
	T_TRUE(shard_owned(nodes[1].shard) > 0);
	down();
}

T_CASE(with_nobody_else_there_one_who_is_drained_keeps_what_it_has)
{
	up();
	node_open(&nodes[0], "a", 100);
	settle();
	configure(CONFIG_SHARDS, "{\"drain\":[\"a\"]}");
	run_ms(SETTLED_MS);
	T_EQ(nodes[0].told[SHARD_DRAINING], 1);
	T_EQ(nodes[0].told[SHARD_DRAINED], 0);
	T_EQ(owned_by_all(), PARTITIONS);
	node_open(&nodes[1], "b", 101);
	until(&nodes[0], SHARD_DRAINED, 30000);
	settle();
	T_EQ(shard_owned(nodes[1].shard), PARTITIONS);
	down();
}

T_CASE(one_who_is_put_out_loses_all_and_comes_back)
{
	open_three();
	T_EQ(kit_lease(&kit, KV_LEASE_REVOKE, nodes[0].lease, 0), PL_OK);
	until(&nodes[0], SHARD_DOWN, TTL_S * UINT64_C(1000));
	for (uint32_t p = 0; p < PARTITIONS; p++)
		T_EQ(nodes[0].epoch[p], 0);
	settle();
	T_EQ(nodes[0].told[SHARD_UP], 2);
	T_TRUE(shard_owned(nodes[0].shard) > 0);
	down();
}

T_CASE(weights_of_members_count)
{
	open_three();
	configure(CONFIG_WEIGHTS, "{\"factors\":{\"a\":100,\"b\":100}}");
	settle();
	T_TRUE(shard_owned(nodes[2].shard) > PARTITIONS / 2);
	down();
}

T_CASE(a_bad_configuration_is_reported_and_the_last_good_one_stands)
{
	open_three();
	configure(CONFIG_SHARDS, "{\"drain\":[\"b\"]}");
	settle();
	(void)kit_put(&kit, "/config/shards/0000000002",
	              "{\"v\":1,\"at\":\"2026-11-21T05:00:00.000Z\",\"by\":\"x\",\"why\":"
	              "\"\",\"config\":{\"drain\":7}}");
	(void)kit_put(&kit, "/config/shards/current", "{\"v\":1,\"version\":2}");
	run_ms(1000);
	T_TRUE(strstr(nodes[0].config_refused.msg, "drain") != NULL);
	T_TRUE(strstr(value_at("/shards/a"), "\"refused\":{\"shards\":\"version 2: ") !=
	       NULL);
	T_EQ(shard_state(nodes[1].shard), MEMBER_DRAINING);
	T_EQ(shard_owned(nodes[1].shard), 0);
	configure(CONFIG_SHARDS, "{}");
	settle();
	T_TRUE(strstr(value_at("/shards/a"), "refused") == NULL);
	T_EQ(shard_state(nodes[1].shard), MEMBER_ACTIVE);
	down();
}

T_CASE(a_record_that_somebody_broke_is_reported_and_has_no_part)
{
	open_three();
	(void)kit_put(&kit, "/shards/zz", "{\"v\":1}");
	run_ms(1000);
	T_EQ(nodes[0].told[SHARD_GARBLED], 1);
	T_EQ(nodes[2].told[SHARD_GARBLED], 1);
	settle();
	T_EQ(nodes[0].told[SHARD_GARBLED], 1);
	down();
}

/* Longer than any name: an entry like any other that makes no sense. */
T_CASE(a_key_that_is_too_long_to_be_a_shards_is_reported)
{
	char key[2000];

	(void)snprintf(key, sizeof key, "/shards/%0*d", 1900, 7);
	open_three();
	(void)kit_put(&kit, key, "{}");
	run_ms(1000);
	T_EQ(nodes[0].told[SHARD_GARBLED], 1);
	settle();
	T_EQ(shard_owned(nodes[0].shard) + shard_owned(nodes[1].shard) +
	             shard_owned(nodes[2].shard),
	     PARTITIONS);
	down();
}

T_CASE(a_record_that_somebody_removed_is_put_back_and_nothing_is_lost)
{
	open_three();
	T_EQ(kit_delete(&kit, kv_key(kit_key("/shards/a"))), 1);
	run_ms(1000);
	T_TRUE(value_at("/shards/a") != NULL);
	settle();
	T_TRUE(shard_owned(nodes[0].shard) > 0);
	T_EQ(nodes[0].told[SHARD_DOWN], 0);
	down();
}

/* -- the guard ------------------------------------------------------------------ */

struct ending {
	bool done;
	enum pl_code code;
};

static void on_write(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct ending *ending = ctx;

	(void)result;
	T_TRUE(!ending->done);
	ending->done = true;
	ending->code = err == NULL ? PL_OK : err->code;
}

static uint32_t owned_partition(const struct node *node)
{
	for (uint32_t p = 0; p < PARTITIONS; p++)
		if (shard_epoch(node->shard, p) != 0)
			return p;
	t_fail(__FILE__, __LINE__, "%s has none", node->id);
}

static enum pl_code write_at(struct node *node, const char *key, struct ending *ending)
{
	struct kv_put put = {.key = pl_span_str(key), .value = PL_SPAN_LIT("{}")};

	*ending = (struct ending){0};
	return kv_put(shard_kv(node->shard), &put, 1000, on_write, ending, NULL, NULL);
}

static const char *key_in(uint32_t partition, const char *what)
{
	static char key[64];

	(void)snprintf(key, sizeof key, "/schedules/%04u/ns/pod/%s", partition, what);
	return key;
}

T_CASE(writes_of_ones_own_partitions_pass_and_others_are_refused)
{
	struct ending ending;
	uint32_t p;

	open_three();
	p = owned_partition(&nodes[0]);
	T_EQ(write_at(&nodes[0], key_in(p, "state"), &ending), PL_OK);
	kit_run(&kit, kit.now_ms);
	T_TRUE(ending.done);
	T_EQ(ending.code, PL_OK);
	T_EQ(write_at(&nodes[1], key_in(p, "state"), &ending), PL_FENCED);
	T_EQ(write_at(&nodes[1], key_in(PARTITIONS, "spec"), &ending), PL_FENCED);
	T_EQ(write_at(&nodes[1], key_in(9999, "spec"), &ending), PL_FENCED);
	T_EQ(write_at(&nodes[1], "/schedules/", &ending), PL_FENCED);
	T_EQ(write_at(&nodes[1], "/digests/b", &ending), PL_OK);
	kit_run(&kit, kit.now_ms);
	T_EQ(ending.code, PL_OK);
	T_EQ(shard_fenced(nodes[0].shard) + shard_fenced(nodes[1].shard), 0);
	down();
}

T_CASE(ranges_are_judged_whole)
{
	static const struct {
		const char *from, *to; /* to NULL: a prefix; "": everything behind */
		enum pl_code code;
	} cases[] = {
		{"/schedules/", NULL, PL_FENCED},
		{"/sched", NULL, PL_FENCED},
		{"", NULL, PL_FENCED},
		{"/schedules/0000/", NULL, PL_OK},
		{"/schedules/0000", NULL, PL_FENCED},
		{"/schedules/0000/ns/", NULL, PL_OK},
		{"/schedules/0000/a", "/schedules/0000/b", PL_OK},
		{"/schedules/0000/a", "/schedules/00000", PL_OK},
		{"/schedules/0000/a", "/schedules/0001/b", PL_FENCED},
		{"/schedules/0000/a", "/schedules/00001", PL_FENCED},
		{"/s", "/schedules/", PL_OK},
		{"/a", "/schedules/0", PL_FENCED},
		{"/schedules0", "/sd", PL_OK},
		{"/schedules/0000/a", "", PL_FENCED},
		{"/sz", "", PL_OK},
		{"/groups/", NULL, PL_OK},
		{"/schedules/00x0/", NULL, PL_FENCED},
	};
	struct ending ending;

	up();
	node_open(&nodes[0], "a", 100);
	settle();
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct kv_delete del = {
			.keys = cases[i].to == NULL   ? kv_prefix(kit_key(cases[i].from))
		                : cases[i].to[0] == 0 ? kv_from(kit_key(cases[i].from))
		                                      : kv_range(kit_key(cases[i].from),
		                                                 kit_key(cases[i].to))};
		enum pl_code code;

		ending = (struct ending){0};
		code = kv_delete(shard_kv(nodes[0].shard), &del, 1000, on_write, &ending,
		                 NULL, NULL);
		if (code != cases[i].code)
			t_fail(__FILE__, __LINE__, "'%s' to '%s': %s", cases[i].from,
			       cases[i].to == NULL ? "(prefix)" : cases[i].to,
			       pl_code_name(code));
		kit_run(&kit, kit.now_ms);
		T_EQ(ending.done, code == PL_OK);
		T_EQ(ending.code, PL_OK);
	}
	T_EQ(shard_owned(nodes[0].shard), PARTITIONS);
	down();
}

static void ignore_end(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	(void)ctx;
	(void)result;
	(void)err;
}

T_CASE(a_write_under_an_epoch_that_is_lost_does_not_happen)
{
	struct kv_lease_req revoke;
	struct ending ending;
	uint32_t p;

	open_three();
	p = owned_partition(&nodes[0]);
	revoke = (struct kv_lease_req){.id = nodes[0].lease};
	T_EQ(kv_lease_revoke(kit.kv, &revoke, 1000, ignore_end, NULL, NULL, NULL), PL_OK);
	/* The shard has not heard of it. */
	T_TRUE(shard_epoch(nodes[0].shard, p) != 0);
	T_EQ(write_at(&nodes[0], key_in(p, "state"), &ending), PL_OK);
	kit_run(&kit, kit.now_ms);
	T_TRUE(ending.done);
	T_EQ(ending.code, PL_FENCED);
	T_EQ(nodes[0].epoch[p], 0);
	T_TRUE(value_at(key_in(p, "state")) == NULL);
	T_EQ(shard_fenced(nodes[0].shard), 1);
	T_EQ(nodes[0].told[SHARD_FENCED], 1);
	settle();
	T_TRUE(strstr(value_at("/shards/a"), "\"fenced\":1") != NULL);
	down();
}

/* -- loads and the record ---------------------------------------------------------- */

T_CASE(loads_and_rates_come_to_stand_in_the_record)
{
	char want[64];
	uint32_t p;

	open_three();
	p = owned_partition(&nodes[0]);
	shard_load(nodes[0].shard, p, 4711);
	shard_load(nodes[0].shard, PARTITIONS, 1);
	shard_busy(nodes[0].shard, 0.5, 12);
	settle();
	T_TRUE(strstr(value_at("/shards/a"), "4711") != NULL);
	(void)snprintf(want, sizeof want, "\"busy\":0.5");
	T_TRUE(strstr(value_at("/shards/a"), want) != NULL);
	down();
}

/* -- a store that went back in time ---------------------------------------------------
 */

T_CASE(a_restored_store_costs_every_epoch_and_is_owned_again)
{
	struct memkv_snapshot *snapshot = NULL;

	open_three();
	T_OK(memkv_save(kit.mem, &snapshot, &kit.err), &kit.err);
	configure(CONFIG_SHARDS, "{\"drain\":[\"b\"]}");
	settle();
	T_EQ(shard_owned(nodes[1].shard), 0);
	T_OK(memkv_restore(kit.mem, snapshot, &kit.err), &kit.err);
	for (unsigned i = 0; i < node_count; i++)
		memkv_reconnect(nodes[i].kv);
	/* Epochs may come twice now: the lease tells them apart. */
	memset(last_epoch, 0, sizeof last_epoch);
	settle();
	for (unsigned i = 0; i < node_count; i++)
		T_EQ(nodes[i].told[SHARD_REWOUND], 1);
	T_EQ(shard_state(nodes[1].shard), MEMBER_ACTIVE); /* nobody drained it here */
	T_TRUE(shard_owned(nodes[1].shard) > 0);
	memkv_snapshot_free(snapshot);
	down();
}
