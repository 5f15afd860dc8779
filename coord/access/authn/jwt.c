#include "coord/access/authn/jwt.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include "coord/access/authn/jwt_int.h"
#include "store/base/alloc.h"
#include "store/base/base64url.h"

enum { DIGEST_BYTES = 32, SEEN_ROWS = 1024, SEEN_WAYS = 2 };

static const struct pl_json_limits header_limits = {
	.bytes = 4096, .depth = 8, .values = 256};
static const struct pl_json_limits claims_limits = {
	.bytes = JWT_BYTES_MAX, .depth = 32, .values = 4096};

/* -- tokens that were seen -------------------------------------------------------------- */

/* The newest of a row stands first. An empty place holds zeros, which no digest is. */
struct jwt_seen {
	uint8_t digest[SEEN_ROWS][SEEN_WAYS][DIGEST_BYTES];
};

struct jwt_seen *jwt_seen_new(void)
{
	return pl_calloc(1, sizeof(struct jwt_seen));
}

void jwt_seen_free(struct jwt_seen *seen)
{
	free(seen);
}

void jwt_seen_clear(struct jwt_seen *seen)
{
	memset(seen, 0, sizeof *seen);
}

static size_t row_of(const uint8_t digest[DIGEST_BYTES])
{
	return (digest[0] | (size_t)digest[1] << 8) % SEEN_ROWS;
}

static bool seen_has(const struct jwt_seen *seen, const uint8_t digest[DIGEST_BYTES])
{
	size_t row = row_of(digest);

	for (unsigned way = 0; way < SEEN_WAYS; way++)
		if (memcmp(seen->digest[row][way], digest, DIGEST_BYTES) == 0)
			return true;
	return false;
}

static void seen_add(struct jwt_seen *seen, const uint8_t digest[DIGEST_BYTES])
{
	size_t row = row_of(digest);

	memmove(seen->digest[row][1], seen->digest[row][0], DIGEST_BYTES);
	memcpy(seen->digest[row][0], digest, DIGEST_BYTES);
}

/* -- the envelope ----------------------------------------------------------------------- */

struct jwt_parts {
	struct pl_span header, claims, signature; /* as sent */
	struct pl_span text;                      /* that is signed: both, and the dot */
};

static bool split(struct pl_span token, struct jwt_parts *out)
{
	const uint8_t *end = token.at + token.len;
	const uint8_t *first = memchr(token.at, '.', token.len);
	const uint8_t *second =
		first == NULL ? NULL : memchr(first + 1, '.', (size_t)(end - first - 1));

	if (second == NULL || memchr(second + 1, '.', (size_t)(end - second - 1)) != NULL)
		return false;
	out->header = pl_span(token.at, (size_t)(first - token.at));
	out->claims = pl_span(first + 1, (size_t)(second - first - 1));
	out->signature = pl_span(second + 1, (size_t)(end - second - 1));
	out->text = pl_span(token.at, (size_t)(second - token.at));
	return out->header.len > 0 && out->claims.len > 0 && out->signature.len > 0;
}

static enum pl_code part_decode(struct pl_arena *arena, struct pl_span part,
                                struct pl_span *out, struct pl_err *err)
{
	uint8_t *bytes = pl_arena_alloc(arena, pl_base64url_decoded(part.len) + 1);

	if (bytes == NULL)
		return pl_err_set(err, PL_NOMEM, "a signed token");
	if (!pl_base64url_decode(part, bytes))
		return pl_err_set(err, PL_DENIED, "a part of it is not base64url");
	*out = pl_span(bytes, pl_base64url_decoded(part.len));
	return PL_OK;
}

/* Bad JSON is a bad token; only a lack of memory is something else. */
static enum pl_code object_parse(struct pl_arena *arena, struct pl_span part,
                                 const struct pl_json_limits *limits, const char *what,
                                 struct pl_json *out, struct pl_err *err)
{
	struct pl_span bytes = {0};
	struct pl_err why = {0};
	enum pl_code code = part_decode(arena, part, &bytes, err);

	if (code != PL_OK)
		return code;
	code = pl_json_parse(arena, bytes, limits, out, &why);
	if (code == PL_OK && pl_json_type(*out) != PL_JSON_OBJECT)
		code = pl_err_set(&why, PL_INVALID, "want an object");
	if (code == PL_OK)
		return PL_OK;
	return pl_err_set(err, code == PL_NOMEM ? PL_NOMEM : PL_DENIED, "%s: %s", what,
	                  why.msg);
}

static enum pl_code header_read(struct pl_json header, struct jwks_signed *out,
                                struct pl_err *err)
{
	const char *alg = "", *kid = NULL;
	struct pl_err why = {0};

	if (pl_json_string(header, "alg", PL_JSON_REQUIRED, &alg, &why) != PL_OK ||
	    pl_json_string(header, "kid", PL_JSON_OPTIONAL, &kid, &why) != PL_OK)
		return pl_err_set(err, PL_DENIED, "header: %s", why.msg);
	if (pl_json_type(pl_json_member(header, "crit")) != PL_JSON_ABSENT)
		return pl_err_set(err, PL_DENIED, "header: crit: not understood");
	out->alg = jwt_alg_parse(pl_span_str(alg));
	if (out->alg == JWT_ALG_COUNT)
		return pl_err_set(err, PL_DENIED, "header: alg: not accepted");
	out->has_kid = kid != NULL;
	out->kid = pl_span_str(kid);
	return PL_OK;
}

static enum pl_code signature_check(const struct jwks *jwks, struct jwt_seen *seen,
                                    struct pl_span token, const struct jwt_parts *parts,
                                    struct pl_arena *arena, struct pl_err *err)
{
	struct jwks_signed what = {.text = parts->text};
	uint8_t digest[DIGEST_BYTES];
	struct pl_json header;
	enum pl_code code;

	if (EVP_Digest(token.at, token.len, digest, NULL, EVP_sha256(), NULL) != 1)
		return pl_err_set(err, PL_NOMEM, "a signed token");
	if (seen != NULL && seen_has(seen, digest))
		return PL_OK;
	code = object_parse(arena, parts->header, &header_limits, "header", &header, err);
	if (code == PL_OK)
		code = header_read(header, &what, err);
	if (code == PL_OK)
		code = part_decode(arena, parts->signature, &what.signature, err);
	if (code == PL_OK)
		code = jwks_verify(jwks, &what, err);
	if (code == PL_OK && seen != NULL)
		seen_add(seen, digest);
	return code;
}

enum pl_code jwt_identify(const struct jwks *jwks, const struct jwt_rules *rules,
                          struct jwt_seen *seen, struct pl_span token,
                          struct pl_arena *arena, int64_t now_s, struct identity *out,
                          struct pl_err *err)
{
	struct jwt_parts parts;
	struct pl_json claims;
	enum pl_code code;

	if (token.len > JWT_BYTES_MAX)
		return pl_err_set(err, PL_DENIED, "longer than %d bytes", JWT_BYTES_MAX);
	if (token.len == 0 || !split(token, &parts))
		return pl_err_set(err, PL_DENIED,
		                  "not three parts with dots between them");
	code = signature_check(jwks, seen, token, &parts, arena, err);
	if (code == PL_OK)
		code = object_parse(arena, parts.claims, &claims_limits, "claims",
		                    &claims, err);
	return code == PL_OK ? jwt_claims(claims, rules, arena, now_s, out, err) : code;
}
