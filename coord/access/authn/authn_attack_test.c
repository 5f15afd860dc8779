/*
 * Attacks on authentication, each by itself: every one ends with the same code, for its own
 * reason. A server in front of this answers all of them with the same words.
 */
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include "coord/access/authn/authn.h"
#include "coord/access/authn/authn_kit.h"
#include "coord/access/authn/issued_tokens.h"
#include "coord/service/tokens/token_record.h"
#include "tests/support/store/memkv/kit.h"
#include "tests/support/store/net/forge.h"

static struct kit store;
static struct authn_kit kit, thief;
static struct issued_tokens *tokens;
static struct authn *authn;
static struct pl_arena arena;
static unsigned attacks;
static char issued[TOKEN_TEXT_SIZE], expired[TOKEN_TEXT_SIZE];

/* -- the system that is attacked ------------------------------------------------------- */

static void on_closed(void *ctx)
{
	(void)ctx;
}

static void issue(const char *id, int64_t expires_ms, char out[TOKEN_TEXT_SIZE])
{
	struct token_record record = {.user = PL_SPAN_LIT("ci-bot"),
	                              .created_ms = 1000,
	                              .expires_ms = expires_ms};
	struct pl_buf value;
	char key[100];

	pl_buf_init(&value, TOKEN_RECORD_MAX);
	T_OK(token_make(pl_span_str(id), out, record.hash, NULL), NULL);
	T_OK(token_record_print(&record, &value, NULL), NULL);
	T_OK(pl_buf_add(&value, pl_span("", 1)), NULL);
	(void)snprintf(key, sizeof key, "/access/tokens/%s", id);
	(void)kit_put(&store, key, (const char *)value.at);
	pl_buf_done(&value);
}

static void up(void)
{
	struct authn_opts opts = {.token_file = forge_path("tokens.csv"),
	                          .jwt = {.jwks_file = forge_path("keys.json"),
	                                  .issuer = KIT_ISSUER,
	                                  .audience = "placet"}};
	struct pl_err err = {0};

	kit_open(&store, NULL);
	authn_kit_open(&kit);
	authn_kit_open(&thief);
	pl_arena_init(&arena, 0, 0);
	forge_write("tokens.csv", PL_SPAN_LIT("0123456789abcdef,bob,u-1,\"dev\"\n"));
	forge_write("keys.json", pl_span_str(kit_jwks(&kit)));
	T_OK(issued_tokens_open(store.kv, &tokens, &err), &err);
	issue("ci", 0, issued);
	issue("old", ((int64_t)KIT_NOW - 1) * 1000, expired);
	kit_until(&store, 100);
	opts.issued = tokens;
	T_OK(authn_new(&opts, &authn, &err), &err);
	attacks = 0;
}

static void down(void)
{
	authn_free(authn);
	issued_tokens_close(tokens, on_closed, NULL);
	kit_until(&store, store.now_ms + 100);
	kit_close(&store);
	pl_arena_done(&arena);
	authn_kit_close(&kit);
	authn_kit_close(&thief);
}

/* -- one attack ------------------------------------------------------------------------- */

static enum pl_code show(const struct tls_client *client, const char *field,
                         struct pl_err *err)
{
	struct http_field fields[] = {
		{PL_SPAN_LIT("accept"), PL_SPAN_LIT("*/*")},
		{PL_SPAN_LIT("authorization"), pl_span_str(field)},
	};
	const struct http_request request = {
		.fields = fields, .field_count = field == NULL ? 1 : 2, .client = client};
	struct identity who = {.via = IDENTITY_VIA_COUNT};
	enum pl_code code = authn_identify(authn, &request, &arena, KIT_NOW, &who, err);

	T_EQ(who.via == IDENTITY_VIA_COUNT, code != PL_OK);
	pl_arena_reset(&arena);
	return code;
}

static void denied(const char *field, const char *cause)
{
	struct pl_err err = {0};
	enum pl_code code = show(NULL, field, &err);

	attacks++;
	if (code != PL_DENIED)
		t_fail(__FILE__, __LINE__, "not denied (%s): %.200s", pl_code_name(code),
		       field);
	if (strcmp(err.msg, cause) != 0)
		t_fail(__FILE__, __LINE__,
		       "for another reason: %.120s\n  got  %s\n  want %s", field, err.msg,
		       cause);
}

static void token_denied(char *token, const char *cause)
{
	size_t size = strlen(token) + 8;
	char *field = malloc(size), whole[256];

	T_TRUE(field != NULL);
	(void)snprintf(field, size, "Bearer %s", token);
	(void)snprintf(whole, sizeof whole, "signed token: %s", cause);
	denied(field, whole);
	free(field);
	free(token);
}

/* The system does let in who is good: else every attack would fail for nothing. */
static void allowed(char *token)
{
	struct pl_err err = {0};
	char field[8192];

	(void)snprintf(field, sizeof field, "Bearer %s", token);
	T_OK(show(NULL, field, &err), &err);
	free(token);
}

static char *signed_ed(const char *header, const char *claims)
{
	return kit_token(kit.ed, KIT_EDDSA, header, claims);
}

T_CASE(who_is_good_comes_in)
{
	char field[200];

	up();
	allowed(signed_ed("{\"alg\":\"EdDSA\"}", kit_claims("")));
	allowed(kit_token(kit.rsa, KIT_RS256, "{\"alg\":\"RS256\"}", kit_claims("")));
	T_OK(show(NULL, "Bearer 0123456789abcdef", NULL), NULL);
	(void)snprintf(field, sizeof field, "Bearer %s", issued);
	T_OK(show(NULL, field, NULL), NULL);
	down();
}

/* -- headers of signed tokens ----------------------------------------------------------- */

#define ALG "header: alg: not accepted"
#define NO_KEY "no key of the set fits its header"
#define NOT_SIGNED "the signature is not by a key of the set"

/* Signed by our own Ed25519 key, so that nothing but the header is wrong. */
static const struct {
	const char *header, *cause;
} bad_headers[] = {
	{"{\"alg\":\"none\"}", ALG},
	{"{\"alg\":\"None\"}", ALG},
	{"{\"alg\":\"NONE\"}", ALG},
	{"{\"alg\":\"nOnE\",\"kid\":\"ed\"}", ALG},
	{"{\"alg\":\"\"}", ALG},
	{"{\"alg\":\"HS256\"}", ALG},
	{"{\"alg\":\"HS384\"}", ALG},
	{"{\"alg\":\"HS512\",\"kid\":\"rsa\"}", ALG},
	{"{\"alg\":\"RS1\"}", ALG},
	{"{\"alg\":\"RS384\"}", ALG},
	{"{\"alg\":\"RS512\"}", ALG},
	{"{\"alg\":\"PS512\"}", ALG},
	{"{\"alg\":\"ES256K\"}", ALG},
	{"{\"alg\":\"ES512\"}", ALG},
	{"{\"alg\":\"Ed25519\"}", ALG},
	{"{\"alg\":\"eddsa\"}", ALG},
	{"{\"alg\":\"EdDSA \"}", ALG},
	{"{\"alg\":\"dir\",\"enc\":\"A128GCM\"}", ALG},
	{"{}", "header: alg: missing"},
	{"{\"alg\":null}", "header: alg: want a string, got null"},
	{"{\"alg\":7}", "header: alg: want a string, got a number"},
	{"{\"alg\":[\"EdDSA\"]}", "header: alg: want a string, got an array"},
	{"{\"alg\":{\"alg\":\"EdDSA\"}}", "header: alg: want a string, got an object"},
	{"{\"alg\":\"EdDSA\",\"alg\":\"none\"}", "header: alg: comes twice"},
	{"{\"alg\":\"none\",\"alg\":\"EdDSA\"}", "header: alg: comes twice"},
	{"{\"alg\":\"EdDSA\",\"kid\":\"ed\",\"kid\":\"rsa\"}",
         "header: kid: comes twice"},
	{"{\"alg\":\"EdDSA\",\"kid\":7}", "header: kid: want a string, got a number"},
	{"{\"alg\":\"EdDSA\",\"kid\":\"rsa\"}", NO_KEY},
	{"{\"alg\":\"EdDSA\",\"kid\":\"p256\"}", NO_KEY},
	{"{\"alg\":\"EdDSA\",\"kid\":\"\"}", NO_KEY},
	{"{\"alg\":\"EdDSA\",\"kid\":\"../../dev/zero\"}", NO_KEY},
	{"{\"alg\":\"EdDSA\",\"kid\":\"ed' OR 1=1\"}", NO_KEY},
	{"{\"alg\":\"EdDSA\",\"kid\":\"ed \"}", NO_KEY},
	{"{\"alg\":\"EdDSA\",\"kid\":\"ED\"}", NO_KEY},
	{"{\"alg\":\"EdDSA\",\"crit\":[\"exp\"]}", "header: crit: not understood"},
	{"{\"alg\":\"EdDSA\",\"crit\":[]}", "header: crit: not understood"},
	{"{\"alg\":\"EdDSA\",\"crit\":null}", "header: crit: not understood"},
	{"{\"alg\":\"EdDSA\",\"b64\":false,\"crit\":[\"b64\"]}",
         "header: crit: not understood"},
	{"{\"alg\":\"RS256\"}", NOT_SIGNED},
	{"{\"alg\":\"RS256\",\"kid\":\"ed\"}", NO_KEY},
	{"{\"alg\":\"PS256\"}", NOT_SIGNED},
	{"{\"alg\":\"ES256\"}", NOT_SIGNED},
	{"{\"alg\":\"ES256\",\"kid\":\"ed\"}", NO_KEY},
	{"[]", "header: want an object"},
	{"\"EdDSA\"", "header: want an object"},
	{"null", "header: want an object"},
};

T_CASE_SECONDS(no_header_opens, 60)
{
	up();
	for (size_t i = 0; i < sizeof bad_headers / sizeof bad_headers[0]; i++)
		token_denied(signed_ed(bad_headers[i].header, kit_claims("")),
		             bad_headers[i].cause);
	T_TRUE(attacks >= 46);
	down();
}

/* -- claims ------------------------------------------------------------------------------ */

#define ISS "\"iss\":\"" KIT_ISSUER "\","
#define AUD "\"aud\":\"placet\","
#define EXP "\"exp\":1800003600,"
#define SUB "\"sub\":\"ann\""
#define NAME "not a name that a token may give"
#define LIST "want a text or a list of texts"

static const struct {
	const char *claims, *cause;
} bad_claims[] = {
	{"{" AUD EXP SUB "}", "claims: iss: want a text"},
	{"{\"iss\":\"https://evil.example.com\"," AUD EXP SUB "}",
         "claims: iss: another issuer"},
	{"{\"iss\":\"" KIT_ISSUER "/\"," AUD EXP SUB "}", "claims: iss: another issuer"},
	{"{\"iss\":\"HTTPS://id.example.com\"," AUD EXP SUB "}",
         "claims: iss: another issuer"},
	{"{\"iss\":\"\"," AUD EXP SUB "}", "claims: iss: another issuer"},
	{"{\"iss\":[\"" KIT_ISSUER "\"]," AUD EXP SUB "}", "claims: iss: want a text"},
	{"{" ISS "\"iss\":\"x\"," AUD EXP SUB "}", "claims: iss: comes twice"},
	{"{" ISS EXP SUB "}", "claims: aud: " LIST},
	{"{" ISS "\"aud\":\"others\"," EXP SUB "}", "claims: aud: for others"},
	{"{" ISS "\"aud\":\"placet2\"," EXP SUB "}", "claims: aud: for others"},
	{"{" ISS "\"aud\":\"place\"," EXP SUB "}", "claims: aud: for others"},
	{"{" ISS "\"aud\":[]," EXP SUB "}", "claims: aud: for others"},
	{"{" ISS "\"aud\":[\"a\",\"b\"]," EXP SUB "}", "claims: aud: for others"},
	{"{" ISS "\"aud\":[\"placet\",7]," EXP SUB "}", "claims: aud: " LIST},
	{"{" ISS "\"aud\":{\"placet\":1}," EXP SUB "}", "claims: aud: " LIST},
	{"{" ISS "\"aud\":null," EXP SUB "}", "claims: aud: " LIST},
	{"{" ISS AUD SUB "}", "claims: exp: missing"},
	{"{" ISS AUD "\"exp\":1799999000," SUB "}", "claims: exp: expired"},
	{"{" ISS AUD "\"exp\":1799999940," SUB "}", "claims: exp: expired"},
	{"{" ISS AUD "\"exp\":0," SUB "}", "claims: exp: expired"},
	{"{" ISS AUD "\"exp\":-1," SUB "}", "claims: exp: want a time, in seconds"},
	{"{" ISS AUD "\"exp\":null," SUB "}", "claims: exp: want a time, in seconds"},
	{"{" ISS AUD "\"exp\":\"1800003600\"," SUB "}",
         "claims: exp: want a time, in seconds"},
	{"{" ISS AUD "\"exp\":true," SUB "}", "claims: exp: want a time, in seconds"},
	{"{" ISS AUD "\"exp\":1e300," SUB "}", "claims: exp: want a time, in seconds"},
	{"{" ISS AUD "\"exp\":1800003600000," SUB "}",
         "claims: exp: want a time, in seconds"},
	{"{" ISS AUD EXP "\"nbf\":1800000061," SUB "}", "claims: nbf: not valid yet"},
	{"{" ISS AUD EXP "\"nbf\":\"0\"," SUB "}",
         "claims: nbf: want a time, in seconds"},
	{"{" ISS AUD EXP "\"iat\":1800000061," SUB "}",
         "claims: iat: issued in the future"},
	{"{" ISS AUD EXP "\"iat\":[]," SUB "}", "claims: iat: want a time, in seconds"},
	{"{" ISS AUD EXP "\"x\":1}", "claims: sub: want a text"},
	{"{" ISS AUD EXP "\"sub\":\"\"}", "claims: sub: " NAME},
	{"{" ISS AUD EXP "\"sub\":7}", "claims: sub: want a text"},
	{"{" ISS AUD EXP "\"sub\":null}", "claims: sub: want a text"},
	{"{" ISS AUD EXP "\"sub\":[\"ann\"]}", "claims: sub: want a text"},
	{"{" ISS AUD EXP SUB ",\"sub\":\"root\"}", "claims: sub: comes twice"},
	{"{" ISS AUD EXP "\"sub\":\"system:admin\"}", "claims: sub: " NAME},
	{"{" ISS AUD EXP "\"sub\":\"system:anonymous\"}", "claims: sub: " NAME},
	{"{" ISS AUD EXP "\"sub\":\"system:\"}", "claims: sub: " NAME},
	{"{" ISS AUD EXP "\"sub\":\"\\u0073ystem:admin\"}", "claims: sub: " NAME},
	{"{" ISS AUD EXP "\"sub\":\"a\\nb\"}", "claims: sub: " NAME},
	{"{" ISS AUD EXP "\"sub\":\"a\\r\\nX-Injected: 1\"}", "claims: sub: " NAME},
	{"{" ISS AUD EXP "\"sub\":\"a\\u001b[2Jb\"}", "claims: sub: " NAME},
	{"{" ISS AUD EXP "\"sub\":\"a\\u007fb\"}", "claims: sub: " NAME},
	{"{" ISS AUD EXP SUB ",\"groups\":[\"system:masters\"]}",
         "claims: groups: " NAME},
	{"{" ISS AUD EXP SUB ",\"groups\":\"system:masters\"}", "claims: groups: " NAME},
	{"{" ISS AUD EXP SUB ",\"groups\":[\"dev\",\"system:nodes\"]}",
         "claims: groups: " NAME},
	{"{" ISS AUD EXP SUB ",\"groups\":[\"\"]}", "claims: groups: " NAME},
	{"{" ISS AUD EXP SUB ",\"groups\":[7]}", "claims: groups: want a list of texts"},
	{"{" ISS AUD EXP SUB ",\"groups\":[[\"dev\"]]}",
         "claims: groups: want a list of texts"},
	{"{" ISS AUD EXP SUB ",\"groups\":{\"dev\":true}}", "claims: groups: " LIST},
	{"{" ISS AUD EXP SUB ",\"groups\":null}", "claims: groups: " LIST},
	{"{" ISS AUD EXP SUB ",\"groups\":[\"a\"],\"groups\":[\"b\"]}",
         "claims: groups: comes twice"},
	{"[]", "claims: want an object"},
	{"null", "claims: want an object"},
};

T_CASE_SECONDS(no_claim_opens, 60)
{
	char many[IDENTITY_GROUPS_MAX * 8 + 512];
	size_t len;

	up();
	for (size_t i = 0; i < sizeof bad_claims / sizeof bad_claims[0]; i++)
		token_denied(signed_ed("{\"alg\":\"EdDSA\"}", bad_claims[i].claims),
		             bad_claims[i].cause);
	len = (size_t)snprintf(many, sizeof many, ",\"groups\":[\"g\"");
	for (unsigned i = 0; i < IDENTITY_GROUPS_MAX; i++)
		len += (size_t)snprintf(many + len, sizeof many - len, ",\"g\"");
	(void)snprintf(many + len, sizeof many - len, "]");
	token_denied(signed_ed("{\"alg\":\"EdDSA\"}", kit_claims(many)),
	             "claims: groups: too many");
	memset(many, 'a', sizeof many);
	(void)memcpy(many, ",\"x\":\"", 6);
	many[IDENTITY_NAME_MAX + 6] = 0;
	(void)snprintf(many, sizeof many, "{" ISS AUD EXP "\"sub\":\"%01025d\"}", 0);
	token_denied(signed_ed("{\"alg\":\"EdDSA\"}", many), "claims: sub: " NAME);
	T_TRUE(attacks >= 57);
	down();
}

/* -- signatures -------------------------------------------------------------------------- */

/* Signs with a key that all clients have: the public key, as a secret. */
static char *confused(const char *header, struct pl_span secret)
{
	char *text = calloc(1, 16384);
	uint8_t mac[64];
	unsigned len = 0;

	T_TRUE(text != NULL);
	(void)snprintf(text, 16384, "%s.%s", kit_base64(pl_span_str(header)),
	               kit_base64(pl_span_str(kit_claims(""))));
	T_TRUE(HMAC(EVP_sha256(), secret.at, (int)secret.len, (const uint8_t *)text,
	            strlen(text), mac, &len) != NULL);
	(void)snprintf(text + strlen(text), 16384 - strlen(text), ".%s",
	               kit_base64(pl_span(mac, len)));
	return text;
}

T_CASE_SECONDS(a_public_key_is_no_secret, 60)
{
	BIO *pem = BIO_new(BIO_s_mem());
	static char jwk[KIT_TEXT];
	char *at = NULL;
	long len;

	up();
	T_EQ(PEM_write_bio_PUBKEY(pem, kit.rsa), 1);
	len = BIO_get_mem_data(pem, &at);
	token_denied(confused("{\"alg\":\"HS256\"}", pl_span(at, (size_t)len)), ALG);
	token_denied(
		confused("{\"alg\":\"HS256\",\"kid\":\"rsa\"}", pl_span(at, (size_t)len)),
		ALG);
	token_denied(confused("{\"alg\":\"RS256\"}", pl_span(at, (size_t)len)),
	             NOT_SIGNED);
	token_denied(confused("{\"alg\":\"HS256\"}",
	                      pl_span_str(kit_jwk_rsa(kit.rsa, "", jwk))),
	             ALG);
	token_denied(confused("{\"alg\":\"HS256\"}", pl_span("", 0)), ALG);
	token_denied(confused("{\"alg\":\"EdDSA\"}", pl_span("", 0)), NOT_SIGNED);
	token_denied(confused("{\"alg\":\"ES256\"}", pl_span("", 0)),
	             "the signature has a wrong length");
	BIO_free(pem);
	down();
}

static char *with_signature(const char *header, struct pl_span signature)
{
	char *text = calloc(1, 8192);

	T_TRUE(text != NULL);
	(void)snprintf(text, 8192, "%s.%s.%s", kit_base64(pl_span_str(header)),
	               kit_base64(pl_span_str(kit_claims(""))), kit_base64(signature));
	return text;
}

static void stolen_keys(void)
{
	static char jwk[KIT_TEXT], header[2 * KIT_TEXT];

	token_denied(
		kit_token(thief.rsa, KIT_RS256, "{\"alg\":\"RS256\"}", kit_claims("")),
		NOT_SIGNED);
	token_denied(kit_token(thief.rsa, KIT_PS256,
	                       "{\"alg\":\"PS256\",\"kid\":\"rsa\"}", kit_claims("")),
	             NOT_SIGNED);
	token_denied(
		kit_token(thief.p256, KIT_ES256, "{\"alg\":\"ES256\"}", kit_claims("")),
		NOT_SIGNED);
	token_denied(kit_token(thief.ed, KIT_EDDSA, "{\"alg\":\"EdDSA\",\"kid\":\"ed\"}",
	                       kit_claims("")),
	             NOT_SIGNED);
	/* The thief brings the key along, or says where to fetch it. */
	(void)snprintf(header, sizeof header, "{\"alg\":\"EdDSA\",\"jwk\":%s}",
	               kit_jwk_ed(thief.ed, "", jwk));
	token_denied(kit_token(thief.ed, KIT_EDDSA, header, kit_claims("")), NOT_SIGNED);
	token_denied(kit_token(thief.ed, KIT_EDDSA,
	                       "{\"alg\":\"EdDSA\",\"jku\":\"https://evil/keys\"}",
	                       kit_claims("")),
	             NOT_SIGNED);
	token_denied(
		kit_token(thief.rsa, KIT_RS256,
	                  "{\"alg\":\"RS256\",\"x5c\":[\"MIIB\"],\"x5u\":\"file:///k\"}",
	                  kit_claims("")),
		NOT_SIGNED);
}

static void other_schemes(void)
{
	token_denied(kit_token(kit.rsa, KIT_PS256, "{\"alg\":\"RS256\"}", kit_claims("")),
	             NOT_SIGNED);
	token_denied(kit_token(kit.rsa, KIT_RS256, "{\"alg\":\"PS256\"}", kit_claims("")),
	             NOT_SIGNED);
	token_denied(kit_token(kit.rsa, KIT_RS512, "{\"alg\":\"RS256\"}", kit_claims("")),
	             NOT_SIGNED);
	token_denied(
		kit_token(kit.rsa, KIT_PS256_SALT, "{\"alg\":\"PS256\"}", kit_claims("")),
		NOT_SIGNED);
}

T_CASE_SECONDS(no_signature_but_ours_opens, 60)
{
	static const uint8_t zeros[512], ones[64] = {[31] = 1, [63] = 1};

	up();
	stolen_keys();
	other_schemes();
	/* Numbers that some checks take for a signature of anything. */
	token_denied(with_signature("{\"alg\":\"ES256\"}", pl_span(zeros, 64)),
	             NOT_SIGNED);
	token_denied(with_signature("{\"alg\":\"ES256\"}", pl_span(ones, 64)),
	             NOT_SIGNED);
	token_denied(with_signature("{\"alg\":\"ES256\"}", pl_span(zeros, 63)),
	             "the signature has a wrong length");
	token_denied(with_signature("{\"alg\":\"ES256\"}", pl_span(zeros, 72)),
	             "the signature has a wrong length");
	token_denied(with_signature("{\"alg\":\"EdDSA\"}", pl_span(zeros, 64)),
	             NOT_SIGNED);
	token_denied(with_signature("{\"alg\":\"RS256\"}", pl_span(zeros, 256)),
	             NOT_SIGNED);
	token_denied(with_signature("{\"alg\":\"RS256\"}", pl_span(zeros, 512)),
	             NOT_SIGNED);
	token_denied(with_signature("{\"alg\":\"RS256\"}", pl_span(zeros, 1)),
	             NOT_SIGNED);
	down();
}

/* -- what is around a signature ------------------------------------------------------------ */

#define PARTS "not three parts with dots between them"
#define BASE64 "a part of it is not base64url"

static char *edited(void (*edit)(char *token))
{
	char *token = signed_ed("{\"alg\":\"EdDSA\"}", kit_claims(""));
	char *room = calloc(1, strlen(token) + 64);

	T_TRUE(room != NULL);
	(void)snprintf(room, strlen(token) + 64, "%s", token);
	free(token);
	edit(room);
	return room;
}

/* edited() has left room for it. */
static void lengthen(char *token, const char *more)
{
	memcpy(token + strlen(token), more, strlen(more) + 1);
}

static void strip_signature(char *token)
{
	*strrchr(token, '.') = 0;
}

static void empty_signature(char *token)
{
	strrchr(token, '.')[1] = 0;
}

static void pad_signature(char *token)
{
	lengthen(token, "==");
}

static void fourth_part(char *token)
{
	lengthen(token, ".e30");
}

static void json_form(char *token)
{
	token[0] = 0;
	lengthen(token, "{\"payload\":\"e30\",\"protected\":\"e30\"}");
}

static void longer_signature(char *token)
{
	lengthen(token, "AAAA");
}

static void shorter_signature(char *token)
{
	token[strlen(token) - 2] = 0;
}

/* The last letter has bits that mean nothing: another text of the same bytes. */
static void stray_bit(char *token)
{
	char *last = token + strlen(token) - 1;

	*last = (char)(*last + 1);
	T_TRUE(*last != 'Z' + 1 && *last != 'z' + 1);
}

static void other_alphabet(char *token)
{
	token[strlen(token) - 3] = '+';
}

static void one_bit_of_claims(char *token)
{
	char *at = strchr(token, '.') + 9;

	*at = *at == 'A' ? 'B' : 'A';
}

static void one_bit_of_signature(char *token)
{
	char *at = strrchr(token, '.') + 9;

	*at = *at == 'A' ? 'B' : 'A';
}

static void two_dots(char *token)
{
	token[0] = 0;
	lengthen(token, "..");
}

static void first_part_empty(char *token)
{
	char *dot = strchr(token, '.');

	memmove(token, dot, strlen(dot) + 1);
}

T_CASE_SECONDS(no_other_form_opens, 60)
{
	char *huge = calloc(1, 64 << 10);
	static const struct {
		void (*edit)(char *token);
		const char *cause;
	} edits[] = {
		{strip_signature, PARTS},
		{empty_signature, PARTS},
		{pad_signature, BASE64},
		{fourth_part, PARTS},
		{json_form, PARTS},
		{longer_signature, NOT_SIGNED},
		{shorter_signature, NOT_SIGNED},
		{stray_bit, BASE64},
		{other_alphabet, BASE64},
		{one_bit_of_claims, NOT_SIGNED},
		{one_bit_of_signature, NOT_SIGNED},
		{two_dots, PARTS},
		{first_part_empty, PARTS},
	};

	up();
	for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++)
		token_denied(edited(edits[i].edit), edits[i].cause);
	T_TRUE(huge != NULL);
	(void)snprintf(huge, 64 << 10, ",\"x\":\"%20000s\"", "");
	token_denied(signed_ed("{\"alg\":\"EdDSA\"}", kit_claims(huge)),
	             "longer than 16384 bytes");
	/* Deep and wide JSON, within that size. */
	memset(huge, 0, 64 << 10);
	(void)snprintf(huge, 64 << 10, ",\"x\":");
	memset(huge + 5, '[', 100);
	memset(huge + 105, ']', 100);
	token_denied(signed_ed("{\"alg\":\"EdDSA\"}", kit_claims(huge)),
	             "claims: JSON, line 1, column 112: nested too deep");
	free(huge);
	down();
}

/* -- other credentials ---------------------------------------------------------------------- */

#define FIELD "an Authorization field without a bearer token"
#define SECRET "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static const struct {
	const char *field, *cause;
} bad_fields[] = {
	{"", FIELD},
	{"Bearer", FIELD},
	{"Bearer ", FIELD},
	{"Bearer    ", FIELD},
	{"bearer\t0123456789abcdef", FIELD},
	{"Bearer0123456789abcdef", FIELD},
	{"0123456789abcdef", FIELD},
	{"Token 0123456789abcdef", FIELD},
	{"Basic Ym9iOjAxMjM0NTY3ODlhYmNkZWY=", FIELD},
	{"Negotiate YIIB", FIELD},
	{"Bearer 0123456789abcdef x", FIELD},
	{"Bearer 0123456789abcdef\x80", FIELD},
	{"Bearer \"0123456789abcdef\"", "signed token: " PARTS},
	{"Bearer 0123456789abcde", "signed token: " PARTS},
	{"Bearer 0123456789abcdef0", "signed token: " PARTS},
	{"Bearer 0123456789ABCDEF", "signed token: " PARTS},
	{"Bearer bob", "signed token: " PARTS},
	{"Bearer 0123456789abcdef,bob,u-1", "signed token: " PARTS},
	{"Bearer placet.ci." SECRET, "issued token ci: another secret"},
	{"Bearer placet.none." SECRET, "issued token none: there is none of that name"},
	{"Bearer placet.ci", "issued token: not of that form"},
	{"Bearer placet.ci.", "issued token: not of that form"},
	{"Bearer placet.." SECRET, "issued token: not of that form"},
	{"Bearer placet.CI." SECRET, "issued token: not of that form"},
	{"Bearer placet.../../ci." SECRET, "issued token: not of that form"},
	{"Bearer placet.ci%00." SECRET, "issued token: not of that form"},
};

T_CASE(no_other_field_opens)
{
	char field[200];

	up();
	for (size_t i = 0; i < sizeof bad_fields / sizeof bad_fields[0]; i++)
		denied(bad_fields[i].field, bad_fields[i].cause);
	(void)snprintf(field, sizeof field, "Bearer %s", expired);
	denied(field, "issued token old: expired");
	/* The secret of one token under the name of another. */
	(void)snprintf(field, sizeof field, "Bearer placet.old%s", strrchr(issued, '.'));
	denied(field, "issued token old: another secret");
	(void)kit_delete(&store, kv_key(PL_SPAN_LIT("/access/tokens/ci")));
	kit_until(&store, store.now_ms + 50);
	(void)snprintf(field, sizeof field, "Bearer %s", issued);
	denied(field, "issued token ci: there is none of that name");
	down();
}

T_CASE(two_fields_do_not_open)
{
	struct http_field fields[] = {
		{PL_SPAN_LIT("authorization"), PL_SPAN_LIT("Bearer 0123456789abcdef")},
		{PL_SPAN_LIT("authorization"), PL_SPAN_LIT("Bearer 0123456789abcdef")},
	};
	struct http_request request = {.fields = fields, .field_count = 2};
	struct identity who;
	struct pl_err err = {0};

	up();
	T_CODE(authn_identify(authn, &request, &arena, KIT_NOW, &who, &err), PL_DENIED,
	       &err);
	T_STR(err.msg, "more than one Authorization field");
	down();
}

static void client_denied(const struct tls_client *client, const char *cause)
{
	struct pl_err err = {0};

	attacks++;
	T_CODE(show(client, NULL, &err), PL_DENIED, &err);
	T_STR(err.msg, cause);
}

/* Certificates themselves are tried in store/net/tls_client_test.c. */
T_CASE(no_bad_certificate_opens)
{
	static uint8_t huge[IDENTITY_NAME_MAX + 1];
	static struct pl_span groups[IDENTITY_GROUPS_MAX + 1];
	struct tls_client client = {.state = TLS_CLIENT_UNTRUSTED, .why = "expired"};

	up();
	client_denied(&client, "certificate: expired");
	client.state = TLS_CLIENT_UNNAMED;
	client_denied(&client, "certificate: expired");
	client = (struct tls_client){.name = PL_SPAN_LIT("ann"), .until_s = KIT_NOW - 1};
	client_denied(&client, "certificate: certificate has expired");
	client = (struct tls_client){.until_s = KIT_NOW};
	client_denied(&client, "certificate: user: not a name");
	client.name = PL_SPAN_LIT("a\nb");
	client_denied(&client, "certificate: user: not a name");
	memset(huge, 'a', sizeof huge);
	client.name = pl_span(huge, sizeof huge);
	client_denied(&client, "certificate: user: not a name");
	for (size_t i = 0; i < IDENTITY_GROUPS_MAX + 1; i++)
		groups[i] = PL_SPAN_LIT("g");
	client.name = PL_SPAN_LIT("ann");
	client.groups = groups;
	client.group_count = IDENTITY_GROUPS_MAX + 1;
	client_denied(&client, "certificate: more than 256 groups");
	down();
}
