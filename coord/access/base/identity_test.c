#include "coord/access/base/identity.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;

/* As PL_SPAN_LIT(), of static storage. */
#define LIT(text)                                         \
	{                                                 \
		(const uint8_t *)(text), sizeof(text) - 1 \
	}
static const struct pl_span groups[] = {LIT("dev"), LIT("ops"), LIT("dev")};
static const struct pl_span scopes[] = {LIT("read"), LIT("write")};
static const struct identity_extra extra[] = {{LIT("scopes"), scopes, 2}};

static struct identity ann(void)
{
	return (struct identity){.user = PL_SPAN_LIT("ann"),
	                         .uid = PL_SPAN_LIT("42"),
	                         .groups = groups,
	                         .group_count = 3,
	                         .extra = extra,
	                         .extra_count = 1,
	                         .via = IDENTITY_SIGNED,
	                         .credential = PL_SPAN_LIT("key-1")};
}

T_CASE(an_identity_is_copied_and_authenticated)
{
	struct identity from = ann(), out;
	struct pl_err err = {0};

	pl_arena_init(&arena, 0, 0);
	T_OK(identity_make(&arena, &from, &out, &err), &err);
	T_SPAN(out.user, PL_SPAN_LIT("ann"));
	T_TRUE(out.user.at != from.user.at);
	T_SPAN(out.uid, PL_SPAN_LIT("42"));
	T_SPAN(out.credential, PL_SPAN_LIT("key-1"));
	T_EQ(out.group_count, 3);
	T_SPAN(out.groups[0], PL_SPAN_LIT("dev"));
	T_SPAN(out.groups[1], PL_SPAN_LIT("ops"));
	T_SPAN(out.groups[2], PL_SPAN_LIT(IDENTITY_AUTHENTICATED));
	T_TRUE(identity_in_group(&out, "ops") && !identity_in_group(&out, "op"));
	T_TRUE(identity_is_authenticated(&out));
	T_EQ(out.extra_count, 1);
	T_SPAN(out.extra[0].key, PL_SPAN_LIT("scopes"));
	T_EQ(out.extra[0].count, 2);
	T_SPAN(out.extra[0].values[1], PL_SPAN_LIT("write"));
	T_EQ(out.via, IDENTITY_SIGNED);
	pl_arena_done(&arena);
}

T_CASE(a_name_is_bounded_and_has_no_control_characters)
{
	static uint8_t long_name[IDENTITY_NAME_MAX + 1];

	memset(long_name, 'a', sizeof long_name);
	T_TRUE(identity_name_ok(pl_span(long_name, IDENTITY_NAME_MAX)));
	T_TRUE(!identity_name_ok(pl_span(long_name, IDENTITY_NAME_MAX + 1)));
	T_TRUE(!identity_name_ok(pl_span(NULL, 0)));
	T_TRUE(identity_name_ok(PL_SPAN_LIT("Ann \xc3\x84rger")));
	T_TRUE(!identity_name_ok(PL_SPAN_LIT("a\xc3")));
	T_TRUE(!identity_name_ok(PL_SPAN_LIT("a\nb")));
	T_TRUE(!identity_name_ok(PL_SPAN_LIT("a\x7f")));
	T_TRUE(!identity_name_ok(pl_span("a\0b", 3)));
	T_TRUE(identity_name_reserved(PL_SPAN_LIT("system:masters")));
	T_TRUE(!identity_name_reserved(PL_SPAN_LIT("systems")));
}

T_CASE(what_is_over_a_bound_is_refused)
{
	static struct pl_span many[IDENTITY_GROUPS_MAX + 1];
	struct identity from = ann(), out = {.via = IDENTITY_LOCAL};
	struct pl_err err = {0};

	pl_arena_init(&arena, 0, 0);
	for (size_t i = 0; i < IDENTITY_GROUPS_MAX + 1; i++)
		many[i] = PL_SPAN_LIT("g");
	from.groups = many;
	from.group_count = IDENTITY_GROUPS_MAX + 1;
	T_CODE(identity_make(&arena, &from, &out, &err), PL_INVALID, &err);
	T_STR(err.msg, "more than 256 groups");
	from = ann();
	from.user = PL_SPAN_LIT("");
	T_CODE(identity_make(&arena, &from, &out, &err), PL_INVALID, &err);
	T_STR(err.msg, "user: not a name");
	from = ann();
	many[1] = PL_SPAN_LIT("x\ty");
	from.groups = many;
	from.group_count = 2;
	T_CODE(identity_make(&arena, &from, &out, &err), PL_INVALID, &err);
	T_STR(err.msg, "groups[1]: not a name");
	from = ann();
	from.extra_count = IDENTITY_EXTRA_MAX + 1;
	T_CODE(identity_make(&arena, &from, &out, &err), PL_INVALID, &err);
	T_STR(err.msg, "more than 32 extra keys");
	T_EQ(out.via, IDENTITY_LOCAL);
	pl_arena_done(&arena);
}

T_CASE(without_a_credential_a_client_is_anonymous_or_local)
{
	struct identity anonymous = identity_anonymous(), local = identity_local();

	T_TRUE(!identity_is_authenticated(&anonymous));
	T_TRUE(identity_in_group(&anonymous, IDENTITY_UNAUTHENTICATED));
	T_TRUE(!identity_in_group(&anonymous, IDENTITY_AUTHENTICATED));
	T_TRUE(identity_is_authenticated(&local));
	T_TRUE(identity_in_group(&local, IDENTITY_MASTERS));
	T_STR(identity_via_name(IDENTITY_CERTIFICATE), "client-certificate");
}

static enum pl_code make_one(void)
{
	struct identity from = ann(), out;
	enum pl_code code;

	pl_arena_init(&arena, 16, 0);
	code = identity_make(&arena, &from, &out, NULL);
	pl_arena_done(&arena);
	return code;
}

T_CASE(an_identity_survives_each_lack_of_memory)
{
	t_torture(make_one, false);
}
