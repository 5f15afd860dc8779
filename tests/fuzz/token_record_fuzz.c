/* A record that is accepted is written and read again as the same; a token that is split has
 * an id that a key can have. */
#include "coord/service/tokens/token_record.h"
#include "store/keys/names.h"
#include "tests/fuzz/fuzz.h"

static void check_token(struct pl_span text)
{
	struct pl_span id, secret;

	if (!token_split(text, &id, &secret))
		return;
	PL_ASSERT(names_check(NAMES_TOKEN, id, NULL) == PL_OK);
	PL_ASSERT(secret.len == TOKEN_SECRET_LEN && token_is_issued(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct token_record record, again;
	struct pl_err err = {0};
	struct pl_arena arena;
	struct pl_buf buf;
	enum pl_code code;

	check_token(pl_span(data, size));
	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&buf, TOKEN_RECORD_MAX);
	code = token_record_parse(pl_span(data, size), &arena, &record, &err);
	PL_ASSERT(code == err.code && code != PL_NOMEM);
	if (code == PL_OK && token_record_print(&record, &buf, &err) == PL_OK) {
		code = token_record_parse(pl_buf_span(&buf), &arena, &again, &err);
		PL_ASSERT(code == PL_OK);
		PL_ASSERT(pl_span_eq(record.user, again.user) &&
		          pl_span_eq(record.by, again.by) &&
		          record.group_count == again.group_count &&
		          record.expires_ms == again.expires_ms &&
		          record.created_ms == again.created_ms &&
		          memcmp(record.hash, again.hash, sizeof record.hash) == 0);
	}
	pl_buf_done(&buf);
	pl_arena_done(&arena);
	return 0;
}
