#include <stdio.h>
#include <stdlib.h>

#include "tests/conformance/kit.h"

/* Limits are found out with the first answer at the latest; the case asks after
 * it. */
static struct kv_limits limits_of(struct subject *s)
{
	EXPECT(s, PUT("before", ""), "@1");
	return kv_limits(subject_kv(s));
}

struct listed_keys {
	struct kv_req *ops;
	struct kv_compare *compares;
	char (*keys)[24];
};

static struct listed_keys list_new(size_t count)
{
	struct listed_keys list = {calloc(count, sizeof *list.ops),
	                           calloc(count, sizeof *list.compares),
	                           calloc(count, 24)};

	T_TRUE(list.ops != NULL && list.compares != NULL && list.keys != NULL);
	for (size_t i = 0; i < count; i++) {
		struct pl_span key;

		(void)snprintf(list.keys[i], sizeof list.keys[i], "%zu", i);
		key = pl_span_str(list.keys[i]);
		list.ops[i] = (struct kv_req){.op = KV_PUT, .put = {.key = key}};
		list.compares[i] = (struct kv_compare){
			.keys = {.kind = KV_ONE, .from = key}, .target = KV_VERSION};
	}
	return list;
}

static void list_done(struct listed_keys *list)
{
	free(list->ops);
	free(list->compares);
	free(list->keys);
}

static enum pl_code code_of(struct subject *s, const struct kv_txn *txn)
{
	return subject_call(s, &(struct kv_req){.op = KV_TXN, .txn = *txn})->code;
}

T_CASE(limits_of_operations)
{
	struct subject *s = kit_open();
	size_t most = limits_of(s).txn_ops;
	struct listed_keys list = list_new(most + 1);

	T_EQ(most, SUBJECT_TXN_OPS);
	T_EQ(code_of(s, &(struct kv_txn){.then = list.ops, .then_count = most + 1}),
	     PL_LIMIT);
	T_EQ(code_of(s, &(struct kv_txn){.otherwise = list.ops,
	                                 .otherwise_count = most + 1}),
	     PL_LIMIT);
	T_EQ(code_of(s, &(struct kv_txn){.compares = list.compares,
	                                 .compare_count = most + 1}),
	     PL_LIMIT);
	EXPECT(s, GET(ALL, .count_only = true), "@1 0/1");
	/* Each list is measured on its own. */
	T_EQ(code_of(s, &(struct kv_txn){.compares = list.compares,
	                                 .compare_count = most,
	                                 .then = list.ops,
	                                 .then_count = most,
	                                 .otherwise = list.ops,
	                                 .otherwise_count = most}),
	     PL_OK);
	EXPECT(s, GET(ALL, .count_only = true), "@2 0/1025");
	list_done(&list);
	kit_close(s);
}

/* A transaction inside has what the outer one's longest list leaves. */
T_CASE(limits_of_operations_inside)
{
	struct subject *s = kit_open();
	size_t most = limits_of(s).txn_ops;
	struct listed_keys list = list_new(most + 1);
	struct kv_req inner = {.op = KV_TXN, .txn = {.then = list.ops, .then_count = 24}};
	struct kv_txn outer = {.compares = list.compares,
	                       .compare_count = most - 24,
	                       .then = &inner,
	                       .then_count = 1};

	T_EQ(code_of(s, &outer), PL_OK);
	inner.txn.then_count = 25;
	T_EQ(code_of(s, &outer), PL_LIMIT);
	EXPECT(s, GET(ALL, .count_only = true), "@2 0/25");
	list_done(&list);
	kit_close(s);
}

static enum pl_code put_bytes(struct subject *s, const uint8_t *bytes, size_t len)
{
	return subject_call(s, &(struct kv_req){.op = KV_PUT,
	                                        .put = {.key = PL_SPAN_LIT("big"),
	                                                .value = pl_span(bytes, len)}})
	        ->code;
}

T_CASE(limits_of_bytes)
{
	struct subject *s = kit_open();
	size_t most = limits_of(s).request_bytes;
	uint8_t *bytes = calloc(4, most);
	struct kv_req ops[2] = {PUT("x", ""), PUT("y", "")};

	T_TRUE(bytes != NULL);
	T_EQ(most, 3 << 19);
	T_EQ(put_bytes(s, bytes, most - 512), PL_OK);
	T_EQ(put_bytes(s, bytes, most + 1), PL_LIMIT);
	T_EQ(put_bytes(s, bytes, 3 * most), PL_LIMIT);
	/* All values of a transaction together. */
	ops[0].put.value = ops[1].put.value = pl_span(bytes, most / 2 + 1);
	T_EQ(code_of(s, &(struct kv_txn){.then = ops, .then_count = 2}), PL_LIMIT);
	ops[0].put.value = ops[1].put.value = pl_span(bytes, most / 2 - 512);
	T_EQ(code_of(s, &(struct kv_txn){.then = ops, .then_count = 2}), PL_OK);
	EXPECT(s, GET(ALL, .count_only = true), "@3 0/4");
	free(bytes);
	kit_close(s);
}

/* A note of a watch may hold more than any request. */
T_CASE(limits_are_not_those_of_answers)
{
	struct subject *s = kit_open();
	size_t most = limits_of(s).request_bytes;
	uint8_t *bytes = calloc(1, most);
	struct stream *w;

	T_TRUE(bytes != NULL);
	for (int i = 0; i < 6; i++)
		T_EQ(put_bytes(s, bytes, most - 1024), PL_OK);
	w = kit_watch(s, &WATCH(ONE("big"), .from_revision = 1, .want_prev = true));
	subject_catch_up(s, w);
	T_EQ(w->line_count, 6);
	T_STR(w->fault, "");
	free(bytes);
	kit_close(s);
}
