/* One key of a set: its JSON, checked whole, then a key of OpenSSL's. */
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/param_build.h>

#include "coord/access/authn/jwks_int.h"
#include "store/base/base64url.h"
#include "store/base/fault.h"

enum {
	RSA_BITS_MIN = 2048,
	RSA_BITS_MAX = 8192,
	NUMBER_MAX = RSA_BITS_MAX / 8 + 1,
	EXPONENT_MAX = 8, /* bytes */
	POINT_BYTES = 32,
};

struct jwk_number {
	size_t len;
	uint8_t at[NUMBER_MAX];
};

/* -- members ------------------------------------------------------------------------- */

static enum pl_code number_take(struct pl_json key, const char *name, size_t max,
                                struct jwk_number *out, struct pl_err *err)
{
	const char *text = "";
	enum pl_code code = pl_json_string(key, name, PL_JSON_REQUIRED, &text, err);
	struct pl_span span = pl_span_str(text);

	if (code != PL_OK)
		return code;
	if (span.len == 0 || pl_base64url_decoded(span.len) > max)
		return pl_json_fail(pl_json_member(key, name), PL_INVALID, err,
		                    "want 1 to %zu bytes", max);
	if (!pl_base64url_decode(span, out->at))
		return pl_json_fail(pl_json_member(key, name), PL_INVALID, err,
		                    "not base64url");
	out->len = pl_base64url_decoded(span.len);
	return PL_OK;
}

static enum pl_code point_take(struct pl_json key, const char *name,
                               struct jwk_number *out, struct pl_err *err)
{
	enum pl_code code = number_take(key, name, POINT_BYTES, out, err);

	if (code == PL_OK && out->len != POINT_BYTES)
		return pl_json_fail(pl_json_member(key, name), PL_INVALID, err,
		                    "want %d bytes", POINT_BYTES);
	return code;
}

static enum pl_code secrets_refuse(struct pl_json key, struct pl_err *err)
{
	static const char *const secret[] = {"d", "p", "q", "dp", "dq", "qi", "oth", "k"};

	for (size_t i = 0; i < sizeof secret / sizeof secret[0]; i++) {
		struct pl_json member = pl_json_member(key, secret[i]);

		if (pl_json_type(member) != PL_JSON_ABSENT)
			return pl_json_fail(
				member, PL_INVALID, err,
				"a secret does not belong in a set of public keys");
	}
	return PL_OK;
}

static bool text_is(const char *text, const char *word)
{
	return strcmp(text, word) == 0;
}

/* Whether the key is for verifying signatures, as far as it says. */
static enum pl_code use_check(struct pl_json key, struct pl_err *err)
{
	struct pl_json ops = {0};
	const char *use = "sig";
	enum pl_code code = pl_json_string(key, "use", PL_JSON_OPTIONAL, &use, err);

	if (code == PL_OK)
		code = pl_json_array(key, "key_ops", PL_JSON_OPTIONAL, &ops, err);
	if (code != PL_OK)
		return code;
	if (!text_is(use, "sig"))
		return PL_UNSUPPORTED;
	if (ops.node == NULL)
		return PL_OK;
	PL_JSON_EACH (op, ops) {
		const char *word = "";

		code = pl_json_as_string(op, &word, err);
		if (code != PL_OK || text_is(word, "verify"))
			return code;
	}
	return PL_UNSUPPORTED;
}

static bool type_serves(enum jwk_type type, enum jwt_alg alg)
{
	switch (alg) {
	case JWT_RS256:
	case JWT_PS256:
		return type == JWK_RSA;
	case JWT_ES256:
		return type == JWK_P256;
	case JWT_EDDSA:
		return type == JWK_ED25519;
	case JWT_ALG_COUNT:
		break;
	}
	return false;
}

/* A key that names an algorithm serves no other. */
static enum pl_code alg_take(struct pl_json key, struct jwk *out, struct pl_err *err)
{
	const char *alg = NULL;
	enum pl_code code = pl_json_string(key, "alg", PL_JSON_OPTIONAL, &alg, err);

	if (code != PL_OK || alg == NULL)
		return code;
	out->bound = true;
	out->alg = jwt_alg_parse(pl_span_str(alg));
	return type_serves(out->type, out->alg) ? PL_OK : PL_UNSUPPORTED;
}

static enum pl_code kid_take(struct pl_json key, struct jwk *out, struct pl_err *err)
{
	const char *kid = NULL;
	enum pl_code code = pl_json_string(key, "kid", PL_JSON_OPTIONAL, &kid, err);

	if (code != PL_OK || kid == NULL)
		return code;
	out->kid_len = strlen(kid);
	if (out->kid_len > JWKS_KID_MAX)
		return pl_json_fail(pl_json_member(key, "kid"), PL_INVALID, err,
		                    "longer than %d bytes", JWKS_KID_MAX);
	out->has_kid = true;
	memcpy(out->kid, kid, out->kid_len);
	return PL_OK;
}

/* -- keys of OpenSSL's --------------------------------------------------------------- */

static EVP_PKEY *key_make(const char *kind, OSSL_PARAM_BLD *build)
{
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, kind, NULL);
	EVP_PKEY *key = NULL;

	if (params == NULL || ctx == NULL || EVP_PKEY_fromdata_init(ctx) != 1 ||
	    EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
		key = NULL;
	EVP_PKEY_CTX_free(ctx);
	OSSL_PARAM_free(params);
	return key;
}

static EVP_PKEY *rsa_make(const struct jwk_number *n, const struct jwk_number *e)
{
	OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
	BIGNUM *modulus = BN_bin2bn(n->at, (int)n->len, NULL);
	BIGNUM *exponent = BN_bin2bn(e->at, (int)e->len, NULL);
	EVP_PKEY *key = NULL;

	if (build != NULL && modulus != NULL && exponent != NULL &&
	    OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
	    OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, exponent) == 1)
		key = key_make("RSA", build);
	BN_free(modulus);
	BN_free(exponent);
	OSSL_PARAM_BLD_free(build);
	return key;
}

static EVP_PKEY *p256_make(const struct jwk_number *x, const struct jwk_number *y)
{
	OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
	uint8_t point[1 + 2 * POINT_BYTES] = {4}; /* uncompressed */
	EVP_PKEY *key = NULL;

	memcpy(point + 1, x->at, POINT_BYTES);
	memcpy(point + 1 + POINT_BYTES, y->at, POINT_BYTES);
	if (build != NULL &&
	    OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME,
	                                    "prime256v1", 0) == 1 &&
	    OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point,
	                                     sizeof point) == 1)
		key = key_make("EC", build);
	OSSL_PARAM_BLD_free(build);
	return key;
}

/* The key must be one: a point on its curve, numbers of the right size. */
static bool key_is_sound(EVP_PKEY *key)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
	bool sound = ctx != NULL && EVP_PKEY_public_check(ctx) == 1;

	EVP_PKEY_CTX_free(ctx);
	return sound;
}

static enum pl_code key_keep(struct pl_json json, EVP_PKEY *key, struct jwk *out,
                             struct pl_err *err)
{
	if (pl_fault_hit(PL_FAULT_TLS_INIT)) {
		EVP_PKEY_free(key);
		return pl_err_set(err, PL_NOMEM, "a key");
	}
	if (key == NULL || !key_is_sound(key)) {
		EVP_PKEY_free(key);
		return pl_json_fail(json, PL_INVALID, err, "not a key");
	}
	out->key = key;
	return PL_OK;
}

/* -- kinds --------------------------------------------------------------------------- */

static unsigned bits_of(const struct jwk_number *number)
{
	unsigned bits = (unsigned)number->len * 8;

	for (size_t i = 0; i < number->len; i++, bits -= 8) {
		uint8_t byte = number->at[i];

		if (byte == 0)
			continue;
		for (uint8_t top = 0x80; (byte & top) == 0; top >>= 1)
			bits--;
		break;
	}
	return bits;
}

static enum pl_code rsa_take(struct pl_json json, struct jwk *out, struct pl_err *err)
{
	struct jwk_number n = {0}, e = {0};
	enum pl_code code = number_take(json, "n", NUMBER_MAX, &n, err);

	if (code == PL_OK)
		code = number_take(json, "e", EXPONENT_MAX, &e, err);
	if (code != PL_OK)
		return code;
	if (bits_of(&n) < RSA_BITS_MIN || bits_of(&n) > RSA_BITS_MAX)
		return pl_json_fail(pl_json_member(json, "n"), PL_INVALID, err,
		                    "want %d to %d bits, got %u", RSA_BITS_MIN,
		                    RSA_BITS_MAX, bits_of(&n));
	if (bits_of(&e) < 2 || (e.at[e.len - 1] & 1) == 0)
		return pl_json_fail(pl_json_member(json, "e"), PL_INVALID, err,
		                    "want an odd number from 3 on");
	return key_keep(json, rsa_make(&n, &e), out, err);
}

static enum pl_code p256_take(struct pl_json json, struct jwk *out, struct pl_err *err)
{
	struct jwk_number x = {0}, y = {0};
	enum pl_code code = point_take(json, "x", &x, err);

	if (code == PL_OK)
		code = point_take(json, "y", &y, err);
	return code == PL_OK ? key_keep(json, p256_make(&x, &y), out, err) : code;
}

static enum pl_code ed25519_take(struct pl_json json, struct jwk *out, struct pl_err *err)
{
	struct jwk_number x = {0};
	enum pl_code code = point_take(json, "x", &x, err);

	if (code != PL_OK)
		return code;
	return key_keep(json,
	                EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, x.at, x.len),
	                out, err);
}

static enum pl_code type_take(struct pl_json json, struct jwk *out, struct pl_err *err)
{
	const char *kty = "", *crv = "";
	enum pl_code code = pl_json_string(json, "kty", PL_JSON_REQUIRED, &kty, err);

	if (code == PL_OK && !text_is(kty, "RSA"))
		code = pl_json_string(json, "crv", PL_JSON_OPTIONAL, &crv, err);
	if (code != PL_OK)
		return code;
	if (text_is(kty, "RSA"))
		out->type = JWK_RSA;
	else if (text_is(kty, "EC") && text_is(crv, "P-256"))
		out->type = JWK_P256;
	else if (text_is(kty, "OKP") && text_is(crv, "Ed25519"))
		out->type = JWK_ED25519;
	else
		return PL_UNSUPPORTED;
	return PL_OK;
}

enum pl_code jwk_parse(struct pl_json json, struct jwk *out, struct pl_err *err)
{
	enum pl_code code;

	*out = (struct jwk){0};
	if (pl_json_type(json) != PL_JSON_OBJECT)
		return pl_json_fail(json, PL_INVALID, err, "want an object, got %s",
		                    pl_json_type_name(pl_json_type(json)));
	code = secrets_refuse(json, err);
	if (code == PL_OK)
		code = type_take(json, out, err);
	if (code == PL_OK)
		code = use_check(json, err);
	if (code == PL_OK)
		code = alg_take(json, out, err);
	if (code == PL_OK)
		code = kid_take(json, out, err);
	if (code != PL_OK)
		return code;
	switch (out->type) {
	case JWK_RSA:
		return rsa_take(json, out, err);
	case JWK_P256:
		return p256_take(json, out, err);
	case JWK_ED25519:
		return ed25519_take(json, out, err);
	}
	PL_UNREACHABLE("type of a key");
}
