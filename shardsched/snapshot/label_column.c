/*
 * Numbers for the values of a key. A value is found by its text through a table; the
 * lowest free number is given first, and a number is free once no node has its value.
 */
#include "shardsched/snapshot/label_column.h"

#include <stdlib.h>

#include "shardsched/snapshot/snapshot_inner.h"
#include "store/base/alloc.h"

enum {
	ROOM_MIN = 64,
	IDLE_MAX = 16, /* unused columns that are still updated */
};

static struct bucket_link *link_of(const void *owner, uint32_t id)
{
	const struct label_column *column = owner;

	return &column->inner->link[id];
}

uint32_t label_column_room(const struct label_column *column)
{
	return column->inner->room;
}

uint32_t label_column_find(const struct label_column *column, uint32_t text)
{
	uint32_t number = 0;

	PL_ASSERT(!column->by_node);
	if (text != 0)
		number = buckets_chain(&column->inner->by_text, number_hash(text));
	while (number != 0 && column->domain[number].text != text)
		number = column->inner->link[number].next;
	return number;
}

/* -- numbers ---------------------------------------------------------------------- */

static bool has_number(const struct label_column *column)
{
	return column->inner->free != 0 || column->domains_end < column->inner->room;
}

static enum pl_code make_room(struct label_column *column, uint32_t room,
                              struct pl_err *err)
{
	struct label_column_inner *inner = column->inner;
	struct bucket_link *link;
	struct label_value *domain;

	domain = pl_realloc(column->domain, room * sizeof *domain);
	if (domain != NULL)
		column->domain = domain;
	link = domain == NULL ? NULL : pl_realloc(inner->link, room * sizeof *link);
	if (link == NULL)
		return pl_err_set(err, PL_NOMEM, "room for the values of a label");
	inner->link = link;
	inner->room = room;
	return PL_OK;
}

static uint32_t take_number(struct label_column *column, uint32_t text)
{
	struct label_column_inner *inner = column->inner;
	uint32_t number = inner->free;

	PL_ASSERT(has_number(column));
	if (number == 0)
		number = column->domains_end++;
	else
		inner->free = inner->link[number].next;
	column->domain[number] = (struct label_value){.text = text};
	inner->link[number] = (struct bucket_link){.hash = number_hash(text)};
	if (!column->by_node)
		buckets_add(&inner->by_text, number);
	column->domains++;
	return number;
}

/* A node more has the value. */
static uint32_t value_ref(struct label_column *column, uint32_t text)
{
	uint32_t number = column->by_node ? 0 : label_column_find(column, text);

	if (number == 0)
		number = take_number(column, text);
	column->domain[number].nodes++;
	return number;
}

static void value_unref(struct label_column *column, uint32_t number)
{
	struct label_column_inner *inner = column->inner;

	if (--column->domain[number].nodes > 0)
		return;
	if (!column->by_node)
		buckets_del(&inner->by_text, number);
	column->domain[number].text = 0;
	inner->link[number].next = inner->free;
	inner->free = number;
	column->domains--;
}

/* -- nodes come, change, go ------------------------------------------------------- */

enum pl_code label_columns_ready(struct snapshot *snapshot, struct pl_err *err)
{
	struct label_columns *columns = &snapshot->inner->columns;

	for (uint32_t i = 0; i < columns->count; i++) {
		struct label_column *column = columns->at[i];
		uint32_t room = column->inner->room * 2;
		enum pl_code code;

		if (has_number(column))
			continue;
		code = views_domains_grow(snapshot, column, room, err);
		if (code == PL_OK)
			code = make_room(column, room, err);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

void label_columns_move(struct snapshot *snapshot, uint32_t slot, const struct labels *to)
{
	struct label_columns *columns = &snapshot->inner->columns;

	for (uint32_t i = 0; i < columns->count; i++) {
		struct label_column *column = columns->at[i];
		uint32_t text = to == NULL ? 0 : labels_get(to, column->key);
		uint32_t was = column->value[slot], is;

		if (text == (was == 0 ? 0 : column->domain[was].text))
			continue;
		is = text == 0 ? 0 : value_ref(column, text);
		views_node_moving(snapshot, slot, column, was, is);
		column->value[slot] = is;
		if (was != 0)
			value_unref(column, was);
		column->epoch++;
	}
}

enum pl_code label_columns_grow(struct snapshot *snapshot, uint32_t capacity,
                                struct pl_err *err)
{
	struct label_columns *columns = &snapshot->inner->columns;

	for (uint32_t i = 0; i < columns->count; i++)
		if (!column_grow(&columns->at[i]->value,
		                 snapshot->capacity * sizeof(uint32_t),
		                 capacity * sizeof(uint32_t)))
			return pl_err_set(err, PL_NOMEM, "room for a label column");
	return PL_OK;
}

/* -- opening and closing ---------------------------------------------------------- */

static void free_column(struct snapshot *snapshot, struct label_column *column)
{
	buckets_done(&column->inner->by_text);
	free(column->inner->link);
	free(column->inner);
	free(column->domain);
	column_free(column->value);
	strings_unref(&snapshot->model->strings, column->key);
	free(column);
}

static struct label_column *column_new(struct snapshot *snapshot, uint32_t key,
                                       bool by_node)
{
	struct label_column *column = pl_calloc(1, sizeof *column);

	if (column == NULL)
		return NULL;
	column->inner = pl_calloc(1, sizeof *column->inner);
	if (column->inner == NULL) {
		free(column);
		return NULL;
	}
	column->by_node = by_node;
	column->key = strings_ref(&snapshot->model->strings, key);
	column->domains_end = 1;
	buckets_init(&column->inner->by_text, column, link_of);
	column->value = column_alloc(snapshot->capacity * sizeof *column->value);
	if (column->value == NULL || !buckets_ready(&column->inner->by_text) ||
	    make_room(column, ROOM_MIN, NULL) != PL_OK) {
		free_column(snapshot, column);
		return NULL;
	}
	column->domain[0] = (struct label_value){0};
	return column;
}

static enum pl_code column_fill(const struct snapshot *snapshot,
                                struct label_column *column, struct pl_err *err)
{
	for (uint32_t slot = 0; slot < snapshot->slots; slot++) {
		const struct labels *labels = snapshot->row[slot].node.labels;
		uint32_t text = labels == NULL ? 0 : labels_get(labels, column->key);
		enum pl_code code = PL_OK;

		if (text != 0 && !has_number(column))
			code = make_room(column, column->inner->room * 2, err);
		if (code != PL_OK)
			return code;
		if (text != 0)
			column->value[slot] = value_ref(column, text);
	}
	return PL_OK;
}

static void column_drop_at(struct snapshot *snapshot, uint32_t at)
{
	struct label_columns *columns = &snapshot->inner->columns;

	PL_ASSERT(columns->at[at]->users == 0);
	free_column(snapshot, columns->at[at]);
	columns->at[at] = columns->at[--columns->count];
	columns->idle--;
}

static void drop_longest_idle(struct snapshot *snapshot)
{
	const struct label_columns *columns = &snapshot->inner->columns;
	uint32_t oldest = SNAPSHOT_NONE;

	for (uint32_t i = 0; i < columns->count; i++)
		if (columns->at[i]->users == 0 &&
		    (oldest == SNAPSHOT_NONE ||
		     columns->at[i]->inner->stamp < columns->at[oldest]->inner->stamp))
			oldest = i;
	column_drop_at(snapshot, oldest);
}

static struct label_column *column_find(const struct snapshot *snapshot, uint32_t key,
                                        bool by_node)
{
	const struct label_columns *columns = &snapshot->inner->columns;

	for (uint32_t i = 0; i < columns->count; i++)
		if (columns->at[i]->key == key && columns->at[i]->by_node == by_node)
			return columns->at[i];
	return NULL;
}

static enum pl_code column_new_filled(struct snapshot *snapshot, uint32_t key,
                                      bool by_node, struct label_column **out,
                                      struct pl_err *err)
{
	struct label_columns *columns = &snapshot->inner->columns;
	struct label_column *column;
	enum pl_code code;

	if (columns->count == LABEL_COLUMNS_MAX && columns->idle == 0)
		return pl_err_set(err, PL_LIMIT, "want at most %d label keys in rules",
		                  LABEL_COLUMNS_MAX);
	column = column_new(snapshot, key, by_node);
	if (column == NULL)
		return pl_err_set(err, PL_NOMEM, "keep a label column");
	code = column_fill(snapshot, column, err);
	if (code != PL_OK) {
		free_column(snapshot, column);
		return code;
	}
	if (columns->count == LABEL_COLUMNS_MAX)
		drop_longest_idle(snapshot);
	columns->at[columns->count++] = *out = column;
	return PL_OK;
}

static enum pl_code column_open(struct snapshot *snapshot, uint32_t key, bool by_node,
                                struct label_column **out, struct pl_err *err)
{
	struct label_column *column = column_find(snapshot, key, by_node);
	enum pl_code code = PL_OK;

	PL_ASSERT(key != 0);
	if (column == NULL)
		code = column_new_filled(snapshot, key, by_node, &column, err);
	else if (column->users == 0)
		snapshot->inner->columns.idle--;
	if (code != PL_OK)
		return code;
	PL_ASSERT(column != NULL);
	column->users++;
	*out = column;
	return PL_OK;
}

enum pl_code label_column_open(struct snapshot *snapshot, uint32_t key,
                               struct label_column **out, struct pl_err *err)
{
	return column_open(snapshot, key, false, out, err);
}

enum pl_code label_column_open_domains(struct snapshot *snapshot, uint32_t key,
                                       struct label_column **out, struct pl_err *err)
{
	return column_open(snapshot, key, node_is_domain(snapshot->model, key), out, err);
}

void label_column_close(struct snapshot *snapshot, struct label_column *column)
{
	struct label_columns *columns = &snapshot->inner->columns;

	if (column == NULL)
		return;
	PL_ASSERT(column->users > 0);
	if (--column->users > 0)
		return;
	column->inner->stamp = ++columns->stamp;
	if (++columns->idle > IDLE_MAX)
		drop_longest_idle(snapshot);
}

void label_columns_done(struct snapshot *snapshot)
{
	struct label_columns *columns = &snapshot->inner->columns;

	while (columns->count > 0)
		column_drop_at(snapshot, columns->count - 1);
}

size_t label_columns_memory(const struct snapshot *snapshot)
{
	const struct label_columns *columns = &snapshot->inner->columns;
	size_t bytes = 0;

	for (uint32_t i = 0; i < columns->count; i++) {
		const struct label_column *column = columns->at[i];

		bytes += sizeof *column + sizeof *column->inner +
		         snapshot->capacity * sizeof(uint32_t) +
		         column->inner->room * (sizeof(struct label_value) +
		                                sizeof(struct bucket_link)) +
		         column->inner->by_text.cap * sizeof(uint32_t);
	}
	return bytes;
}
