#include "coord/access/authn/authn.h"

#include <openssl/crypto.h>
#include <stdlib.h>

#include "coord/access/authn/authn_file.h"
#include "coord/access/authn/issued_tokens.h"
#include "coord/access/authn/jwt.h"
#include "coord/access/authn/token_file.h"
#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/base/log.h"

enum { REFRESH_MS = 1000, TEXTS_MAX = 64 << 10 };

struct authn {
	struct authn_file token_path, jwks_path;
	struct token_file *tokens; /* NULL: no file */
	struct jwks *jwks;         /* NULL: no signed tokens */
	struct jwt_rules rules;
	struct jwt_seen *seen;
	struct pl_arena texts; /* of the rules */
	const struct issued_tokens *issued;
	bool local;
	uint64_t looked_ms; /* when the files were looked at */
};

/* -- files ------------------------------------------------------------------------------ */

static enum pl_code tokens_load(struct authn *authn, struct pl_span text,
                                struct pl_err *err)
{
	struct token_file *loaded = NULL;
	enum pl_code code = token_file_parse(text, &loaded, err);

	if (code != PL_OK)
		return code;
	token_file_free(authn->tokens);
	authn->tokens = loaded;
	PL_LOG(PL_LOG_INFO, "authn.token_file",
	       pl_log_str("file", authn->token_path.path),
	       pl_log_uint("tokens", token_file_count(loaded)),
	       pl_log_bool("bare", token_file_is_bare(loaded)));
	return PL_OK;
}

static enum pl_code jwks_load(struct authn *authn, struct pl_span text,
                              struct pl_err *err)
{
	struct jwks *loaded = NULL;
	enum pl_code code = jwks_parse(text, &loaded, err);

	if (code != PL_OK)
		return code;
	jwks_free(authn->jwks);
	authn->jwks = loaded;
	jwt_seen_clear(authn->seen);
	PL_LOG(PL_LOG_INFO, "authn.jwks", pl_log_str("file", authn->jwks_path.path),
	       pl_log_uint("keys", jwks_count(loaded)));
	return PL_OK;
}

typedef enum pl_code file_load_fn(struct authn *authn, struct pl_span text,
                                  struct pl_err *err);

static enum pl_code file_load(struct authn *authn, struct authn_file *file,
                              file_load_fn *load, struct pl_err *err)
{
	struct pl_err why = {0};
	struct pl_buf text;
	enum pl_code code;

	pl_buf_init(&text, TOKEN_FILE_BYTES_MAX);
	code = authn_file_read(file, &text, err);
	if (code == PL_OK) {
		code = load(authn, pl_buf_span(&text), &why);
		if (code != PL_OK)
			(void)pl_err_set(err, code, "%s: %s", file->path, why.msg);
	}
	if (text.len > 0)
		OPENSSL_cleanse(text.at, text.len);
	pl_buf_done(&text);
	return code;
}

/* A bad file leaves what was loaded before in use, and is told once for each of its states. */
static void file_refresh(struct authn *authn, struct authn_file *file, file_load_fn *load)
{
	struct pl_err err = {0};

	if (file->path == NULL || !authn_file_changed(file))
		return;
	file->failed = file_load(authn, file, load, &err) != PL_OK;
	if (file->failed)
		PL_LOG(PL_LOG_WARN, "authn.file", pl_log_err("err", &err));
}

void authn_refresh(struct authn *authn)
{
	authn->looked_ms = pl_clock_ms();
	file_refresh(authn, &authn->token_path, tokens_load);
	file_refresh(authn, &authn->jwks_path, jwks_load);
}

static void files_refresh(struct authn *authn)
{
	if (pl_clock_ms() - authn->looked_ms >= REFRESH_MS)
		authn_refresh(authn);
}

/* -- life ------------------------------------------------------------------------------- */

static enum pl_code text_copy(struct authn *authn, const char *text, struct pl_span *out,
                              struct pl_err *err)
{
	*out = pl_arena_dup(&authn->texts, pl_span_str(text));
	if (out->at == NULL)
		return pl_err_set(err, PL_NOMEM, "signed tokens");
	return PL_OK;
}

static enum pl_code audiences_take(struct authn *authn, const char *text,
                                   struct pl_err *err)
{
	struct jwt_rules *rules = &authn->rules;
	struct pl_span all = {0};
	enum pl_code code = text_copy(authn, text, &all, err);

	while (code == PL_OK) {
		const uint8_t *comma = memchr(all.at, ',', all.len);
		size_t len = comma == NULL ? all.len : (size_t)(comma - all.at);

		if (len == 0)
			return pl_err_set(err, PL_INVALID,
			                  "signed tokens: an empty audience");
		if (rules->audience_count == JWT_AUDIENCES_MAX)
			return pl_err_set(err, PL_INVALID,
			                  "signed tokens: more than %d audiences",
			                  JWT_AUDIENCES_MAX);
		rules->audience[rules->audience_count++] = pl_span(all.at, len);
		if (comma == NULL)
			break;
		all = pl_span(comma + 1, all.len - len - 1);
	}
	return code;
}

static enum pl_code word_take(struct authn *authn, const char *given, const char *normal,
                              const char **out, struct pl_err *err)
{
	struct pl_span text = {0};
	enum pl_code code = text_copy(authn, given == NULL ? normal : given, &text, err);

	if (code == PL_OK)
		*out = (const char *)text.at;
	return code;
}

static enum pl_code rules_take(struct authn *authn, const struct authn_jwt_opts *jwt,
                               struct pl_err *err)
{
	struct jwt_rules *rules = &authn->rules;
	enum pl_code code;

	if (jwt->jwks_file == NULL)
		return PL_OK;
	if (jwt->issuer == NULL || jwt->issuer[0] == 0 || jwt->audience == NULL)
		return pl_err_set(err, PL_INVALID,
		                  "signed tokens need their issuer and audience");
	authn->seen = jwt_seen_new();
	if (authn->seen == NULL)
		return pl_err_set(err, PL_NOMEM, "signed tokens");
	code = text_copy(authn, jwt->issuer, &rules->issuer, err);
	if (code == PL_OK)
		code = audiences_take(authn, jwt->audience, err);
	if (code == PL_OK)
		code = word_take(authn, jwt->user_claim, "sub", &rules->user_claim, err);
	if (code == PL_OK)
		code = word_take(authn, jwt->groups_claim, "groups", &rules->groups_claim,
		                 err);
	if (code == PL_OK)
		code = word_take(authn, jwt->user_prefix, "jwt:", &rules->user_prefix,
		                 err);
	return code == PL_OK ? word_take(authn, jwt->groups_prefix,
	                                 "jwt:", &rules->groups_prefix, err)
	                     : code;
}

static enum pl_code authn_set_up(struct authn *authn, const struct authn_opts *opts,
                                 struct pl_err *err)
{
	enum pl_code code = rules_take(authn, &opts->jwt, err);

	if (code == PL_OK)
		code = authn_file_init(&authn->token_path, opts->token_file, err);
	if (code == PL_OK)
		code = authn_file_init(&authn->jwks_path, opts->jwt.jwks_file, err);
	if (code == PL_OK && opts->token_file != NULL)
		code = file_load(authn, &authn->token_path, tokens_load, err);
	if (code == PL_OK && opts->jwt.jwks_file != NULL)
		code = file_load(authn, &authn->jwks_path, jwks_load, err);
	return code;
}

enum pl_code authn_new(const struct authn_opts *opts, struct authn **out,
                       struct pl_err *err)
{
	struct authn *authn = pl_calloc(1, sizeof *authn);
	enum pl_code code;

	if (authn == NULL)
		return pl_err_set(err, PL_NOMEM, "authentication");
	authn->issued = opts->issued;
	authn->local = opts->local;
	authn->looked_ms = pl_clock_ms();
	pl_arena_init(&authn->texts, 0, TEXTS_MAX);
	code = authn_set_up(authn, opts, err);
	if (code == PL_OK)
		*out = authn;
	else
		authn_free(authn);
	return code;
}

void authn_free(struct authn *authn)
{
	if (authn == NULL)
		return;
	authn_file_done(&authn->token_path);
	authn_file_done(&authn->jwks_path);
	token_file_free(authn->tokens);
	jwks_free(authn->jwks);
	jwt_seen_free(authn->seen);
	pl_arena_done(&authn->texts);
	free(authn);
}

/* -- bearer tokens ------------------------------------------------------------------------ */

static enum pl_code token_identify(struct authn *authn, struct pl_span token,
                                   struct pl_arena *arena, int64_t now_s,
                                   struct identity *out, struct pl_err *err)
{
	enum pl_code code = PL_NOTFOUND;
	struct pl_err why = {0};

	if (authn->tokens != NULL && token.len <= TOKEN_FILE_TOKEN_MAX)
		code = token_file_identify(authn->tokens, token, arena, out, err);
	if (code != PL_NOTFOUND)
		return code;
	if (authn->issued != NULL && issued_tokens_is_one(token))
		return issued_tokens_identify(authn->issued, token, arena, now_s, out,
		                              err);
	if (authn->jwks == NULL)
		return pl_err_set(err, PL_DENIED, "an unknown token");
	code = jwt_identify(authn->jwks, &authn->rules, authn->seen, token, arena, now_s,
	                    out, &why);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "signed token: %s", why.msg);
}

enum pl_code authn_identify_token(struct authn *authn, struct pl_span token,
                                  struct pl_arena *arena, int64_t now_s,
                                  struct identity *out, struct pl_err *err)
{
	files_refresh(authn);
	return token_identify(authn, token, arena, now_s, out, err);
}

static bool starts_bearer(struct pl_span field)
{
	static const char word[] = "bearer ";

	if (field.len < sizeof word - 1)
		return false;
	for (size_t i = 0; i < sizeof word - 1; i++)
		if ((i < 6 ? field.at[i] | 0x20 : field.at[i]) != word[i])
			return false;
	return true;
}

/* "Bearer <token>", of printable characters without spaces. */
static bool bearer_take(struct pl_span field, struct pl_span *token)
{
	size_t at = 7;

	if (!starts_bearer(field))
		return false;
	while (at < field.len && field.at[at] == ' ')
		at++;
	*token = pl_span(field.at + at, field.len - at);
	for (; at < field.len; at++)
		if (field.at[at] <= ' ' || field.at[at] > '~')
			return false;
	return token->len > 0;
}

static enum pl_code field_identify(struct authn *authn,
                                   const struct http_request *request,
                                   struct pl_arena *arena, int64_t now_s,
                                   struct identity *out, struct pl_err *err)
{
	struct pl_span field = {0}, token = {0};
	size_t count = 0;

	for (size_t i = 0; i < request->field_count; i++) {
		if (!pl_span_eq(request->fields[i].name, PL_SPAN_LIT("authorization")))
			continue;
		field = request->fields[i].value;
		count++;
	}
	if (count == 0)
		return PL_NOTFOUND;
	if (count > 1)
		return pl_err_set(err, PL_DENIED, "more than one Authorization field");
	if (!bearer_take(field, &token))
		return pl_err_set(err, PL_DENIED,
		                  "an Authorization field without a bearer token");
	return token_identify(authn, token, arena, now_s, out, err);
}

/* -- the chain -------------------------------------------------------------------------- */

static enum pl_code client_identify(const struct tls_client *client,
                                    struct pl_arena *arena, int64_t now_s,
                                    struct identity *out, struct pl_err *err)
{
	struct identity who = {.via = IDENTITY_CERTIFICATE};
	struct pl_err why = {0};
	enum pl_code code;

	if (client == NULL)
		return PL_NOTFOUND;
	if (client->state != TLS_CLIENT_TRUSTED)
		return pl_err_set(err, PL_DENIED, "certificate: %s", client->why);
	if (now_s > client->until_s)
		return pl_err_set(err, PL_DENIED, "certificate: certificate has expired");
	who.user = client->name;
	who.groups = client->groups;
	who.group_count = client->group_count;
	who.credential = client->serial;
	code = identity_make(arena, &who, out, &why);
	if (code == PL_OK)
		return PL_OK;
	return pl_err_set(err, code == PL_NOMEM ? PL_NOMEM : PL_DENIED, "certificate: %s",
	                  why.msg);
}

/* Both credentials are bad, or the only one is. */
static enum pl_code both_denied(const struct pl_err *of_client,
                                const struct pl_err *of_token, struct pl_err *err)
{
	if (of_client->code == PL_OK || of_token->code == PL_OK)
		return pl_err_set(err, PL_DENIED, "%s",
		                  of_client->code == PL_OK ? of_token->msg
		                                           : of_client->msg);
	return pl_err_set(err, PL_DENIED, "%.100s; %.100s", of_client->msg,
	                  of_token->msg);
}

/* "localhost", "127.0.0.1:8080", "[::1]:8080". */
static bool host_is_loopback(struct pl_span host)
{
	const uint8_t *end = host.len == 0 ? NULL : memchr(host.at, ':', host.len);

	if (pl_span_starts(host, PL_SPAN_LIT("[::1]")))
		return host.len == 5 || host.at[5] == ':';
	if (end != NULL)
		host.len = (size_t)(end - host.at);
	if (pl_span_eq(host, PL_SPAN_LIT("localhost")))
		return true;
	for (size_t i = 0; i < host.len; i++)
		if (host.at[i] != '.' && (host.at[i] < '0' || host.at[i] > '9'))
			return false;
	return pl_span_starts(host, PL_SPAN_LIT("127."));
}

static bool origin_is_loopback(struct pl_span origin)
{
	static const char *const schemes[] = {"http://", "https://"};

	for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
		struct pl_span scheme = pl_span_str(schemes[i]);

		if (pl_span_starts(origin, scheme))
			return host_is_loopback(
				pl_span(origin.at + scheme.len, origin.len - scheme.len));
	}
	return false;
}

/* A browser of this machine sends what pages of the web tell it to: those say where they
 * are from, and a name of theirs that leads to this machine stands in Host. */
static bool is_of_foreign_page(const struct http_request *request)
{
	for (size_t i = 0; i < request->field_count; i++) {
		const struct http_field *field = &request->fields[i];

		if (pl_span_eq(field->name, PL_SPAN_LIT("host")) &&
		    !host_is_loopback(field->value))
			return true;
		if (pl_span_eq(field->name, PL_SPAN_LIT("origin")) &&
		    !origin_is_loopback(field->value))
			return true;
	}
	return false;
}

enum pl_code authn_identify(struct authn *authn, const struct http_request *request,
                            struct pl_arena *arena, int64_t now_s, struct identity *out,
                            struct pl_err *err)
{
	struct pl_err of_client = {0}, of_token = {0};
	enum pl_code client, token;

	files_refresh(authn);
	client = client_identify(request->client, arena, now_s, out, &of_client);
	if (client == PL_OK)
		return PL_OK;
	if (client == PL_NOMEM)
		return pl_err_set(err, PL_NOMEM, "%s", of_client.msg);
	token = field_identify(authn, request, arena, now_s, out, &of_token);
	if (token == PL_OK)
		return PL_OK;
	if (token != PL_NOTFOUND && token != PL_DENIED)
		return pl_err_set(err, token, "%s", of_token.msg);
	if (token == PL_DENIED || client == PL_DENIED)
		return both_denied(&of_client, &of_token, err);
	if (!authn->local)
		return pl_err_set(err, PL_NOTFOUND, "no credential");
	if (is_of_foreign_page(request))
		return pl_err_set(err, PL_DENIED,
		                  "Host or Origin is not of the loopback");
	*out = identity_local();
	return PL_OK;
}
