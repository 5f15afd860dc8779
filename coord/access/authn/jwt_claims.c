/* The claims of a signed token: from whom, for whom, when, and who its user is. */
#include "coord/access/authn/jwt_int.h"

static enum pl_code deny(struct pl_err *err, const char *claim, const char *why)
{
	return pl_err_set(err, PL_DENIED, "claims: %.64s: %s", claim, why);
}

/* -- from whom, for whom ---------------------------------------------------------------- */

static enum pl_code issuer_check(struct pl_json claims, const struct jwt_rules *rules,
                                 struct pl_err *err)
{
	const char *issuer = "";

	if (pl_json_string(claims, "iss", PL_JSON_REQUIRED, &issuer, NULL) != PL_OK)
		return deny(err, "iss", "want a text");
	if (!pl_span_eq(pl_span_str(issuer), rules->issuer))
		return deny(err, "iss", "another issuer");
	return PL_OK;
}

static bool is_audience(struct pl_json value, const struct jwt_rules *rules, bool *text)
{
	const char *audience = "";

	*text = pl_json_as_string(value, &audience, NULL) == PL_OK;
	for (size_t i = 0; *text && i < rules->audience_count; i++)
		if (pl_span_eq(pl_span_str(audience), rules->audience[i]))
			return true;
	return false;
}

static enum pl_code audience_check(struct pl_json claims, const struct jwt_rules *rules,
                                   struct pl_err *err)
{
	struct pl_json audience = pl_json_member(claims, "aud");
	bool text = true, found = false;

	if (pl_json_type(audience) == PL_JSON_STRING)
		found = is_audience(audience, rules, &text);
	else if (pl_json_type(audience) != PL_JSON_ARRAY)
		text = false;
	if (pl_json_type(audience) == PL_JSON_ARRAY) {
		PL_JSON_EACH (item, audience) {
			found = is_audience(item, rules, &text) || found;
			if (!text)
				break;
		}
	}
	if (!text)
		return deny(err, "aud", "want a text or a list of texts");
	return found ? PL_OK : deny(err, "aud", "for others");
}

/* -- when --------------------------------------------------------------------------------- */

/* A time of a claim: seconds since 1970, maybe with a fraction. */
static enum pl_code time_read(struct pl_json claims, const char *name, bool *has,
                              double *out, struct pl_err *err)
{
	struct pl_json value = pl_json_member(claims, name);

	*has = pl_json_type(value) != PL_JSON_ABSENT;
	if (!*has)
		return PL_OK;
	if (pl_json_type(value) != PL_JSON_NUMBER ||
	    pl_json_as_double(value, out, NULL) != PL_OK || *out < 0 || *out > 1e12)
		return deny(err, name, "want a time, in seconds");
	return PL_OK;
}

static enum pl_code times_check(struct pl_json claims, int64_t now_s, struct pl_err *err)
{
	bool expires = false, begins = false, issued = false;
	double exp = 0, nbf = 0, iat = 0, now = (double)now_s;
	enum pl_code code = time_read(claims, "exp", &expires, &exp, err);

	if (code == PL_OK)
		code = time_read(claims, "nbf", &begins, &nbf, err);
	if (code == PL_OK)
		code = time_read(claims, "iat", &issued, &iat, err);
	if (code != PL_OK)
		return code;
	if (!expires)
		return deny(err, "exp", "missing");
	if (now >= exp + JWT_LEEWAY_S)
		return deny(err, "exp", "expired");
	if (begins && now + JWT_LEEWAY_S < nbf)
		return deny(err, "nbf", "not valid yet");
	if (issued && now + JWT_LEEWAY_S < iat)
		return deny(err, "iat", "issued in the future");
	return PL_OK;
}

/* -- who ---------------------------------------------------------------------------------- */

/* A name with its prefix. Names that the system gives are refused with and without. */
static enum pl_code name_make(struct pl_arena *arena, const char *claim,
                              const char *prefix, const char *name, struct pl_span *out,
                              struct pl_err *err)
{
	struct pl_span made = pl_span_str(name);
	char *text;

	if (!identity_name_ok(made) || identity_name_reserved(made))
		return deny(err, claim, "not a name that a token may give");
	text = pl_arena_printf(arena, "%s%s", prefix, name);
	if (text == NULL)
		return pl_err_set(err, PL_NOMEM, "a signed token");
	made = pl_span_str(text);
	if (!identity_name_ok(made) || identity_name_reserved(made))
		return deny(err, claim, "not a name that a token may give");
	*out = made;
	return PL_OK;
}

/* An address that its owner has not proven names no user. */
static enum pl_code email_check(struct pl_json claims, const struct jwt_rules *rules,
                                struct pl_err *err)
{
	struct pl_json verified = pl_json_member(claims, "email_verified");
	bool yes = false;

	if (strcmp(rules->user_claim, "email") != 0 ||
	    pl_json_type(verified) == PL_JSON_ABSENT)
		return PL_OK;
	if (pl_json_as_bool(verified, &yes, NULL) != PL_OK || !yes)
		return deny(err, "email_verified", "it is not");
	return PL_OK;
}

static enum pl_code user_take(struct pl_json claims, const struct jwt_rules *rules,
                              struct pl_arena *arena, struct identity *who,
                              struct pl_err *err)
{
	const char *user = "";

	if (pl_json_string(claims, rules->user_claim, PL_JSON_REQUIRED, &user, NULL) !=
	    PL_OK)
		return deny(err, rules->user_claim, "want a text");
	return name_make(arena, rules->user_claim, rules->user_prefix, user, &who->user,
	                 err);
}

static enum pl_code groups_list(struct pl_json value, const struct jwt_rules *rules,
                                struct pl_arena *arena, struct identity *who,
                                struct pl_err *err)
{
	size_t count = pl_json_count(value);
	struct pl_span *groups;
	enum pl_code code = PL_OK;

	if (count > IDENTITY_GROUPS_MAX)
		return deny(err, rules->groups_claim, "too many");
	groups = pl_arena_zalloc(arena, count + 1, sizeof *groups);
	if (groups == NULL)
		return pl_err_set(err, PL_NOMEM, "a signed token");
	count = 0;
	PL_JSON_EACH (item, value) {
		const char *name = "";

		if (pl_json_as_string(item, &name, NULL) != PL_OK)
			return deny(err, rules->groups_claim, "want a list of texts");
		code = name_make(arena, rules->groups_claim, rules->groups_prefix, name,
		                 &groups[count], err);
		if (code != PL_OK)
			return code;
		count++;
	}
	who->groups = groups;
	who->group_count = count;
	return PL_OK;
}

static enum pl_code groups_take(struct pl_json claims, const struct jwt_rules *rules,
                                struct pl_arena *arena, struct identity *who,
                                struct pl_err *err)
{
	struct pl_json value = pl_json_member(claims, rules->groups_claim);
	struct pl_span *group;
	const char *name = "";

	switch (pl_json_type(value)) {
	case PL_JSON_ABSENT:
		return PL_OK;
	case PL_JSON_ARRAY:
		return groups_list(value, rules, arena, who, err);
	case PL_JSON_STRING:
		break;
	case PL_JSON_NULL:
	case PL_JSON_BOOL:
	case PL_JSON_NUMBER:
	case PL_JSON_OBJECT:
		return deny(err, rules->groups_claim, "want a text or a list of texts");
	}
	group = pl_arena_zalloc(arena, 1, sizeof *group);
	if (group == NULL || pl_json_as_string(value, &name, NULL) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "a signed token");
	who->groups = group;
	who->group_count = 1;
	return name_make(arena, rules->groups_claim, rules->groups_prefix, name, group,
	                 err);
}

/* "jti" names the token in logs, if it is fit for that. */
static void credential_take(struct pl_json claims, struct identity *who)
{
	const char *jti = NULL;

	if (pl_json_string(claims, "jti", PL_JSON_OPTIONAL, &jti, NULL) == PL_OK &&
	    jti != NULL && identity_name_ok(pl_span_str(jti)))
		who->credential = pl_span_str(jti);
}

enum pl_code jwt_claims(struct pl_json claims, const struct jwt_rules *rules,
                        struct pl_arena *arena, int64_t now_s, struct identity *out,
                        struct pl_err *err)
{
	struct identity who = {.via = IDENTITY_SIGNED};
	struct pl_err why = {0};
	enum pl_code code = issuer_check(claims, rules, err);

	if (code == PL_OK)
		code = audience_check(claims, rules, err);
	if (code == PL_OK)
		code = times_check(claims, now_s, err);
	if (code == PL_OK)
		code = email_check(claims, rules, err);
	if (code == PL_OK)
		code = user_take(claims, rules, arena, &who, err);
	if (code == PL_OK)
		code = groups_take(claims, rules, arena, &who, err);
	if (code != PL_OK)
		return code;
	credential_take(claims, &who);
	code = identity_make(arena, &who, out, &why);
	if (code == PL_INVALID)
		return pl_err_set(err, PL_DENIED, "claims: %s", why.msg);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "a signed token");
}
