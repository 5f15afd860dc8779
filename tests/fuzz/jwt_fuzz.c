/*
 * Bytes as a signed token, and as the claims of one whose signature was good. A user that
 * is let in has the rules' prefix and no name of the system's, and the token is for us, now.
 */
#include "coord/access/authn/jwt_int.h"
#include "store/base/err.h"
#include "tests/fuzz/fuzz.h"

enum { NOW_S = 1800000000 };

/* The corpus has a token that one of these keys has signed. */
static const char keys[] =
	"{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"ed\",\"x\":\"p"
	"DiaSvPiRVFXUe8pZ5-jxg01ttJ7jT1eOh3T6yxzX24\"},{\"kty\":\"EC\",\"crv\":\""
	"P-256\",\"kid\":\"p256\",\"use\":\"sig\",\"x\":\"vV0woFlLkIv5SPZEq6xxnBZ"
	"v17E3kG3toyZnLuzwTow\",\"y\":\"raAxXZ8sCZfg5fMVBZQesDPKSyPqOETRnWHg71mIS"
	"bc\"},{\"kty\":\"RSA\",\"kid\":\"rsa\",\"alg\":\"RS256\",\"n\":\"x1Q0ePi"
	"SsgoFobBYnGuaUfTz86IvoQyxFBWjjiKfkL9jBED_juGTFUiDZ1qrlRJjPCC-Gn1fE2W7nKW"
	"iutslIrnbAFM1vGv0F0yOkkdQHzKaFbU4cnQoIcfiwxKZzOsJ91NNsBrjnkhK4rSBhU3-gtB"
	"30SnzPrIUcaaqqBGUeXLGP9g7KdmY8dwOBYCLyVqBaIKVmhyszPFwqnU26iGvxg576pCgVKu"
	"_EN8Q0fjcY0LQa66T50qv1CbJ0utt2pdE52lS7Oc9eLZ-CGzAKlZWXRDt6Rin4aSYni4jvz8"
	"F044WFK1BAe6sxi67YZFjeCEsNyOqUdBLlMuDrjVxNV3Wcw\",\"e\":\"AQAB\"}]}";

static const struct jwt_rules rules = {
	.issuer = {(const uint8_t *)"https://id.example.com", 22},
	.audience = {{(const uint8_t *)"placet", 6}},
	.audience_count = 1,
	.user_claim = "sub",
	.groups_claim = "groups",
	.user_prefix = "u:",
	.groups_prefix = "",
};

static void check(enum pl_code code, const struct pl_err *err, const struct identity *who)
{
	PL_ASSERT(code == PL_OK || code == PL_DENIED);
	PL_ASSERT(code == err->code);
	if (code != PL_OK)
		return;
	PL_ASSERT(identity_name_ok(who->user) && who->user.len > 2);
	PL_ASSERT(pl_span_starts(who->user, PL_SPAN_LIT("u:")));
	PL_ASSERT(who->via == IDENTITY_SIGNED && identity_is_authenticated(who));
	for (size_t i = 0; i < who->group_count; i++)
		PL_ASSERT(identity_name_ok(who->groups[i]) &&
		          (!identity_name_reserved(who->groups[i]) ||
		           pl_span_eq(who->groups[i],
		                      PL_SPAN_LIT(IDENTITY_AUTHENTICATED))));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct jwks *jwks;
	struct pl_span bytes = pl_span(data, size);
	struct pl_err err = {0};
	struct pl_json claims;
	struct pl_arena arena;
	struct identity who;

	if (jwks == NULL && jwks_parse(pl_span_str(keys), &jwks, &err) != PL_OK)
		PL_UNREACHABLE("the keys");
	pl_arena_init(&arena, 0, 0);
	check(jwt_identify(jwks, &rules, NULL, bytes, &arena, NOW_S, &who, &err), &err,
	      &who);
	err = (struct pl_err){0};
	if (pl_json_parse(&arena, bytes, NULL, &claims, NULL) == PL_OK &&
	    pl_json_type(claims) == PL_JSON_OBJECT)
		check(jwt_claims(claims, &rules, &arena, NOW_S, &who, &err), &err, &who);
	pl_arena_done(&arena);
	return 0;
}
