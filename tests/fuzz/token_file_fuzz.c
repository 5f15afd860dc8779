/* A file that is accepted has tokens, and the empty token is none of them. */
#include "coord/access/authn/token_file.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct token_file *file = NULL;
	struct pl_err err = {0};
	struct pl_arena arena;
	struct identity who;
	const uint8_t *end;
	enum pl_code code = token_file_parse(pl_span(data, size), &file, &err);

	PL_ASSERT(code == err.code && code != PL_NOMEM);
	if (code != PL_OK)
		return 0;
	PL_ASSERT(token_file_count(file) > 0);
	PL_ASSERT(!token_file_is_bare(file) || token_file_count(file) == 1);
	pl_arena_init(&arena, 0, 0);
	code = token_file_identify(file, pl_span(NULL, 0), &arena, &who, &err);
	PL_ASSERT(code == PL_NOTFOUND);
	/* The first field, if it stands at the start and has no quotes. */
	end = memchr(data, ',', size);
	if (end != NULL && end > data && data[0] > ' ' && data[0] != '"') {
		code = token_file_identify(file, pl_span(data, (size_t)(end - data)),
		                           &arena, &who, &err);
		PL_ASSERT(code == PL_OK && identity_name_ok(who.user));
	}
	pl_arena_done(&arena);
	token_file_free(file);
	return 0;
}
