/*
 * Any pod is refused with an error text, or kept and given back whole, and printing it
 * again gives the same; a valid pod shares its class with a copy of itself.
 */
#include "shardsched/model/object.h"
#include "shardsched/model/parse.h"
#include "tests/fuzz/fuzz.h"

static void check_print(struct parse *parse, struct pl_span json, const struct pod *pod)
{
	static const struct object_change change[] = {
		{{"status", "nominatedNodeName"}, "\"n1\""},
		{{"x", "y", "z"}, "{}"},
	};
	struct pl_err err = {0};
	struct pl_buf buf;
	struct pod again;
	enum pl_code code;

	pl_buf_init(&buf, 8 << 20);
	code = object_print(json, change, 2, &buf, &err);
	PL_ASSERT(code == PL_OK || code == PL_INVALID);
	if (code == PL_OK) {
		parse->errors = NULL;
		code = pod_parse(parse, pl_buf_span(&buf), &again, &err);
		/* The printed pod may have become too large. */
		PL_ASSERT(code == PL_OK || code == PL_LIMIT);
		if (code == PL_OK) {
			PL_ASSERT(again.spec == pod->spec && again.name == pod->name);
			PL_ASSERT(pl_span_eq(model_text(parse->model, again.nominated),
			                     PL_SPAN_LIT("n1")));
			pod_drop(parse->model, &again);
		}
	}
	pl_buf_done(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct field_errors errors;
	struct model model;
	struct pl_arena arena;
	struct parse parse = {.model = &model, .arena = &arena, .errors = &errors};
	struct pl_err err = {0};
	struct pod pod, unchecked;
	enum pl_code code, loose;

	model_init(&model);
	pl_arena_init(&arena, 0, READER_ARENA_MAX);
	code = pod_parse(&parse, pl_span(data, size), &pod, &err);
	PL_ASSERT(code == PL_OK || (err.code == code && err.msg[0] != 0));
	parse.errors = NULL;
	loose = pod_parse(&parse, pl_span(data, size), &unchecked, &err);
	PL_ASSERT(code != PL_OK || loose == PL_OK);
	if (loose == PL_OK)
		check_print(&parse, pl_span(data, size), &unchecked);
	if (code == PL_OK) {
		PL_ASSERT(pod.spec == unchecked.spec && pod.uid == unchecked.uid);
		PL_ASSERT(pod.spec->requests->cpu_milli >= 0 &&
		          pod.spec->requests->memory >= 0);
		pod_drop(&model, &pod);
	}
	if (loose == PL_OK)
		pod_drop(&model, &unchecked);
	pl_arena_done(&arena);
	model_done(&model);
	return 0;
}
