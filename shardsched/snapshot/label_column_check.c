/* Columns of labels, counted from scratch. */
#include "shardsched/snapshot/snapshot_inner.h"

static void check_domains(const struct label_column *column)
{
	uint32_t taken = 0, idle = 0;

	for (uint32_t number = 1; number < column->domains_end; number++) {
		uint32_t text = column->domain[number].text;

		taken += text != 0;
		PL_ASSERT((text != 0) == (column->domain[number].nodes > 0));
		PL_ASSERT(text == 0 ||
		          (column->by_node ? column->domain[number].nodes == 1
		                           : label_column_find(column, text) == number));
	}
	for (uint32_t at = column->inner->free; at != 0;
	     at = column->inner->link[at].next)
		idle++;
	PL_ASSERT(taken == column->domains && taken + idle + 1 == column->domains_end);
	PL_ASSERT(column->domains_end <= column->inner->room);
}

static void check_nodes(const struct snapshot *snapshot,
                        const struct label_column *column)
{
	uint64_t with = 0, counted = 0;

	for (uint32_t slot = 0; slot < snapshot->capacity; slot++) {
		const struct labels *labels = snapshot->row[slot].node.labels;
		uint32_t text = labels == NULL ? 0 : labels_get(labels, column->key);
		uint32_t number = column->value[slot];

		PL_ASSERT(number < column->domains_end);
		PL_ASSERT(text == (number == 0 ? 0 : column->domain[number].text));
		with += text != 0;
	}
	for (uint32_t number = 1; number < column->domains_end; number++)
		counted += column->domain[number].nodes;
	PL_ASSERT(with == counted);
}

void label_columns_check(const struct snapshot *snapshot)
{
	const struct label_columns *columns = &snapshot->inner->columns;
	uint32_t idle = 0;

	for (uint32_t i = 0; i < columns->count; i++) {
		check_domains(columns->at[i]);
		check_nodes(snapshot, columns->at[i]);
		idle += columns->at[i]->users == 0;
	}
	PL_ASSERT(idle == columns->idle);
}
