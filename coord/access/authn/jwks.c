#include "coord/access/authn/jwks.h"

#include <openssl/err.h>
#include <stdlib.h>

#include "coord/access/authn/jwks_int.h"
#include "store/base/alloc.h"

static const struct pl_json_limits limits = {
	.bytes = JWKS_BYTES_MAX, .depth = 8, .values = 8192};

enum jwt_alg jwt_alg_parse(struct pl_span name)
{
#define JWT_ALG_NAME(constant, text) [JWT_##constant] = (text),
	static const char *const names[JWT_ALG_COUNT] = {JWT_ALG_MAP(JWT_ALG_NAME)};

	for (unsigned i = 0; i < JWT_ALG_COUNT; i++)
		if (pl_span_eq(name, pl_span_str(names[i])))
			return (enum jwt_alg)i;
	return JWT_ALG_COUNT;
}

static enum pl_code keys_parse_all(struct pl_json keys, struct jwks *jwks,
                                   struct pl_err *err)
{
	if (pl_json_count(keys) > JWKS_KEYS_MAX)
		return pl_json_fail(keys, PL_INVALID, err, "more than %d keys",
		                    JWKS_KEYS_MAX);
	PL_JSON_EACH (item, keys) {
		enum pl_code code = jwk_parse(item, &jwks->key[jwks->count], err);

		if (code == PL_OK)
			jwks->count++;
		else if (code != PL_UNSUPPORTED)
			return code;
	}
	if (jwks->count == 0)
		return pl_json_fail(
			keys, PL_INVALID, err,
			"no key that can be used: want RSA, EC P-256 or Ed25519, for signatures");
	return PL_OK;
}

enum pl_code jwks_parse(struct pl_span json, struct jwks **out, struct pl_err *err)
{
	struct pl_json root, keys = {0};
	struct pl_arena arena;
	struct jwks *jwks;
	enum pl_code code;

	jwks = pl_calloc(1, sizeof *jwks);
	if (jwks == NULL)
		return pl_err_set(err, PL_NOMEM, "a set of keys");
	pl_arena_init(&arena, 0, 0);
	code = pl_json_parse(&arena, json, &limits, &root, err);
	if (code == PL_OK && pl_json_type(root) != PL_JSON_OBJECT)
		code = pl_json_fail(root, PL_INVALID, err, "want an object, got %s",
		                    pl_json_type_name(pl_json_type(root)));
	if (code == PL_OK)
		code = pl_json_array(root, "keys", PL_JSON_REQUIRED, &keys, err);
	if (code == PL_OK)
		code = keys_parse_all(keys, jwks, err);
	pl_arena_done(&arena);
	ERR_clear_error();
	if (code == PL_OK)
		*out = jwks;
	else
		jwks_free(jwks);
	return code;
}

void jwks_free(struct jwks *jwks)
{
	if (jwks == NULL)
		return;
	for (size_t i = 0; i < jwks->count; i++)
		EVP_PKEY_free(jwks->key[i].key);
	free(jwks);
}

size_t jwks_count(const struct jwks *jwks)
{
	return jwks->count;
}
