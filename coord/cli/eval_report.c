#include "coord/cli/eval_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coord/cli/output.h"
#include "coord/cli/printable.h"
#include "store/base/alloc.h"
#include "store/base/json_out.h"

enum { NAME_SIZE = 64, ANSWER_MAX = 2000, TOLD_MAX = 32 << 20 };

struct category {
	char name[NAME_SIZE];
	uint64_t cases, agree, differ;
	uint64_t errors; /* only run */
};

/* "filter by NodeResourcesFit": in how many cases. */
struct sort {
	char part[NAME_SIZE];
	char plugin[NAME_SIZE];
	uint64_t cases;
	uint64_t last; /* the case that was counted last */
};

struct eval_report {
	struct category category[EVAL_CATEGORIES_MAX];
	unsigned categories;
	struct sort sort[EVAL_KINDS_MAX];
	unsigned sorts;
	uint64_t cases, differ, unread;
	uint64_t told, tell_max;
	struct pl_buf text; /* differences for people */
	struct pl_buf json; /* the same for machines, with commas between */
};

/* While one case is compared. */
struct telling {
	struct eval_report *report;
	const struct eval_case *it;
	const char *where;
	unsigned told;
	enum pl_code code;
};

enum pl_code eval_report_new(uint64_t differences, struct eval_report **out,
                             struct pl_err *err)
{
	struct eval_report *report = pl_calloc(1, sizeof *report);

	if (report == NULL)
		return pl_err_set(err, PL_NOMEM, "keep a report");
	report->tell_max = differences;
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

static void name_copy(char to[NAME_SIZE], const char *from)
{
	(void)snprintf(to, NAME_SIZE, "%s", from);
}

/* Those beyond the bound share the last line. */
static struct category *category_of(struct eval_report *report, const char *name)
{
	char cut[NAME_SIZE];
	unsigned i = 0;

	name_copy(cut, name[0] == 0 ? "-" : name);
	while (i < report->categories && strcmp(report->category[i].name, cut) != 0)
		i++;
	if (i == EVAL_CATEGORIES_MAX)
		return &report->category[i - 1];
	if (i == report->categories)
		name_copy(report->category[report->categories++].name, cut);
	return &report->category[i];
}

static void count_sort(struct eval_report *report, const struct eval_difference *it)
{
	struct sort *sort = NULL;
	unsigned i = 0;

	while (i < report->sorts && (strcmp(report->sort[i].part, it->part) != 0 ||
	                             strcmp(report->sort[i].plugin, it->plugin) != 0))
		i++;
	if (i == EVAL_KINDS_MAX)
		return;
	sort = &report->sort[i];
	if (i == report->sorts) {
		report->sorts++;
		name_copy(sort->part, it->part);
		name_copy(sort->plugin, it->plugin);
	}
	if (sort->last != report->cases)
		sort->cases++;
	sort->last = report->cases;
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

static enum pl_code add_word(struct pl_buf *text, const char *before, const char *word)
{
	enum pl_code code;

	if (word[0] == 0)
		return PL_OK;
	code = pl_buf_add_str(text, before);
	return code == PL_OK ? printable_add(text, pl_span_str(word), NULL) : code;
}

static enum pl_code tell_text(struct telling *telling, const struct eval_difference *it)
{
	struct pl_buf *text = &telling->report->text;
	enum pl_code code = add_word(text, "", telling->it->id);

	if (code == PL_OK)
		code = add_word(text, " (", telling->where);
	if (code == PL_OK)
		code = add_word(text, "): ", it->part);
	if (code == PL_OK)
		code = add_word(text, ".", it->member);
	if (code == PL_OK)
		code = add_word(text, " of ", it->node);
	if (code == PL_OK)
		code = add_word(text, " by ", it->plugin);
	if (code == PL_OK)
		code = pl_buf_add_str(text, "\n");
	if (code == PL_OK)
		code = answer_text("ours", it->ours, text);
	return code == PL_OK ? answer_text("expected", it->expected, text) : code;
}

static void put_name(struct pl_json_out *out, const char *name, const char *value)
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

static enum pl_code tell_json(struct telling *telling, const struct eval_difference *it)
{
	struct pl_buf *json = &telling->report->json;
	enum pl_code code = json->len > 0 ? pl_buf_add_str(json, ",") : PL_OK;
	struct pl_json_out out;

	if (code != PL_OK)
		return code;
	pl_json_out_init(&out, json);
	pl_json_out_object(&out);
	put_name(&out, "id", telling->it->id);
	put_name(&out, "where", telling->where);
	put_name(&out, "category", telling->it->category);
	put_name(&out, "part", it->part);
	put_name(&out, "member", it->member);
	put_name(&out, "plugin", it->plugin);
	put_name(&out, "node", it->node);
	put_answer(&out, "ours", it->ours);
	put_answer(&out, "expected", it->expected);
	pl_json_out_end(&out);
	return pl_json_out_done(&out);
}

static void on_difference(void *ctx, const struct eval_difference *it)
{
	struct telling *telling = ctx;
	struct eval_report *report = telling->report;

	count_sort(report, it);
	if (report->told >= report->tell_max || telling->told >= EVAL_OF_ONE_CASE_MAX ||
	    telling->code != PL_OK)
		return;
	telling->told++;
	report->told++;
	telling->code = tell_text(telling, it);
	if (telling->code == PL_OK)
		telling->code = tell_json(telling, it);
}

enum pl_code eval_report_add(struct eval_report *report, struct pl_arena *arena,
                             const struct eval_case *it, struct pl_span ours,
                             const char *where, struct pl_err *err)
{
	struct telling telling = {.report = report, .it = it, .where = where};
	struct category *category = category_of(report, it->category);
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

/* -- printing ---------------------------------------------------------------------- */

static struct category total_of(const struct eval_report *report)
{
	struct category total = {.name = "all"};

	for (unsigned i = 0; i < report->categories; i++) {
		total.cases += report->category[i].cases;
		total.agree += report->category[i].agree;
		total.differ += report->category[i].differ;
		total.errors += report->category[i].errors;
	}
	return total;
}

enum { COLUMN_NAME, COLUMN_CASES, COLUMN_AGREE, COLUMN_DIFFER, COLUMN_ERRORS };

static const struct output_column columns[] = {
	[COLUMN_NAME] = {"CATEGORY", "category", OUTPUT_ALWAYS},
	[COLUMN_CASES] = {"CASES", "cases", OUTPUT_ALWAYS},
	[COLUMN_AGREE] = {"AGREE", "agree", OUTPUT_ALWAYS},
	[COLUMN_DIFFER] = {"DIFFER", "differ", OUTPUT_ALWAYS},
	[COLUMN_ERRORS] = {"ONLY-RUN", "onlyRun", OUTPUT_ALWAYS},
};

static const struct output_schema schema = {"EvalCategory", columns,
                                            sizeof columns / sizeof *columns};

static void fill_row(struct output_row *row, const struct category *category)
{
	*row = (struct output_row){0};
	output_text(row, COLUMN_NAME, pl_span_str(category->name));
	output_int(row, COLUMN_CASES, (int64_t)category->cases);
	output_int(row, COLUMN_AGREE, (int64_t)category->agree);
	output_int(row, COLUMN_DIFFER, (int64_t)category->differ);
	output_int(row, COLUMN_ERRORS, (int64_t)category->errors);
}

static enum pl_code print_table(const struct eval_report *report, struct pl_buf *out,
                                struct pl_err *err)
{
	unsigned count = report->categories;
	struct output_row *rows = pl_calloc((size_t)count + 1, sizeof *rows);
	struct category total = total_of(report);
	struct output output;
	enum pl_code code;

	if (rows == NULL)
		return pl_err_set(err, PL_NOMEM, "print a report");
	for (unsigned i = 0; i < count; i++)
		fill_row(&rows[i], &report->category[i]);
	fill_row(&rows[count], &total);
	output_init(&output, &schema, OUTPUT_TABLE, false);
	code = output_list(&output, rows, (size_t)count + 1, out, err);
	free(rows);
	return code;
}

static enum pl_code print_sorts(const struct eval_report *report, struct pl_buf *out)
{
	enum pl_code code =
		report->sorts == 0 ? PL_OK : pl_buf_add_str(out, "what differs:\n");

	for (unsigned i = 0; i < report->sorts && code == PL_OK; i++) {
		const struct sort *sort = &report->sort[i];

		code = add_word(out, "  ", sort->part);
		if (code == PL_OK)
			code = add_word(out, " by ", sort->plugin);
		if (code == PL_OK)
			code = pl_buf_printf(out, ": %" PRIu64 " cases\n", sort->cases);
	}
	return code;
}

static enum pl_code print_text(const struct eval_report *report, struct pl_buf *out,
                               struct pl_err *err)
{
	struct category total = total_of(report);
	enum pl_code code = pl_buf_add(out, pl_buf_span(&report->text));

	if (code == PL_OK)
		code = print_sorts(report, out);
	if (code != PL_OK)
		return pl_err_set(err, code, "print a report");
	code = print_table(report, out, err);
	if (code != PL_OK)
		return code;
	if (total.errors > 0)
		code = pl_buf_printf(out,
		                     "%" PRIu64 " cases end in an internal error of the "
		                     "scheduler asked: only run, not compared\n",
		                     total.errors);
	if (code == PL_OK && report->unread > 0)
		code = pl_buf_printf(out, "%" PRIu64 " lines could not be read\n",
		                     report->unread);
	return code == PL_OK ? code : pl_err_set(err, code, "print a report");
}

static void put_count(struct pl_json_out *out, const char *name, uint64_t count)
{
	pl_json_out_name(out, name);
	pl_json_out_int(out, (int64_t)count);
}

static void put_counts(struct pl_json_out *out, const struct category *category)
{
	put_count(out, "cases", category->cases);
	put_count(out, "agree", category->agree);
	put_count(out, "differ", category->differ);
	put_count(out, "onlyRun", category->errors);
}

static void put_categories(struct pl_json_out *out, const struct eval_report *report)
{
	pl_json_out_name(out, "categories");
	pl_json_out_array(out);
	for (unsigned i = 0; i < report->categories; i++) {
		pl_json_out_object(out);
		put_name(out, "category", report->category[i].name);
		put_counts(out, &report->category[i]);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

static void put_sorts(struct pl_json_out *out, const struct eval_report *report)
{
	pl_json_out_name(out, "differing");
	pl_json_out_array(out);
	for (unsigned i = 0; i < report->sorts; i++) {
		pl_json_out_object(out);
		put_name(out, "part", report->sort[i].part);
		put_name(out, "plugin", report->sort[i].plugin);
		put_count(out, "cases", report->sort[i].cases);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

static enum pl_code print_json(const struct eval_report *report, struct pl_buf *to)
{
	struct category total = total_of(report);
	struct pl_json_out out;
	enum pl_code code;

	pl_json_out_init(&out, to);
	pl_json_out_object(&out);
	put_name(&out, "kind", "EvalReport");
	put_counts(&out, &total);
	put_count(&out, "unread", report->unread);
	put_categories(&out, report);
	put_sorts(&out, report);
	pl_json_out_name(&out, "differences");
	pl_json_out_array(&out);
	if (report->json.len > 0)
		pl_json_out_raw(&out, pl_buf_span(&report->json));
	pl_json_out_end(&out);
	pl_json_out_end(&out);
	code = pl_json_out_done(&out);
	return code == PL_OK ? pl_buf_add_str(to, "\n") : code;
}

enum pl_code eval_report_print(const struct eval_report *report, bool json,
                               struct pl_buf *out, struct pl_err *err)
{
	enum pl_code code;

	if (!json)
		return print_text(report, out, err);
	code = print_json(report, out);
	return code == PL_OK ? code : pl_err_set(err, code, "print a report");
}
