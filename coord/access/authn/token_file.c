#include "coord/access/authn/token_file.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdlib.h>

#include "coord/access/authn/csv.h"
#include "store/base/alloc.h"
#include "store/base/fault.h"

enum { DIGEST_BYTES = 32, COLUMNS_MIN = 3, COLUMNS_MAX = 4, ARENA_MAX = 64 << 20 };

struct file_token {
	uint8_t digest[DIGEST_BYTES];
	size_t line;
	struct identity who;
};

struct token_file {
	uint8_t key[DIGEST_BYTES];
	struct file_token *token; /* by digest */
	size_t count, cap;
	bool bare;
	struct pl_arena arena;
};

/* -- digests -------------------------------------------------------------------------- */

static enum pl_code token_digest(const struct token_file *file, struct pl_span token,
                                 uint8_t out[DIGEST_BYTES])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool good;

	good = ctx != NULL && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1 &&
	       EVP_DigestUpdate(ctx, file->key, sizeof file->key) == 1 &&
	       EVP_DigestUpdate(ctx, token.at, token.len) == 1 &&
	       EVP_DigestFinal_ex(ctx, out, NULL) == 1;
	EVP_MD_CTX_free(ctx);
	return good ? PL_OK : PL_NOMEM;
}

static int by_digest(const void *a, const void *b)
{
	const struct file_token *x = a, *y = b;

	return memcmp(x->digest, y->digest, DIGEST_BYTES);
}

/* -- reading -------------------------------------------------------------------------- */

static bool tokens_grow(struct token_file *file)
{
	size_t cap = file->cap == 0 ? 16 : file->cap * 2;
	struct file_token *grown;

	if (file->count < file->cap)
		return true;
	grown = pl_realloc(file->token, cap * sizeof *grown);
	if (grown == NULL)
		return false;
	file->token = grown;
	file->cap = cap;
	return true;
}

/* A header can carry these only. */
static bool token_ok(struct pl_span token)
{
	for (size_t i = 0; i < token.len; i++)
		if (token.at[i] <= ' ' || token.at[i] > '~')
			return false;
	return token.len > 0 && token.len <= TOKEN_FILE_TOKEN_MAX;
}

static enum pl_code line_fail(const struct csv *csv, const char *what, struct pl_err *err)
{
	return pl_err_set(err, PL_INVALID, "line %zu: %s", csv->line, what);
}

/* "dev,ops": names with commas between them. */
static enum pl_code groups_split(struct pl_span text, struct pl_arena *arena,
                                 struct identity *who)
{
	size_t count = 1;
	struct pl_span *groups;

	if (text.len == 0)
		return PL_OK;
	for (size_t i = 0; i < text.len; i++)
		count += text.at[i] == ',';
	if (count > IDENTITY_GROUPS_MAX)
		return PL_INVALID;
	groups = pl_arena_zalloc(arena, count, sizeof *groups);
	if (groups == NULL)
		return PL_NOMEM;
	for (size_t i = 0; i < count; i++) {
		const uint8_t *comma = memchr(text.at, ',', text.len);
		size_t len = comma == NULL ? text.len : (size_t)(comma - text.at);

		groups[i] = pl_span(text.at, len);
		if (comma != NULL)
			text = pl_span(comma + 1, text.len - len - 1);
	}
	who->groups = groups;
	who->group_count = count;
	return PL_OK;
}

static enum pl_code line_identity(const struct csv *csv, struct token_file *file,
                                  struct identity *out, struct pl_err *err)
{
	struct identity who = {
		.via = IDENTITY_TOKEN_FILE, .user = csv->field[1], .uid = csv->field[2]};
	struct pl_err why = {0};
	enum pl_code code = PL_OK;

	if (csv->count > COLUMNS_MIN)
		code = groups_split(csv->field[3], &file->arena, &who);
	if (code == PL_INVALID)
		return line_fail(csv, "too many groups", err);
	if (code == PL_OK)
		code = identity_make(&file->arena, &who, out, &why);
	if (code == PL_INVALID)
		return line_fail(csv, why.msg, err);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "tokens");
}

static enum pl_code line_take(struct token_file *file, const struct csv *csv,
                              struct pl_err *err)
{
	struct file_token *token;
	enum pl_code code;

	if (file->count == TOKEN_FILE_TOKENS_MAX)
		return line_fail(csv, "too many tokens", err);
	if (csv->count < COLUMNS_MIN)
		return line_fail(csv, "want at least a token, a user and a uid", err);
	if (csv->count > COLUMNS_MAX)
		return line_fail(csv, "want at most 4 columns: put the groups in quotes",
		                 err);
	if (!token_ok(csv->field[0]))
		return line_fail(
			csv, "want a token of printable characters without spaces", err);
	if (!tokens_grow(file))
		return pl_err_set(err, PL_NOMEM, "tokens");
	token = &file->token[file->count];
	code = line_identity(csv, file, &token->who, err);
	if (code == PL_OK && token_digest(file, csv->field[0], token->digest) != PL_OK)
		code = pl_err_set(err, PL_NOMEM, "tokens");
	if (code != PL_OK)
		return code;
	token->line = csv->line;
	file->count++;
	return PL_OK;
}

static enum pl_code bare_take(struct token_file *file, struct csv *csv,
                              struct pl_err *err)
{
	csv->count = COLUMNS_MAX;
	csv->field[1] = PL_SPAN_LIT(TOKEN_FILE_BARE_USER);
	csv->field[2] = (struct pl_span){0};
	csv->field[3] = PL_SPAN_LIT(IDENTITY_MASTERS);
	file->bare = true;
	return line_take(file, csv, err);
}

static enum pl_code lines_take(struct token_file *file, struct csv *csv,
                               struct pl_arena *scratch, struct pl_err *err)
{
	enum pl_code code;

	for (code = csv_next(csv, scratch, err); code == PL_OK;
	     code = csv_next(csv, scratch, err)) {
		bool alone = file->count == 0 && csv->count == 1 && csv->rest.len == 0;

		code = alone ? bare_take(file, csv, err) : line_take(file, csv, err);
		if (code != PL_OK)
			return code;
		pl_arena_reset(scratch);
	}
	if (code != PL_NOTFOUND)
		return code;
	return file->count > 0 ? PL_OK : pl_err_set(err, PL_INVALID, "no token in it");
}

static enum pl_code twice_refuse(const struct token_file *file, struct pl_err *err)
{
	for (size_t i = 1; i < file->count; i++) {
		const struct file_token *a = &file->token[i - 1], *b = &file->token[i];

		if (by_digest(a, b) == 0)
			return pl_err_set(err, PL_INVALID,
			                  "lines %zu and %zu: the same token",
			                  a->line < b->line ? a->line : b->line,
			                  a->line < b->line ? b->line : a->line);
	}
	return PL_OK;
}

enum pl_code token_file_parse(struct pl_span text, struct token_file **out,
                              struct pl_err *err)
{
	struct token_file *file;
	struct pl_arena scratch;
	struct csv csv;
	enum pl_code code = PL_OK;

	if (text.len > TOKEN_FILE_BYTES_MAX)
		return pl_err_set(err, PL_INVALID, "longer than %d bytes",
		                  TOKEN_FILE_BYTES_MAX);
	file = pl_calloc(1, sizeof *file);
	if (file == NULL)
		return pl_err_set(err, PL_NOMEM, "tokens");
	pl_arena_init(&file->arena, 0, ARENA_MAX);
	pl_arena_init(&scratch, 0, ARENA_MAX);
	csv_begin(&csv, text);
	if (pl_fault_hit(PL_FAULT_FILE_READ) ||
	    RAND_bytes(file->key, sizeof file->key) != 1)
		code = pl_err_set(err, PL_IO, "no random bytes");
	if (code == PL_OK)
		code = lines_take(file, &csv, &scratch, err);
	pl_arena_done(&scratch);
	if (code == PL_OK) {
		qsort(file->token, file->count, sizeof file->token[0], by_digest);
		code = twice_refuse(file, err);
	}
	if (code == PL_OK)
		*out = file;
	else
		token_file_free(file);
	return code;
}

void token_file_free(struct token_file *file)
{
	if (file == NULL)
		return;
	OPENSSL_cleanse(file->key, sizeof file->key);
	pl_arena_done(&file->arena);
	free(file->token);
	free(file);
}

size_t token_file_count(const struct token_file *file)
{
	return file->count;
}

bool token_file_is_bare(const struct token_file *file)
{
	return file->bare;
}

enum pl_code token_file_identify(const struct token_file *file, struct pl_span token,
                                 struct pl_arena *arena, struct identity *out,
                                 struct pl_err *err)
{
	struct file_token wanted;
	const struct file_token *found;

	if (token_digest(file, token, wanted.digest) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "a token");
	found = bsearch(&wanted, file->token, file->count, sizeof wanted, by_digest);
	if (found == NULL)
		return PL_NOTFOUND;
	return identity_make(arena, &found->who, out, err);
}
