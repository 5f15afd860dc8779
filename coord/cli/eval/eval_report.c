#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coord/cli/eval/eval_report_int.h"
#include "coord/cli/output/printable.h"
#include "store/base/alloc.h"

enum { ANSWER_MAX = 2000, TOLD_MAX = 32 << 20 };

/* The comparison of one case. */
struct difference_report {
	struct eval_report *report;
	const struct eval_case *it;
	const char *where;
	unsigned reported;
	enum pl_code code;
};

enum pl_code eval_report_new(uint64_t differences, struct eval_report **out,
                             struct pl_err *err)
{
	struct eval_report *report = pl_calloc(1, sizeof *report);

	if (report == NULL)
		return pl_err_set(err, PL_NOMEM, "keep a report");
	report->report_max = differences;
	pl_buf_init(&report->text, TOLD_MAX);
	pl_buf_init(&report->json, TOLD_MAX);
	*out = report;
	return PL_OK;
}

void eval_report_free(struct eval_report *report)
{
	if (report == NULL)
		return;
	pl_buf_done(&report->text);
	pl_buf_done(&report->json);
	free(report);
}

static void copy_name(char to[EVAL_NAME_SIZE], const char *from)
{
	(void)snprintf(to, EVAL_NAME_SIZE, "%s", from);
}

/* Categories beyond the bound share the last line. */
static struct eval_category *category_of(struct eval_report *report, const char *name)
{
	char cut[EVAL_NAME_SIZE];
	unsigned i = 0;

	copy_name(cut, name[0] == 0 ? "-" : name);
	while (i < report->categories && strcmp(report->category[i].name, cut) != 0)
		i++;
	if (i == EVAL_CATEGORIES_MAX)
		return &report->category[i - 1];
	if (i == report->categories)
		copy_name(report->category[report->categories++].name, cut);
	return &report->category[i];
}

static void count_kind(struct eval_report *report, const struct eval_difference *it)
{
	struct eval_diff_kind *diff_kind = NULL;
	unsigned i = 0;

	while (i < report->diff_kinds &&
	       (strcmp(report->diff_kind[i].part, it->part) != 0 ||
	        strcmp(report->diff_kind[i].plugin, it->plugin) != 0))
		i++;
	if (i == EVAL_KINDS_MAX)
		return;
	diff_kind = &report->diff_kind[i];
	if (i == report->diff_kinds) {
		report->diff_kinds++;
		copy_name(diff_kind->part, it->part);
		copy_name(diff_kind->plugin, it->plugin);
	}
	if (diff_kind->last != report->cases)
		diff_kind->cases++;
	diff_kind->last = report->cases;
}

/* -- differences in full ----------------------------------------------------------- */

static enum pl_code answer_text(const char *title, struct pl_json value,
                                struct pl_buf *text)
{
	struct pl_json_out out;
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, EVAL_OUT_MAX);
	pl_json_out_init(&out, &buf);
	if (value.node == NULL)
		code = pl_buf_add_str(&buf, "nothing");
	else {
		pl_json_out_value(&out, value);
		code = pl_json_out_done(&out);
	}
	if (code == PL_OK)
		code = pl_buf_printf(text, "  %-9s ", title);
	if (code == PL_OK && buf.len <= ANSWER_MAX)
		code = printable_add_json(text, pl_buf_span(&buf));
	else if (code == PL_OK)
		code = pl_buf_printf(text, "%zu bytes of JSON", buf.len);
	if (code == PL_OK)
		code = pl_buf_add_str(text, "\n");
	pl_buf_done(&buf);
	return code;
}

enum pl_code report_word(struct pl_buf *text, const char *before, const char *word)
{
	enum pl_code code;

	if (word[0] == 0)
		return PL_OK;
	code = pl_buf_add_str(text, before);
	return code == PL_OK ? printable_add(text, pl_span_str(word), NULL) : code;
}

static enum pl_code report_text(struct difference_report *telling,
                                const struct eval_difference *it)
{
	struct pl_buf *text = &telling->report->text;
	enum pl_code code = report_word(text, "", telling->it->id);

	if (code == PL_OK)
		code = report_word(text, " (", telling->where);
	if (code == PL_OK)
		code = report_word(text, "): ", it->part);
	if (code == PL_OK)
		code = report_word(text, ".", it->member);
	if (code == PL_OK)
		code = report_word(text, " of ", it->node);
	if (code == PL_OK)
		code = report_word(text, " by ", it->plugin);
	if (code == PL_OK)
		code = pl_buf_add_str(text, "\n");
	if (code == PL_OK)
		code = answer_text("ours", it->ours, text);
	return code == PL_OK ? answer_text("expected", it->expected, text) : code;
}

void report_name(struct pl_json_out *out, const char *name, const char *value)
{
	if (value[0] == 0)
		return;
	pl_json_out_name(out, name);
	pl_json_out_str(out, value);
}

static void put_answer(struct pl_json_out *out, const char *name, struct pl_json value)
{
	pl_json_out_name(out, name);
	if (value.node == NULL)
		pl_json_out_null(out);
	else
		pl_json_out_value(out, value);
}

static enum pl_code report_json(struct difference_report *telling,
                                const struct eval_difference *it)
{
	struct pl_buf *json = &telling->report->json;
	enum pl_code code = json->len > 0 ? pl_buf_add_str(json, ",") : PL_OK;
	struct pl_json_out out;

	if (code != PL_OK)
		return code;
	pl_json_out_init(&out, json);
	pl_json_out_object(&out);
	report_name(&out, "id", telling->it->id);
	report_name(&out, "where", telling->where);
	report_name(&out, "category", telling->it->category);
	report_name(&out, "part", it->part);
	report_name(&out, "member", it->member);
	report_name(&out, "plugin", it->plugin);
	report_name(&out, "node", it->node);
	put_answer(&out, "ours", it->ours);
	put_answer(&out, "expected", it->expected);
	pl_json_out_end(&out);
	return pl_json_out_done(&out);
}

static void on_difference(void *ctx, const struct eval_difference *it)
{
	struct difference_report *telling = ctx;
	struct eval_report *report = telling->report;

	count_kind(report, it);
	if (report->reported >= report->report_max ||
	    telling->reported >= EVAL_OF_ONE_CASE_MAX || telling->code != PL_OK)
		return;
	telling->reported++;
	report->reported++;
	telling->code = report_text(telling, it);
	if (telling->code == PL_OK)
		telling->code = report_json(telling, it);
}

enum pl_code eval_report_add(struct eval_report *report, struct pl_arena *arena,
                             const struct eval_case *it, struct pl_span ours,
                             const char *where, struct pl_err *err)
{
	struct difference_report telling = {.report = report, .it = it, .where = where};
	struct eval_category *category = category_of(report, it->category);
	enum pl_code code = PL_OK;
	size_t count = 0;

	report->cases++;
	if (!eval_case_is_an_error(it))
		code = eval_compare(arena, it, ours, on_difference, &telling, &count,
		                    err);
	if (code != PL_OK) {
		report->cases--;
		return code;
	}
	if (telling.code != PL_OK)
		return pl_err_set(err, telling.code, "tell what differs");
	category->cases++;
	category->errors += eval_case_is_an_error(it);
	category->differ += count > 0;
	category->agree += count == 0 && !eval_case_is_an_error(it);
	report->differ += count > 0;
	return PL_OK;
}

void eval_report_unread(struct eval_report *report)
{
	report->unread++;
}

bool eval_report_agrees(const struct eval_report *report)
{
	return report->differ == 0 && report->unread == 0;
}

uint64_t eval_report_cases(const struct eval_report *report)
{
	return report->cases;
}
