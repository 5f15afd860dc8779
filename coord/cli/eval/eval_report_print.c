#include <inttypes.h>
#include <stdlib.h>

#include "coord/cli/eval/eval_report_int.h"
#include "coord/cli/output/output.h"
#include "store/base/alloc.h"

static struct eval_category total_of(const struct eval_report *report)
{
	struct eval_category total = {.name = "all"};

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

static const struct output_schema schema = {.kind = "EvalCategory",
                                            .columns = columns,
                                            .count = sizeof columns / sizeof *columns};

static void fill_row(struct output_row *row, const struct eval_category *category)
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
	struct eval_category total = total_of(report);
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

static enum pl_code print_diff_kinds(const struct eval_report *report, struct pl_buf *out)
{
	enum pl_code code =
		report->diff_kinds == 0 ? PL_OK : pl_buf_add_str(out, "what differs:\n");

	for (unsigned i = 0; i < report->diff_kinds && code == PL_OK; i++) {
		const struct eval_diff_kind *diff_kind = &report->diff_kind[i];

		code = report_word(out, "  ", diff_kind->part);
		if (code == PL_OK)
			code = report_word(out, " by ", diff_kind->plugin);
		if (code == PL_OK)
			code = pl_buf_printf(out, ": %" PRIu64 " cases\n",
			                     diff_kind->cases);
	}
	return code;
}

static enum pl_code print_text(const struct eval_report *report, struct pl_buf *out,
                               struct pl_err *err)
{
	struct eval_category total = total_of(report);
	enum pl_code code = pl_buf_add(out, pl_buf_span(&report->text));

	if (code == PL_OK)
		code = print_diff_kinds(report, out);
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

static void put_counts(struct pl_json_out *out, const struct eval_category *category)
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
		report_name(out, "category", report->category[i].name);
		put_counts(out, &report->category[i]);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

static void put_diff_kinds(struct pl_json_out *out, const struct eval_report *report)
{
	pl_json_out_name(out, "differing");
	pl_json_out_array(out);
	for (unsigned i = 0; i < report->diff_kinds; i++) {
		pl_json_out_object(out);
		report_name(out, "part", report->diff_kind[i].part);
		report_name(out, "plugin", report->diff_kind[i].plugin);
		put_count(out, "cases", report->diff_kind[i].cases);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

static enum pl_code print_json(const struct eval_report *report, struct pl_buf *to)
{
	struct eval_category total = total_of(report);
	struct pl_json_out out;
	enum pl_code code;

	pl_json_out_init(&out, to);
	pl_json_out_object(&out);
	report_name(&out, "kind", "EvalReport");
	put_counts(&out, &total);
	put_count(&out, "unread", report->unread);
	put_categories(&out, report);
	put_diff_kinds(&out, report);
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
