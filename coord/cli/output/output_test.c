/* Rows as tables, JSON and YAML; what comes from outside is harmless on a terminal. */
#include <stdio.h>

#include "coord/cli/output/age.h"
#include "coord/cli/output/output.h"
#include "coord/cli/output/printable.h"
#include "tests/harness/t.h"

enum { NAME, COUNT, EPOCH, LOAD, UP, PARTS, EXTRA, NOTE };

static const struct output_column columns[] = {
	[NAME] = {"NAME", "name", OUTPUT_ALWAYS},
	[COUNT] = {"COUNT", "count", OUTPUT_ALWAYS},
	[EPOCH] = {"EPOCH", "epoch", OUTPUT_ALWAYS},
	[LOAD] = {"LOAD", "load", OUTPUT_ALWAYS},
	[UP] = {"UP", "up", OUTPUT_ON_WIDE},
	[PARTS] = {"PARTS", "parts", OUTPUT_ALWAYS},
	[EXTRA] = {NULL, "extra", OUTPUT_ALWAYS},
	[NOTE] = {"NOTE", "note", OUTPUT_IF_USED},
};

static const struct output_schema schema = {
	.kind = "Thing", .columns = columns, .count = sizeof columns / sizeof columns[0]};

static struct output_row plain_row(void)
{
	struct output_row row = {0};

	output_text(&row, NAME, PL_SPAN_LIT("east-0"));
	output_int(&row, COUNT, 12);
	output_int_string(&row, EPOCH, INT64_C(9007199254740993));
	output_double(&row, LOAD, 0.5);
	output_bool(&row, UP, true);
	output_raw(&row, PARTS, PL_SPAN_LIT("2"), PL_SPAN_LIT("[3,17]"));
	output_text(&row, EXTRA, PL_SPAN_LIT("only for machines"));
	return row;
}

static struct output_row hostile_row(void)
{
	struct output_row row = {0};

	output_text(&row, NAME, PL_SPAN_LIT("\x1b[31mred\nNAME\t\"x\" \\"));
	output_raw(&row, PARTS, PL_SPAN_LIT(""), PL_SPAN_LIT("{\"a\":[],\"b\":{}}"));
	output_text(&row, NOTE,
	            PL_SPAN_LIT("zo\xc3\xab \xff \xe2\x80\xa8"
	                        "desrever \xc2\x85"));
	return row;
}

static void print(enum output_format format, const struct output_row *rows, size_t count,
                  struct pl_buf *to)
{
	struct output output;
	struct pl_err err;

	output_init(&output, &schema, format, false);
	T_OK(output_list(&output, rows, count, to, &err), &err);
}

static void golden(const char *name, const struct pl_buf *buf)
{
	char text[8192];

	T_TRUE(buf->len < sizeof text);
	memcpy(text, buf->at, buf->len);
	text[buf->len] = 0;
	t_golden(name, text);
}

static void golden_list(const char *name, enum output_format format)
{
	struct output_row rows[] = {plain_row(), hostile_row()};
	struct pl_buf buf;

	pl_buf_init(&buf, 1 << 16);
	print(format, rows, 2, &buf);
	golden(name, &buf);
	pl_buf_done(&buf);
}

T_CASE(a_table_is_aligned_and_escaped)
{
	golden_list("cli/table.txt", OUTPUT_TABLE);
}

T_CASE(a_wide_table_has_more_columns)
{
	golden_list("cli/wide.txt", OUTPUT_WIDE);
}

T_CASE(json_has_kind_and_items)
{
	golden_list("cli/list.json", OUTPUT_JSON);
}

T_CASE(yaml_has_the_same)
{
	golden_list("cli/list.yaml", OUTPUT_YAML);
}

T_CASE(an_unused_column_is_left_out)
{
	struct output_row row = plain_row();
	struct pl_buf buf;

	pl_buf_init(&buf, 1 << 16);
	print(OUTPUT_TABLE, &row, 1, &buf);
	T_SPAN(pl_buf_span(&buf),
	       PL_SPAN_LIT("NAME     COUNT   EPOCH              LOAD   PARTS\n"
	                   "east-0   12      9007199254740993   0.50   2\n"));
	pl_buf_done(&buf);
}

T_CASE(no_rows_are_an_empty_list_and_no_table)
{
	struct pl_buf buf;

	pl_buf_init(&buf, 1 << 16);
	print(OUTPUT_TABLE, NULL, 0, &buf);
	T_EQ(buf.len, 0);
	print(OUTPUT_JSON, NULL, 0, &buf);
	T_SPAN(pl_buf_span(&buf),
	       PL_SPAN_LIT("{\n  \"kind\": \"ThingList\",\n  \"items\": []\n}\n"));
	pl_buf_done(&buf);
}

static void watch(enum output_format format, struct pl_buf *buf)
{
	struct output_row row = plain_row();
	struct output output;
	struct pl_err err;

	output_init(&output, &schema, format, true);
	T_OK(output_list(&output, &row, 1, buf, &err), &err);
	output_text(&row, NAME, PL_SPAN_LIT("a-longer-name"));
	T_OK(output_change(&output, &row, OUTPUT_ADDED, buf, &err), &err);
	row = plain_row();
	output_int(&row, COUNT, 13);
	T_OK(output_change(&output, &row, OUTPUT_MODIFIED, buf, &err), &err);
	T_OK(output_change(&output, &row, OUTPUT_DELETED, buf, &err), &err);
}

static void print_parts(enum output_format format, char text[4096])
{
	struct output_row rows[2] = {plain_row(), hostile_row()};
	struct output output;
	struct pl_err err;
	struct pl_buf buf;

	pl_buf_init(&buf, 4096);
	output_init(&output, &schema, format, false);
	T_OK(output_part(&output, rows, 2, false, &buf, &err), &err);
	T_OK(output_part(&output, rows, 1, true, &buf, &err), &err);
	(void)snprintf(text, 4096, "%.*s", PL_SPAN_ARG(pl_buf_span(&buf)));
	pl_buf_done(&buf);
}

T_CASE(a_list_may_come_in_parts)
{
	static const char *const names[] = {"cli/parts.txt", "cli/parts_wide.txt",
	                                    "cli/parts.json", "cli/parts.yaml"};
	char text[4096];

	for (unsigned format = OUTPUT_TABLE; format <= OUTPUT_YAML; format++) {
		print_parts((enum output_format)format, text);
		T_TRUE(strchr(text, 0x1b) == NULL);
		t_golden(names[format], text);
	}
}

T_CASE(a_watched_table_grows_by_a_line_a_change)
{
	struct pl_buf buf;

	pl_buf_init(&buf, 1 << 16);
	watch(OUTPUT_TABLE, &buf);
	golden("cli/watch.txt", &buf);
	pl_buf_done(&buf);
}

T_CASE(watched_json_is_an_object_a_line)
{
	struct pl_buf buf;

	pl_buf_init(&buf, 1 << 16);
	watch(OUTPUT_JSON, &buf);
	golden("cli/watch.json", &buf);
	pl_buf_done(&buf);
}

T_CASE(too_large_a_query_is_refused)
{
	struct output_row row = plain_row();
	struct output output;
	struct pl_err err = {0};
	struct pl_buf buf;

	for (enum output_format f = OUTPUT_TABLE; f <= OUTPUT_YAML; f++) {
		pl_buf_init(&buf, 20);
		output_init(&output, &schema, f, false);
		T_CODE(output_list(&output, &row, 1, &buf, &err), PL_LIMIT, &err);
		pl_buf_done(&buf);
	}
}

static bool looks_alike(enum output_format format, const struct output_row *a,
                        const struct output_row *b)
{
	struct pl_buf looks[2];
	struct output output;
	bool alike;

	output_init(&output, &schema, format, true);
	pl_buf_init(&looks[0], 4096);
	pl_buf_init(&looks[1], 4096);
	T_EQ(output_look(&output, a, &looks[0]), PL_OK);
	T_EQ(output_look(&output, b, &looks[1]), PL_OK);
	alike = pl_span_eq(pl_buf_span(&looks[0]), pl_buf_span(&looks[1]));
	pl_buf_done(&looks[0]);
	pl_buf_done(&looks[1]);
	return alike;
}

T_CASE(rows_are_compared_by_what_is_shown)
{
	struct output_row a = plain_row(), b = plain_row();

	T_TRUE(looks_alike(OUTPUT_TABLE, &a, &b));
	output_int(&b, COUNT, 11);
	T_TRUE(!looks_alike(OUTPUT_TABLE, &a, &b));
	T_TRUE(!looks_alike(OUTPUT_JSON, &a, &b));
	b = plain_row();
	output_bool(&b, UP, false);
	T_TRUE(looks_alike(OUTPUT_TABLE, &a, &b));
	T_TRUE(!looks_alike(OUTPUT_WIDE, &a, &b));
	T_TRUE(!looks_alike(OUTPUT_YAML, &a, &b));
	b = plain_row();
	output_text(&b, EXTRA, PL_SPAN_LIT("other"));
	T_TRUE(looks_alike(OUTPUT_WIDE, &a, &b));
	T_TRUE(!looks_alike(OUTPUT_JSON, &a, &b));
}

T_CASE(formats_have_names)
{
	enum output_format format = OUTPUT_TABLE;
	struct pl_err err = {0};

	T_OK(output_format_parse("yaml", false, &format, &err), &err);
	T_EQ(format, OUTPUT_YAML);
	T_CODE(output_format_parse("xml", false, &format, &err), PL_INVALID, &err);
	T_STR(err.msg, "--output xml: want table, wide, json or yaml");
}

/* A row is one line, whatever its text holds; in parts as in one piece. */
T_CASE(names_are_lines)
{
	static const struct output_schema pair = {"Thing", columns, 2, 2};
	struct output_row rows[] = {plain_row(), hostile_row()};
	struct output_row gone = {0};
	struct output output;
	struct pl_buf buf;

	pl_buf_init(&buf, 1 << 12);
	output_init(&output, &pair, OUTPUT_NAME, false);
	T_OK(output_list(&output, rows, 2, &buf, NULL), NULL);
	T_OK(output_part(&output, rows, 1, true, &buf, NULL), NULL);
	T_SPAN(pl_buf_span(&buf), PL_SPAN_LIT("east-0/12\n"
	                                      "\\x1b[31mred\\x0aNAME\\x09\"x\" \\/-\n"
	                                      "east-0/12\n"));
	pl_buf_done(&buf);
	output_row_name(&pair, &gone, PL_SPAN_LIT("shop/web/0"));
	T_SPAN(gone.cells[0].text, PL_SPAN_LIT("shop"));
	T_SPAN(gone.cells[1].text, PL_SPAN_LIT("web/0"));
	gone = (struct output_row){0};
	output_row_name(&pair, &gone, PL_SPAN_LIT("odd"));
	T_SPAN(gone.cells[0].text, PL_SPAN_LIT("odd"));
	T_EQ(gone.cells[1].type, OUTPUT_NONE);
}

T_CASE(the_names_format_needs_named_rows)
{
	enum output_format format = OUTPUT_TABLE;
	struct pl_err err = {0};

	T_OK(output_format_parse("name", true, &format, &err), &err);
	T_EQ(format, OUTPUT_NAME);
	T_CODE(output_format_parse("name", false, &format, &err), PL_INVALID, &err);
	T_CODE(output_format_parse("xml", true, &format, &err), PL_INVALID, &err);
	T_STR(err.msg, "--output xml: want table, wide, json, yaml or name");
}

T_CASE(ages_are_short)
{
	static const struct {
		int64_t s;
		const char *text;
	} ages[] = {{-5, "0s"},       {0, "0s"},       {119, "119s"},
	            {120, "2m"},      {599, "9m59s"},  {600, "10m"},
	            {7199, "119m"},   {10800, "3h"},   {12000, "3h20m"},
	            {36000, "10h"},   {172799, "47h"}, {172800, "2d"},
	            {200000, "2d7h"}, {864000, "10d"}, {86400000, "2y270d"}};
	char text[AGE_SIZE];

	for (unsigned i = 0; i < sizeof ages / sizeof ages[0]; i++)
		T_STR(age_text(ages[i].s * 1000, text), ages[i].text);
}

T_CASE(widths_count_characters_not_bytes)
{
	struct pl_buf buf;
	size_t width = 1;

	T_EQ(printable_width(PL_SPAN_LIT("zo\xc3\xab")), 3);
	T_EQ(printable_width(PL_SPAN_LIT("\n")), 4);
	T_EQ(printable_width(PL_SPAN_LIT("\xe2\x80\xa8")), 12);
	T_EQ(printable_width(PL_SPAN_LIT("\xf0\x9f\x98\x80")), 1);
	pl_buf_init(&buf, 100);
	T_EQ(printable_add(&buf, PL_SPAN_LIT("a\x7f\xef\xbb\xbf"), &width), PL_OK);
	T_SPAN(pl_buf_span(&buf), PL_SPAN_LIT("a\\x7f\\xef\\xbb\\xbf"));
	T_EQ(width, 18);
	pl_buf_done(&buf);
}
