#include "coord/cli/output/row_watch.h"

#include <stdio.h>
#include <stdlib.h>

#include "coord/cli/output/message.h"
#include "store/base/alloc.h"
#include "store/base/hash.h"

enum {
	OUT_MAX = 256 << 20,
	ROW_MAX = 4 << 20,
	ARENA_MAX = 256 << 20,
	ROWS_MAX = 1 << 16,
	KEY_SIZE = 1024,
};

struct printed_row {
	struct pl_map_node node;
	uint64_t hash;
	uint64_t round;
	size_t row; /* place in the first picture, from 1 on; 0: none */
	uint8_t key[];
};

static struct printed_row *row_of_node(struct pl_map_node *node)
{
	return PL_CONTAINER_OF(node, struct printed_row, node);
}

void row_watch_init(struct row_watch *row_watch, const struct output_schema *schema,
                    enum output_format format, bool watch)
{
	*row_watch = (struct row_watch){.state_column = 1};
	output_init(&row_watch->output, schema, format, watch);
	pl_buf_init(&row_watch->out, OUT_MAX);
	pl_arena_init(&row_watch->arena, 1 << 16, ARENA_MAX);
	pl_map_init(&row_watch->printed);
}

void row_watch_done(struct row_watch *row_watch)
{
	PL_MAP_EACH (node, &row_watch->printed) {
		pl_map_del(&row_watch->printed, node);
		free(row_of_node(node));
	}
	pl_map_done(&row_watch->printed);
	pl_arena_done(&row_watch->arena);
	pl_buf_done(&row_watch->out);
	free(row_watch->first);
	free(row_watch->first_of);
}

void row_watch_fail(struct row_watch *row_watch, enum pl_code code, const char *what)
{
	if (row_watch->err.code == PL_OK)
		pl_err_set(&row_watch->err, code, "%s", what);
}

static void flush_rows(struct row_watch *row_watch)
{
	if (row_watch->err.code == PL_OK)
		(void)!print_result(&row_watch->out, &row_watch->err);
	if (!row_watch->gathering)
		pl_arena_reset(&row_watch->arena);
}

static bool row_hash(struct row_watch *row_watch, const struct output_row *row,
                     uint64_t *out)
{
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, ROW_MAX);
	code = output_look(&row_watch->output, row, &buf);
	if (code == PL_OK)
		*out = pl_hash(pl_buf_span(&buf));
	else
		row_watch_fail(row_watch, code, "print a row");
	pl_buf_done(&buf);
	return code == PL_OK;
}

static struct printed_row *keep_row(struct row_watch *row_watch, struct pl_span key)
{
	struct printed_row *printed = pl_calloc(1, sizeof *printed + key.len);
	struct pl_map_node *other;

	if (printed == NULL) {
		row_watch_fail(row_watch, PL_NOMEM, "keep a row");
		return NULL;
	}
	memcpy(printed->key, key.at, key.len);
	other = pl_map_add(&row_watch->printed, &printed->node,
	                   pl_span(printed->key, key.len));
	PL_ASSERT(other == NULL);
	return printed;
}

static bool grow_first(struct row_watch *row_watch)
{
	size_t cap = row_watch->first_cap == 0 ? 64 : row_watch->first_cap * 2;
	struct output_row *rows = NULL;
	struct printed_row **of_rows = NULL;

	if (row_watch->first_count < row_watch->first_cap)
		return true;
	if (row_watch->first_cap < ROWS_MAX)
		rows = pl_realloc(row_watch->first, cap * sizeof *row_watch->first);
	if (rows != NULL) {
		row_watch->first = rows;
		of_rows = pl_realloc(row_watch->first_of,
		                     cap * sizeof(struct printed_row *));
	}
	if (of_rows == NULL) {
		row_watch_fail(row_watch, PL_NOMEM, "keep the rows");
		return false;
	}
	row_watch->first_of = of_rows;
	row_watch->first_cap = cap;
	return true;
}

/* The first picture shows the last state of each row. */
static void put_first(struct row_watch *row_watch, struct printed_row *printed,
                      const struct output_row *row)
{
	if (printed->row == 0) {
		if (!grow_first(row_watch))
			return;
		row_watch->first_of[row_watch->first_count++] = printed;
		printed->row = row_watch->first_count;
	}
	row_watch->first[printed->row - 1] = *row;
}

static void drop_first(struct row_watch *row_watch, struct printed_row *printed)
{
	size_t at = printed->row - 1, last = row_watch->first_count - 1;

	if (printed->row == 0)
		return;
	row_watch->first[at] = row_watch->first[last];
	row_watch->first_of[at] = row_watch->first_of[last];
	row_watch->first_of[at]->row = printed->row;
	row_watch->first_count--;
}

static void print_row(struct row_watch *row_watch, struct printed_row *printed,
                      const struct output_row *row, enum output_change change)
{
	if (row_watch->whole)
		(void)!output_change(&row_watch->output, row, change, &row_watch->out,
		                     &row_watch->err);
	else
		put_first(row_watch, printed, row);
}

void row_watch_begin(struct row_watch *row_watch)
{
	row_watch->gathering = true;
	row_watch->round++;
}

void row_watch_put(struct row_watch *row_watch, struct pl_span key,
                   const struct output_row *row)
{
	struct pl_map_node *node = pl_map_get(&row_watch->printed, key);
	struct printed_row *printed = node == NULL ? NULL : row_of_node(node);
	uint64_t hash = 0;

	if (row_watch->err.code != PL_OK || !row_hash(row_watch, row, &hash))
		return;
	if (printed == NULL) {
		printed = keep_row(row_watch, key);
		if (printed == NULL)
			return;
		print_row(row_watch, printed, row, OUTPUT_ADDED);
	} else if (printed->hash != hash) {
		print_row(row_watch, printed, row, OUTPUT_MODIFIED);
	}
	printed->hash = hash;
	printed->round = row_watch->round;
	if (!row_watch->gathering)
		flush_rows(row_watch);
}

static void print_gone(struct row_watch *row_watch, struct printed_row *printed)
{
	struct output_row row = {0};

	output_row_name(row_watch->output.schema, &row, printed->node.key);
	output_text(&row, row_watch->state_column, PL_SPAN_LIT("gone"));
	if (row_watch->whole)
		print_row(row_watch, printed, &row, OUTPUT_DELETED);
	else
		drop_first(row_watch, printed);
	pl_map_del(&row_watch->printed, &printed->node);
	free(printed);
}

void row_watch_gone(struct row_watch *row_watch, struct pl_span key)
{
	struct pl_map_node *node = pl_map_get(&row_watch->printed, key);

	if (row_watch->err.code != PL_OK)
		return;
	if (node != NULL)
		print_gone(row_watch, row_of_node(node));
	flush_rows(row_watch);
}

bool row_watch_has(const struct row_watch *row_watch, struct pl_span first,
                   struct pl_span second)
{
	char key[KEY_SIZE];
	int len = snprintf(key, sizeof key, PL_SPAN_FMT "/" PL_SPAN_FMT,
	                   PL_SPAN_ARG(first), PL_SPAN_ARG(second));

	return len > 0 && (size_t)len < sizeof key &&
	       pl_map_get(&row_watch->printed, pl_span(key, (size_t)len)) != NULL;
}

void row_watch_end(struct row_watch *row_watch)
{
	row_watch->gathering = false;
	if (row_watch->err.code == PL_OK && !row_watch->whole)
		(void)!output_list(&row_watch->output, row_watch->first,
		                   row_watch->first_count, &row_watch->out,
		                   &row_watch->err);
	row_watch->whole = true;
	PL_MAP_EACH (node, &row_watch->printed) {
		if (row_of_node(node)->round != row_watch->round &&
		    row_watch->err.code == PL_OK)
			print_gone(row_watch, row_of_node(node));
	}
	flush_rows(row_watch);
}
