/* The cells of table_facts.txt. */
#include "tests/harness/t.h"

#include <stdio.h>
#include <stdlib.h>

#include "coord/api/reply/table.h"
#include "shardsched/model/timestamp.h"
#include "store/base/timestamp.h"

#define NOW "2026-11-21T06:00:00Z"

enum { TEXT_MAX = 8192, FACTS_MIN = 166 };

struct fact {
	char about[256]; /* "pods wide: no place" */
	char group[64], plural[64];
	bool wide, columns;
	char object[TEXT_MAX], want[TEXT_MAX];
};

static int64_t seconds_of(const char *at, char **end)
{
	int64_t count = strtoll(at, end, 10);

	switch (*(*end)++) {
	case 's':
		return count;
	case 'm':
		return count * 60;
	case 'h':
		return count * 3600;
	case 'd':
		return count * 86400;
	default:
		t_fail(__FILE__, __LINE__, "no unit of time: %s", at);
	}
}

/* "@-10s" becomes a time. */
static void fill_times(const char *line, int64_t now_ms, char out[TEXT_MAX])
{
	size_t len = 0;

	while (*line != '\0' && *line != '\n') {
		if (*line == '@' && (line[1] == '-' || line[1] == '+')) {
			char *end;
			int64_t ms = now_ms + seconds_of(line + 1, &end) * 1000;

			len += strlen(pl_timestamp_print(ms, out + len));
			line = end;
		} else {
			out[len++] = *line++;
		}
		T_TRUE(len + 64 < TEXT_MAX);
	}
	out[len] = '\0';
}

static void read_head(const char *line, struct fact *out)
{
	char kind[128] = "";
	int len = 0;

	(void)snprintf(out->about, sizeof out->about, "%.*s", (int)strcspn(line, "\n"),
	               line);
	T_EQ(sscanf(line, "%127[^ :]%n", kind, &len), 1);
	out->wide = strncmp(line + len, " wide:", 6) == 0;
	out->columns = strcmp(line + len, " columns\n") == 0;
	out->group[0] = '\0';
	T_TRUE(sscanf(kind, "%63[^.].%63s", out->plural, out->group) >= 1);
}

static bool next_line(FILE *file, char line[TEXT_MAX])
{
	while (fgets(line, TEXT_MAX, file) != NULL)
		if (line[0] != '\n' && strncmp(line, "# ", 2) != 0 &&
		    strcmp(line, "#\n") != 0)
			return true;
	return false;
}

static bool next_fact(FILE *file, int64_t now_ms, struct fact *out)
{
	char line[TEXT_MAX];

	if (!next_line(file, line))
		return false;
	T_TRUE(strncmp(line, "## ", 3) == 0);
	read_head(line + 3, out);
	if (out->columns) {
		(void)snprintf(out->object, sizeof out->object, "{}");
	} else {
		T_TRUE(next_line(file, line));
		fill_times(line, now_ms, out->object);
	}
	T_TRUE(next_line(file, line));
	T_TRUE(strncmp(line, "= ", 2) == 0);
	(void)snprintf(out->want, sizeof out->want, "%.*s", (int)strcspn(line + 2, "\n"),
	               line + 2);
	return true;
}

/* -- a row -------------------------------------------------------------------------------- */

static struct pl_json parse(struct pl_arena *arena, struct pl_span text)
{
	struct pl_json out = {0};
	struct pl_err err = {0};

	T_OK(pl_json_parse(arena, text, NULL, &out, &err), &err);
	return out;
}

static struct pl_json row_of(struct pl_arena *arena, struct pl_buf *text,
                             const struct fact *fact, int64_t now_ms)
{
	struct pl_json_out out;
	struct table_writer writer = {.out = &out,
	                              .arena = arena,
	                              .now_ms = now_ms,
	                              .include = TABLE_NONE,
	                              .kind = table_kind_find(fact->group, fact->plural)};

	pl_json_out_init(&out, text);
	table_writer_init(&writer);
	table_of_one(&writer, parse(arena, pl_span_str(fact->object)), true);
	T_OK(pl_json_out_done(&out), NULL);
	table_writer_done(&writer);
	return parse(arena, pl_buf_span(text));
}

/* "IP: string wide", "Name: string name" */
static void print_column(struct pl_json column, struct pl_arena *arena,
                         struct pl_json_out *out)
{
	const char *name, *type, *format;
	double priority = 0;

	T_OK(pl_json_string(column, "name", PL_JSON_REQUIRED, &name, NULL), NULL);
	T_OK(pl_json_string(column, "type", PL_JSON_REQUIRED, &type, NULL), NULL);
	T_OK(pl_json_string(column, "format", PL_JSON_REQUIRED, &format, NULL), NULL);
	T_OK(pl_json_double(column, "priority", PL_JSON_REQUIRED, &priority, NULL), NULL);
	pl_json_out_str(out, pl_arena_printf(arena, "%s: %s%s%s%s", name, type,
	                                     format[0] != '\0' ? " " : "", format,
	                                     priority != 0 ? " wide" : ""));
}

/* Only these have columns that are Placet's own. */
static bool has_more(const struct fact *fact)
{
	return fact->group[0] == '\0' &&
	       (strcmp(fact->plural, "pods") == 0 || strcmp(fact->plural, "nodes") == 0);
}

/* The first cells, or columns, of the table, as many as the fact has: without "wide" those
 * of priority 0. */
static void print_cells(struct pl_json table, const struct fact *fact, size_t most,
                        struct pl_arena *arena, struct pl_buf *text)
{
	struct pl_json column = pl_json_first(pl_json_member(table, "columnDefinitions"));
	struct pl_json row = pl_json_first(pl_json_member(table, "rows"));
	struct pl_json_out out;
	size_t count = 0;

	pl_json_out_init(&out, text);
	pl_json_out_array(&out);
	PL_JSON_EACH (cell, pl_json_member(row, "cells")) {
		double priority = 0;

		T_OK(pl_json_double(column, "priority", PL_JSON_REQUIRED, &priority,
		                    NULL),
		     NULL);
		if (fact->wide || fact->columns || priority == 0)
			count++;
		if (count > 0 && (count <= most || !has_more(fact))) {
			if (fact->columns)
				print_column(column, arena, &out);
			else if (fact->wide || priority == 0)
				pl_json_out_value(&out, cell);
		}
		column = pl_json_next(column);
	}
	pl_json_out_end(&out);
	T_OK(pl_json_out_done(&out), NULL);
	T_OK(pl_buf_add(text, PL_SPAN_LIT("\0")), NULL);
}

static bool check(const struct fact *fact, int64_t now_ms)
{
	struct pl_arena arena;
	struct pl_buf text, cells;
	size_t most;
	bool same;

	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&text, 1 << 20);
	pl_buf_init(&cells, 1 << 16);
	most = pl_json_count(parse(&arena, pl_span_str(fact->want)));
	print_cells(row_of(&arena, &text, fact, now_ms), fact, most, &arena, &cells);
	same = strcmp((const char *)cells.at, fact->want) == 0;
	if (!same)
		(void)fprintf(stderr, "%s\n  prints %s\n  wanted %s\n", fact->about,
		              (const char *)cells.at, fact->want);
	pl_buf_done(&cells);
	pl_buf_done(&text);
	pl_arena_done(&arena);
	return same;
}

T_CASE(cells_are_those_of_kubernetes)
{
	const char *root = getenv("T_ROOT");
	struct fact fact;
	unsigned facts = 0, wrong = 0;
	int64_t now_ms;
	char path[512];
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/coord/api/reply/table_facts.txt",
	               root == NULL ? "." : root);
	T_TRUE(timestamp_parse(PL_SPAN_LIT(NOW), &now_ms));
	file = fopen(path, "r");
	T_TRUE(file != NULL);
	for (; next_fact(file, now_ms, &fact); facts++)
		wrong += !check(&fact, now_ms);
	(void)fclose(file);
	T_TRUE(facts >= FACTS_MIN);
	T_EQ(wrong, 0);
}
