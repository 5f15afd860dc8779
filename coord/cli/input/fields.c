#include "coord/cli/input/fields.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "shardsched/model/object.h"

enum { NAME_MAX_LEN = 64, FAR = 3 }; /* so many letters apart is another word */

struct look {
	fields_fn *fn;
	void *ctx;
	char path[FIELDS_PATH_SIZE];
	size_t len; /* of it */
};

const struct fields_field *fields_find(const struct fields_shape *shape,
                                       struct pl_span name)
{
	uint32_t low = 0, high = shape->count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		int cmp = pl_span_cmp(pl_span_str(shape->field[mid].name), name);

		if (cmp == 0)
			return &shape->field[mid];
		if (cmp < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* -- what may be meant -------------------------------------------------------------- */

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static unsigned is_other(uint8_t a, uint8_t b)
{
	return tolower(a) != tolower(b);
}

/* Letters to be put in, taken out, changed, or swapped with the next one. */
static unsigned distance(struct pl_span a, struct pl_span b)
{
	unsigned row[3][NAME_MAX_LEN + 1];

	for (unsigned j = 0; j <= b.len; j++)
		row[0][j] = j;
	for (unsigned i = 1; i <= a.len; i++) {
		unsigned *now = row[i % 3], *last = row[(i + 2) % 3];
		const unsigned *before = row[(i + 1) % 3];

		now[0] = i;
		for (unsigned j = 1; j <= b.len; j++) {
			now[j] = least(least(last[j], now[j - 1]) + 1,
			               last[j - 1] + is_other(a.at[i - 1], b.at[j - 1]));
			if (i > 1 && j > 1 && !is_other(a.at[i - 1], b.at[j - 2]) &&
			    !is_other(a.at[i - 2], b.at[j - 1]))
				now[j] = least(now[j], before[j - 2] + 1);
		}
	}
	return row[a.len % 3][b.len];
}

static const char *nearest(const struct fields_shape *shape, struct pl_span name)
{
	const char *found = NULL;
	unsigned best = FAR;

	if (shape->instead != NULL || name.len == 0 || name.len > NAME_MAX_LEN)
		return shape->instead;
	for (uint32_t i = 0; i < shape->count; i++) {
		struct pl_span is = pl_span_str(shape->field[i].name);
		unsigned far = distance(is, name);

		if (far < best && is.len > 2 * (size_t)far) {
			best = far;
			found = shape->field[i].name;
		}
	}
	return found;
}

/* -- the walk --------------------------------------------------------------------- */

/* Back to a length that it had. */
static void cut(struct look *look, size_t len)
{
	look->len = len;
	look->path[len] = 0;
}

static void add(struct look *look, struct pl_span text)
{
	size_t room = sizeof look->path - 1 - look->len;
	size_t len = text.len < room ? text.len : room;

	memcpy(look->path + look->len, text.at, len);
	cut(look, look->len + len);
}

static void add_index(struct look *look, unsigned long index)
{
	char text[32];

	(void)snprintf(text, sizeof text, "[%lu]", index);
	add(look, pl_span_str(text));
}

static void look_at(struct look *look, const struct fields_shape *shape,
                    struct pl_span json);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the table */
static void look_at_items(struct look *look, const struct fields_shape *shape,
                          struct pl_span items)
{
	size_t len = look->len;

	for (unsigned long i = 0;; i++) {
		struct pl_span item = object_item(&items);

		if (item.len == 0)
			return;
		add_index(look, i);
		if (item.at[0] == '{')
			look_at(look, shape, item);
		cut(look, len);
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the table */
static void look_at(struct look *look, const struct fields_shape *shape,
                    struct pl_span json)
{
	struct pl_span quoted, value;
	size_t len = look->len;

	while (object_pair(&json, &quoted, &value)) {
		struct pl_span name = pl_span(quoted.at + 1, quoted.len - 2);
		const struct fields_field *field = fields_find(shape, name);

		if (field != NULL && field->of == NULL)
			continue;
		if (!pl_span_starts(name, pl_span_str(shape->prefix)))
			continue;
		if (len > 0)
			add(look, PL_SPAN_LIT("."));
		add(look, name);
		if (field == NULL)
			look->fn(look->ctx, look->path, nearest(shape, name));
		else if (value.at[0] == '{')
			look_at(look, field->of, value);
		else if (value.at[0] == '[')
			look_at_items(look, field->of, value);
		cut(look, len);
	}
}

void fields_look(enum expand_source source, struct pl_span json, fields_fn *fn, void *ctx)
{
	const struct fields_shape *shape = fields_of(source);
	struct look look = {.fn = fn, .ctx = ctx};

	if (shape != NULL)
		look_at(&look, shape, json);
}

void fields_say(char out[FIELDS_SAY_SIZE], const char *path, const char *like)
{
	const char *what =
		strstr(path, "metadata.annotations.") == NULL ? "field" : "annotation";

	if (like == NULL)
		(void)snprintf(out, FIELDS_SAY_SIZE, "%s: unknown %s", path, what);
	else
		(void)snprintf(out, FIELDS_SAY_SIZE, "%s: unknown %s; is %s meant?", path,
		               what, like);
}
