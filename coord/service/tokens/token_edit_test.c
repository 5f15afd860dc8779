#include "coord/service/tokens/token_edit.h"
#include "coord/service/tokens/token_list.h"
#include "tests/harness/torture.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

static struct kit kit;
static struct service service;
static struct token_edit *edit;
static struct token_list *list;
static unsigned dones;
static struct pl_err failure;
static char text[TOKEN_TEXT_SIZE];

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
	dones = 0;
}

static struct token_record bot(void)
{
	static const struct pl_span groups[] = {{(const uint8_t *)"ci", 2}};
	struct token_record record = {.user = PL_SPAN_LIT("bot"),
	                              .groups = groups,
	                              .group_count = 1,
	                              .created_ms = 1000,
	                              .by = PL_SPAN_LIT("ann")};

	T_OK(token_make(PL_SPAN_LIT("ci"), text, record.hash, NULL), NULL);
	return record;
}

static enum pl_code create(const struct token_record *record)
{
	dones = 0;
	T_OK(token_create_start(&service, PL_SPAN_LIT("ci"), record, on_done, NULL, &edit,
	                        &kit.err),
	     &kit.err);
	T_EQ(dones, 0);
	kit_until(&kit, kit.now_ms + 10);
	T_EQ(dones, 1);
	return failure.code;
}

static enum pl_code drop_token(const char *id)
{
	dones = 0;
	T_OK(token_delete_start(&service, pl_span_str(id), on_done, NULL, &edit,
	                        &kit.err),
	     &kit.err);
	T_EQ(dones, 0);
	kit_until(&kit, kit.now_ms + 10);
	T_EQ(dones, 1);
	return failure.code;
}

static void list_all(void)
{
	const struct token_list_opts opts = {.done = on_done};

	dones = 0;
	T_OK(token_list_start(&service, &opts, &list, &kit.err), &kit.err);
	kit_until(&kit, kit.now_ms + 10);
	T_EQ(dones, 1);
	T_EQ(failure.code, PL_OK);
}

T_CASE(a_token_is_issued_listed_and_revoked)
{
	struct token_record record;
	const struct token_info *info;
	size_t count;

	up();
	record = bot();
	T_EQ(create(&record), PL_OK);
	(void)kit_put(&kit, "/access/tokens/broken", "{}");
	(void)kit_put(&kit, "/access/tokens/NOT-ONE", "{}");
	list_all();
	info = token_list_tokens(list, &count);
	T_EQ(count, 2);
	T_SPAN(info[0].id, PL_SPAN_LIT("broken"));
	T_SPAN(info[0].note, PL_SPAN_LIT("v: missing"));
	T_SPAN(info[1].id, PL_SPAN_LIT("ci"));
	T_EQ(info[1].note.len, 0);
	T_SPAN(info[1].record.user, PL_SPAN_LIT("bot"));
	T_MEM(info[1].record.hash, record.hash, TOKEN_HASH_BYTES);
	token_list_free(list);
	T_EQ(drop_token("ci"), PL_OK);
	T_EQ(drop_token("ci"), PL_NOTFOUND);
	T_STR(failure.msg, "there is no token of that name");
	T_EQ(drop_token("broken"), PL_OK);
	kit_close(&kit);
}

T_CASE(the_store_never_holds_the_secret)
{
	struct token_record record;
	struct pl_span value;

	up();
	record = bot();
	T_EQ(create(&record), PL_OK);
	T_EQ(kit_get_at(&kit, kv_key(PL_SPAN_LIT("/access/tokens/ci")), 0), PL_OK);
	T_EQ(kit.result.get.count, 1);
	value = kit.result.get.records[0].value;
	T_TRUE(memmem(value.at, value.len, text + strlen(text) - 20, 20) == NULL);
	kit_close(&kit);
}

T_CASE(a_name_that_is_taken_stays_its_owners)
{
	struct token_record first, second;

	up();
	first = bot();
	T_EQ(create(&first), PL_OK);
	second = bot();
	T_EQ(create(&second), PL_EXISTS);
	T_STR(failure.msg, "there is a token of that name");
	list_all();
	{
		size_t count;
		const struct token_info *info = token_list_tokens(list, &count);

		T_EQ(count, 1);
		T_MEM(info[0].record.hash, first.hash, TOKEN_HASH_BYTES);
	}
	token_list_free(list);
	kit_close(&kit);
}

/* The same record again: what a repeated request after an unknown outcome does. */
T_CASE(a_creation_that_was_applied_before_is_no_failure)
{
	struct token_record record;

	up();
	record = bot();
	T_EQ(create(&record), PL_OK);
	T_EQ(create(&record), PL_OK);
	kit_close(&kit);
}

T_CASE(what_may_not_be_issued_is_refused_at_the_start)
{
	struct token_record record;

	up();
	record = bot();
	record.user = PL_SPAN_LIT("system:root");
	T_CODE(token_create_start(&service, PL_SPAN_LIT("ci"), &record, on_done, NULL,
	                          &edit, &kit.err),
	       PL_INVALID, &kit.err);
	record = bot();
	T_CODE(token_create_start(&service, PL_SPAN_LIT("a/b"), &record, on_done, NULL,
	                          &edit, &kit.err),
	       PL_INVALID, &kit.err);
	T_CODE(token_delete_start(&service, PL_SPAN_LIT(""), on_done, NULL, &edit,
	                          &kit.err),
	       PL_INVALID, &kit.err);
	T_EQ(dones, 0);
	kit_close(&kit);
}

T_CASE(a_canceled_edit_ends_once)
{
	struct token_record record;

	up();
	record = bot();
	T_OK(token_create_start(&service, PL_SPAN_LIT("ci"), &record, on_done, NULL,
	                        &edit, &kit.err),
	     &kit.err);
	token_edit_cancel(edit);
	kit_until(&kit, 100);
	T_EQ(dones, 1);
	kit_close(&kit);
}

/* The next transaction is applied, and its answer is lost. */
static void lose_an_answer(void)
{
	const struct faulty_rule rule = {.what = FAULTY_LOSE_ANSWER,
	                                 .ops = 1U << KV_TXN,
	                                 .per_mille = 1000,
	                                 .count = 1};
	struct kv *faulty;

	T_OK(faulty_open(kit.kv, 1, &rule, 1, &faulty, &kit.err), &kit.err);
	kit.kv = faulty;
	service.kv = faulty;
}

T_CASE(an_unknown_outcome_is_settled_by_a_read)
{
	struct token_record record;

	up();
	lose_an_answer();
	record = bot();
	T_EQ(create(&record), PL_OK);
	T_EQ(kit_get_at(&kit, kv_key(PL_SPAN_LIT("/access/tokens/ci")), 0), PL_OK);
	T_EQ(kit.result.get.count, 1);
	T_EQ(kit.result.get.records[0].version, 1);
	lose_an_answer();
	T_EQ(drop_token("ci"), PL_OK);
	T_EQ(drop_token("ci"), PL_NOTFOUND);
	kit_close(&kit);
}

/* The deletion is applied, its answer is lost, and another token gets the name before the
 * next read: that one is not revoked. */
T_CASE(a_token_that_took_the_name_of_a_revoked_one_stays)
{
	const struct faulty_rule rules[] = {
		{.what = FAULTY_LOSE_ANSWER,
	         .ops = 1U << KV_TXN,
	         .per_mille = 1000,
	         .count = 1},
		{.what = FAULTY_SLOW_REQUEST,
	         .ops = 1U << KV_GET,
	         .per_mille = 1000,
	         .delay_min_ms = 50,
	         .delay_max_ms = 50},
	};
	struct token_record record;
	struct kv *faulty;

	up();
	record = bot();
	T_EQ(create(&record), PL_OK);
	T_OK(faulty_open(kit.kv, 1, rules, 2, &faulty, &kit.err), &kit.err);
	kit.kv = faulty;
	service.kv = faulty;
	dones = 0;
	T_OK(token_delete_start(&service, PL_SPAN_LIT("ci"), on_done, NULL, &edit,
	                        &kit.err),
	     &kit.err);
	kit_until(&kit, kit.now_ms + 75);
	T_EQ(dones, 0);
	(void)kit_put(&kit, "/access/tokens/ci", "{\"another\":1}");
	kit_until(&kit, kit.now_ms + 100);
	T_EQ(dones, 1);
	T_EQ(failure.code, PL_OK);
	faulty_pause(faulty, true);
	T_EQ(kit_get_at(&kit, kv_key(PL_SPAN_LIT("/access/tokens/ci")), 0), PL_OK);
	T_EQ(kit.result.get.count, 1);
	kit_close(&kit);
}
