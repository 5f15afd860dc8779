/* Simpler steps: a transaction with a part less, or only one of its operations;
 * a request without one of its options. */
#include "tests/conformance/history.h"

/* Which simplification is looked for; counts down as they are passed. */
struct pick {
	unsigned left;
	bool taken;
	struct pl_arena *arena;
};

static bool take_choice(struct pick *pick)
{
	if (pick->taken || pick->left-- > 0)
		return false;
	pick->taken = true;
	return true;
}

static void drop_flag(struct pick *pick, bool *flag)
{
	if (*flag && take_choice(pick))
		*flag = false;
}

static void drop_number(struct pick *pick, int64_t *number)
{
	if (*number != 0 && take_choice(pick))
		*number = 0;
}

/* The array without the element at. */
static const void *without(struct pick *pick, const void *array, size_t count,
                           size_t size, size_t at)
{
	uint8_t *out = pl_arena_alloc(pick->arena, count * size);
	const uint8_t *in = array;

	PL_ASSERT(out != NULL);
	memcpy(out, in, at * size);
	memcpy(out + at * size, in + (at + 1) * size, (count - at - 1) * size);
	return out;
}

static void simplify_req(struct pick *pick, struct kv_req *req);

static void simplify_list(struct pick *pick, /* NOLINT(misc-no-recursion) */
                          const struct kv_req **ops, size_t *count)
{
	for (size_t i = 0; i < *count && !pick->taken; i++) {
		struct kv_req op = (*ops)[i];
		struct kv_req *copy;

		if (take_choice(pick)) {
			*ops = without(pick, *ops, *count, sizeof op, i);
			(*count)--;
			return;
		}
		simplify_req(pick, &op);
		if (!pick->taken)
			continue;
		copy = pl_arena_alloc(pick->arena, *count * sizeof op);
		PL_ASSERT(copy != NULL);
		memcpy(copy, *ops, *count * sizeof op);
		copy[i] = op;
		*ops = copy;
	}
}

static bool simplify_to_one(struct pick *pick, struct kv_req *req,
                            const struct kv_req *ops, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (take_choice(pick)) {
			*req = ops[i];
			return true;
		}
	return false;
}

static void simplify_txn(struct pick *pick, /* NOLINT(misc-no-recursion) */
                         struct kv_req *req)
{
	struct kv_txn *txn = &req->txn;

	if (simplify_to_one(pick, req, txn->then, txn->then_count) ||
	    simplify_to_one(pick, req, txn->otherwise, txn->otherwise_count))
		return;
	for (size_t i = 0; i < txn->compare_count; i++)
		if (take_choice(pick)) {
			txn->compares = without(pick, txn->compares, txn->compare_count,
			                        sizeof *txn->compares, i);
			txn->compare_count--;
			return;
		}
	simplify_list(pick, &txn->then, &txn->then_count);
	simplify_list(pick, &txn->otherwise, &txn->otherwise_count);
}

static void simplify_req(struct pick *pick, /* NOLINT(misc-no-recursion) */
                         struct kv_req *req)
{
	switch (req->op) {
	case KV_GET:
		drop_number(pick, &req->get.limit);
		drop_number(pick, &req->get.revision);
		drop_flag(pick, &req->get.keys_only);
		drop_flag(pick, &req->get.count_only);
		drop_flag(pick, &req->get.serializable);
		break;
	case KV_PUT:
		drop_number(pick, &req->put.lease);
		drop_flag(pick, &req->put.want_prev);
		drop_flag(pick, &req->put.keep_value);
		drop_flag(pick, &req->put.keep_lease);
		break;
	case KV_DELETE:
		drop_flag(pick, &req->del.want_prev);
		break;
	case KV_TXN:
		simplify_txn(pick, req);
		break;
	case KV_LEASE_TTL:
		drop_flag(pick, &req->lease.want_keys);
		break;
	case KV_COMPACT:
	case KV_LEASE_GRANT:
	case KV_LEASE_REVOKE:
	case KV_LEASE_KEEP:
	case KV_STATUS:
	case KV_OP_COUNT:
		break;
	}
}

bool step_simplify(const struct step *step, unsigned which, struct pl_arena *arena,
                   struct step *out)
{
	struct pick pick = {.left = which, .arena = arena};
	struct step simpler = *step;

	if (step->kind == STEP_CALL)
		simplify_req(&pick, &simpler.req);
	if (step->kind == STEP_WATCH) {
		drop_number(&pick, &simpler.watch.from_revision);
		drop_flag(&pick, &simpler.watch.want_prev);
		drop_flag(&pick, &simpler.watch.no_puts);
		drop_flag(&pick, &simpler.watch.no_deletes);
	}
	if (pick.taken)
		*out = simpler;
	return pick.taken;
}
