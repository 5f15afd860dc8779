#include <stdio.h>
#include <stdlib.h>

#include "coord/metrics/metrics_table.h"
#include "tests/harness/t.h"

T_CASE(the_table_follows_the_rules)
{
	struct pl_err err = {0};

	T_OK(metric_defs_check(metrics_table, METRICS, &err), &err);
}

/* Help stands in a table of the page and in comments of the text. */
T_CASE(help_is_one_line_that_ends_with_a_stop)
{
	for (unsigned i = 0; i < METRICS; i++) {
		const char *help = metrics_table[i].help;

		T_TRUE(strchr(help, '\n') == NULL && strchr(help, '|') == NULL);
		if (help[strlen(help) - 1] != '.')
			T_STR(metrics_table[i].name, "ends with a stop");
	}
}

T_CASE(the_page_is_up_to_date)
{
	const char *root = getenv("T_ROOT");
	struct pl_buf page, path;
	static char stands[256 * 1024];
	FILE *file;

	pl_buf_init(&page, sizeof stands);
	pl_buf_init(&path, 4096);
	T_EQ(metrics_page(&page), PL_OK);
	T_EQ(pl_buf_printf(&path, "%s/docs/metrics.md", root == NULL ? "." : root),
	     PL_OK);
	if (getenv("T_UPDATE") != NULL) {
		file = fopen((const char *)path.at, "we");
		T_TRUE(file != NULL);
		T_EQ(fwrite(page.at, 1, page.len, file), page.len);
		T_EQ(fclose(file), 0);
	}
	file = fopen((const char *)path.at, "re");
	T_TRUE(file != NULL);
	T_SPAN(pl_buf_span(&page),
	       pl_span(stands, fread(stands, 1, sizeof stands, file)));
	(void)fclose(file);
	pl_buf_done(&page);
	pl_buf_done(&path);
}
