#include "shardsched/plugins/plugins.h"

#define PLUGINS_ROW(row, enabled) &(row),
static const struct plugin *const rows[] = {PLUGINS_MAP(PLUGINS_ROW)};

_Static_assert(sizeof rows / sizeof rows[0] == PLUGINS_COUNT, "a row for each index");
_Static_assert((int)PLUGINS_COUNT <= (int)PLUGINS_MAX, "masks have a bit for each");

#define PLUGINS_BIT(row, enabled) \
	| ((enabled) ? UINT64_C(1) << (unsigned)index_of_##row : UINT64_C(0))

const struct plugin_table plugins = {
	.row = rows,
	.count = PLUGINS_COUNT,
	.by_default = 0 PLUGINS_MAP(PLUGINS_BIT),
};
