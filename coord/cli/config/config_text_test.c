/* Configuration as people write it: files, and single values by path. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "coord/cli/config/config_text.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;
static struct pl_err err;

static const char *printed(struct pl_json value)
{
	struct pl_span text = {0};

	T_OK(config_text_print(value, &arena, &text, &err), &err);
	return (const char *)text.at;
}

static const char *set(const char *base, const char *assignment)
{
	struct pl_json value = {0}, out = {0};

	T_OK(config_text_parse(pl_span_str(base), &arena, &value, &err), &err);
	T_OK(config_text_set(value, assignment, &arena, &out, &err), &err);
	return printed(out);
}

static void refused(const char *base, const char *assignment, const char *why)
{
	struct pl_json value = {0}, out = {0};

	T_OK(config_text_parse(pl_span_str(base), &arena, &value, &err), &err);
	T_CODE(config_text_set(value, assignment, &arena, &out, &err), PL_INVALID, &err);
	if (strstr(err.msg, why) == NULL)
		t_fail(__FILE__, __LINE__, "no '%s' in '%s'", why, err.msg);
}

T_CASE(single_values_are_set_by_their_path)
{
	pl_arena_init(&arena, 0, 0);
	T_STR(set("{\"a\":1,\"b\":2}", "a=5"), "{\"a\":5,\"b\":2}");
	T_STR(set("{}", "a.b.c=true"), "{\"a\":{\"b\":{\"c\":true}}}");
	T_STR(set("{\"a\":{\"b\":1,\"c\":2}}", "a.b="), "{\"a\":{\"c\":2}}");
	T_STR(set("{\"a\":[1]}", "a=[p, q]"), "{\"a\":[\"p\",\"q\"]}");
	T_STR(set("{}", "factors.east\\.0=1250"), "{\"factors\":{\"east.0\":1250}}");
	T_STR(set("{}", "a='5'"), "{\"a\":\"5\"}");
	T_STR(set("{}", "a=x=y"), "{\"a\":\"x=y\"}");
	pl_arena_done(&arena);
}

T_CASE(malformed_input_is_refused)
{
	pl_arena_init(&arena, 0, 0);
	refused("{}", "a", "want path=value");
	refused("{}", "=1", "want path=value");
	refused("{}", "a..b=1", "a name in the path is empty");
	refused("{}", ".a=1", "a name in the path is empty");
	refused("{\"a\":1}", "a.b=1", "it is no object but a number");
	refused("{}", "a=[1", "'a=[1'");
	refused("{}", "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a=1", "deeper than 16");
	pl_arena_done(&arena);
}

T_CASE(files_are_yaml_or_json)
{
	char path[] = "/tmp/placet-config-text-XXXXXX";
	struct pl_json value = {0};
	int fd = mkstemp(path);
	FILE *file;

	pl_arena_init(&arena, 0, 0);
	T_TRUE(fd >= 0);
	file = fdopen(fd, "w");
	T_TRUE(file != NULL);
	(void)fprintf(file, "# why\ndrain:\n- east-0\n- east-1\n");
	(void)fclose(file);
	T_OK(config_text_read(path, &arena, &value, &err), &err);
	T_STR(printed(value), "{\"drain\":[\"east-0\",\"east-1\"]}");
	T_EQ(truncate(path, 0), 0);
	T_CODE(config_text_read(path, &arena, &value, &err), PL_INVALID, &err);
	T_TRUE(strstr(err.msg, "there is nothing in it") != NULL);
	T_EQ(truncate(path, CONFIG_TEXT_MAX + 1), 0);
	T_CODE(config_text_read(path, &arena, &value, &err), PL_LIMIT, &err);
	T_EQ(unlink(path), 0);
	T_CODE(config_text_read(path, &arena, &value, &err), PL_IO, &err);
	T_TRUE(strstr(err.msg, path) != NULL);
	T_CODE(config_text_parse(PL_SPAN_LIT("a: 1\n---\nb: 2\n"), &arena, &value, &err),
	       PL_INVALID, &err);
	T_TRUE(strstr(err.msg, "more than one document") != NULL);
	pl_arena_done(&arena);
}

static enum pl_code torture(void)
{
	struct pl_json value = {0}, out = {0};
	struct pl_span text;
	struct pl_err why = {0};
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	code = config_text_parse(PL_SPAN_LIT("a: {b: 1}"), &arena, &value, &why);
	if (code == PL_OK)
		code = config_text_set(value, "a.c=[2, x]", &arena, &out, &why);
	if (code == PL_OK)
		code = config_text_print(out, &arena, &text, &why);
	pl_arena_done(&arena);
	return code;
}

T_CASE(out_of_memory_is_reported)
{
	t_torture(torture, false);
}
