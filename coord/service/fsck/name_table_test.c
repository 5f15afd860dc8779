#include <stdio.h>

#include "coord/service/fsck/name_table.h"
#include "tests/harness/torture.h"

enum { COUNT = 20000 };

static struct pl_span name(unsigned number, char out[32])
{
	return pl_span(out, (size_t)snprintf(out, 32, "web/%u", number));
}

T_CASE(names_are_numbered_in_their_order)
{
	struct name_table table = {0};
	char text[32];

	T_EQ(name_table_find(&table, PL_SPAN_LIT("web/0")), NAME_TABLE_NONE);
	for (unsigned i = 0; i < COUNT; i++)
		T_EQ(name_table_add(&table, name(i, text)), i);
	for (unsigned i = 0; i < COUNT; i++) {
		T_EQ(name_table_add(&table, name(i, text)), i);
		T_EQ(name_table_find(&table, name(i, text)), i);
		T_SPAN(name_table_get(&table, i), name(i, text));
	}
	T_EQ(table.count, COUNT);
	T_EQ(name_table_find(&table, name(COUNT, text)), NAME_TABLE_NONE);
	name_table_done(&table);
}

T_CASE(the_empty_name_is_a_name)
{
	struct name_table table = {0};

	T_EQ(name_table_add(&table, PL_SPAN_LIT("")), 0);
	T_SPAN(name_table_get(&table, 0), PL_SPAN_LIT(""));
	T_EQ(name_table_find(&table, PL_SPAN_LIT("")), 0);
	T_EQ(name_table_add(&table, PL_SPAN_LIT("x")), 1);
	T_EQ(name_table_add(&table, PL_SPAN_LIT("")), 0);
	name_table_done(&table);
}

static enum pl_code tortured(void)
{
	struct name_table table = {0};
	enum pl_code code = PL_OK;
	char text[32];

	for (unsigned i = 0; i < 200 && code == PL_OK; i++) {
		uint32_t before = table.count;

		if (name_table_add(&table, name(i, text)) != NAME_TABLE_NONE)
			continue;
		code = PL_NOMEM;
		T_EQ(table.count, before);
		T_EQ(name_table_find(&table, name(i, text)), NAME_TABLE_NONE);
		T_EQ(name_table_add(&table, name(i, text)), i);
	}
	name_table_done(&table);
	return code;
}

T_CASE(without_memory_nothing_is_added)
{
	t_torture(tortured, false);
}
