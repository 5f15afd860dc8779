/*
 * Clients write one key at once, and exactly one may win.
 */
#include "coord/service/store/store_check_int.h"
#include "store/kv/calls.h"

static void end_race(struct store_check *check)
{
	struct check_race *race = &check->race;

	if (race->failed > 0)
		(void)pl_err_wrap(&race->err,
		                  "of %d writers that raced for a key %u won, %u failed",
		                  CHECK_CONTENDERS, race->won, race->failed);
	else if (race->err.code == PL_OK && race->won != 1)
		(void)pl_err_set(&race->err, PL_CORRUPT,
		                 "of %d writers that raced for a key %u won",
		                 CHECK_CONTENDERS, race->won);
	check_note(check, "of %d transactions that raced for a key one won",
	           CHECK_CONTENDERS);
	check_step_end(check, race->err.code == PL_OK ? NULL : &race->err);
}

static void on_race(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct check_contender *contender = ctx;
	struct check_race *race = &contender->check->race;

	contender->call = NULL;
	if (err != NULL && race->err.code == PL_OK)
		race->err = *err;
	race->failed += err != NULL;
	race->won += err == NULL && result->txn.succeeded;
	if (--race->open == 0)
		end_race(contender->check);
}

void check_race_begin(struct store_check *check)
{
	const struct pl_span key = check_key(check, "race");
	const struct kv_compare compare = kv_if_absent(key);
	const struct kv_req put = kv_op_put(key, PL_SPAN_LIT("mine"));
	const struct kv_req req = {.op = KV_TXN,
	                           .txn = {.compares = &compare,
	                                   .compare_count = 1,
	                                   .then = &put,
	                                   .then_count = 1}};
	struct check_race *race = &check->race;

	*race = (struct check_race){0};
	for (unsigned i = 0; i < CHECK_CONTENDERS; i++) {
		race->contender[i].check = check;
		if (kv_start(check->service->kv, &req, check->service->timeout_ms,
		             on_race, &race->contender[i], &race->contender[i].call,
		             &race->err) != PL_OK)
			break;
		race->open++;
	}
	if (race->open == 0)
		end_race(check);
}

void check_race_cancel(struct store_check *check)
{
	for (unsigned i = 0; i < CHECK_CONTENDERS; i++)
		if (check->race.contender[i].call != NULL)
			kv_cancel(check->service->kv, check->race.contender[i].call);
}
