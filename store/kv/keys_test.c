#include "store/base/fault.h"
#include "store/kv/calls.h"
#include "store/kv/rewrite.h"
#include "tests/harness/t.h"

static struct pl_span span(const char *text)
{
	return pl_span_str(text);
}

T_CASE(prefix_end_is_the_next_greater_key)
{
	uint8_t at[8];

	T_TRUE(pl_span_eq(kv_prefix_end(span("a/"), at), span("a0")));
	T_TRUE(pl_span_eq(kv_prefix_end(span("a\xff\xff"), at), span("b")));
	T_TRUE(pl_span_eq(kv_prefix_end(span("a\xff"
	                                     "c"),
	                                at),
	                  span("a\xff"
	                       "d")));
	T_EQ(kv_prefix_end(span(""), at).len, 0);
	T_EQ(kv_prefix_end(span("\xff\xff"), at).len, 0);
}

T_CASE(key_in_matches_each_kind_of_set)
{
	T_TRUE(kv_key_in(kv_key(span("a")), span("a")));
	T_TRUE(!kv_key_in(kv_key(span("a")), span("ab")));
	T_TRUE(kv_key_in(kv_range(span("a"), span("c")), span("a")));
	T_TRUE(kv_key_in(kv_range(span("a"), span("c")), span("bzz")));
	T_TRUE(!kv_key_in(kv_range(span("a"), span("c")), span("c")));
	T_TRUE(kv_key_in(kv_prefix(span("a/")), span("a/")));
	T_TRUE(!kv_key_in(kv_prefix(span("a/")), span("a")));
	T_TRUE(kv_key_in(kv_all_keys(), span("x")));
	T_TRUE(kv_key_in(kv_from(span("b")), span("\xff")));
	T_TRUE(!kv_key_in(kv_from(span("b")), span("a\xff")));
}

/* Every key with the prefix is below its end, and every other key is not. */
T_CASE(prefix_end_splits_the_keys)
{
	static const char bytes[] = {'a', 'b', (char)0xfe, (char)0xff};
	char key[4] = {0}, prefix[3] = {0};

	for (unsigned i = 0; i < 16; i++) {
		struct pl_span p, end;
		uint8_t at[2];

		prefix[0] = bytes[i % 4];
		prefix[1] = bytes[i / 4];
		p = pl_span(prefix, 2);
		end = kv_prefix_end(p, at);
		for (unsigned k = 0; k < 64; k++) {
			struct pl_span s;
			bool in;

			key[0] = bytes[k % 4];
			key[1] = bytes[k / 4 % 4];
			key[2] = bytes[k / 16];
			s = pl_span(key, 3);
			in = pl_span_cmp(p, s) <= 0 &&
			     (end.len == 0 || pl_span_cmp(s, end) < 0);
			T_EQ(in, pl_span_starts(s, p));
		}
	}
}

static struct kv_req txn_req(void)
{
	static struct kv_compare compares[2];
	static struct kv_req inner[1], then[3], otherwise[1];

	compares[0] = kv_if_value(span("k"), KV_EQ, span("v"));
	compares[1] = kv_if_mod_rev(span("k"), KV_LT, 7);
	inner[0] = kv_op_delete(kv_range(span("a"), span("b")));
	then[0] = kv_op_put(span("k"), span("value"));
	then[1] = kv_op_get(kv_prefix(span("p")));
	then[2] = (struct kv_req){.op = KV_TXN, .txn = {.then = inner, .then_count = 1}};
	otherwise[0] = kv_op_get(kv_key(span("k")));
	return (struct kv_req){.op = KV_TXN,
	                       .txn = {.compares = compares,
	                               .compare_count = 2,
	                               .then = then,
	                               .then_count = 3,
	                               .otherwise = otherwise,
	                               .otherwise_count = 1}};
}

T_CASE(request_copy_is_deep)
{
	struct kv_req req = txn_req(), copy;
	struct pl_arena arena;

	pl_arena_init(&arena, 0, 0);
	T_EQ(kv_req_copy(&arena, &req, &copy), PL_OK);
	T_TRUE(copy.txn.then != req.txn.then && copy.txn.compares != req.txn.compares);
	T_TRUE(copy.txn.then[0].put.value.at != req.txn.then[0].put.value.at);
	T_TRUE(pl_span_eq(copy.txn.then[0].put.value, span("value")));
	T_TRUE(pl_span_eq(copy.txn.then[2].txn.then[0].del.keys.to, span("b")));
	T_TRUE(pl_span_eq(copy.txn.compares[0].value, span("v")));
	T_EQ(copy.txn.compares[1].number, 7);
	T_EQ(kv_req_bytes(&copy), kv_req_bytes(&req));
	T_EQ(kv_req_bytes(&req), 1 + 1 + 1 + 6 + 1 + 2 + 1);
	T_TRUE(kv_req_writes(&copy));
	pl_arena_done(&arena);
}

T_CASE(note_copy_is_deep)
{
	struct kv_record prev = {
		.key = span("k"), .value = span("old"), .mod_revision = 3};
	struct kv_event events[2] = {
		{.record = {.key = span("k"), .value = span("new"), .mod_revision = 4},
	         .prev = &prev},
		{.is_delete = true, .record = {.key = span("l"), .mod_revision = 4}}};
	struct pl_err err = {.code = PL_COMPACTED, .msg = "gone"};
	struct kv_watch_note note = {.what = KV_WATCH_EVENTS,
	                             .revision = 4,
	                             .events = events,
	                             .count = 2,
	                             .err = &err};
	struct kv_watch_note copy;
	struct pl_arena arena;

	pl_arena_init(&arena, 0, 0);
	T_EQ(kv_note_copy(&arena, &note, &copy), PL_OK);
	memset(events, 0, sizeof events);
	memset(&prev, 0, sizeof prev);
	memset(&err, 0, sizeof err);
	T_EQ(copy.count, 2);
	T_TRUE(pl_span_eq(copy.events[0].record.value, span("new")));
	T_TRUE(pl_span_eq(copy.events[0].prev->value, span("old")));
	T_TRUE(copy.events[1].is_delete && copy.events[1].prev == NULL);
	T_STR(copy.err->msg, "gone");
	pl_arena_done(&arena);
}

T_CASE(result_copy_is_deep)
{
	struct pl_span keys[1] = {span("k")};
	struct kv_record records[1] = {
		{.key = span("k"), .value = span("v"), .lease = 9}};
	struct kv_result nested[2] = {
		{.op = KV_GET, .get = {.records = records, .count = 1, .total = 5}},
		{.op = KV_LEASE_TTL, .lease = {.id = 9, .keys = keys, .key_count = 1}}};
	struct kv_result result = {.op = KV_TXN,
	                           .header = {.revision = 12},
	                           .txn = {.results = nested, .count = 2}};
	struct kv_result copy;
	struct pl_arena arena;

	pl_arena_init(&arena, 0, 0);
	T_EQ(kv_result_copy(&arena, &result, &copy), PL_OK);
	T_EQ(kv_result_bytes(&copy), 3);
	memset(nested, 0, sizeof nested);
	memset(records, 0, sizeof records);
	memset(keys, 0, sizeof keys);
	T_EQ(copy.header.revision, 12);
	T_EQ(copy.txn.results[0].get.records[0].lease, 9);
	T_TRUE(pl_span_eq(copy.txn.results[1].lease.keys[0], span("k")));
	pl_arena_done(&arena);
}

T_CASE(copies_fail_without_memory)
{
	struct kv_req req = txn_req(), copy = {.op = KV_STATUS};
	struct pl_arena arena;

	for (size_t max = 0; max < 200; max += 16) {
		pl_arena_init(&arena, 0, max + 1);
		T_EQ(kv_req_copy(&arena, &req, &copy), PL_NOMEM);
		T_EQ(copy.op, KV_STATUS);
		pl_arena_done(&arena);
	}
	pl_arena_init(&arena, 0, 0);
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	T_EQ(kv_req_copy(&arena, &req, &copy), PL_NOMEM);
	pl_arena_done(&arena);
}
