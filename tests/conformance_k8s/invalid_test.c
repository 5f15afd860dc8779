/* Every case of the category "invalid": the same fields refused for the same sort of
 * fault, and all that is accepted is accepted. */
#include <stdio.h>
#include <stdlib.h>

#include "shardsched/model/pod.h"
#include "shardsched/model/pod_validate.h"
#include "store/base/json.h"
#include "store/base/json_out.h"
#include "tests/conformance_k8s/cases.h"
#include "tests/harness/t.h"

enum { LINES_SIZE = 16 << 10 };

/* "FieldValueInvalid metadata.name\n...", sorted. */
struct verdict {
	char text[LINES_SIZE];
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void put_sorted(struct verdict *out, char **line, size_t count)
{
	size_t len = 0;

	qsort(line, count, sizeof *line, by_text);
	out->text[0] = 0;
	for (size_t i = 0; i < count; i++)
		len += (size_t)snprintf(out->text + len, sizeof out->text - len, "%s\n",
		                        line[i]);
	T_TRUE(len < sizeof out->text);
}

static void wanted_verdict(struct pl_arena *arena, struct pl_json expect,
                           struct verdict *out)
{
	char *line[FIELD_ERRORS_MAX];
	size_t count = 0;

	if (pl_json_member(expect, "decodeError").node != NULL) {
		(void)snprintf(out->text, sizeof out->text, "not decoded\n");
		return;
	}
	PL_JSON_EACH (item, pl_json_member(expect, "errors")) {
		const char *type = "", *field = "";

		T_OK(pl_json_string(item, "type", PL_JSON_REQUIRED, &type, NULL), NULL);
		T_OK(pl_json_string(item, "field", PL_JSON_REQUIRED, &field, NULL), NULL);
		T_TRUE(count < FIELD_ERRORS_MAX);
		line[count++] = pl_arena_printf(arena, "%s %s", type, field);
	}
	put_sorted(out, line, count);
}

static void check_model(struct pl_arena *arena, const struct pod_draft *draft)
{
	struct model model;
	struct pl_err err = {0};
	struct pod pod;

	model_init(&model);
	if (pod_make(&model, arena, draft, &pod, &err) == PL_OK)
		pod_drop(&model, &pod);
	model_done(&model);
}

static void given_verdict(struct pl_arena *arena, struct pl_json pod, struct verdict *out)
{
	static struct field_errors errors;
	struct pl_json_out print;
	struct pod_draft draft;
	struct pl_err err = {0};
	struct pl_buf buf;
	char *line[FIELD_ERRORS_MAX];

	pl_buf_init(&buf, 1 << 20);
	pl_json_out_init(&print, &buf);
	pl_json_out_value(&print, pod);
	T_OK(pl_json_out_done(&print), NULL);
	if (pod_draft_read(arena, pl_buf_span(&buf), &draft, &err) != PL_OK) {
		(void)snprintf(out->text, sizeof out->text, "not decoded\n");
		pl_buf_done(&buf);
		return;
	}
	field_errors_init(&errors, arena);
	pod_validate(&draft, VALIDATE_SUBMITTED, &errors);
	for (uint32_t i = 0; i < errors.count; i++)
		line[i] = pl_arena_printf(arena, "%s %s",
		                          field_fault_word(errors.at[i].fault),
		                          errors.at[i].path);
	put_sorted(out, line, errors.count);
	T_EQ(field_errors_verdict(&errors, &err), errors.count > 0 ? PL_INVALID : PL_OK);
	check_model(arena, &draft); /* an invalid pod must not crash the model either */
	pl_buf_done(&buf);
}

T_CASE(pods_that_the_api_server_refuses_are_refused)
{
	struct cases *cases = cases_open("invalid");
	struct pl_arena arena;
	struct pl_span text;
	size_t count = 0, wrong = 0;

	pl_arena_init(&arena, 1 << 16, 0);
	while (cases_next(cases, &text)) {
		struct verdict want, got;
		struct pl_json root = {0};
		const char *id = "";

		pl_arena_reset(&arena);
		T_OK(pl_json_parse(&arena, text, NULL, &root, NULL), NULL);
		T_OK(pl_json_string(root, "id", PL_JSON_REQUIRED, &id, NULL), NULL);
		wanted_verdict(&arena, pl_json_member(root, "expect"), &want);
		given_verdict(&arena, pl_json_member(root, "pod"), &got);
		count++;
		if (strcmp(got.text, want.text) == 0)
			continue;
		wrong++;
		printf("%s: got\n%swant\n%s", id, got.text, want.text);
	}
	cases_close(cases);
	pl_arena_done(&arena);
	T_EQ(wrong, 0);
	T_TRUE(count >= 360);
}
