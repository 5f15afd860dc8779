/*
 * For tests of the txn builder: one builder at a time, against memkv, which behaves as
 * etcd.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_RECORDS_TXN_BUILDER_KIT_H
#define TESTS_SUPPORT_SHARDSCHED_RECORDS_TXN_BUILDER_KIT_H

#include "shardsched/records/txn_builder.h"
#include "tests/support/store/memkv/kit.h"

#define L(text) PL_SPAN_LIT(text)

static struct kit kit;
static struct pl_arena arena;
static struct txn_builder builder;
static struct kv_result answer; /* the last one */

#define SPEC "/schedules/0003/web/app-1/spec"
#define STATE "/schedules/0003/web/app-1/state"
#define POINTER "/schedules/0009/web/app-1/spec"
#define NODE "/nodes/0005/east/n-1"
#define ALLOC "/alloc/0005/east/n-1"
#define SHAPE "/groups/nodes"

static const struct kv_limits no_limits;

static inline struct builder_pod app(void)
{
	return (struct builder_pod){
		.partition = 3, .namespace = L("web"), .name = L("app-1")};
}

static inline struct builder_node n1(void)
{
	return (struct builder_node){
		.partition = 5, .cluster = L("east"), .name = L("n-1")};
}

static inline struct builder_decision decided(int64_t spec_rev, int64_t state_rev,
                                              const char *state)
{
	return (struct builder_decision){.pod = app(),
	                                 .spec_rev = spec_rev,
	                                 .state_rev = state_rev,
	                                 .state = pl_span_str(state)};
}

static inline void up(void)
{
	kit_open(&kit, NULL);
	pl_arena_init(&arena, 4096, 0);
	builder_begin(&builder, &arena, no_limits);
}

static inline void down(void)
{
	pl_arena_done(&arena);
	kit_close(&kit);
}

/* Starts an empty builder. */
static inline void begin(void)
{
	builder_begin(&builder, &arena, no_limits);
}

static inline bool commit(void)
{
	struct kv_req req;

	builder_req(&builder, &req);
	T_OK(kit_call(&kit, &req), &kit.err);
	answer = kit.result;
	return answer.txn.succeeded;
}

static inline struct builder_found found(uint32_t entry)
{
	struct builder_found out;

	T_TRUE(builder_answer(&builder, &answer, entry, &out));
	return out;
}

static inline const char *value_at(const char *key)
{
	static char text[128];

	T_EQ(kit_get_at(&kit, kv_key(kit_key(key)), 0), PL_OK);
	if (kit.result.get.count == 0)
		return NULL;
	(void)snprintf(text, sizeof text, PL_SPAN_FMT,
	               PL_SPAN_ARG(kit.result.get.records[0].value));
	return text;
}

static inline void delete (const char *key)
{
	T_EQ(kit_delete(&kit, kv_key(kit_key(key))), 1);
}

static inline void is_record(const struct kv_record *record, int64_t revision,
                             const char *value)
{
	T_TRUE(record != NULL);
	T_EQ(record->mod_revision, revision);
	T_SPAN(record->value, pl_span_str(value));
}

#endif
