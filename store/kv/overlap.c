#include "store/kv/overlap.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/keys.h"

/* All puts and deletes of one of the outermost lists, in the order of the walk. The
 * operations of the list in progress are a run at the end. When a list is done, its puts
 * are sorted and unique. */
struct overlap_walk {
	struct pl_span *puts;
	const struct kv_keys **dels;
	size_t put_count;
	size_t del_count;
	struct pl_err *err;
};

static int by_key(const void *a, const void *b)
{
	return pl_span_cmp(*(const struct pl_span *)a, *(const struct pl_span *)b);
}

static void sort_puts(struct pl_span *puts, size_t count)
{
	if (count > 1)
		qsort(puts, count, sizeof *puts, by_key);
}

static enum pl_code refuse_key(struct overlap_walk *walk, struct pl_span key)
{
	int len = key.len < 64 ? (int)key.len : 64;

	return pl_err_set(walk->err, PL_INVALID,
	                  "transaction changes a key twice: %.*s%s", len,
	                  (const char *)key.at, key.len > 64 ? "..." : "");
}

static enum pl_code refuse_twice(struct overlap_walk *walk, size_t first)
{
	sort_puts(walk->puts + first, walk->put_count - first);
	for (size_t i = first; i + 1 < walk->put_count; i++)
		if (pl_span_eq(walk->puts[i], walk->puts[i + 1]))
			return refuse_key(walk, walk->puts[i]);
	return PL_OK;
}

/* Duplicates in the run come from lists that exclude each other. */
static void drop_duplicates(struct overlap_walk *walk, size_t first)
{
	size_t kept = first;

	sort_puts(walk->puts + first, walk->put_count - first);
	for (size_t i = first; i < walk->put_count; i++)
		if (kept == first || !pl_span_eq(walk->puts[kept - 1], walk->puts[i]))
			walk->puts[kept++] = walk->puts[i];
	walk->put_count = kept;
}

static enum pl_code refuse_deleted(struct overlap_walk *walk, size_t first_put,
                                   size_t first_del, size_t end_del)
{
	for (size_t d = first_del; d < end_del; d++)
		for (size_t p = first_put; p < walk->put_count; p++)
			if (kv_key_in(*walk->dels[d], walk->puts[p]))
				return refuse_key(walk, walk->puts[p]);
	return PL_OK;
}

static enum pl_code walk_list(struct overlap_walk *walk, const struct kv_req *ops,
                              size_t count);

/* Judges a nested transaction. The deletes so far of the list that holds it begin at
 * first_del. */
static enum pl_code walk_inner(struct overlap_walk *walk, /* NOLINT(misc-no-recursion) */
                               const struct kv_txn *txn, size_t first_del)
{
	size_t first_put = walk->put_count, end_del = walk->del_count;
	enum pl_code code = walk_list(walk, txn->then, txn->then_count);

	if (code == PL_OK)
		code = walk_list(walk, txn->otherwise, txn->otherwise_count);
	if (code != PL_OK)
		return code;
	drop_duplicates(walk, first_put);
	return refuse_deleted(walk, first_put, first_del, end_del);
}

static enum pl_code walk_list(struct overlap_walk *walk, /* NOLINT(misc-no-recursion) */
                              const struct kv_req *ops, size_t count)
{
	size_t first_put = walk->put_count, first_del = walk->del_count, own;
	enum pl_code code = PL_OK;

	for (size_t i = 0; i < count; i++)
		if (ops[i].op == KV_DELETE)
			walk->dels[walk->del_count++] = &ops[i].del.keys;
	for (size_t i = 0; i < count && code == PL_OK; i++)
		if (ops[i].op == KV_TXN)
			code = walk_inner(walk, &ops[i].txn, first_del);
	if (code != PL_OK)
		return code;
	own = walk->put_count;
	for (size_t i = 0; i < count; i++)
		if (ops[i].op == KV_PUT)
			walk->puts[walk->put_count++] = ops[i].put.key;
	code = refuse_deleted(walk, own, first_del, walk->del_count);
	return code != PL_OK ? code : refuse_twice(walk, first_put);
}

struct overlap_tally {
	size_t puts, dels;
	bool endless;
};

static bool is_endless(const struct kv_keys *keys)
{
	if (keys->kind != KV_PREFIX)
		return keys->kind == KV_FROM;
	for (size_t i = 0; i < keys->from.len; i++)
		if (keys->from.at[i] != 0xff)
			return false;
	return true;
}

static void tally_list(struct overlap_tally *tally, /* NOLINT(misc-no-recursion) */
                       const struct kv_req *ops, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (ops[i].op == KV_PUT) {
			tally->puts++;
		} else if (ops[i].op == KV_DELETE) {
			tally->dels++;
			tally->endless |= is_endless(&ops[i].del.keys);
		} else if (ops[i].op == KV_TXN) {
			tally_list(tally, ops[i].txn.then, ops[i].txn.then_count);
			tally_list(tally, ops[i].txn.otherwise,
			           ops[i].txn.otherwise_count);
		}
	}
}

static enum pl_code check_list(const struct kv_req *ops, size_t count, struct pl_err *err)
{
	PL_CLEANUP(pl_freep) void *memory = NULL;
	struct overlap_walk walk = {.err = err};
	struct overlap_tally tally = {0};

	tally_list(&tally, ops, count);
	if (tally.puts == 0 || tally.puts + tally.dels < 2)
		return PL_OK;
	memory = pl_malloc(tally.puts * sizeof *walk.puts +
	                   tally.dels * sizeof(const struct kv_keys *));
	if (memory == NULL)
		return pl_err_set(err, PL_NOMEM, "check of a transaction");
	walk.puts = memory;
	walk.dels = (const struct kv_keys **)(void *)(walk.puts + tally.puts);
	return walk_list(&walk, ops, count);
}

enum pl_code kv_overlap_check(const struct kv_txn *txn, struct pl_err *err)
{
	enum pl_code code = check_list(txn->then, txn->then_count, err);

	if (code != PL_OK)
		return code;
	return check_list(txn->otherwise, txn->otherwise_count, err);
}

bool kv_overlap_blind(const struct kv_txn *txn)
{
	struct overlap_tally tally = {0};

	tally_list(&tally, txn->then, txn->then_count);
	tally_list(&tally, txn->otherwise, txn->otherwise_count);
	return tally.endless && tally.puts > 0;
}
