#include "coord/service/store/store_check.h"
#include "tests/harness/torture.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

static struct kit kit;
static struct service service;
static struct store_check *running;
static unsigned dones, cancel_after;
static struct pl_err failure, first;
static char story[1024], notes[4096];

static void on_step(void *ctx, const char *name, const char *note,
                    const struct pl_err *err)
{
	size_t len = strlen(story), at = strlen(notes);

	(void)ctx;
	T_EQ(dones, 0);
	(void)snprintf(story + len, sizeof story - len, "%s%s ", err == NULL ? "" : "!",
	               name);
	(void)snprintf(notes + at, sizeof notes - at, "%s\n",
	               err == NULL ? note : err->msg);
	if (err != NULL && first.code == PL_OK)
		first = *err;
	if (cancel_after > 0 && --cancel_after == 0)
		store_check_cancel(running);
}

static void on_done(void *ctx, const struct pl_err *err)
{
	(void)ctx;
	dones++;
	failure = err == NULL ? (struct pl_err){0} : *err;
}

static void up(void)
{
	kit_open(&kit, NULL);
	service = (struct service){.kv = kit.kv, .partitions = 8, .timeout_ms = 1000};
	cancel_after = 0;
}

/* From here on the store fails by this rule. */
static void up_with(const struct faulty_rule *rule)
{
	up();
	T_OK(faulty_open(kit.kv, 1, rule, 1, &kit.kv, &kit.err), &kit.err);
	service.kv = kit.kv;
}

static void start(void)
{
	const struct store_check_opts opts = {
		.prefix = "/check/1/", .step = on_step, .done = on_done};

	dones = 0;
	story[0] = notes[0] = 0;
	first = (struct pl_err){0};
	T_OK(store_check_start(&service, &opts, &running, &kit.err), &kit.err);
	T_EQ(dones, 0);
}

static void check(void)
{
	start();
	kit_until(&kit, kit.now_ms + 60000);
	T_EQ(dones, 1);
}

static size_t keys_left(void)
{
	T_EQ(kit_get_at(&kit, kv_prefix(PL_SPAN_LIT("/check/")), 0), PL_OK);
	return kit.result.get.count;
}

static void says(const char *words)
{
	if (strstr(notes, words) == NULL)
		t_fail(__FILE__, __LINE__, "want %s in %s", words, notes);
}

#define GOOD "reach put limits compare race watch lease quiet clean up "

T_CASE(a_good_store_passes_and_keeps_nothing)
{
	up();
	check();
	T_STR(story, GOOD);
	T_CODE(failure.code, PL_OK, &failure);
	says("of 8 transactions that raced for a key one won");
	says("3 puts seen");
	says("its key went with it");
	says("keys removed");
	T_EQ(keys_left(), 0);
	kit_close(&kit);
}

T_CASE(a_store_that_can_not_be_reached_is_tried_no_further)
{
	up_with(&(struct faulty_rule){.what = FAULTY_REFUSE,
	                              .ops = 1u << KV_STATUS,
	                              .per_mille = 1000,
	                              .code = PL_UNAVAIL});
	check();
	T_STR(story, "!reach ");
	T_CODE(failure.code, PL_OK, &failure);
	kit_close(&kit);
}

T_CASE(a_step_that_fails_does_not_end_the_check)
{
	up_with(&(struct faulty_rule){.what = FAULTY_REFUSE,
	                              .ops = 1u << KV_LEASE_GRANT,
	                              .per_mille = 1000,
	                              .code = PL_DENIED});
	check();
	T_STR(story, "reach put limits compare race watch !lease quiet clean up ");
	T_CODE(first.code, PL_DENIED, &first);
	T_EQ(keys_left(), 0);
	kit_close(&kit);
}

/* The race has one winner in truth, and is not known to have. */
T_CASE(a_lost_answer_in_the_race_is_a_failure)
{
	up_with(&(struct faulty_rule){.what = FAULTY_LOSE_ANSWER,
	                              .ops = 1u << KV_TXN,
	                              .prefix = PL_SPAN_LIT("/check/1/race"),
	                              .per_mille = 1000,
	                              .count = 1});
	check();
	T_STR(story, "reach put limits compare !race watch lease quiet clean up ");
	says("1 failed");
	kit_close(&kit);
}

T_CASE(a_silent_watch_fails_with_advice)
{
	up_with(&(struct faulty_rule){.what = FAULTY_STALL_WATCH, .per_mille = 1000});
	check();
	T_STR(story, "reach put limits compare race !watch lease !quiet clean up ");
	T_CODE(first.code, PL_TIMEOUT, &first);
	T_EQ(keys_left(), 0);
	kit_close(&kit);
}

T_CASE(a_watch_that_ends_by_itself_is_a_failure)
{
	up_with(&(struct faulty_rule){
		.what = FAULTY_END_WATCH, .per_mille = 1000, .code = PL_COMPACTED});
	check();
	T_STR(story, "reach put limits compare race !watch lease !quiet clean up ");
	T_CODE(first.code, PL_COMPACTED, &first);
	kit_close(&kit);
}

T_CASE(cancel_ends_a_check_through_done)
{
	up();
	for (cancel_after = 1; cancel_after < 9;) {
		unsigned steps = cancel_after;

		check();
		T_CODE(failure.code, PL_CANCELED, &failure);
		cancel_after = steps + 1;
	}
	cancel_after = 0;
	kit_close(&kit);
}

/* At any moment, also while a watch is open, or the race goes on. */
T_CASE(cancel_is_possible_at_any_moment)
{
	const struct faulty_rule slow = {.what = FAULTY_SLOW_ANSWER,
	                                 .per_mille = 1000,
	                                 .delay_min_ms = 10,
	                                 .delay_max_ms = 30};
	unsigned canceled = 0;

	up_with(&slow);
	for (unsigned ms = 0; ms < 600; ms += 7) {
		start();
		kit_until(&kit, kit.now_ms + ms);
		if (dones == 0) {
			store_check_cancel(running);
			store_check_cancel(running);
			T_EQ(dones, 0);
			canceled++;
		}
		kit_until(&kit, kit.now_ms + 100);
		T_EQ(dones, 1);
	}
	T_TRUE(canceled > 30);
	kit_close(&kit);
}

static void cancel_ends_it_at_once(void)
{
	start();
	kit_until(&kit, kit.now_ms + 500);
	T_EQ(dones, 0);
	store_check_cancel(running);
	T_EQ(dones, 0);
	kit_until(&kit, kit.now_ms + 10);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_CANCELED, &failure);
	kit_close(&kit);
}

T_CASE(cancel_does_not_wait_for_a_watch_that_is_silent)
{
	up_with(&(struct faulty_rule){.what = FAULTY_STALL_WATCH, .per_mille = 1000});
	cancel_ends_it_at_once();
	T_STR(story, "reach put limits compare race ");
}

T_CASE(cancel_does_not_wait_for_a_race_that_is_slow)
{
	up_with(&(struct faulty_rule){.what = FAULTY_SLOW_REQUEST,
	                              .prefix = PL_SPAN_LIT("/check/1/race"),
	                              .per_mille = 1000,
	                              .delay_min_ms = 800,
	                              .delay_max_ms = 800});
	cancel_ends_it_at_once();
	T_STR(story, "reach put limits compare ");
}

T_CASE(a_prefix_is_checked)
{
	struct store_check_opts opts = {.prefix = "", .step = on_step, .done = on_done};
	char text[100];

	up();
	T_CODE(store_check_start(&service, &opts, &running, &failure), PL_INVALID,
	       &failure);
	memset(text, 'x', sizeof text);
	text[STORE_CHECK_PREFIX_MAX + 1] = 0;
	opts.prefix = text;
	T_CODE(store_check_start(&service, &opts, &running, &failure), PL_INVALID,
	       &failure);
	kit_close(&kit);
}

/* Under another prefix each time: a check that fails may leave keys. */
static enum pl_code check_once(void)
{
	static unsigned number;
	char prefix[32];
	const struct store_check_opts opts = {
		.prefix = prefix, .step = on_step, .done = on_done};

	(void)snprintf(prefix, sizeof prefix, "/check/%u/", number++);
	dones = 0;
	story[0] = notes[0] = 0;
	first = (struct pl_err){0};
	if (store_check_start(&service, &opts, &running, &first) != PL_OK)
		return first.code;
	kit_until(&kit, kit.now_ms + 60000);
	T_EQ(dones, 1);
	return first.code;
}

T_CASE(a_failed_allocation_fails_a_step)
{
	up();
	t_torture(check_once, true);
	kit_close(&kit);
}
