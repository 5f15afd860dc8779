#include "coord/budgets/budgets_int.h"
#include "store/kv/calls.h"

/*
 * Writes the counts. The builder's put stands inside a transaction that compares the
 * election's key, so a former leader writes nothing.
 */

static int64_t stands_since(const struct budgets_put *put, const struct kv_result *result)
{
	struct kv_result inner;
	struct builder_found found;

	if (result == NULL || !result->txn.succeeded || result->txn.count != 1)
		return 0;
	inner = result->txn.results[0];
	if (!builder_answer(&put->builder, &inner, 0, &found) ||
	    found.verdict != BUILDER_OURS)
		return 0;
	return found.record != NULL ? found.record->mod_revision
	                            : result->header.revision;
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct budgets_put *put = ctx;
	struct budgets *budgets = put->owner;

	(void)err; /* a put that failed is made again from the budget that stands there
	            * then */
	counter_answer(budgets->counter, put->budget, stands_since(put, result),
	               kv_now_ms(budgets->kv));
	put->budget = NULL;
	budgets->out--;
	budgets_kick(budgets);
}

static enum pl_code put_start(struct budgets *budgets, struct budgets_put *put,
                              const struct counter_put *what, struct pl_err *err)
{
	const struct keys_id id = {
		.kind = KEYS_BUDGET, .scope = what->namespace, .name = what->name};
	struct kv_compare guard[ELECT_COMPARES];
	struct keys_text key;
	struct kv_req inner;
	struct kv_req req = {.op = KV_TXN,
	                     .txn = {.compares = guard, .then = &inner, .then_count = 1}};
	enum pl_code code = keys_build(&id, &key, err);

	if (code != PL_OK)
		return code;
	req.txn.compare_count = elect_guard(budgets->elect, guard);
	if (req.txn.compare_count == 0)
		return pl_err_set(err, PL_FENCED, "it leads no more");
	pl_arena_reset(&put->arena);
	builder_begin(&put->builder, &put->arena, kv_limits(budgets->kv));
	if (!builder_put(&put->builder, keys_span(&key), what->rev, what->value))
		return pl_err_set(err, put->builder.code, "write a budget");
	builder_req(&put->builder, &inner);
	return kv_start(budgets->kv, &req, BUDGETS_CALL_MS, on_done, put, NULL, err);
}

static struct budgets_put *free_put(struct budgets *budgets)
{
	for (unsigned i = 0; i < BUDGETS_CALLS; i++)
		if (budgets->put[i].budget == NULL)
			return &budgets->put[i];
	return NULL;
}

enum pl_code puts_run(struct budgets *budgets, struct pl_err *err)
{
	uint64_t now = kv_now_ms(budgets->kv);
	struct counter_put what;

	while (budgets->out < BUDGETS_CALLS &&
	       counter_next(budgets->counter, now, &what)) {
		struct budgets_put *put = free_put(budgets);
		enum pl_code code = put_start(budgets, put, &what, err);

		if (code != PL_OK)
			counter_answer(budgets->counter, what.budget, 0, now);
		if (code == PL_BUSY || code == PL_FENCED)
			return PL_OK;
		if (code != PL_OK)
			return code;
		put->budget = what.budget;
		budgets->out++;
	}
	return PL_OK;
}
