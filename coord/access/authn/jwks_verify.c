/* Signatures by the keys of a set. */
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

#include "coord/access/authn/jwks_int.h"

enum { ES256_BYTES = 64, DER_MAX = 80 };

static enum jwk_type type_of(enum jwt_alg alg)
{
	switch (alg) {
	case JWT_RS256:
	case JWT_PS256:
		return JWK_RSA;
	case JWT_ES256:
		return JWK_P256;
	case JWT_EDDSA:
		return JWK_ED25519;
	case JWT_ALG_COUNT:
		break;
	}
	PL_UNREACHABLE("an algorithm");
}

/* A token with a key's name is checked by keys of that name only. */
static bool key_fits(const struct jwk *key, const struct jwks_signed *what)
{
	if (key->type != type_of(what->alg) || (key->bound && key->alg != what->alg))
		return false;
	return !what->has_kid ||
	       (key->has_kid && pl_span_eq(pl_span(key->kid, key->kid_len), what->kid));
}

/* Two numbers of 32 bytes become what OpenSSL reads. 0: no memory. */
static size_t es256_der(struct pl_span signature, uint8_t out[DER_MAX])
{
	BIGNUM *r = BN_bin2bn(signature.at, ES256_BYTES / 2, NULL);
	BIGNUM *s = BN_bin2bn(signature.at + ES256_BYTES / 2, ES256_BYTES / 2, NULL);
	ECDSA_SIG *pair = ECDSA_SIG_new();
	unsigned char *at = out;
	int len = 0;

	if (r != NULL && s != NULL && pair != NULL && ECDSA_SIG_set0(pair, r, s) == 1) {
		len = i2d_ECDSA_SIG(pair, &at); /* at most 72 bytes */
	} else {
		BN_free(r);
		BN_free(s);
	}
	ECDSA_SIG_free(pair);
	return len > 0 ? (size_t)len : 0;
}

static bool padding_set(EVP_PKEY_CTX *ctx, enum jwt_alg alg)
{
	if (alg == JWT_RS256)
		return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PADDING) == 1;
	if (alg != JWT_PS256)
		return true;
	return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PSS_PADDING) == 1 &&
	       EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx, RSA_PSS_SALTLEN_DIGEST) == 1 &&
	       EVP_PKEY_CTX_set_rsa_mgf1_md(ctx, EVP_sha256()) == 1;
}

static bool key_verifies(const struct jwk *key, enum jwt_alg alg, struct pl_span text,
                         struct pl_span signature)
{
	const EVP_MD *digest = alg == JWT_EDDSA ? NULL : EVP_sha256();
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	EVP_PKEY_CTX *padding = NULL;
	bool good;

	good = ctx != NULL &&
	       EVP_DigestVerifyInit(ctx, &padding, digest, NULL, key->key) == 1 &&
	       padding_set(padding, alg) &&
	       EVP_DigestVerify(ctx, signature.at, signature.len, text.at, text.len) == 1;
	EVP_MD_CTX_free(ctx);
	ERR_clear_error();
	return good;
}

enum pl_code jwks_verify(const struct jwks *jwks, const struct jwks_signed *what,
                         struct pl_err *err)
{
	struct pl_span signature = what->signature;
	uint8_t der[DER_MAX];
	bool tried = false;

	if (what->alg == JWT_ES256) {
		if (signature.len != ES256_BYTES)
			return pl_err_set(err, PL_DENIED,
			                  "the signature has a wrong length");
		signature = pl_span(der, es256_der(signature, der));
	}
	for (size_t i = 0; i < jwks->count; i++) {
		if (!key_fits(&jwks->key[i], what))
			continue;
		tried = true;
		if (key_verifies(&jwks->key[i], what->alg, what->text, signature))
			return PL_OK;
	}
	if (!tried)
		return pl_err_set(err, PL_DENIED, "no key of the set fits its header");
	return pl_err_set(err, PL_DENIED, "the signature is not by a key of the set");
}
