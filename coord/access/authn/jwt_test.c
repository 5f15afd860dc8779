#include "coord/access/authn/authn_kit.h"
#include "coord/access/authn/jwt.h"
#include "tests/harness/torture.h"

static struct authn_kit kit;
static struct jwks *jwks;
static struct jwt_rules rules;
static struct pl_arena arena;
static struct identity who;
static struct pl_err err;

static void up(void)
{
	authn_kit_open(&kit);
	pl_arena_init(&arena, 0, 0);
	T_OK(jwks_parse(pl_span_str(kit_jwks(&kit)), &jwks, &err), &err);
	rules = (struct jwt_rules){
		.issuer = PL_SPAN_LIT(KIT_ISSUER),
		.audience = {PL_SPAN_LIT("other"), PL_SPAN_LIT("placet")},
		.audience_count = 2,
		.user_claim = "sub",
		.groups_claim = "groups",
		.user_prefix = "jwt:",
		.groups_prefix = "grp:"};
}

static void down(void)
{
	pl_arena_done(&arena);
	jwks_free(jwks);
	authn_kit_close(&kit);
}

static enum pl_code identify_at(const char *token, int64_t now_s)
{
	err = (struct pl_err){0};
	return jwt_identify(jwks, &rules, NULL, pl_span_str(token), &arena, now_s, &who,
	                    &err);
}

static enum pl_code ed_token(const char *claims)
{
	char *token = kit_token(kit.ed, KIT_EDDSA, "{\"alg\":\"EdDSA\"}", claims);
	enum pl_code code = identify_at(token, KIT_NOW);

	free(token);
	return code;
}

T_CASE(a_token_of_each_algorithm_is_good)
{
	static const struct {
		enum kit_sign how;
		const char *header;
	} kinds[] = {
		{KIT_RS256, "{\"alg\":\"RS256\",\"kid\":\"rsa\",\"typ\":\"JWT\"}"},
		{KIT_RS256, "{\"alg\":\"RS256\"}"},
		{KIT_PS256, "{\"alg\":\"PS256\",\"kid\":\"rsa\"}"},
		{KIT_ES256, "{\"alg\":\"ES256\",\"kid\":\"p256\"}"},
		{KIT_ES256, "{\"alg\":\"ES256\"}"},
		{KIT_EDDSA, "{\"alg\":\"EdDSA\",\"kid\":\"ed\"}"},
		/* Keys and addresses in a header are not looked at. */
		{KIT_EDDSA,
	         "{\"alg\":\"EdDSA\",\"jku\":\"https://evil\",\"x5u\":7,\"jwk\":{}}"},
	};

	up();
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		EVP_PKEY *key = kinds[i].how == KIT_EDDSA   ? kit.ed
		                : kinds[i].how == KIT_ES256 ? kit.p256
		                                            : kit.rsa;
		char *token = kit_token(
			key, kinds[i].how, kinds[i].header,
			kit_claims(",\"groups\":[\"dev\",\"ops\"],\"jti\":\"t-1\""));

		T_OK(identify_at(token, KIT_NOW), &err);
		T_SPAN(who.user, PL_SPAN_LIT("jwt:ann"));
		T_EQ(who.group_count, 3);
		T_SPAN(who.groups[0], PL_SPAN_LIT("grp:dev"));
		T_SPAN(who.groups[1], PL_SPAN_LIT("grp:ops"));
		T_SPAN(who.groups[2], PL_SPAN_LIT(IDENTITY_AUTHENTICATED));
		T_SPAN(who.credential, PL_SPAN_LIT("t-1"));
		T_EQ(who.via, IDENTITY_SIGNED);
		T_EQ(who.uid.len, 0);
		free(token);
	}
	down();
}

T_CASE(claims_have_more_than_one_form)
{
	up();
	rules.groups_prefix = "";
	T_OK(ed_token("{\"iss\":\"" KIT_ISSUER "\",\"aud\":[\"x\",\"placet\"],"
	              "\"exp\":1.8000036e9,\"sub\":\"ann\",\"groups\":\"dev\"}"),
	     &err);
	T_EQ(who.group_count, 2);
	T_SPAN(who.groups[0], PL_SPAN_LIT("dev"));
	T_OK(ed_token(kit_claims(",\"groups\":[]")), &err);
	T_EQ(who.group_count, 1);
	T_OK(ed_token(kit_claims(",\"jti\":\"a\\nb\"")), &err);
	T_EQ(who.credential.len, 0);
	rules.user_claim = "email";
	rules.user_prefix = "";
	T_OK(ed_token(kit_claims(
		     ",\"email\":\"ann@example.com\",\"email_verified\":true")),
	     &err);
	T_SPAN(who.user, PL_SPAN_LIT("ann@example.com"));
	T_OK(ed_token(kit_claims(",\"email\":\"ann@example.com\"")), &err);
	down();
}

static enum pl_code times(const char *more, int64_t now_s)
{
	char claims[512];
	char *token;
	enum pl_code code;

	(void)snprintf(claims, sizeof claims,
	               "{\"iss\":\"" KIT_ISSUER
	               "\",\"aud\":\"placet\",\"sub\":\"ann\"%s}",
	               more);
	token = kit_token(kit.ed, KIT_EDDSA, "{\"alg\":\"EdDSA\"}", claims);
	code = identify_at(token, now_s);
	free(token);
	return code;
}

T_CASE(other_clocks_may_differ_by_a_minute)
{
	up();
	T_OK(times(",\"exp\":1000", 1059), &err);
	T_CODE(times(",\"exp\":1000", 1060), PL_DENIED, &err);
	T_STR(err.msg, "claims: exp: expired");
	T_OK(times(",\"exp\":2000,\"nbf\":1000", 940), &err);
	T_CODE(times(",\"exp\":2000,\"nbf\":1000", 939), PL_DENIED, &err);
	T_STR(err.msg, "claims: nbf: not valid yet");
	T_OK(times(",\"exp\":2000,\"iat\":1000", 940), &err);
	T_CODE(times(",\"exp\":2000,\"iat\":1000", 939), PL_DENIED, &err);
	T_STR(err.msg, "claims: iat: issued in the future");
	T_CODE(times("", 1000), PL_DENIED, &err);
	T_STR(err.msg, "claims: exp: missing");
	down();
}

T_CASE(a_key_of_another_name_is_not_tried)
{
	char *token;

	up();
	token = kit_token(kit.ed, KIT_EDDSA, "{\"alg\":\"EdDSA\",\"kid\":\"p256\"}",
	                  kit_claims(""));
	T_CODE(identify_at(token, KIT_NOW), PL_DENIED, &err);
	T_STR(err.msg, "no key of the set fits its header");
	free(token);
	down();
}

/* Keys are changed one after another: for a while both are in the set. */
T_CASE(of_two_keys_of_one_name_each_is_tried)
{
	struct authn_kit old;
	static char a[KIT_TEXT], b[KIT_TEXT], set[2 * KIT_TEXT + 64];
	char *token;

	up();
	authn_kit_open(&old);
	(void)snprintf(set, sizeof set, "{\"keys\":[%s,%s]}",
	               kit_jwk_ed(old.ed, "\"kid\":\"ed\",", a),
	               kit_jwk_ed(kit.ed, "\"kid\":\"ed\",", b));
	jwks_free(jwks);
	T_OK(jwks_parse(pl_span_str(set), &jwks, &err), &err);
	token = kit_token(kit.ed, KIT_EDDSA, "{\"alg\":\"EdDSA\",\"kid\":\"ed\"}",
	                  kit_claims(""));
	T_OK(identify_at(token, KIT_NOW), &err);
	free(token);
	authn_kit_close(&old);
	down();
}

T_CASE(a_token_that_was_seen_still_expires)
{
	struct jwt_seen *seen = jwt_seen_new();
	struct authn_kit other;
	char *token;

	up();
	token = kit_token(kit.p256, KIT_ES256, "{\"alg\":\"ES256\"}", kit_claims(""));
	for (unsigned i = 0; i < 2; i++) {
		T_OK(jwt_identify(jwks, &rules, seen, pl_span_str(token), &arena, KIT_NOW,
		                  &who, &err),
		     &err);
		T_SPAN(who.user, PL_SPAN_LIT("jwt:ann"));
	}
	T_CODE(jwt_identify(jwks, &rules, seen, pl_span_str(token), &arena,
	                    KIT_NOW + 3660, &who, &err),
	       PL_DENIED, &err);
	T_STR(err.msg, "claims: exp: expired");
	/* Another set of keys: what was seen is forgotten. */
	authn_kit_open(&other);
	jwks_free(jwks);
	T_OK(jwks_parse(pl_span_str(kit_jwks(&other)), &jwks, &err), &err);
	jwt_seen_clear(seen);
	T_CODE(jwt_identify(jwks, &rules, seen, pl_span_str(token), &arena, KIT_NOW, &who,
	                    &err),
	       PL_DENIED, &err);
	jwt_seen_free(seen);
	authn_kit_close(&other);
	free(token);
	down();
}

/* A token that differs in one bit was never seen. */
T_CASE(what_was_seen_is_the_whole_token)
{
	struct jwt_seen *seen = jwt_seen_new();
	char *token;

	up();
	token = kit_token(kit.ed, KIT_EDDSA, "{\"alg\":\"EdDSA\"}", kit_claims(""));
	T_OK(jwt_identify(jwks, &rules, seen, pl_span_str(token), &arena, KIT_NOW, &who,
	                  &err),
	     &err);
	for (size_t i = 0; token[i] != 0; i += 7) {
		char was = token[i];

		token[i] = was == 'A' ? 'B' : 'A';
		T_CODE(jwt_identify(jwks, &rules, seen, pl_span_str(token), &arena,
		                    KIT_NOW, &who, &err),
		       PL_DENIED, &err);
		token[i] = was;
	}
	jwt_seen_free(seen);
	free(token);
	down();
}

static char *tortured;

static enum pl_code identify_one(void)
{
	enum pl_code code;

	pl_arena_init(&arena, 256, 0);
	code = jwt_identify(jwks, &rules, NULL, pl_span_str(tortured), &arena, KIT_NOW,
	                    &who, &err);
	pl_arena_done(&arena);
	return code;
}

T_CASE(a_token_survives_each_lack_of_memory)
{
	up();
	tortured = kit_token(kit.ed, KIT_EDDSA, "{\"alg\":\"EdDSA\",\"kid\":\"ed\"}",
	                     kit_claims(",\"groups\":[\"a\",\"b\"]"));
	pl_arena_done(&arena);
	t_torture(identify_one, false);
	free(tortured);
	pl_arena_init(&arena, 0, 0);
	down();
}
