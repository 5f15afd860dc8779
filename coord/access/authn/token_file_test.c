#include <stdio.h>
#include <stdlib.h>

#include "coord/access/authn/token_file.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;
static struct identity who;
static struct pl_err err;

static struct token_file *file_of(const char *text)
{
	struct token_file *file = NULL;

	T_OK(token_file_parse(pl_span_str(text), &file, &err), &err);
	return file;
}

static enum pl_code identify(const struct token_file *file, const char *token)
{
	return token_file_identify(file, pl_span_str(token), &arena, &who, &err);
}

T_CASE(each_line_is_a_users_token)
{
	struct token_file *file =
		file_of("31ada4fd,ann,uid-1,\"dev,ops\"\r\n\nb,\"bob \"\"b\"\"\",u2\n"
	                "c,system:admin,,system:masters\n\"d,e\",dan,7,\"\"");

	pl_arena_init(&arena, 0, 0);
	T_EQ(token_file_count(file), 4);
	T_TRUE(!token_file_is_bare(file));
	T_OK(identify(file, "31ada4fd"), &err);
	T_SPAN(who.user, PL_SPAN_LIT("ann"));
	T_SPAN(who.uid, PL_SPAN_LIT("uid-1"));
	T_EQ(who.group_count, 3);
	T_SPAN(who.groups[1], PL_SPAN_LIT("ops"));
	T_EQ(who.via, IDENTITY_TOKEN_FILE);
	T_OK(identify(file, "b"), &err);
	T_SPAN(who.user, PL_SPAN_LIT("bob \"b\""));
	T_EQ(who.group_count, 1);
	T_OK(identify(file, "c"), &err);
	T_SPAN(who.user, PL_SPAN_LIT("system:admin"));
	T_TRUE(identity_in_group(&who, IDENTITY_MASTERS));
	T_OK(identify(file, "d,e"), &err);
	T_EQ(who.group_count, 1);
	T_CODE(identify(file, "31ada4f"), PL_NOTFOUND, NULL);
	T_CODE(identify(file, "31ada4fd "), PL_NOTFOUND, NULL);
	T_CODE(identify(file, ""), PL_NOTFOUND, NULL);
	token_file_free(file);
	pl_arena_done(&arena);
}

T_CASE(a_bare_token_is_an_admins)
{
	struct token_file *file = file_of("\nsecret-token-0815\n");

	pl_arena_init(&arena, 0, 0);
	T_TRUE(token_file_is_bare(file));
	T_OK(identify(file, "secret-token-0815"), &err);
	T_SPAN(who.user, PL_SPAN_LIT("placet:token"));
	T_TRUE(identity_in_group(&who, IDENTITY_MASTERS));
	T_CODE(identify(file, "secret-token-081"), PL_NOTFOUND, NULL);
	token_file_free(file);
	pl_arena_done(&arena);
}

static void refuses(const char *text, const char *why)
{
	struct token_file *file = NULL;

	T_CODE(token_file_parse(pl_span_str(text), &file, &err), PL_INVALID, &err);
	T_STR(err.msg, why);
	T_TRUE(file == NULL);
}

T_CASE(a_bad_file_is_refused_by_line_and_never_shown)
{
	refuses("", "no token in it");
	refuses("\n\r\n", "no token in it");
	refuses("t1\nt2\n", "line 1: want at least a token, a user and a uid");
	refuses("a,ann,1\nsecret\n", "line 2: want at least a token, a user and a uid");
	refuses("a,ann,1\nsecret,bob\n",
	        "line 2: want at least a token, a user and a uid");
	refuses("a,ann,1,dev,ops",
	        "line 1: want at most 4 columns: put the groups in quotes");
	refuses(",ann,1", "line 1: want a token of printable characters without spaces");
	refuses("se cret,ann,1",
	        "line 1: want a token of printable characters without spaces");
	refuses("s\xc3\xa9,ann,1",
	        "line 1: want a token of printable characters without spaces");
	refuses("s,,1", "line 1: user: not a name");
	refuses("s,a\tb,1", "line 1: user: not a name");
	refuses("s,a\xff,1", "line 1: user: not a name");
	refuses("s,ann,1,\"dev,\"", "line 1: groups[1]: not a name");
	refuses("s,ann,1,\"dev", "line 1, column 4: the quote does not end");
	refuses("s,ann,1,\"dev\"x",
	        "line 1, column 4: something follows the closing quote");
	refuses("s,a\"nn,1", "line 1, column 2: a quote inside a field without quotes");
	refuses("s,a,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
	        "line 1, column 17: too many columns");
	refuses("secret,ann,1\nx,b,2\nsecret,bob,2\n", "lines 1 and 3: the same token");
}

T_CASE(bounds_hold)
{
	size_t size = (size_t)TOKEN_FILE_BYTES_MAX + 2, len = 0;
	char *text = malloc(size);

	T_TRUE(text != NULL);
	for (unsigned i = 0; i < TOKEN_FILE_TOKENS_MAX; i++)
		len += (size_t)snprintf(text + len, size - len, "t%u,u,1\n", i);
	token_file_free(file_of(text));
	(void)snprintf(text + len, size - len, "tt,u,1\n");
	refuses(text, "line 20001: too many tokens");
	memset(text, 'a', size);
	text[TOKEN_FILE_TOKEN_MAX] = 0;
	token_file_free(file_of(text));
	text[TOKEN_FILE_TOKEN_MAX] = 'a';
	text[TOKEN_FILE_TOKEN_MAX + 1] = 0;
	refuses(text, "line 1: want a token of printable characters without spaces");
	text[TOKEN_FILE_TOKEN_MAX + 1] = 'a';
	text[size - 1] = 0;
	refuses(text, "longer than 4194304 bytes");
	len = (size_t)snprintf(text, size, "t,ann,1,\"g");
	for (unsigned i = 0; i < IDENTITY_GROUPS_MAX; i++)
		len += (size_t)snprintf(text + len, size - len, ",g");
	(void)snprintf(text + len, size - len, "\"");
	refuses(text, "line 1: too many groups");
	free(text);
}

static enum pl_code parse_and_find(void)
{
	struct token_file *file = NULL;
	enum pl_code code;

	pl_arena_init(&arena, 64, 0);
	code = token_file_parse(PL_SPAN_LIT("a,ann,1,\"dev,ops\"\nb,bob,2\n"), &file,
	                        &err);
	if (code == PL_OK)
		code = token_file_identify(file, PL_SPAN_LIT("a"), &arena, &who, &err);
	token_file_free(file);
	pl_arena_done(&arena);
	return code;
}

T_CASE(a_file_survives_each_lack_of_memory)
{
	t_torture(parse_and_find, false);
}
