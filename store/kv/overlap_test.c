#include "store/base/fault.h"
#include "store/kv/calls.h"
#include "store/kv/overlap.h"
#include "tests/harness/t.h"

static struct kv_req put(const char *key)
{
	return kv_op_put(pl_span_str(key), PL_SPAN_LIT("v"));
}

static struct kv_req del(const char *key)
{
	return kv_op_delete(kv_key(pl_span_str(key)));
}

static struct kv_req del_range(const char *from, const char *to)
{
	return kv_op_delete(kv_range(pl_span_str(from), pl_span_str(to)));
}

#define LIST(...)               \
	(const struct kv_req[]) \
	{                       \
		__VA_ARGS__     \
	}
#define COUNT(...) (sizeof LIST(__VA_ARGS__) / sizeof(struct kv_req))
#define THEN(...) .then = LIST(__VA_ARGS__), .then_count = COUNT(__VA_ARGS__)
#define OTHERWISE(...) \
	.otherwise = LIST(__VA_ARGS__), .otherwise_count = COUNT(__VA_ARGS__)
#define INNER(...)                                   \
	{                                            \
		.op = KV_TXN, .txn = { __VA_ARGS__ } \
	}
#define CHECK(...) kv_overlap_check(&(struct kv_txn){__VA_ARGS__}, NULL)

T_CASE(two_puts_of_a_key_are_refused)
{
	T_EQ(CHECK(THEN(put("a"), put("b"))), PL_OK);
	T_EQ(CHECK(THEN(put("a"), put("b"), put("a"))), PL_INVALID);
	T_EQ(CHECK(THEN(put("a")), OTHERWISE(put("a"))), PL_OK);
	T_EQ(CHECK(OTHERWISE(put("a"), put("a"))), PL_INVALID);
	T_EQ(CHECK(THEN(kv_op_get(kv_all_keys()))), PL_OK);
	T_EQ(kv_overlap_check(&(struct kv_txn){0}, NULL), PL_OK);
}

T_CASE(delete_and_put_of_a_key_are_refused)
{
	T_EQ(CHECK(THEN(del("a"), put("a"))), PL_INVALID);
	T_EQ(CHECK(THEN(put("a"), del("a"))), PL_INVALID);
	T_EQ(CHECK(THEN(del("a"), del("a"), put("b"))), PL_OK);
	T_EQ(CHECK(THEN(put("b"), del_range("a", "c"))), PL_INVALID);
	T_EQ(CHECK(THEN(put("c"), del_range("a", "c"))), PL_OK);
	T_EQ(CHECK(THEN(put("z"), del_range("z", "a"))), PL_OK);
	T_EQ(CHECK(THEN(put("z"), del_range("z", "z"))), PL_OK);
	T_EQ(CHECK(THEN(put("m"), del_range("z", "a"))), PL_OK);
}

T_CASE(endless_deletes_are_compared_with_puts)
{
	struct kv_req from[] = {kv_op_delete(kv_from(PL_SPAN_LIT("b"))), put("c")};
	struct kv_req all[] = {put("c"), kv_op_delete(kv_all_keys())};
	struct kv_req last[] = {put("c"), kv_op_delete(kv_prefix(PL_SPAN_LIT("\xff")))};
	struct kv_req prefix[] = {put("c"), kv_op_delete(kv_prefix(PL_SPAN_LIT("b")))};

	T_EQ(kv_overlap_check(&(struct kv_txn){.then = from, .then_count = 2}, NULL),
	     PL_INVALID);
	T_EQ(kv_overlap_check(&(struct kv_txn){.then = all, .then_count = 2}, NULL),
	     PL_INVALID);
	T_EQ(kv_overlap_check(&(struct kv_txn){.then = last, .then_count = 2}, NULL),
	     PL_OK);
	T_TRUE(kv_overlap_blind(&(struct kv_txn){.then = from, .then_count = 2}));
	T_TRUE(kv_overlap_blind(
		&(struct kv_txn){.otherwise = all, .otherwise_count = 2}));
	T_TRUE(kv_overlap_blind(&(struct kv_txn){.then = last, .then_count = 2}));
	T_TRUE(!kv_overlap_blind(&(struct kv_txn){.then = prefix, .then_count = 2}));
	T_TRUE(!kv_overlap_blind(&(struct kv_txn){.then = from, .then_count = 1}));
}

T_CASE(nested_transactions_are_judged_with_their_neighbours)
{
	struct kv_req put_a = INNER(THEN(put("a")));
	struct kv_req del_a = INNER(THEN(del("a")));
	struct kv_req either = INNER(THEN(put("a")), OTHERWISE(put("a"), put("b")));
	struct kv_req mixed = INNER(THEN(del("a")), OTHERWISE(put("a")));
	struct kv_req bad = INNER(OTHERWISE(put("a"), put("a")));

	T_EQ(CHECK(THEN(either)), PL_OK);
	T_EQ(CHECK(THEN(mixed)), PL_OK);
	T_EQ(CHECK(THEN(bad)), PL_INVALID);
	T_EQ(CHECK(THEN(put_a, either)), PL_INVALID);
	T_EQ(CHECK(THEN(either, put("b"))), PL_INVALID);
	T_EQ(CHECK(THEN(mixed, put("a"))), PL_INVALID);
	T_EQ(CHECK(THEN(put_a, del("a"))), PL_INVALID);
	/* Deletes in a nested transaction meet the puts behind it, but not those
	 * before. */
	T_EQ(CHECK(THEN(put_a, del_a)), PL_OK);
	T_EQ(CHECK(THEN(del_a, put_a)), PL_INVALID);
	T_EQ(CHECK(THEN(del_a, put("a"))), PL_INVALID);
	T_EQ(CHECK(THEN(del_a, del_a, put("b"))), PL_OK);
}

T_CASE(says_which_key_and_fails_without_memory)
{
	struct kv_req ops[] = {put("some/key"), put("some/key")};
	struct kv_txn txn = {.then = ops, .then_count = 2};
	struct pl_err err;

	T_EQ(kv_overlap_check(&txn, &err), PL_INVALID);
	T_TRUE(strstr(err.msg, "some/key") != NULL);
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	T_EQ(kv_overlap_check(&txn, &err), PL_NOMEM);
	pl_fault_reset();
}
