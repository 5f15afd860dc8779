#include "coord/service/tokens/token_record.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;

static const char good[] =
	"{\"v\":1,\"user\":\"ci-bot\",\"groups\":[\"team-a\",\"ci\"],"
	"\"created\":\"2026-11-28T12:00:00.000Z\",\"expires\":\"2026-12-28T12:00:00.000Z\","
	"\"by\":\"ann@host\",\"hash\":"
	"\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"}";

T_CASE(a_record_is_read_and_written)
{
	struct token_record record;
	struct pl_err err = {0};
	struct pl_buf out;

	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&out, TOKEN_RECORD_MAX);
	T_OK(token_record_parse(pl_span_str(good), &arena, &record, &err), &err);
	T_SPAN(record.user, PL_SPAN_LIT("ci-bot"));
	T_EQ(record.group_count, 2);
	T_SPAN(record.groups[1], PL_SPAN_LIT("ci"));
	T_EQ(record.expires_ms - record.created_ms, (int64_t)30 * 86400 * 1000);
	T_SPAN(record.by, PL_SPAN_LIT("ann@host"));
	T_EQ(record.hash[1], 0x11);
	T_EQ(record.hash[31], 0xff);
	T_OK(token_record_print(&record, &out, &err), &err);
	T_SPAN(pl_buf_span(&out), pl_span_str(good));
	record.expires_ms = 0;
	pl_buf_clear(&out, 0);
	T_OK(token_record_print(&record, &out, &err), &err);
	T_OK(token_record_parse(pl_buf_span(&out), &arena, &record, &err), &err);
	T_EQ(record.expires_ms, 0);
	pl_buf_done(&out);
	pl_arena_done(&arena);
}

static void refuses(const char *json, const char *why)
{
	struct token_record record = {.expires_ms = 7};
	struct pl_err err = {0};

	T_CODE(token_record_parse(pl_span_str(json), &arena, &record, &err), PL_INVALID,
	       &err);
	T_STR(err.msg, why);
	T_EQ(record.expires_ms, 7);
}

#define HASH \
	"\"hash\":\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\""
#define MADE "\"created\":\"2026-11-28T12:00:00.000Z\""

T_CASE(a_record_that_makes_no_sense_is_none)
{
	pl_arena_init(&arena, 0, 0);
	refuses("[]", "document: want an object, got an array");
	refuses("{}", "v: missing");
	refuses("{\"v\":2,\"user\":\"a\"," MADE "," HASH "}", "v: want 1 to 1, got 2");
	refuses("{\"v\":1," MADE "," HASH "}", "user: missing");
	refuses("{\"v\":1,\"user\":\"\"," MADE "," HASH "}", "user: not a name");
	refuses("{\"v\":1,\"user\":\"a\\nb\"," MADE "," HASH "}", "user: not a name");
	refuses("{\"v\":1,\"user\":\"a\",\"groups\":[\"g\",\"\"]," MADE "," HASH "}",
	        "groups[1]: not a name");
	refuses("{\"v\":1,\"user\":\"a\",\"groups\":\"g\"," MADE "," HASH "}",
	        "groups: want an array, got a string");
	refuses("{\"v\":1,\"user\":\"a\"," HASH "}", "created: missing");
	refuses("{\"v\":1,\"user\":\"a\",\"created\":\"now\"," HASH "}",
	        "created: want a time");
	refuses("{\"v\":1,\"user\":\"a\",\"expires\":\"soon\"," MADE "," HASH "}",
	        "expires: want a time");
	refuses("{\"v\":1,\"user\":\"a\",\"expires\":\"1970-01-01T00:00:00.000Z\"," MADE
	        "," HASH "}",
	        "expires: want a time");
	refuses("{\"v\":1,\"user\":\"a\"," MADE "}", "hash: missing");
	refuses("{\"v\":1,\"user\":\"a\"," MADE ",\"hash\":\"00\"}",
	        "hash: want 64 hex digits");
	refuses("{\"v\":1,\"user\":\"a\"," MADE ",\"hash\":"
	        "\"0011223344556677889"
	        "9AABBccddeeff00112233445566778899aabbccddeeff\"}",
	        "hash: want 64 hex digits");
	pl_arena_done(&arena);
}

static void issue(struct pl_span user, struct pl_span group, const char *why)
{
	struct token_record record = {.user = user, .groups = &group, .group_count = 1};
	struct pl_err err = {0};
	enum pl_code code = token_record_check(&record, &err);

	T_EQ(code, why == NULL ? PL_OK : PL_INVALID);
	if (why != NULL)
		T_STR(err.msg, why);
}

T_CASE(names_of_the_system_are_not_issued)
{
	struct pl_span ann = PL_SPAN_LIT("ann");

	issue(ann, PL_SPAN_LIT("dev"), NULL);
	issue(ann, PL_SPAN_LIT("system:masters"), NULL);
	issue(PL_SPAN_LIT("system:admin"), ann,
	      "user: names that begin with system: are reserved");
	issue(ann, PL_SPAN_LIT("system:nodes"),
	      "groups[0]: of the names that begin with system: only system:masters can be "
	      "given");
	issue(PL_SPAN_LIT("a\tb"), ann,
	      "user: want 1 to 1024 bytes without control characters");
	issue(ann, PL_SPAN_LIT(""),
	      "groups[0]: want 1 to 1024 bytes without control characters");
}

T_CASE(a_secret_is_new_each_time_and_only_its_digest_is_kept)
{
	char first[TOKEN_TEXT_SIZE], second[TOKEN_TEXT_SIZE];
	uint8_t hash[TOKEN_HASH_BYTES], again[TOKEN_HASH_BYTES];
	struct pl_span id, secret;
	struct pl_err err = {0};

	T_OK(token_make(PL_SPAN_LIT("ci"), first, hash, &err), &err);
	T_OK(token_make(PL_SPAN_LIT("ci"), second, again, &err), &err);
	T_TRUE(strcmp(first, second) != 0 && memcmp(hash, again, sizeof hash) != 0);
	T_TRUE(token_split(pl_span_str(first), &id, &secret));
	T_SPAN(id, PL_SPAN_LIT("ci"));
	T_EQ(secret.len, 43);
	T_OK(token_hash(secret, again), NULL);
	T_MEM(again, hash, sizeof hash);
}

#define SECRET "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

T_CASE(tokens_of_another_form_are_not_split)
{
	static const char *const wrong[] = {
		"",
		"placet.",
		"placet.ci",
		"placet.ci.",
		"placet..." SECRET,
		"placet.." SECRET,
		"placet." SECRET,
		"placet.CI." SECRET,
		"placet.a/b." SECRET,
		"placet.a.b." SECRET,
		"placet.ci." SECRET "A",
		"placet.ci.AAAA",
		"placet.ci." SECRET ".",
		"placet.ci." SECRET "=",
		"Placet.ci." SECRET,
		"placet.ci.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB", /* a stray bit */
		"placet.ci.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA+A",
	};
	struct pl_span id, secret;

	T_TRUE(token_split(PL_SPAN_LIT("placet.ci." SECRET), &id, &secret));
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		if (token_split(pl_span_str(wrong[i]), &id, &secret))
			t_fail(__FILE__, __LINE__, "%s is split", wrong[i]);
}

static enum pl_code parse_one(void)
{
	struct token_record record;
	enum pl_code code;

	pl_arena_init(&arena, 64, 0);
	code = token_record_parse(pl_span_str(good), &arena, &record, NULL);
	pl_arena_done(&arena);
	return code;
}

T_CASE(reading_survives_each_lack_of_memory)
{
	t_torture(parse_one, false);
}
