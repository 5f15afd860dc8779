#include "coord/access/authn/issued_tokens.h"
#include "coord/service/tokens/token_record.h"
#include "tests/harness/torture.h"
#include "tests/support/store/memkv/kit.h"

static struct kit kit;
static struct issued_tokens *tokens;
static struct pl_arena arena;
static struct identity who;
static struct pl_err err;
static bool closed;

static void on_closed(void *ctx)
{
	(void)ctx;
	closed = true;
}

static void up(void)
{
	kit_open(&kit, NULL);
	pl_arena_init(&arena, 0, 0);
	T_OK(issued_tokens_open(kit.kv, &tokens, &err), &err);
}

static void down(void)
{
	issued_tokens_close(tokens, on_closed, NULL);
	T_TRUE(!closed);
	kit_until(&kit, kit.now_ms + 100);
	T_TRUE(closed);
	kit_close(&kit);
	pl_arena_done(&arena);
}

/* Puts a record as placet token does; gives the token. */
static const char *issue(const char *id, int64_t expires_ms)
{
	static char text[TOKEN_TEXT_SIZE];
	static const struct pl_span groups[] = {{(const uint8_t *)"team-a", 6}};
	struct token_record record = {.user = PL_SPAN_LIT("ci-bot"),
	                              .groups = groups,
	                              .group_count = 1,
	                              .created_ms = 1000,
	                              .expires_ms = expires_ms,
	                              .by = PL_SPAN_LIT("ann")};
	struct pl_buf value;
	char key[100];

	pl_buf_init(&value, TOKEN_RECORD_MAX);
	T_OK(token_make(pl_span_str(id), text, record.hash, &err), &err);
	T_OK(token_record_print(&record, &value, &err), &err);
	T_OK(pl_buf_add(&value, pl_span("", 1)), NULL);
	(void)snprintf(key, sizeof key, "/access/tokens/%s", id);
	(void)kit_put(&kit, key, (const char *)value.at);
	pl_buf_done(&value);
	kit_until(&kit, kit.now_ms + 50);
	return text;
}

static enum pl_code identify_at(const char *token, int64_t now_s)
{
	err = (struct pl_err){0};
	return issued_tokens_identify(tokens, pl_span_str(token), &arena, now_s, &who,
	                              &err);
}

T_CASE(an_issued_token_is_its_users)
{
	const char *token;

	up();
	token = issue("ci", 0);
	T_TRUE(issued_tokens_is_one(pl_span_str(token)));
	T_OK(identify_at(token, 5000), &err);
	T_SPAN(who.user, PL_SPAN_LIT("ci-bot"));
	T_EQ(who.group_count, 2);
	T_SPAN(who.groups[0], PL_SPAN_LIT("team-a"));
	T_SPAN(who.credential, PL_SPAN_LIT("ci"));
	T_EQ(who.via, IDENTITY_ISSUED);
	down();
}

T_CASE(before_the_first_list_nothing_is_known)
{
	up();
	T_TRUE(!issued_tokens_synced(tokens));
	T_CODE(identify_at("placet.ci.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 1),
	       PL_UNAVAIL, &err);
	kit_until(&kit, kit.now_ms + 50);
	T_TRUE(issued_tokens_synced(tokens));
	T_CODE(identify_at("placet.ci.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 1),
	       PL_DENIED, &err);
	T_STR(err.msg, "issued token ci: there is none of that name");
	down();
}

T_CASE(a_token_that_is_revoked_or_expired_is_refused)
{
	const char *token;

	up();
	token = issue("ci", 60000);
	T_OK(identify_at(token, 59), &err);
	T_CODE(identify_at(token, 60), PL_DENIED, &err);
	T_STR(err.msg, "issued token ci: expired");
	(void)kit_delete(&kit, kv_key(PL_SPAN_LIT("/access/tokens/ci")));
	kit_until(&kit, kit.now_ms + 50);
	T_CODE(identify_at(token, 59), PL_DENIED, &err);
	T_STR(err.msg, "issued token ci: there is none of that name");
	down();
}

T_CASE(another_secret_is_refused_before_the_expiry_is_told)
{
	char token[TOKEN_TEXT_SIZE];
	size_t last;

	up();
	(void)snprintf(token, sizeof token, "%s", issue("ci", 1000));
	last = strlen(token) - 2;
	token[last] = token[last] == 'A' ? 'B' : 'A';
	T_CODE(identify_at(token, 5000), PL_DENIED, &err);
	T_STR(err.msg, "issued token ci: another secret");
	down();
}

T_CASE(a_broken_record_is_nobodys)
{
	char token[TOKEN_TEXT_SIZE];

	up();
	(void)snprintf(token, sizeof token, "%s", issue("ci", 0));
	(void)kit_put(&kit, "/access/tokens/ci", "{\"v\":1}");
	(void)kit_put(&kit, "/access/tokens/BAD", "{\"v\":1}");
	(void)kit_put(&kit, "/access/tokens/a/b", "{\"v\":1}");
	kit_until(&kit, kit.now_ms + 50);
	T_CODE(identify_at(token, 1), PL_DENIED, &err);
	T_CODE(identify_at("placet.CI.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 1),
	       PL_DENIED, &err);
	T_STR(err.msg, "issued token: not of that form");
	down();
}

/* No digest is the one of an unknown token's record, which is all zeros. */
T_CASE(a_record_whose_digest_is_zero_opens_nothing)
{
	up();
	(void)kit_put(
		&kit, "/access/tokens/zero",
		"{\"v\":1,\"user\":\"ann\",\"created\":\"2026-11-28T12:00:00.000Z\","
		"\"hash\":\"0000000000000000000000000000000000000000000000000000000000"
		"000000\"}");
	kit_until(&kit, kit.now_ms + 50);
	T_CODE(identify_at("placet.zero.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 1),
	       PL_DENIED, &err);
	T_STR(err.msg, "issued token zero: another secret");
	down();
}

static enum pl_code open_and_close(void)
{
	struct issued_tokens *made = NULL;
	enum pl_code code;

	kit_open(&kit, NULL);
	code = issued_tokens_open(kit.kv, &made, NULL);
	if (code == PL_OK)
		issued_tokens_close(made, on_closed, NULL);
	kit_until(&kit, kit.now_ms + 100);
	kit_close(&kit);
	return code;
}

T_CASE(opening_survives_a_lack_of_memory)
{
	struct issued_tokens *made = NULL;

	kit_open(&kit, NULL);
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	T_CODE(issued_tokens_open(kit.kv, &made, NULL), PL_NOMEM, NULL);
	pl_fault_arm(PL_FAULT_ALLOC, 2);
	T_CODE(issued_tokens_open(kit.kv, &made, NULL), PL_NOMEM, NULL);
	pl_fault_reset();
	kit_close(&kit);
	T_OK(open_and_close(), NULL);
}
