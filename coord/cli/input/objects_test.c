/* Kubernetes' objects as people have them in files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "coord/cli/input/objects.h"
#include "tests/harness/torture.h"

static struct pl_err err;
static char told[4096]; /* "Pod {...};" */

static enum pl_code on_object(void *ctx, struct pl_span kind, struct pl_span json,
                              struct pl_err *why)
{
	size_t len = strlen(told);

	(void)ctx;
	(void)snprintf(told + len, sizeof told - len, "%.*s %.*s;", (int)kind.len,
	               (const char *)kind.at, (int)json.len, (const char *)json.at);
	if (pl_span_eq(kind, PL_SPAN_LIT("Bad")))
		return pl_err_set(why, PL_INVALID, "spec.x: want less");
	return PL_OK;
}

static void reads(const char *text, const char *want)
{
	told[0] = 0;
	T_OK(objects_parse(pl_span_str(text), on_object, NULL, &err), &err);
	T_STR(told, want);
}

static void refuses(const char *text, const char *want)
{
	told[0] = 0;
	T_CODE(objects_parse(pl_span_str(text), on_object, NULL, &err), PL_INVALID, NULL);
	if (strstr(err.msg, want) == NULL)
		T_STR(err.msg, want);
}

T_CASE(one_object_or_many_are_read)
{
	reads("", "");
	reads(" \n", "");
	reads("{\"kind\":\"Pod\"}", "Pod {\"kind\":\"Pod\"};");
	reads("{\"kind\":\"Pod\"}\n{\"kind\":\"Node\",\"a\":[1]}\n",
	      "Pod {\"kind\":\"Pod\"};Node {\"kind\":\"Node\",\"a\":[1]};");
	reads("[{\"kind\":\"Pod\"} , {\"a\":\"]\"}]",
	      "Pod {\"kind\":\"Pod\"}; {\"a\":\"]\"};");
	reads("[]", "");
}

T_CASE(lists_are_read_item_by_item)
{
	reads("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"kind\":\"Pod\"}, "
	      "{\"kind\":\"Node\"} ]}",
	      "Pod {\"kind\":\"Pod\"};Node {\"kind\":\"Node\"};");
	reads("{\"kind\":\"PodList\",\"items\":[]}", "");
	/* Items of an object that is no List belong to that object. */
	reads("{\"kind\":\"Bag\",\"items\":[{}]}",
	      "Bag {\"kind\":\"Bag\",\"items\":[{}]};");
}

T_CASE(yaml_is_read_document_by_document)
{
	reads("kind: Pod\nspec:\n  a: 1\n---\nkind: List\nitems:\n- kind: Node\n",
	      "Pod {\"kind\":\"Pod\",\"spec\":{\"a\":1}};Node {\"kind\":\"Node\"};");
	reads("# nothing\n", "");
}

T_CASE(a_byte_order_mark_is_skipped)
{
	reads("\xEF\xBB\xBF", "");
	reads("\xEF\xBB\xBF{\"kind\":\"Pod\"}\n{\"kind\":\"Node\"}",
	      "Pod {\"kind\":\"Pod\"};Node {\"kind\":\"Node\"};");
	reads("\xEF\xBB\xBFkind: Pod\n---\nkind: Node\n",
	      "Pod {\"kind\":\"Pod\"};Node {\"kind\":\"Node\"};");
}

T_CASE(a_value_that_is_no_object_is_refused)
{
	refuses("[1]", "object 1: it is no object");
	refuses("{\"kind\":\"Pod\"} {\"kind\"", "object 2");
	refuses("{\"kind\":\"Pod\"} 7", "no object");
	refuses("}", "line");
	refuses("{}]", "object 2");
	refuses("{\"kind\":\"PodList\",\"items\":[{},\"x\"]}", "object 2");
	refuses("just words", "no object");
}

T_CASE(a_refusal_names_the_object)
{
	refuses("{\"kind\":\"Pod\"}{\"kind\":\"Bad\"}{\"kind\":\"Pod\"}",
	        "object 2: spec.x: want less");
}

T_CASE(files_may_be_compressed)
{
	char path[] = "/tmp/placet-objects-XXXXXX";
	int fd = mkstemp(path);
	gzFile file = gzdopen(fd, "wb");

	T_TRUE(file != NULL);
	T_TRUE(gzputs(file, "{\"kind\":\"Pod\"}") > 0);
	T_EQ(gzclose(file), Z_OK);
	told[0] = 0;
	T_OK(objects_read(path, on_object, NULL, &err), &err);
	T_STR(told, "Pod {\"kind\":\"Pod\"};");
	(void)unlink(path);
	T_CODE(objects_read(path, on_object, NULL, &err), PL_IO, NULL);
	T_TRUE(strstr(err.msg, path) != NULL);
}

static enum pl_code once(void)
{
	told[0] = 0;
	return objects_parse(PL_SPAN_LIT("kind: Pod\n"), on_object, NULL, &err);
}

T_CASE(missing_memory_is_reported)
{
	t_torture(once, false);
}
