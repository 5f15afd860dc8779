/* Rows with --watch: the first picture, and a line for each change. */
#include <stdio.h>
#include <unistd.h>

#include "coord/cli/output/row_watch.h"
#include "tests/harness/t.h"

static const struct output_column columns[] = {{"NAME", "name", OUTPUT_ALWAYS},
                                               {"STATE", "state", OUTPUT_ALWAYS}};
static const struct output_schema schema = {"Thing", columns, 2, 1};

static struct row_watch row_watch;
static FILE *file;
static int kept;
static char printed[4096];

/* Standard output is redirected to a file. */
static void begin(void)
{
	file = tmpfile();
	T_TRUE(file != NULL && fflush(stdout) == 0);
	kept = dup(STDOUT_FILENO);
	T_TRUE(kept >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
	row_watch_init(&row_watch, &schema, OUTPUT_TABLE, true);
}

static void end(void)
{
	size_t len;

	T_EQ(row_watch.err.code, PL_OK);
	row_watch_done(&row_watch);
	T_TRUE(fflush(stdout) == 0 && dup2(kept, STDOUT_FILENO) >= 0);
	T_EQ(close(kept), 0);
	rewind(file);
	len = fread(printed, 1, sizeof printed - 1, file);
	printed[len] = 0;
	T_EQ(fclose(file), 0);
}

static void put(const char *name, const char *state)
{
	struct output_row row = {0};

	output_text(&row, 0, pl_span_str(name));
	output_text(&row, 1, pl_span_str(state));
	row_watch_put(&row_watch, pl_span_str(name), &row);
}

static void gone(const char *name)
{
	row_watch_gone(&row_watch, pl_span_str(name));
}

/* Changes while the first picture is gathered. */
T_CASE(the_first_picture_shows_all_rows)
{
	begin();
	row_watch_begin(&row_watch);
	put("a", "new");
	put("b", "new");
	put("c", "new");
	put("a", "old");
	gone("b");
	gone("never");
	put("d", "new");
	gone("d");
	row_watch_end(&row_watch);
	end();
	T_STR(printed, "NAME   STATE\na      old\nc      new\n");
}

T_CASE(then_each_change_is_a_line)
{
	begin();
	row_watch_begin(&row_watch);
	put("a", "new");
	row_watch_end(&row_watch);
	put("a", "new"); /* looks as it did */
	put("b", "new");
	put("a", "old");
	gone("b");
	gone("b");
	put("b", "new");
	end();
	T_STR(printed, "NAME   STATE\na      new\nb      new\na      old\nb      gone\n"
	               "b      new\n");
}

/* A row that a whole picture does not show any more is gone. */
T_CASE(a_new_picture_drops_rows_that_are_not_in_it)
{
	begin();
	row_watch_begin(&row_watch);
	put("a", "new");
	put("b", "new");
	row_watch_end(&row_watch);
	row_watch_begin(&row_watch);
	put("b", "new");
	row_watch_end(&row_watch);
	end();
	T_STR(printed, "NAME   STATE\na      new\nb      new\na      gone\n");
}
