#include "coord/cli/out/live.h"

#include <stdlib.h>

#include "coord/cli/out/say.h"
#include "store/base/alloc.h"
#include "store/base/hash.h"

enum {
	OUT_MAX = 256 << 20,
	ROW_MAX = 4 << 20,
	ARENA_MAX = 256 << 20,
	ROWS_MAX = 1 << 16
};

struct printed {
	struct pl_map_node node;
	uint64_t hash;
	uint64_t round;
	size_t row; /* its place in the first picture, from 1 on; 0: none */
	uint8_t key[];
};

static struct printed *of(struct pl_map_node *node)
{
	return PL_CONTAINER_OF(node, struct printed, node);
}

void live_init(struct live *live, const struct output_schema *schema,
               enum output_format format, bool watch)
{
	*live = (struct live){.state_column = 1};
	output_init(&live->output, schema, format, watch);
	pl_buf_init(&live->out, OUT_MAX);
	pl_arena_init(&live->arena, 1 << 16, ARENA_MAX);
	pl_map_init(&live->printed);
}

void live_done(struct live *live)
{
	PL_MAP_EACH (node, &live->printed) {
		pl_map_del(&live->printed, node);
		free(of(node));
	}
	pl_map_done(&live->printed);
	pl_arena_done(&live->arena);
	pl_buf_done(&live->out);
	free(live->first);
	free(live->first_of);
}

void live_fail(struct live *live, enum pl_code code, const char *what)
{
	if (live->err.code == PL_OK)
		pl_err_set(&live->err, code, "%s", what);
}

static void flush(struct live *live)
{
	if (live->err.code == PL_OK)
		(void)!say_result(&live->out, &live->err);
	if (!live->gathering)
		pl_arena_reset(&live->arena);
}

static bool row_hash(struct live *live, const struct output_row *row, uint64_t *out)
{
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, ROW_MAX);
	code = output_look(&live->output, row, &buf);
	if (code == PL_OK)
		*out = pl_hash(pl_buf_span(&buf));
	else
		live_fail(live, code, "print a row");
	pl_buf_done(&buf);
	return code == PL_OK;
}

static struct printed *remember(struct live *live, struct pl_span key)
{
	struct printed *printed = pl_calloc(1, sizeof *printed + key.len);
	struct pl_map_node *other;

	if (printed == NULL) {
		live_fail(live, PL_NOMEM, "keep a row");
		return NULL;
	}
	memcpy(printed->key, key.at, key.len);
	other = pl_map_add(&live->printed, &printed->node,
	                   pl_span(printed->key, key.len));
	PL_ASSERT(other == NULL);
	return printed;
}

static bool first_grow(struct live *live)
{
	size_t cap = live->first_cap == 0 ? 64 : live->first_cap * 2;
	struct output_row *rows = NULL;
	struct printed **of_rows = NULL;

	if (live->first_count < live->first_cap)
		return true;
	if (live->first_cap < ROWS_MAX)
		rows = pl_realloc(live->first, cap * sizeof *live->first);
	if (rows != NULL) {
		live->first = rows;
		of_rows = pl_realloc(live->first_of, cap * sizeof(struct printed *));
	}
	if (of_rows == NULL) {
		live_fail(live, PL_NOMEM, "keep the rows");
		return false;
	}
	live->first_of = of_rows;
	live->first_cap = cap;
	return true;
}

/* The first picture shows each as it is in the end. */
static void first_put(struct live *live, struct printed *printed,
                      const struct output_row *row)
{
	if (printed->row == 0) {
		if (!first_grow(live))
			return;
		live->first_of[live->first_count++] = printed;
		printed->row = live->first_count;
	}
	live->first[printed->row - 1] = *row;
}

static void first_drop(struct live *live, struct printed *printed)
{
	size_t at = printed->row - 1, last = live->first_count - 1;

	if (printed->row == 0)
		return;
	live->first[at] = live->first[last];
	live->first_of[at] = live->first_of[last];
	live->first_of[at]->row = printed->row;
	live->first_count--;
}

static void print(struct live *live, struct printed *printed,
                  const struct output_row *row, enum output_change change)
{
	if (live->whole)
		(void)!output_change(&live->output, row, change, &live->out, &live->err);
	else
		first_put(live, printed, row);
}

void live_begin(struct live *live)
{
	live->gathering = true;
	live->round++;
}

void live_put(struct live *live, struct pl_span key, const struct output_row *row)
{
	struct pl_map_node *node = pl_map_get(&live->printed, key);
	struct printed *printed = node == NULL ? NULL : of(node);
	uint64_t hash = 0;

	if (live->err.code != PL_OK || !row_hash(live, row, &hash))
		return;
	if (printed == NULL) {
		printed = remember(live, key);
		if (printed == NULL)
			return;
		print(live, printed, row, OUTPUT_ADDED);
	} else if (printed->hash != hash) {
		print(live, printed, row, OUTPUT_MODIFIED);
	}
	printed->hash = hash;
	printed->round = live->round;
	if (!live->gathering)
		flush(live);
}

static void print_gone(struct live *live, struct printed *printed)
{
	struct output_row row = {0};

	output_row_name(live->output.schema, &row, printed->node.key);
	output_text(&row, live->state_column, PL_SPAN_LIT("gone"));
	if (live->whole)
		print(live, printed, &row, OUTPUT_DELETED);
	else
		first_drop(live, printed);
	pl_map_del(&live->printed, &printed->node);
	free(printed);
}

void live_gone(struct live *live, struct pl_span key)
{
	struct pl_map_node *node = pl_map_get(&live->printed, key);

	if (live->err.code != PL_OK)
		return;
	if (node != NULL)
		print_gone(live, of(node));
	flush(live);
}

void live_end(struct live *live)
{
	live->gathering = false;
	if (live->err.code == PL_OK && !live->whole)
		(void)!output_list(&live->output, live->first, live->first_count,
		                   &live->out, &live->err);
	live->whole = true;
	PL_MAP_EACH (node, &live->printed) {
		if (of(node)->round != live->round && live->err.code == PL_OK)
			print_gone(live, of(node));
	}
	flush(live);
}
