#include "coord/access/base/identity.h"

#include "store/base/utf8.h"

const char *identity_via_name(enum identity_via via)
{
#define IDENTITY_VIA_NAME(constant, name) [IDENTITY_##constant] = (name),
	static const char *const names[IDENTITY_VIA_COUNT] = {
		IDENTITY_VIA_MAP(IDENTITY_VIA_NAME)};

	return names[via];
}

struct identity identity_anonymous(void)
{
	static const struct pl_span groups[] = {
		{(const uint8_t *)IDENTITY_UNAUTHENTICATED,
	         sizeof IDENTITY_UNAUTHENTICATED - 1}};

	return (struct identity){.user = PL_SPAN_LIT(IDENTITY_ANONYMOUS_USER),
	                         .groups = groups,
	                         .group_count = 1,
	                         .via = IDENTITY_ANONYMOUS};
}

struct identity identity_local(void)
{
	static const struct pl_span groups[] = {
		{(const uint8_t *)IDENTITY_MASTERS, sizeof IDENTITY_MASTERS - 1},
		{(const uint8_t *)IDENTITY_AUTHENTICATED,
	         sizeof IDENTITY_AUTHENTICATED - 1}};

	return (struct identity){.user = PL_SPAN_LIT(IDENTITY_LOCAL_USER),
	                         .groups = groups,
	                         .group_count = 2,
	                         .via = IDENTITY_LOCAL};
}

static bool has_group(const struct pl_span *groups, size_t count, struct pl_span group)
{
	for (size_t i = 0; i < count; i++)
		if (pl_span_eq(groups[i], group))
			return true;
	return false;
}

bool identity_in_group(const struct identity *identity, const char *group)
{
	return has_group(identity->groups, identity->group_count, pl_span_str(group));
}

bool identity_is_authenticated(const struct identity *identity)
{
	return identity->via != IDENTITY_ANONYMOUS;
}

bool identity_name_reserved(struct pl_span name)
{
	return pl_span_starts(name, PL_SPAN_LIT(IDENTITY_RESERVED));
}

/* -- making one ------------------------------------------------------------------- */

static bool text_ok(struct pl_span text)
{
	if (text.len > IDENTITY_NAME_MAX)
		return false;
	for (size_t at = 0; at < text.len;) {
		size_t len = pl_utf8_char(text.at + at, text.len - at);

		if (len == 0 || text.at[at] < ' ' || text.at[at] == 0x7f)
			return false;
		at += len;
	}
	return true;
}

bool identity_name_ok(struct pl_span name)
{
	return name.len > 0 && text_ok(name);
}

static enum pl_code extra_check(const struct identity_extra *extra, size_t at,
                                struct pl_err *err)
{
	if (!identity_name_ok(extra->key) || extra->count > IDENTITY_GROUPS_MAX)
		return pl_err_set(err, PL_INVALID, "extra[%zu]: not a key", at);
	for (size_t i = 0; i < extra->count; i++)
		if (!text_ok(extra->values[i]))
			return pl_err_set(err, PL_INVALID, "extra[%zu]: not a value", at);
	return PL_OK;
}

static enum pl_code identity_check(const struct identity *from, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	if (!identity_name_ok(from->user))
		return pl_err_set(err, PL_INVALID, "user: not a name");
	if (!text_ok(from->uid) || !text_ok(from->credential))
		return pl_err_set(err, PL_INVALID, "uid: not a name");
	if (from->group_count > IDENTITY_GROUPS_MAX)
		return pl_err_set(err, PL_INVALID, "more than %d groups",
		                  IDENTITY_GROUPS_MAX);
	if (from->extra_count > IDENTITY_EXTRA_MAX)
		return pl_err_set(err, PL_INVALID, "more than %d extra keys",
		                  IDENTITY_EXTRA_MAX);
	for (size_t i = 0; i < from->group_count; i++)
		if (!identity_name_ok(from->groups[i]))
			return pl_err_set(err, PL_INVALID, "groups[%zu]: not a name", i);
	for (size_t i = 0; i < from->extra_count && code == PL_OK; i++)
		code = extra_check(&from->extra[i], i, err);
	return code;
}

static bool text_copy(struct pl_arena *arena, struct pl_span from, struct pl_span *out)
{
	*out = pl_arena_dup(arena, from);
	return out->at != NULL || from.len == 0;
}

static bool groups_copy(struct pl_arena *arena, const struct identity *from,
                        struct identity *out)
{
	struct pl_span all = PL_SPAN_LIT(IDENTITY_AUTHENTICATED);
	struct pl_span *groups =
		pl_arena_zalloc(arena, from->group_count + 1, sizeof *groups);
	size_t count = 0;

	if (groups == NULL)
		return false;
	for (size_t i = 0; i < from->group_count; i++) {
		if (has_group(groups, count, from->groups[i]))
			continue;
		if (!text_copy(arena, from->groups[i], &groups[count]))
			return false;
		count++;
	}
	if (!has_group(groups, count, all))
		groups[count++] = all;
	out->groups = groups;
	out->group_count = count;
	return true;
}

static bool extra_copy(struct pl_arena *arena, const struct identity *from,
                       struct identity *out)
{
	struct identity_extra *extra;

	out->extra = NULL;
	out->extra_count = from->extra_count;
	if (from->extra_count == 0)
		return true;
	extra = pl_arena_zalloc(arena, from->extra_count, sizeof *extra);
	if (extra == NULL)
		return false;
	for (size_t i = 0; i < from->extra_count; i++) {
		const struct identity_extra *source = &from->extra[i];
		struct pl_span *values =
			pl_arena_zalloc(arena, source->count + 1, sizeof *values);

		if (values == NULL || !text_copy(arena, source->key, &extra[i].key))
			return false;
		for (size_t j = 0; j < source->count; j++)
			if (!text_copy(arena, source->values[j], &values[j]))
				return false;
		extra[i].values = values;
		extra[i].count = source->count;
	}
	out->extra = extra;
	return true;
}

enum pl_code identity_make(struct pl_arena *arena, const struct identity *from,
                           struct identity *out, struct pl_err *err)
{
	struct identity made = {.via = from->via};
	enum pl_code code = identity_check(from, err);

	if (code != PL_OK)
		return code;
	if (!text_copy(arena, from->user, &made.user) ||
	    !text_copy(arena, from->uid, &made.uid) ||
	    !text_copy(arena, from->credential, &made.credential) ||
	    !groups_copy(arena, from, &made) || !extra_copy(arena, from, &made))
		return pl_err_set(err, PL_NOMEM, "an identity");
	*out = made;
	return PL_OK;
}
