#include <unistd.h>

#include "coord/access/authn/authn.h"
#include "coord/access/authn/authn_kit.h"
#include "tests/harness/torture.h"
#include "tests/support/store/net/forge.h"

static struct authn_kit kit;
static struct authn *authn;
static struct pl_arena arena;
static struct identity who;
static struct pl_err err;
static struct tls_client client;
static struct http_field fields[4];
static struct http_request request;

static struct authn_opts opts_of(void)
{
	return (struct authn_opts){
		.token_file = forge_path("tokens.csv"),
		.jwt = {.jwks_file = forge_path("keys.json"),
	                .issuer = KIT_ISSUER,
	                .audience = "other,placet"},
	};
}

static void up(void)
{
	struct authn_opts opts = opts_of();

	authn_kit_open(&kit);
	pl_arena_init(&arena, 0, 0);
	forge_write("tokens.csv", PL_SPAN_LIT("tok-1,bob,u-1,\"dev\"\n"));
	forge_write("keys.json", pl_span_str(kit_jwks(&kit)));
	T_OK(authn_new(&opts, &authn, &err), &err);
	request = (struct http_request){.fields = fields};
}

static void down(void)
{
	authn_free(authn);
	pl_arena_done(&arena);
	authn_kit_close(&kit);
}

static void field(const char *name, const char *value)
{
	fields[request.field_count++] =
		(struct http_field){pl_span_str(name), pl_span_str(value)};
}

static enum pl_code identify(void)
{
	err = (struct pl_err){0};
	return authn_identify(authn, &request, &arena, KIT_NOW, &who, &err);
}

static enum pl_code bearer(const char *value)
{
	request.field_count = 0;
	field("authorization", value);
	return identify();
}

static void wear(enum tls_client_state state)
{
	static const struct pl_span groups[] = {{(const uint8_t *)"ops", 3}};

	client = (struct tls_client){.state = state, .why = "certificate revoked"};
	if (state == TLS_CLIENT_TRUSTED)
		client = (struct tls_client){.name = PL_SPAN_LIT("ann"),
		                             .groups = groups,
		                             .group_count = 1,
		                             .serial = PL_SPAN_LIT("4711"),
		                             .until_s = KIT_NOW};
	request.client = &client;
}

T_CASE(a_certificate_names_its_client)
{
	up();
	wear(TLS_CLIENT_TRUSTED);
	T_OK(identify(), &err);
	T_SPAN(who.user, PL_SPAN_LIT("ann"));
	T_TRUE(identity_in_group(&who, "ops"));
	T_TRUE(identity_in_group(&who, IDENTITY_AUTHENTICATED));
	T_SPAN(who.credential, PL_SPAN_LIT("4711"));
	T_EQ(who.via, IDENTITY_CERTIFICATE);
	/* A certificate counts before a token, and beside one that is bad. */
	T_OK(bearer("Bearer tok-1"), &err);
	T_SPAN(who.user, PL_SPAN_LIT("ann"));
	T_OK(bearer("Bearer nothing"), &err);
	client.until_s = KIT_NOW - 1; /* an old connection */
	request.field_count = 0;
	T_CODE(identify(), PL_DENIED, &err);
	T_STR(err.msg, "certificate: certificate has expired");
	down();
}

T_CASE(a_bad_certificate_does_not_spoil_a_good_token)
{
	up();
	wear(TLS_CLIENT_UNTRUSTED);
	T_CODE(identify(), PL_DENIED, &err);
	T_STR(err.msg, "certificate: certificate revoked");
	T_OK(bearer("Bearer tok-1"), &err);
	T_SPAN(who.user, PL_SPAN_LIT("bob"));
	T_EQ(who.via, IDENTITY_TOKEN_FILE);
	T_CODE(bearer("Bearer tok-2"), PL_DENIED, &err);
	T_STR(err.msg,
	      "certificate: certificate revoked; signed token: not three parts with "
	      "dots between them");
	wear(TLS_CLIENT_UNNAMED);
	request.field_count = 0;
	T_CODE(identify(), PL_DENIED, &err);
	down();
}

T_CASE(without_a_credential_a_client_is_anonymous)
{
	struct authn_opts opts = {.local = true};

	up();
	T_CODE(identify(), PL_NOTFOUND, &err);
	field("x-authorization", "Bearer tok-1");
	T_CODE(identify(), PL_NOTFOUND, &err);
	authn_free(authn);
	T_OK(authn_new(&opts, &authn, &err), &err);
	T_OK(identify(), &err);
	T_EQ(who.via, IDENTITY_LOCAL);
	T_SPAN(who.user, PL_SPAN_LIT(IDENTITY_LOCAL_USER));
	T_CODE(bearer("Bearer tok-1"), PL_DENIED, &err);
	T_STR(err.msg, "an unknown token");
	down();
}

T_CASE(pages_of_the_web_are_not_the_local_user)
{
	static const struct {
		const char *name, *value;
		bool good;
	} cases[] = {
		{"host", "127.0.0.1:8080", true},
		{"host", "127.1.2.3", true},
		{"host", "localhost:8080", true},
		{"host", "[::1]:8080", true},
		{"host", "[::1]", true},
		{"host", "evil.example:8080", false},
		{"host", "127.0.0.1.evil.example", false},
		{"host", "localhost.evil.example", false},
		{"host", "[::1]evil.example", false},
		{"host", "10.0.0.1:8080", false},
		{"origin", "http://localhost:3000", true},
		{"origin", "https://127.0.0.1", true},
		{"origin", "https://evil.example", false},
		{"origin", "null", false},
	};
	struct authn_opts opts = {.local = true};

	up();
	authn_free(authn);
	T_OK(authn_new(&opts, &authn, &err), &err);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		request.field_count = 0;
		field(cases[i].name, cases[i].value);
		T_CODE(identify(), cases[i].good ? PL_OK : PL_DENIED, &err);
	}
	down();
}

T_CASE(a_signed_token_names_its_client)
{
	char *token, text[4096];

	up();
	token = kit_token(kit.p256, KIT_ES256, "{\"alg\":\"ES256\"}", kit_claims(""));
	(void)snprintf(text, sizeof text, "bearer   %s", token);
	T_OK(bearer(text), &err);
	T_SPAN(who.user, PL_SPAN_LIT("jwt:ann"));
	T_OK(authn_identify_token(authn, pl_span_str(token), &arena, KIT_NOW, &who, &err),
	     &err);
	T_CODE(authn_identify_token(authn, PL_SPAN_LIT("x.y.z"), &arena, KIT_NOW, &who,
	                            &err),
	       PL_DENIED, &err);
	T_STR(err.msg, "signed token: a part of it is not base64url");
	free(token);
	down();
}

static void ed_field(const struct authn_kit *by, char out[4096])
{
	char *token = kit_token(by->ed, KIT_EDDSA, "{\"alg\":\"EdDSA\"}", kit_claims(""));

	(void)snprintf(out, 4096, "Bearer %s", token);
	free(token);
}

T_CASE(changed_files_are_read_again_and_bad_ones_are_not_used)
{
	char ours[4096], theirs[4096];
	struct authn_kit other;

	up();
	authn_kit_open(&other);
	ed_field(&kit, ours);
	ed_field(&other, theirs);
	T_OK(bearer(ours), &err);
	forge_write("keys.json", PL_SPAN_LIT("{}"));
	forge_write("tokens.csv", PL_SPAN_LIT("tok-2,eve,u-2\n"));
	authn_refresh(authn);
	T_OK(bearer("Bearer tok-2"), &err);
	T_SPAN(who.user, PL_SPAN_LIT("eve"));
	T_CODE(bearer("Bearer tok-1"), PL_DENIED, &err);
	T_OK(bearer(ours), &err);
	forge_write("tokens.csv", PL_SPAN_LIT("tok-3,eve\n"));
	forge_write("keys.json", pl_span_str(kit_jwks(&other)));
	authn_refresh(authn);
	T_OK(bearer(theirs), &err);
	T_CODE(bearer(ours), PL_DENIED, &err);
	T_OK(bearer("Bearer tok-2"), &err);
	T_EQ(unlink(forge_path("tokens.csv")), 0);
	authn_refresh(authn);
	T_OK(bearer("Bearer tok-2"), &err);
	forge_write("tokens.csv", PL_SPAN_LIT("tok-4,dan,u-4\n"));
	authn_refresh(authn);
	T_OK(bearer("Bearer tok-4"), &err);
	authn_kit_close(&other);
	down();
}

static void refuses(struct authn_opts opts, enum pl_code code, const char *words)
{
	struct authn *made = NULL;

	T_CODE(authn_new(&opts, &made, &err), code, &err);
	if (strstr(err.msg, words) == NULL)
		t_fail(__FILE__, __LINE__, "'%s' has not: %s", err.msg, words);
	T_TRUE(made == NULL);
}

T_CASE(options_that_make_no_sense_are_refused)
{
	struct authn_opts opts;

	up();
	opts = opts_of();
	opts.jwt.issuer = NULL;
	refuses(opts, PL_INVALID, "signed tokens need their issuer and audience");
	opts = opts_of();
	opts.jwt.audience = NULL;
	refuses(opts, PL_INVALID, "signed tokens need their issuer and audience");
	opts.jwt.audience = "a,,b";
	refuses(opts, PL_INVALID, "signed tokens: an empty audience");
	opts.jwt.audience = "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17";
	refuses(opts, PL_INVALID, "signed tokens: more than 16 audiences");
	opts = opts_of();
	opts.token_file = "/nowhere/tokens.csv";
	refuses(opts, PL_IO, "/nowhere/tokens.csv: No such file or directory");
	opts.token_file = "/tmp";
	refuses(opts, PL_IO, "/tmp: not a file");
	opts = opts_of();
	forge_write("tokens.csv", PL_SPAN_LIT("secret-1\nsecret-2\n"));
	refuses(opts, PL_INVALID,
	        "tokens.csv: line 1: want at least a token, a user and a uid");
	down();
}

static enum pl_code open_one(void)
{
	struct authn_opts opts = opts_of();
	struct authn *made = NULL;
	enum pl_code code = authn_new(&opts, &made, NULL);

	authn_free(made);
	return code;
}

T_CASE_SECONDS(opening_survives_each_lack_of_memory, 60)
{
	up();
	t_torture(open_one, false);
	for (uint64_t nth = 1; nth <= 4; nth++) {
		pl_fault_arm(PL_FAULT_FILE_READ, nth);
		T_CODE(open_one(), PL_IO, NULL);
		T_TRUE(pl_fault_fired(PL_FAULT_FILE_READ));
	}
	pl_fault_reset();
	down();
}

static char *torture_field;

static enum pl_code identify_one(void)
{
	enum pl_code code;

	pl_arena_init(&arena, 256, 0);
	code = bearer(torture_field);
	pl_arena_done(&arena);
	return code;
}

T_CASE(identifying_survives_each_lack_of_memory)
{
	char *token, text[4096];

	up();
	token = kit_token(kit.ed, KIT_EDDSA, "{\"alg\":\"EdDSA\"}", kit_claims(""));
	(void)snprintf(text, sizeof text, "Bearer %s", token);
	pl_arena_done(&arena);
	torture_field = text;
	t_torture(identify_one, false);
	(void)snprintf(text, sizeof text, "Bearer tok-1");
	t_torture(identify_one, false);
	wear(TLS_CLIENT_TRUSTED);
	t_torture(identify_one, false);
	free(token);
	pl_arena_init(&arena, 0, 0);
	down();
}
