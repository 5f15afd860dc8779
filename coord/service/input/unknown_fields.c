#include "coord/service/input/unknown_fields.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "shardsched/model/object.h"

enum { NAME_MAX_LEN = 64, FAR = 3 }; /* so many letters apart is another word */

struct fields_walk {
	unknown_field_fn *fn;
	void *ctx;
	char path[UNKNOWN_FIELD_PATH_SIZE];
	size_t len; /* of it */
};

const struct known_fields_field *known_fields_find(const struct known_fields_shape *shape,
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

static unsigned min_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static unsigned letters_differ(uint8_t a, uint8_t b)
{
	return tolower(a) != tolower(b);
}

/* Letters to be put in, taken out, changed, or swapped with the next one. */
static unsigned edit_distance(struct pl_span a, struct pl_span b)
{
	unsigned row[3][NAME_MAX_LEN + 1];

	for (unsigned j = 0; j <= b.len; j++)
		row[0][j] = j;
	for (unsigned i = 1; i <= a.len; i++) {
		unsigned *now = row[i % 3], *last = row[(i + 2) % 3];
		const unsigned *before = row[(i + 1) % 3];

		now[0] = i;
		for (unsigned j = 1; j <= b.len; j++) {
			now[j] = min_of(min_of(last[j], now[j - 1]) + 1,
			                last[j - 1] +
			                        letters_differ(a.at[i - 1], b.at[j - 1]));
			if (i > 1 && j > 1 && !letters_differ(a.at[i - 1], b.at[j - 2]) &&
			    !letters_differ(a.at[i - 2], b.at[j - 1]))
				now[j] = min_of(now[j], before[j - 2] + 1);
		}
	}
	return row[a.len % 3][b.len];
}

static const char *nearest_field(const struct known_fields_shape *shape,
                                 struct pl_span name)
{
	const char *found = NULL;
	unsigned best = FAR;

	if (shape->instead != NULL || name.len == 0 || name.len > NAME_MAX_LEN)
		return shape->instead;
	for (uint32_t i = 0; i < shape->count; i++) {
		struct pl_span is = pl_span_str(shape->field[i].name);
		unsigned far = edit_distance(is, name);

		if (far < best && is.len > 2 * (size_t)far) {
			best = far;
			found = shape->field[i].name;
		}
	}
	return found;
}

/* -- the walk --------------------------------------------------------------------- */

/* Back to a length that it had. */
static void cut_path(struct fields_walk *look, size_t len)
{
	look->len = len;
	look->path[len] = 0;
}

static void add_path(struct fields_walk *look, struct pl_span text)
{
	size_t room = sizeof look->path - 1 - look->len;
	size_t len = text.len < room ? text.len : room;

	memcpy(look->path + look->len, text.at, len);
	cut_path(look, look->len + len);
}

static void add_path_index(struct fields_walk *look, unsigned long index)
{
	char text[32];

	(void)snprintf(text, sizeof text, "[%lu]", index);
	add_path(look, pl_span_str(text));
}

static void check_object(struct fields_walk *look, const struct known_fields_shape *shape,
                         struct pl_span json);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the table */
static void check_items(struct fields_walk *look, const struct known_fields_shape *shape,
                        struct pl_span items)
{
	size_t len = look->len;

	for (unsigned long i = 0;; i++) {
		struct pl_span item = object_item(&items);

		if (item.len == 0)
			return;
		add_path_index(look, i);
		if (item.at[0] == '{')
			check_object(look, shape, item);
		cut_path(look, len);
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the table */
static void check_object(struct fields_walk *look, const struct known_fields_shape *shape,
                         struct pl_span json)
{
	struct pl_span quoted, value;
	size_t len = look->len;

	while (object_pair(&json, &quoted, &value)) {
		struct pl_span name = pl_span(quoted.at + 1, quoted.len - 2);
		const struct known_fields_field *field = known_fields_find(shape, name);

		if (field != NULL && field->of == NULL)
			continue;
		if (!pl_span_starts(name, pl_span_str(shape->prefix)))
			continue;
		if (len > 0)
			add_path(look, PL_SPAN_LIT("."));
		add_path(look, name);
		if (field == NULL)
			look->fn(look->ctx, look->path, nearest_field(shape, name));
		else if (value.at[0] == '{')
			check_object(look, field->of, value);
		else if (value.at[0] == '[')
			check_items(look, field->of, value);
		cut_path(look, len);
	}
}

void unknown_fields_find(enum expand_source source, struct pl_span json,
                         unknown_field_fn *fn, void *ctx)
{
	const struct known_fields_shape *shape = known_fields_of(source);
	struct fields_walk look = {.fn = fn, .ctx = ctx};

	if (shape != NULL)
		check_object(&look, shape, json);
}

void unknown_field_text(char out[UNKNOWN_FIELD_TEXT_SIZE], const char *path,
                        const char *like)
{
	const char *what =
		strstr(path, "metadata.annotations.") == NULL ? "field" : "annotation";

	if (like == NULL)
		(void)snprintf(out, UNKNOWN_FIELD_TEXT_SIZE, "%s: unknown %s", path,
		               what);
	else
		(void)snprintf(out, UNKNOWN_FIELD_TEXT_SIZE,
		               "%s: unknown %s; is %s meant?", path, what, like);
}
