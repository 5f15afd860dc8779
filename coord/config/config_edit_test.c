#include "coord/config/config_edit.h"
#include "coord/config/config_record.h"
#include "tests/harness/torture.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

static struct kit kit;
static struct kv *plain; /* without the faults */
static struct pl_err err;

struct outcome {
	bool done;
	uint64_t version;
	struct pl_err err;
};

static void begin_with(const struct faulty_rule *rules, size_t count)
{
	kit_open(&kit, NULL);
	T_EQ(memkv_session(kit.mem, &plain, NULL), PL_OK);
	T_EQ(faulty_open(kit.kv, 5, rules, count, &kit.kv, NULL), PL_OK);
}

static void begin(void)
{
	begin_with(NULL, 0);
}

static void run(uint64_t now_ms)
{
	kit_until(&kit, now_ms);
}

static void end(void)
{
	run(kit.now_ms + 20000);
	kit_close_session(&kit, plain);
	kit_close(&kit);
}

static void on_edited(void *ctx, uint64_t version, const struct pl_err *why)
{
	struct outcome *out = ctx;

	T_TRUE(!out->done);
	out->done = true;
	out->version = version;
	if (why != NULL)
		out->err = *why;
}

static struct config_edit_opts opts_for(const char *json)
{
	return (struct config_edit_opts){.name = CONFIG_COORD,
	                                 .config = pl_span_str(json),
	                                 .by = PL_SPAN_LIT("ann"),
	                                 .why = PL_SPAN_LIT("because"),
	                                 .at_ms = INT64_C(1795237200000),
	                                 .expect_version = -1,
	                                 .timeout_ms = 8000,
	                                 .seed = 7};
}

static struct outcome settle(struct kv *kv, const struct config_edit_opts *opts,
                             bool rollback)
{
	struct outcome out = {0};

	T_OK(rollback ? config_rollback_start(kv, opts, on_edited, &out, NULL, &err)
	              : config_edit_start(kv, opts, on_edited, &out, NULL, &err),
	     &err);
	T_TRUE(!out.done);
	for (uint64_t until = kit.now_ms + 9000; !out.done && kit.now_ms < until;)
		run(kit.now_ms + 10);
	T_TRUE(out.done);
	return out;
}

static void edited(const char *json, uint64_t want)
{
	struct config_edit_opts opts = opts_for(json);
	struct outcome out = settle(kit.kv, &opts, false);

	T_STR(out.err.msg, "");
	T_EQ(out.version, want);
}

static void rolled(uint64_t to, uint64_t want)
{
	struct config_edit_opts opts = opts_for("");
	struct outcome out;

	opts.to_version = to;
	out = settle(kit.kv, &opts, true);
	T_STR(out.err.msg, "");
	T_EQ(out.version, want);
}

static void refused(const struct config_edit_opts *opts, bool rollback, enum pl_code code,
                    const char *why)
{
	struct outcome out = settle(kit.kv, opts, rollback);

	T_STR(out.err.msg, why);
	T_EQ(out.err.code, code);
	T_EQ(out.version, 0);
}

/* Straight to the store. */
static void put(const char *key, const char *value)
{
	struct kv *faulty = kit.kv;

	kit.kv = plain;
	(void)kit_put(&kit, key, value);
	kit.kv = faulty;
}

static const char *stored(const char *key)
{
	struct kv_req req = kv_op_get(kv_key(pl_span_str(key)));
	struct kv *faulty = kit.kv;
	const char *text;

	kit.kv = plain;
	T_EQ(kit_call(&kit, &req), PL_OK);
	kit.kv = faulty;
	if (kit.result.get.count == 0)
		return NULL;
	text = pl_arena_printf(&kit.arena, PL_SPAN_FMT,
	                       PL_SPAN_ARG(kit.result.get.records[0].value));
	T_TRUE(text != NULL);
	return text;
}

static const char current[] = "/config/coord/current";

T_CASE(a_version_and_current_in_one_write)
{
	begin();
	edited("{ \"handover_ms\" : 500 }", 1);
	T_STR(stored(current), "{\"v\":1,\"version\":1}");
	T_STR(stored("/config/coord/0000000001"),
	      "{\"v\":1,\"at\":\"2026-11-21T05:00:00.000Z\",\"by\":\"ann\","
	      "\"why\":\"because\",\"nonce\":\"0000000000000007\","
	      "\"config\":{\"handover_ms\":500}}");
	edited("{\"handover_ms\":600}", 2);
	T_STR(stored(current), "{\"v\":1,\"version\":2}");
	end();
}

T_CASE(the_same_content_is_no_version)
{
	begin();
	edited("{\"handover_ms\":500,\"settle_ms\":1}", 1);
	edited("{\"settle_ms\":1,\"handover_ms\":500}", 1);
	T_TRUE(stored("/config/coord/0000000002") == NULL);
	end();
}

T_CASE(an_invalid_document_is_never_sent)
{
	struct config_edit_opts opts = opts_for("{\"handover_ms\":0}");
	char why[CONFIG_WHY_MAX + 1];

	begin();
	T_CODE(config_edit_start(kit.kv, &opts, on_edited, NULL, NULL, &err), PL_INVALID,
	       &err);
	T_STR(err.msg, "handover_ms: want 1 to 60000, got 0");
	opts.config = PL_SPAN_LIT("{");
	T_CODE(config_edit_start(kit.kv, &opts, on_edited, NULL, NULL, &err), PL_INVALID,
	       &err);
	opts = opts_for("{}");
	memset(why, 'x', sizeof why);
	opts.why = pl_span(why, sizeof why);
	T_CODE(config_edit_start(kit.kv, &opts, on_edited, NULL, NULL, &err), PL_INVALID,
	       &err);
	T_TRUE(stored(current) == NULL);
	end();
}

T_CASE(a_number_is_never_used_again)
{
	begin();
	put("/config/coord/0000000007", "by hand");
	put("/config/coord/nonsense", "by hand");
	put("/config/coord/0000000000", "by hand");
	edited("{\"handover_ms\":500}", 8);
	put(current, "{\"v\":1,\"version\":3}"); /* there is no such version */
	edited("{\"handover_ms\":501}", 9);
	put(current, "{\"v\":1,\"version\":40}");
	edited("{\"handover_ms\":502}", 41);
	put(current, "rubbish");
	edited("{\"handover_ms\":503}", 42);
	put(current, "{\"v\":1,\"version\":9999999999}");
	refused(&(struct config_edit_opts){.config = PL_SPAN_LIT("{}"),
	                                   .expect_version = -1},
	        false, PL_LIMIT,
	        "change of configuration 'coord': version 9999999999 is the last one");
	end();
}

T_CASE(only_the_expected_version_is_replaced)
{
	struct config_edit_opts opts = opts_for("{\"settle_ms\":5}");

	begin();
	opts.expect_version = 1;
	refused(&opts, false, PL_CONFLICT,
	        "change of configuration 'coord': version 0 is current, not 1");
	opts.expect_version = 0;
	T_EQ(settle(kit.kv, &opts, false).version, 1);
	refused(&opts, false, PL_CONFLICT,
	        "change of configuration 'coord': version 1 is current, not 0");
	put(current, "{}");
	opts.expect_version = 1;
	refused(&opts, false, PL_CONFLICT,
	        "change of configuration 'coord': expected version 1, but current: v: "
	        "missing");
	end();
}

T_CASE(of_two_writers_one_wins)
{
	struct config_edit_opts left = opts_for("{\"settle_ms\":5}");
	struct config_edit_opts right = opts_for("{\"settle_ms\":6}");
	struct outcome a = {0}, b = {0};

	begin();
	T_OK(config_edit_start(kit.kv, &left, on_edited, &a, NULL, &err), &err);
	T_OK(config_edit_start(plain, &right, on_edited, &b, NULL, &err), &err);
	run(kit.now_ms + 1000);
	T_TRUE(a.done && b.done);
	T_EQ(a.version, 1);
	T_EQ(b.err.code, PL_CONFLICT);
	T_STR(b.err.msg, "change of configuration 'coord': another writer was faster");
	end();
}

/* Puts version 2 by hand if it does not exist yet. */
static bool put_by_hand(void)
{
	struct pl_span key = PL_SPAN_LIT("/config/coord/0000000002");
	struct kv_compare absent = kv_if_create_rev(key, KV_EQ, 0);
	struct kv_req op = kv_op_put(key, PL_SPAN_LIT("by hand"));
	struct kv_req txn = {.op = KV_TXN,
	                     .txn = {.compares = &absent,
	                             .compare_count = 1,
	                             .then = &op,
	                             .then_count = 1}};
	struct kv *faulty = kit.kv;

	kit.kv = plain;
	T_EQ(kit_call(&kit, &txn), PL_OK);
	kit.kv = faulty;
	return kit.result.txn.succeeded;
}

/* Whenever the new version is put by hand, that one stays, and ours gets another
 * number. */
T_CASE(a_version_by_hand_at_every_moment)
{
	unsigned wins = 0;

	for (unsigned steps = 0; steps < 8; steps++) {
		struct config_edit_opts opts = opts_for("{\"settle_ms\":2}");
		struct outcome out = {0};
		bool by_hand;

		begin();
		edited("{\"settle_ms\":1}", 1);
		T_OK(config_edit_start(kit.kv, &opts, on_edited, &out, NULL, &err), &err);
		for (unsigned i = 0; i < steps; i++)
			(void)memkv_step(kit.mem, kit.now_ms, 1);
		by_hand = put_by_hand();
		run(kit.now_ms + 1000);
		T_TRUE(out.done);
		T_STR(out.err.msg, "");
		T_EQ(out.version, by_hand ? 3 : 2);
		T_EQ(strcmp(stored("/config/coord/0000000002"), "by hand") == 0, by_hand);
		wins += by_hand;
		end();
	}
	T_TRUE(wins >= 2 && wins < 8);
}

/* The version that the change is based on is not current any more. */
T_CASE(current_by_hand_at_every_moment)
{
	unsigned conflicts = 0;

	for (unsigned steps = 0; steps < 8; steps++) {
		struct config_edit_opts opts = opts_for("{\"settle_ms\":2}");
		struct outcome out = {0};

		begin();
		edited("{\"settle_ms\":1}", 1);
		T_OK(config_edit_start(kit.kv, &opts, on_edited, &out, NULL, &err), &err);
		for (unsigned i = 0; i < steps; i++)
			(void)memkv_step(kit.mem, kit.now_ms, 1);
		put(current, "{\"v\":1,\"version\":1}");
		run(kit.now_ms + 1000);
		T_TRUE(out.done);
		T_TRUE(out.err.code == PL_OK || out.err.code == PL_CONFLICT);
		conflicts += out.err.code == PL_CONFLICT;
		end();
	}
	T_TRUE(conflicts > 0);
}

T_CASE(a_guard_must_hold)
{
	struct config_edit_opts opts = opts_for("{\"settle_ms\":5}");
	struct kv_compare leads = kv_if_create_rev(PL_SPAN_LIT("/leader/x"), KV_GT, 0);

	begin();
	opts.guard = &leads;
	opts.guard_count = 1;
	refused(&opts, false, PL_CONFLICT,
	        "change of configuration 'coord': what the writer requires is not so");
	put("/leader/x", "me");
	T_EQ(settle(kit.kv, &opts, false).version, 1);
	end();
}

T_CASE(back_to_an_old_version)
{
	struct config_edit_opts opts = opts_for("");

	begin();
	refused(&opts, true, PL_NOTFOUND,
	        "roll-back of configuration 'coord': there is no version before 0");
	edited("{\"settle_ms\":1}", 1);
	edited("{\"settle_ms\":2}", 2);
	edited("{\"settle_ms\":3}", 3);
	rolled(0, 4);
	T_TRUE(strstr(stored("/config/coord/0000000004"),
	              "\"why\":\"roll back to 2: because\"") != NULL);
	T_TRUE(strstr(stored("/config/coord/0000000004"), "{\"settle_ms\":2}") != NULL);
	rolled(2, 4); /* the content is the same already */
	rolled(1, 5);
	T_TRUE(strstr(stored("/config/coord/0000000005"), "{\"settle_ms\":1}") != NULL);
	opts.to_version = 9;
	refused(&opts, true, PL_NOTFOUND,
	        "roll-back of configuration 'coord': version 9 is not there");
	put("/config/coord/0000000003",
	    "{\"v\":1,\"at\":\"2026-11-21T05:00:00.000Z\",\"config\":{\"x\":1}}");
	opts.to_version = 3;
	refused(&opts, true, PL_INVALID,
	        "roll-back of configuration 'coord': version 3: config.x: unknown field");
	put(current, "?");
	opts.to_version = 0;
	T_EQ(settle(kit.kv, &opts, true).err.code, PL_INVALID);
	rolled(1, 6);
	T_STR(stored(current), "{\"v\":1,\"version\":6}");
	end();
}

/* The answer is lost and the write is not; or both are lost; or the write arrives
 * late. Whatever happens, it is written once. */
T_CASE(an_unknown_outcome_is_found_out)
{
	const struct faulty_rule rules[] = {
		{.what = FAULTY_LOSE_ANSWER,
	         .prefix = PL_SPAN_LIT("/config/"),
	         .ops = 1u << KV_TXN,
	         .per_mille = 200,
	         .delay_min_ms = 5,
	         .delay_max_ms = 900},
		{.what = FAULTY_APPLY_LATE,
	         .prefix = PL_SPAN_LIT("/config/"),
	         .ops = 1u << KV_TXN,
	         .per_mille = 200,
	         .delay_min_ms = 5,
	         .delay_max_ms = 900},
		{.what = FAULTY_REFUSE,
	         .ops = 1u << KV_TXN,
	         .per_mille = 50,
	         .code = PL_BUSY},
	};
	uint64_t current_version = 0, unknown = 0, won = 0;

	begin_with(rules, 3);
	for (unsigned i = 0; i < 300; i++) {
		char json[64];
		struct config_edit_opts opts;
		struct outcome out = {0};

		(void)snprintf(json, sizeof json, "{\"settle_ms\":%u}", i + 1);
		opts = opts_for(json);
		opts.seed = i + 1;
		if (config_edit_start(kit.kv, &opts, on_edited, &out, NULL, &err) !=
		    PL_OK)
			continue;
		for (unsigned n = 0; !out.done && n < 900; n++)
			run(kit.now_ms + 10);
		T_TRUE(out.done);
		unknown += out.err.code == PL_UNKNOWN;
		T_TRUE(out.err.code != PL_CONFLICT); /* there is no other writer */
		if (out.err.code != PL_OK)
			continue;
		won++;
		T_TRUE(out.version > current_version);
		current_version = out.version;
		T_TRUE(strstr(stored(pl_arena_printf(&kit.arena,
		                                     "/config/coord/%010" PRIu64,
		                                     out.version)),
		              json) != NULL);
	}
	T_TRUE(won > 50);
	T_EQ(unknown, 0); /* eight seconds are enough to find out */
	T_TRUE(faulty_count(kit.kv, FAULTY_APPLY_LATE) > 10);
	end();
}

T_CASE(unknown_is_reported_after_the_timeout)
{
	const struct faulty_rule rules[] = {
		{.what = FAULTY_APPLY_LATE,
	         .prefix = PL_SPAN_LIT("/config/"),
	         .ops = 1u << KV_TXN,
	         .per_mille = 1000,
	         .delay_min_ms = 50000,
	         .delay_max_ms = 60000},
	};
	struct config_edit_opts opts = opts_for("{}");
	struct outcome out;

	begin_with(rules, 1);
	faulty_pause(kit.kv, true);
	edited("{\"settle_ms\":1}", 1);
	faulty_pause(kit.kv, false);
	out = settle(kit.kv, &opts, false);
	T_TRUE(out.err.code == PL_UNKNOWN || out.err.code == PL_TIMEOUT);
	run(kit.now_ms + 100000);
	end();
}

T_CASE(canceled_at_every_moment)
{
	for (unsigned steps = 0; steps < 12; steps++) {
		struct config_edit_opts opts = opts_for("{\"settle_ms\":2}");
		struct config_edit *edit = NULL;
		struct outcome out = {0};

		begin();
		edited("{\"settle_ms\":1}", 1);
		T_OK(config_edit_start(kit.kv, &opts, on_edited, &out, &edit, &err),
		     &err);
		for (unsigned i = 0; i < steps && !out.done; i++)
			(void)memkv_step(kit.mem, kit.now_ms, 1);
		if (!out.done)
			config_edit_cancel(edit);
		run(kit.now_ms + 1000);
		T_TRUE(out.done);
		if (out.err.code == PL_OK)
			T_EQ(out.version, 2);
		else if (out.err.code == PL_CANCELED)
			T_TRUE(stored("/config/coord/0000000002") == NULL);
		else
			T_EQ(out.err.code, PL_UNKNOWN);
		end();
	}
}

T_CASE(memory_may_run_out)
{
	for (uint64_t nth = 1;; nth++) {
		struct config_edit_opts opts = opts_for("{\"settle_ms\":2}");
		struct outcome out = {0};
		enum pl_code code;
		bool fired;

		begin();
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = config_edit_start(kit.kv, &opts, on_edited, &out, NULL, &err);
		if (code == PL_OK)
			run(kit.now_ms + 10000);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		T_TRUE(code == PL_OK || (code == PL_NOMEM && !out.done));
		T_EQ(out.done, code == PL_OK);
		if (code == PL_OK && out.err.code == PL_OK)
			T_EQ(out.version, 1);
		end();
		if (!fired)
			break;
	}
}
