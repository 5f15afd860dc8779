#include "coord/access/authn/issued_tokens.h"

#include <openssl/crypto.h>
#include <stdlib.h>

#include "coord/service/tokens/token_record.h"
#include "store/base/alloc.h"
#include "store/base/log.h"
#include "store/keys/keys.h"
#include "store/kv/cache/cache.h"

enum { BYTES_MAX = 256 << 20, RECORD_ARENA_MAX = 1 << 20 };

struct issued_tokens {
	struct cache *cache;
	struct cache_listener listener;
	struct keys_text prefix;
	void (*closed)(void *ctx);
	void *ctx;
};

/* A record as it was read: parsed once, when the watch brings it. */
struct issued_token {
	bool valid;
	struct token_record record;
	struct pl_arena arena;
};

/* -- the informer --------------------------------------------------------------------- */

static bool wants_key(void *ctx, struct pl_span key)
{
	struct keys_id id;

	(void)ctx;
	return keys_parse(key, &id, NULL) == PL_OK && id.kind == KEYS_TOKEN;
}

static void token_free(void *object)
{
	struct issued_token *token = object;

	pl_arena_done(&token->arena);
	free(token);
}

static enum pl_code token_parse(void *ctx, const struct kv_record *record, void **object,
                                size_t *bytes)
{
	struct issued_token *token = pl_calloc(1, sizeof *token);
	struct pl_err why = {0};
	enum pl_code code;

	(void)ctx;
	if (token == NULL)
		return PL_NOMEM;
	pl_arena_init(&token->arena, 512, RECORD_ARENA_MAX);
	code = token_record_parse(record->value, &token->arena, &token->record, &why);
	if (code == PL_NOMEM) {
		token_free(token);
		return PL_NOMEM;
	}
	token->valid = code == PL_OK;
	if (!token->valid)
		PL_LOG(PL_LOG_ERROR, "store.malformed", pl_log_span("key", record->key),
		       pl_log_err("err", &why));
	*bytes += sizeof *token + token->arena.used;
	*object = token;
	return PL_OK;
}

static void on_note(void *ctx, const struct cache_note *note)
{
	struct issued_tokens *tokens = ctx;
	void (*closed)(void *) = tokens->closed;
	void *closed_ctx = tokens->ctx;

	if (note->type == CACHE_LOST || note->type == CACHE_TROUBLE)
		PL_LOG(PL_LOG_WARN, "authn.tokens_stale", pl_log_err("err", note->err));
	if (note->type != CACHE_STOPPED)
		return;
	free(tokens);
	closed(closed_ctx);
}

enum pl_code issued_tokens_open(struct kv *kv, struct issued_tokens **out,
                                struct pl_err *err)
{
	const struct keys_id id = {.kind = KEYS_TOKEN};
	struct issued_tokens *tokens = pl_calloc(1, sizeof *tokens);
	struct cache_opts opts = {.wants = wants_key,
	                          .parse = token_parse,
	                          .free_object = token_free,
	                          .drop_values = true,
	                          .bytes_max = BYTES_MAX};
	enum pl_code code;

	if (tokens == NULL)
		return pl_err_set(err, PL_NOMEM, "issued tokens");
	code = keys_prefix(&id, 2, &tokens->prefix, err);
	if (code == PL_OK) {
		opts.list.keys = (struct kv_keys){.kind = KV_PREFIX,
		                                  .from = keys_span(&tokens->prefix)};
		code = cache_open(kv, &opts, &tokens->cache, err);
	}
	if (code != PL_OK) {
		free(tokens);
		return code;
	}
	cache_listen(tokens->cache, &tokens->listener, on_note, tokens);
	*out = tokens;
	return PL_OK;
}

void issued_tokens_close(struct issued_tokens *tokens, void (*closed)(void *ctx),
                         void *ctx)
{
	tokens->closed = closed;
	tokens->ctx = ctx;
	cache_stop(tokens->cache);
}

bool issued_tokens_synced(const struct issued_tokens *tokens)
{
	return cache_synced(tokens->cache);
}

/* -- identities ----------------------------------------------------------------------- */

bool issued_tokens_is_one(struct pl_span token)
{
	return token_is_issued(token);
}

static const struct issued_token *token_find(const struct issued_tokens *tokens,
                                             struct pl_span name)
{
	const struct keys_id id = {.kind = KEYS_TOKEN, .name = name};
	const struct cache_entry *entry;
	const struct issued_token *token;
	struct keys_text key;

	if (keys_build(&id, &key, NULL) != PL_OK)
		return NULL;
	entry = cache_get(tokens->cache, keys_span(&key));
	token = entry == NULL ? NULL : entry->object;
	return token != NULL && token->valid ? token : NULL;
}

/* The secret is judged in the same way whether there is a record or not, and before
 * anything else of the record is looked at. */
enum pl_code issued_tokens_identify(const struct issued_tokens *tokens,
                                    struct pl_span token, struct pl_arena *arena,
                                    int64_t now_s, struct identity *out,
                                    struct pl_err *err)
{
	static const struct token_record none_such;
	uint8_t hash[TOKEN_HASH_BYTES];
	struct pl_span id, secret;
	const struct issued_token *found;
	const struct token_record *record;
	struct identity who;
	bool same;

	if (!issued_tokens_synced(tokens))
		return pl_err_set(err, PL_UNAVAIL,
		                  "the issued tokens have not been listed yet");
	if (!token_split(token, &id, &secret))
		return pl_err_set(err, PL_DENIED, "issued token: not of that form");
	if (token_hash(secret, hash) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "a token");
	found = token_find(tokens, id);
	record = found == NULL ? &none_such : &found->record;
	same = CRYPTO_memcmp(hash, record->hash, sizeof hash) == 0;
	if (!same || found == NULL)
		return pl_err_set(err, PL_DENIED, "issued token %.*s: %s", (int)id.len,
		                  (const char *)id.at,
		                  found == NULL ? "there is none of that name"
		                                : "another secret");
	if (record->expires_ms != 0 && now_s >= record->expires_ms / 1000)
		return pl_err_set(err, PL_DENIED, "issued token %.*s: expired",
		                  (int)id.len, (const char *)id.at);
	who = (struct identity){.user = record->user,
	                        .groups = record->groups,
	                        .group_count = record->group_count,
	                        .via = IDENTITY_ISSUED,
	                        .credential = id};
	return identity_make(arena, &who, out, err);
}
