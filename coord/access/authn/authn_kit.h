/* For tests: keys of each kind, sets of them, and tokens signed by them. */
#ifndef COORD_ACCESS_AUTHN_AUTHN_KIT_H
#define COORD_ACCESS_AUTHN_AUTHN_KIT_H

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/base64url.h"
#include "tests/harness/t.h"

enum { KIT_TEXT = 64 << 10, KIT_NOW = 1800000000 };

struct authn_kit {
	EVP_PKEY *rsa, *p256, *ed;
};

static inline void authn_kit_open(struct authn_kit *kit)
{
	kit->rsa = EVP_RSA_gen(2048);
	kit->p256 = EVP_EC_gen("P-256");
	kit->ed = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	T_TRUE(kit->rsa != NULL && kit->p256 != NULL && kit->ed != NULL);
}

static inline void authn_kit_close(struct authn_kit *kit)
{
	EVP_PKEY_free(kit->rsa);
	EVP_PKEY_free(kit->p256);
	EVP_PKEY_free(kit->ed);
}

/* -- base64url ------------------------------------------------------------------------ */

/* Borrowed until sixteen calls later. */
static inline const char *kit_base64(struct pl_span bytes)
{
	static char *texts[16];
	static unsigned slot;
	char **text = &texts[slot++ % 16];

	free(*text);
	*text = calloc(1, pl_base64url_encoded(bytes.len) + 1);
	T_TRUE(*text != NULL);
	pl_base64url_encode(bytes, *text);
	return *text;
}

/* -- keys as JSON --------------------------------------------------------------------- */

static inline const char *kit_number(EVP_PKEY *key, const char *param, int bytes)
{
	uint8_t at[1024];
	BIGNUM *number = NULL;
	int len;

	T_EQ(EVP_PKEY_get_bn_param(key, param, &number), 1);
	len = bytes == 0 ? BN_num_bytes(number) : bytes;
	T_TRUE(len <= (int)sizeof at && BN_bn2binpad(number, at, len) == len);
	BN_free(number);
	return kit_base64(pl_span(at, (size_t)len));
}

/* more: further members, such as "\"kid\":\"a\","; may be "". */
static inline const char *kit_jwk_rsa(EVP_PKEY *key, const char *more, char *out)
{
	(void)snprintf(out, KIT_TEXT, "{%s\"kty\":\"RSA\",\"n\":\"%s\",\"e\":\"%s\"}",
	               more, kit_number(key, OSSL_PKEY_PARAM_RSA_N, 0),
	               kit_number(key, OSSL_PKEY_PARAM_RSA_E, 0));
	return out;
}

static inline const char *kit_jwk_p256(EVP_PKEY *key, const char *more, char *out)
{
	(void)snprintf(out, KIT_TEXT,
	               "{%s\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"%s\",\"y\":\"%s\"}",
	               more, kit_number(key, OSSL_PKEY_PARAM_EC_PUB_X, 32),
	               kit_number(key, OSSL_PKEY_PARAM_EC_PUB_Y, 32));
	return out;
}

static inline const char *kit_jwk_ed(EVP_PKEY *key, const char *more, char *out)
{
	uint8_t raw[32];
	size_t len = sizeof raw;

	T_EQ(EVP_PKEY_get_raw_public_key(key, raw, &len), 1);
	(void)snprintf(out, KIT_TEXT,
	               "{%s\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"%s\"}", more,
	               kit_base64(pl_span(raw, len)));
	return out;
}

/* The set of all three, called rsa, p256 and ed. */
static inline const char *kit_jwks(const struct authn_kit *kit)
{
	static char text[3 * KIT_TEXT + 64];
	static char rsa[KIT_TEXT], p256[KIT_TEXT], ed[KIT_TEXT];

	(void)snprintf(text, sizeof text, "{\"keys\":[%s,%s,%s]}",
	               kit_jwk_rsa(kit->rsa, "\"kid\":\"rsa\",", rsa),
	               kit_jwk_p256(kit->p256, "\"kid\":\"p256\",\"use\":\"sig\",", p256),
	               kit_jwk_ed(kit->ed, "\"kid\":\"ed\",", ed));
	return text;
}

/* -- tokens --------------------------------------------------------------------------- */

enum kit_sign { KIT_RS256, KIT_PS256, KIT_ES256, KIT_EDDSA, KIT_RS512, KIT_PS256_SALT };

static inline size_t kit_sign_raw(EVP_PKEY *key, enum kit_sign how, struct pl_span text,
                                  uint8_t out[1024])
{
	const EVP_MD *digest = how == KIT_EDDSA   ? NULL
	                       : how == KIT_RS512 ? EVP_sha512()
	                                          : EVP_sha256();
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	EVP_PKEY_CTX *padding = NULL;
	size_t len = 1024;

	T_EQ(EVP_DigestSignInit(ctx, &padding, digest, NULL, key), 1);
	if (how == KIT_PS256 || how == KIT_PS256_SALT) {
		T_EQ(EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PSS_PADDING), 1);
		T_EQ(EVP_PKEY_CTX_set_rsa_pss_saltlen(
			     padding, how == KIT_PS256 ? RSA_PSS_SALTLEN_DIGEST : 0),
		     1);
	}
	T_EQ(EVP_DigestSign(ctx, out, &len, text.at, text.len), 1);
	EVP_MD_CTX_free(ctx);
	return len;
}

/* A signature of OpenSSL's, as the two numbers that a token has. */
static inline size_t kit_es256(uint8_t at[1024], size_t len)
{
	const unsigned char *der = at;
	ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)len);

	T_TRUE(pair != NULL);
	T_EQ(BN_bn2binpad(ECDSA_SIG_get0_r(pair), at, 32), 32);
	T_EQ(BN_bn2binpad(ECDSA_SIG_get0_s(pair), at + 32, 32), 32);
	ECDSA_SIG_free(pair);
	return 64;
}

/* A token of that header and those claims. For free(). */
static inline char *kit_token(EVP_PKEY *key, enum kit_sign how, const char *header,
                              const char *claims)
{
	size_t size = 2 * (strlen(header) + strlen(claims)) + 2048;
	char *text = calloc(1, size);
	uint8_t signature[1024];
	size_t len;

	T_TRUE(text != NULL);
	(void)snprintf(text, size, "%s.%s", kit_base64(pl_span_str(header)),
	               kit_base64(pl_span_str(claims)));
	len = kit_sign_raw(key, how, pl_span_str(text), signature);
	if (how == KIT_ES256)
		len = kit_es256(signature, len);
	(void)snprintf(text + strlen(text), size - strlen(text), ".%s",
	               kit_base64(pl_span(signature, len)));
	return text;
}

#define KIT_ISSUER "https://id.example.com"

/* Claims that are good at KIT_NOW; more: further members, with a comma in front. */
static inline const char *kit_claims(const char *more)
{
	static char texts[4][KIT_TEXT];
	static unsigned slot;
	char *text = texts[slot++ % 4];

	(void)snprintf(text, KIT_TEXT,
	               "{\"iss\":\"" KIT_ISSUER "\",\"aud\":\"placet\",\"exp\":%d,"
	               "\"sub\":\"ann\"%s}",
	               KIT_NOW + 3600, more);
	return text;
}

#endif
