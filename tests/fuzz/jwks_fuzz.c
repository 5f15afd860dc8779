/* A set that is accepted has keys, and none of them lets a made-up signature pass. */
#include "coord/access/authn/jwks.h"
#include "store/base/err.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t signature[256];
	struct jwks *jwks = NULL;
	struct pl_err err = {0};
	enum pl_code code = jwks_parse(pl_span(data, size), &jwks, &err);

	PL_ASSERT(code == err.code && code != PL_NOMEM);
	if (code != PL_OK)
		return 0;
	PL_ASSERT(jwks_count(jwks) > 0 && jwks_count(jwks) <= JWKS_KEYS_MAX);
	for (unsigned alg = 0; alg < JWT_ALG_COUNT; alg++) {
		struct jwks_signed what = {
			.alg = (enum jwt_alg)alg,
			.text = PL_SPAN_LIT("text"),
			.signature = pl_span(signature, alg < JWT_ES256 ? 256 : 64)};

		PL_ASSERT(jwks_verify(jwks, &what, &err) == PL_DENIED);
	}
	jwks_free(jwks);
	return 0;
}
