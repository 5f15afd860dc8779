/* Nodes written to the store in memory: the result, with other writers at the same
 * time, and with lost answers. */
#include "coord/service/nodes/nodes.h"
#include "shardsched/records/alloc.h"
#include "store/base/rng.h"
#include "store/keys/partition.h"
#include "tests/harness/torture.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

enum { PARTITIONS = 8, COUNT = 500, NAME_SIZE = 32, JSON_SIZE = 200 };

static struct kit kit;
static struct job {
	struct kv *kv;
	struct nodes *nodes; /* NULL: it has ended */
	struct nodes_opts opts;
	unsigned at, count, first, step;
	const char *mark; /* contained in each JSON */
	char name[NAME_SIZE], json[JSON_SIZE];
	unsigned outcome[NODES_REFUSED + 1];
	enum pl_code why; /* code of the last refusal */
	struct pl_err err;
} jobs[2];

static enum pl_code next(void *ctx, struct nodes_item *out, bool *more,
                         struct pl_err *err)
{
	struct job *me = ctx;

	(void)err;
	*more = me->at < me->count;
	if (!*more)
		return PL_OK;
	(void)snprintf(me->name, NAME_SIZE, "n-%u", me->first + me->at);
	(void)snprintf(me->json, JSON_SIZE,
	               "{\"metadata\":{\"name\":\"%s\"},\"m\":\"%s\"}", me->name,
	               me->mark);
	*out = (struct nodes_item){.cluster = PL_SPAN_LIT("east"),
	                           .name = pl_span_str(me->name),
	                           .json = pl_span_str(me->json),
	                           .tag = me->at++};
	return PL_OK;
}

static void on_report(void *ctx, const struct nodes_item *item,
                      enum nodes_outcome outcome, const struct pl_err *err)
{
	struct job *me = ctx;

	T_SPAN(item->cluster, PL_SPAN_LIT("east"));
	T_EQ(outcome == NODES_REFUSED, err != NULL);
	me->outcome[outcome]++;
	if (err != NULL)
		me->why = err->code;
}

static void done(void *ctx, const struct pl_err *err)
{
	struct job *me = ctx;

	me->nodes = NULL;
	if (err != NULL)
		me->err = *err;
}

static void up(const struct faulty_rule *rules, size_t count)
{
	memset(jobs, 0, sizeof jobs);
	kit_open(&kit, NULL);
	T_OK(faulty_open(kit.kv, t_seed(), rules, count, &kit.kv, &kit.err), &kit.err);
}

static enum pl_code start(struct job *me, enum nodes_verb verb, unsigned count,
                          const char *mark)
{
	bool dry = me->opts.dry_run;

	*me = (struct job){
		.kv = kit.kv, .count = count, .mark = mark, .first = me->first};
	me->opts = (struct nodes_opts){.verb = verb,
	                               .partitions = PARTITIONS,
	                               .dry_run = dry,
	                               .timeout_ms = 100,
	                               .patience_ms = 20000,
	                               .next = next,
	                               .report = on_report,
	                               .done = done,
	                               .ctx = me};
	return nodes_open(kit.kv, &me->opts, &me->nodes, &kit.err);
}

static void run(void)
{
	while (jobs[0].nodes != NULL || jobs[1].nodes != NULL) {
		if (memkv_next_ms(kit.mem) > kit.now_ms)
			kit.now_ms = memkv_next_ms(kit.mem);
		kit_run(&kit, kit.now_ms);
	}
}

static void does(enum nodes_verb verb, unsigned count, const char *mark)
{
	T_OK(start(&jobs[0], verb, count, mark), &kit.err);
	run();
	T_CODE(jobs[0].err.code, PL_OK, &jobs[0].err);
}

static const char *key_of(enum keys_kind kind, unsigned number)
{
	static struct keys_text text;
	char name[NAME_SIZE];
	struct keys_id id = {.kind = kind, .scope = PL_SPAN_LIT("east")};

	(void)snprintf(name, sizeof name, "n-%u", number);
	id.name = pl_span_str(name);
	T_OK(partition_of_node(id.scope, id.name, PARTITIONS, &id.partition, NULL), NULL);
	T_OK(keys_build(&id, &text, NULL), NULL);
	return text.at;
}

static struct pl_span value_of(enum keys_kind kind, unsigned number)
{
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(key_of(kind, number))), 0), PL_OK);
	return kit.result.get.count == 0 ? (struct pl_span){0}
	                                 : kit.result.get.records[0].value;
}

static uint64_t generation(unsigned number)
{
	struct alloc alloc;

	T_OK(alloc_parse(value_of(KEYS_ALLOC, number), &kit.arena, &alloc, &kit.err),
	     &kit.err);
	return alloc.generation;
}

static bool has(struct pl_span text, const char *words)
{
	return text.len > 0 && memmem(text.at, text.len, words, strlen(words)) != NULL;
}

static size_t count_under(const char *prefix)
{
	T_EQ(kit_get_at(&kit, kv_prefix(pl_span_str(prefix)), 0), PL_OK);
	return kit.result.get.count;
}

T_CASE(nodes_are_created_changed_and_unchanged)
{
	up(NULL, 0);
	does(NODES_APPLY, COUNT, "one");
	T_EQ(jobs[0].outcome[NODES_CREATED], COUNT);
	T_EQ(count_under("/nodes/"), COUNT);
	T_EQ(count_under("/alloc/"), COUNT);
	T_EQ(generation(7), 1);
	does(NODES_APPLY, COUNT + 100, "one");
	T_EQ(jobs[0].outcome[NODES_UNCHANGED], COUNT);
	T_EQ(jobs[0].outcome[NODES_CREATED], 100);
	T_EQ(generation(7), 1);
	does(NODES_APPLY, 10, "two");
	T_EQ(jobs[0].outcome[NODES_CHANGED], 10);
	T_EQ(generation(7), 2);
	T_TRUE(has(value_of(KEYS_NODE, 7), "\"two\""));
	T_TRUE(has(value_of(KEYS_NODE, 17), "\"one\""));
	kit_close(&kit);
}

T_CASE(cordoned_uncordoned_deleted)
{
	up(NULL, 0);
	does(NODES_APPLY, 100, "one");
	does(NODES_CORDON, 100, NULL);
	T_EQ(jobs[0].outcome[NODES_CHANGED], 100);
	T_TRUE(has(value_of(KEYS_NODE, 99), "\"unschedulable\":true"));
	does(NODES_CORDON, 101, NULL);
	T_EQ(jobs[0].outcome[NODES_UNCHANGED], 100);
	T_EQ(jobs[0].outcome[NODES_REFUSED], 1);
	T_EQ(jobs[0].why, PL_NOTFOUND);
	does(NODES_UNCORDON, 100, NULL);
	T_EQ(jobs[0].outcome[NODES_CHANGED], 100);
	T_EQ(generation(99), 3);
	does(NODES_DELETE, 100, NULL);
	T_EQ(jobs[0].outcome[NODES_DELETED], 100);
	T_EQ(count_under("/nodes/") + count_under("/alloc/"), 0);
	kit_close(&kit);
}

T_CASE(a_dry_run_reports_and_writes_nothing)
{
	int64_t before;

	up(NULL, 0);
	does(NODES_APPLY, 100, "one");
	before = memkv_revision(kit.mem);
	jobs[0].opts.dry_run = true;
	does(NODES_APPLY, 300, "one");
	T_EQ(jobs[0].outcome[NODES_UNCHANGED], 100);
	T_EQ(jobs[0].outcome[NODES_CREATED], 200);
	jobs[0].opts.dry_run = true;
	does(NODES_DELETE, 100, NULL);
	T_EQ(jobs[0].outcome[NODES_DELETED], 100);
	T_EQ(memkv_revision(kit.mem), before);
	kit_close(&kit);
}

/* Two writers want the same nodes to be different: each change is complete, and
 * counted. */
T_CASE(two_at_once)
{
	static const struct faulty_rule rules[] = {{.what = FAULTY_SLOW_REQUEST,
	                                            .per_mille = 500,
	                                            .delay_min_ms = 1,
	                                            .delay_max_ms = 20}};
	unsigned changes = 0;

	up(rules, 1);
	T_OK(start(&jobs[0], NODES_APPLY, COUNT, "one"), &kit.err);
	T_OK(start(&jobs[1], NODES_APPLY, COUNT, "two"), &kit.err);
	run();
	faulty_pause(kit.kv, true);
	for (unsigned i = 0; i < COUNT; i++)
		changes += (unsigned)generation(i);
	for (unsigned j = 0; j < 2; j++) {
		T_CODE(jobs[j].err.code, PL_OK, &jobs[j].err);
		changes -=
			jobs[j].outcome[NODES_CREATED] + jobs[j].outcome[NODES_CHANGED];
		T_EQ(jobs[j].outcome[NODES_REFUSED], 0);
	}
	T_EQ(changes, 0);
	kit_close(&kit);
}

T_CASE(lost_answers_are_settled)
{
	static const struct faulty_rule rules[] = {
		{.what = FAULTY_LOSE_ANSWER, .ops = 1u << KV_TXN, .per_mille = 300},
		{.what = FAULTY_APPLY_LATE,
	         .ops = 1u << KV_TXN,
	         .per_mille = 200,
	         .delay_min_ms = 1,
	         .delay_max_ms = 90},
		{.what = FAULTY_REFUSE,
	         .ops = 1u << KV_TXN,
	         .per_mille = 100,
	         .code = PL_UNAVAIL},
	};

	up(rules, sizeof rules / sizeof rules[0]);
	does(NODES_APPLY, COUNT, "one");
	T_EQ(jobs[0].outcome[NODES_CREATED], COUNT);
	does(NODES_CORDON, COUNT, NULL);
	T_EQ(jobs[0].outcome[NODES_CHANGED], COUNT);
	faulty_pause(kit.kv, true);
	for (unsigned i = 0; i < COUNT; i++)
		T_EQ(generation(i), 2);
	faulty_pause(kit.kv, false);
	does(NODES_DELETE, COUNT, NULL);
	T_EQ(jobs[0].outcome[NODES_DELETED], COUNT);
	faulty_pause(kit.kv, true);
	T_EQ(count_under("/nodes/") + count_under("/alloc/"), 0);
	kit_close(&kit);
}

T_CASE(damaged_nodes_are_refused_and_the_rest_done)
{
	up(NULL, 0);
	does(NODES_APPLY, 20, "one");
	(void)kit_put(&kit, key_of(KEYS_ALLOC, 3), "{");
	(void)kit_delete(&kit, kv_key(pl_span_str(key_of(KEYS_ALLOC, 4))));
	(void)kit_put(&kit, key_of(KEYS_ALLOC, 5),
	              "{\"v\":1,\"generation\":4,\"used\":{\"pods\":\"1\"},"
	              "\"pods\":{\"0001\":{\"web\":[\"a\"]}}}");
	does(NODES_DELETE, 20, NULL);
	T_EQ(jobs[0].outcome[NODES_REFUSED], 3);
	T_EQ(jobs[0].outcome[NODES_DELETED], 17);
	T_EQ(count_under("/nodes/"), 3);
	kit_close(&kit);
}

T_CASE(a_node_that_is_too_large_is_refused)
{
	static char large[JSON_SIZE];
	struct memkv_opts opts = {.request_bytes_max = 600};

	memset(jobs, 0, sizeof jobs);
	kit_open(&kit, &opts);
	memset(large, 'x', 100);
	does(NODES_APPLY, 3, "one");
	T_EQ(jobs[0].outcome[NODES_CREATED], 3);
	kit_close(&kit);
	opts.request_bytes_max = 300;
	kit_open(&kit, &opts);
	does(NODES_APPLY, 3, large);
	T_EQ(jobs[0].outcome[NODES_REFUSED], 3);
	T_EQ(jobs[0].why, PL_LIMIT);
	kit_close(&kit);
}

T_CASE(canceled)
{
	up(NULL, 0);
	T_OK(start(&jobs[0], NODES_APPLY, COUNT, "one"), &kit.err);
	nodes_cancel(jobs[0].nodes);
	run();
	T_EQ(jobs[0].err.code, PL_CANCELED);
	T_EQ(count_under("/"), 0);
	kit_close(&kit);
}

static enum pl_code scenario(void)
{
	enum pl_code code = start(&jobs[0], NODES_APPLY, 3, "one");

	if (code != PL_OK)
		return code;
	run();
	return jobs[0].err.code;
}

/* A failing allocation of the store ends a call too, and is not one of ours. */
T_CASE(without_memory_it_ends)
{
	up(NULL, 0);
	for (uint64_t nth = 1;; nth++) {
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		(void)scenario();
		T_TRUE(jobs[0].nodes == NULL);
		if (!pl_fault_fired(PL_FAULT_ALLOC))
			break;
	}
	pl_fault_reset();
	T_CODE(jobs[0].err.code, PL_OK, &jobs[0].err);
	kit_close(&kit);
}
