#include "coord/access/authn/authn_kit.h"
#include "coord/access/authn/jwks.h"
#include "tests/harness/torture.h"

static struct authn_kit kit;
static char one[KIT_TEXT], two[KIT_TEXT], text[4 * KIT_TEXT];

static size_t count_of(const char *json)
{
	struct pl_err err = {0};
	struct jwks *jwks = NULL;
	size_t count;

	T_OK(jwks_parse(pl_span_str(json), &jwks, &err), &err);
	count = jwks_count(jwks);
	jwks_free(jwks);
	return count;
}

static void refuses(const char *json, const char *why)
{
	struct pl_err err = {0};
	struct jwks *jwks = NULL;

	T_CODE(jwks_parse(pl_span_str(json), &jwks, &err), PL_INVALID, &err);
	T_STR(err.msg, why);
	T_TRUE(jwks == NULL);
}

static const char *set_of(const char *a, const char *b)
{
	(void)snprintf(text, sizeof text, "{\"keys\":[%s%s%s]}", a, b == NULL ? "" : ",",
	               b == NULL ? "" : b);
	return text;
}

T_CASE(the_keys_that_are_for_signatures_are_taken)
{
	authn_kit_open(&kit);
	T_EQ(count_of(kit_jwks(&kit)), 3);
	T_EQ(count_of(set_of(kit_jwk_rsa(kit.rsa, "\"use\":\"enc\",", one),
	                     kit_jwk_ed(kit.ed, "", two))),
	     1);
	T_EQ(count_of(set_of(kit_jwk_rsa(kit.rsa, "\"key_ops\":[\"encrypt\"],", one),
	                     kit_jwk_p256(kit.p256, "\"key_ops\":[\"verify\"],", two))),
	     1);
	T_EQ(count_of(set_of(kit_jwk_rsa(kit.rsa, "\"alg\":\"RS512\",", one),
	                     kit_jwk_rsa(kit.rsa, "\"alg\":\"PS256\",", two))),
	     1);
	T_EQ(count_of(set_of(
		     "{\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"AA\",\"y\":\"AA\"}",
		     kit_jwk_ed(kit.ed, "\"alg\":\"EdDSA\",", two))),
	     1);
	T_EQ(count_of(
		     set_of("{\"kty\":\"new\"}", kit_jwk_ed(kit.ed, "\"x5c\":[],", two))),
	     1);
	authn_kit_close(&kit);
}

T_CASE(a_set_that_is_not_sound_is_refused_whole)
{
	authn_kit_open(&kit);
	refuses("[]", "document: want an object, got an array");
	refuses("{}", "keys: missing");
	refuses("{\"keys\":{}}", "keys: want an array, got an object");
	refuses("{\"keys\":[]}",
	        "keys: no key that can be used: want RSA, EC P-256 or Ed25519, for "
	        "signatures");
	refuses("{\"keys\":[7]}", "keys[0]: want an object, got a number");
	refuses("{\"keys\":[{}]}", "keys[0].kty: missing");
	refuses(set_of(kit_jwk_ed(kit.ed, "", one), "{\"kty\":\"oct\",\"k\":\"AAAA\"}"),
	        "keys[1].k: a secret does not belong in a set of public keys");
	refuses(set_of(kit_jwk_ed(kit.ed, "\"d\":\"AAAA\",", one), NULL),
	        "keys[0].d: a secret does not belong in a set of public keys");
	refuses(set_of("{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}", NULL),
	        "keys[0].n: want 2048 to 8192 bits, got 17");
	refuses(set_of("{\"kty\":\"RSA\",\"n\":\"A+AB\",\"e\":\"AQAB\"}", NULL),
	        "keys[0].n: not base64url");
	refuses(set_of("{\"kty\":\"RSA\",\"n\":\"\",\"e\":\"AQAB\"}", NULL),
	        "keys[0].n: want 1 to 1025 bytes");
	refuses(set_of("{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AQAB\",\"y\":\"AQAB\"}",
	               NULL),
	        "keys[0].x: want 32 bytes");
	refuses(set_of("{\"kty\":\"EC\",\"crv\":\"P-256\","
	               "\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\","
	               "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\"}",
	               NULL),
	        "keys[0]: not a key");
	refuses(set_of("{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AQAB\"}", NULL),
	        "keys[0].x: want 32 bytes");
	authn_kit_close(&kit);
}

T_CASE(weak_numbers_of_rsa_are_refused)
{
	static const char *const exponents[] = {"AQ", "Ag", "AA", "AAAAAAAAAAAB"};
	static const char *const why[] = {
		"keys[0].e: want an odd number from 3 on",
		"keys[0].e: want an odd number from 3 on",
		"keys[0].e: want an odd number from 3 on",
		"keys[0].e: want 1 to 8 bytes",
	};

	authn_kit_open(&kit);
	for (size_t i = 0; i < sizeof why / sizeof why[0]; i++) {
		(void)snprintf(
			one, sizeof one, "{\"kty\":\"RSA\",\"n\":\"%s\",\"e\":\"%s\"}",
			kit_number(kit.rsa, OSSL_PKEY_PARAM_RSA_N, 0), exponents[i]);
		refuses(set_of(one, NULL), why[i]);
	}
	EVP_PKEY_free(kit.rsa);
	kit.rsa = EVP_RSA_gen(1024);
	refuses(set_of(kit_jwk_rsa(kit.rsa, "", one), NULL),
	        "keys[0].n: want 2048 to 8192 bits, got 1024");
	authn_kit_close(&kit);
}

T_CASE(bounds_hold)
{
	static char many[JWKS_BYTES_MAX + 4096];
	size_t len;

	authn_kit_open(&kit);
	kit_jwk_ed(kit.ed, "", one);
	len = (size_t)snprintf(many, sizeof many, "{\"keys\":[%s", one);
	for (unsigned i = 1; i < JWKS_KEYS_MAX; i++)
		len += (size_t)snprintf(many + len, sizeof many - len, ",%s", one);
	(void)snprintf(many + len, sizeof many - len, "]}");
	T_EQ(count_of(many), JWKS_KEYS_MAX);
	(void)snprintf(many + len, sizeof many - len, ",%s]}", one);
	refuses(many, "keys: more than 64 keys");
	memset(two, 'k', sizeof two);
	two[JWKS_KID_MAX + 1] = 0;
	(void)snprintf(text, sizeof text, "\"kid\":\"%s\",", two);
	(void)snprintf(many, sizeof many, "{\"keys\":[%s]}",
	               kit_jwk_ed(kit.ed, text, one));
	refuses(many, "keys[0].kid: longer than 256 bytes");
	authn_kit_close(&kit);
}

static enum pl_code parse_set(void)
{
	struct jwks *jwks = NULL;
	enum pl_code code = jwks_parse(pl_span_str(kit_jwks(&kit)), &jwks, NULL);

	jwks_free(jwks);
	return code;
}

T_CASE_SECONDS(a_set_survives_each_lack_of_memory, 60)
{
	authn_kit_open(&kit);
	t_torture(parse_set, false);
	for (uint64_t nth = 1; nth <= 3; nth++) {
		pl_fault_arm(PL_FAULT_TLS_INIT, nth);
		T_CODE(parse_set(), PL_NOMEM, NULL);
		T_TRUE(pl_fault_fired(PL_FAULT_TLS_INIT));
	}
	pl_fault_reset();
	authn_kit_close(&kit);
}
