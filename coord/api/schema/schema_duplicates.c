/*
 * Members that come twice in one object: readers of JSON differ about them, so the
 * reader of this program refuses them. Kubernetes takes the last one, and tells.
 *
 * The text is read once. Names of all objects share one table, with the number of their
 * object; text beyond that grammar is left to the reader, which refuses it.
 */
#include <string.h>

#include "coord/api/schema/schema_check.h"
#include "store/base/hash.h"

enum { DEPTH_MAX = PL_JSON_DEPTH_MAX, NAME_MAX = 256 };

/* A member that was seen: where its name is, and where the next one begins. */
struct seen_member {
	uint32_t object; /* 0: the row is free */
	uint32_t start, end;
	struct pl_span name;
};

struct level {
	bool object;
	uint32_t number; /* of the object */
	uint32_t index;  /* of an array's element */
	struct seen_member *member;
	struct pl_span name;
};

struct finder {
	struct pl_span text;
	struct schema_report *report;
	struct pl_hash_key key;
	struct seen_member *row;
	size_t mask;
	struct level level[DEPTH_MAX + 1];
	size_t depth, at;
	uint32_t objects;
	uint8_t *dropped; /* a mark a byte; NULL: nothing yet */
	bool failed;      /* no JSON */
};

static struct pl_span read_string(struct finder *f)
{
	size_t start = ++f->at;

	while (f->at < f->text.len && f->text.at[f->at] != '"')
		f->at += f->text.at[f->at] == '\\' ? 2 : 1;
	if (f->at >= f->text.len) {
		f->failed = true;
		return (struct pl_span){NULL, 0};
	}
	f->at++;
	return pl_span(f->text.at + start, f->at - 1 - start);
}

static bool skip_space(struct finder *f)
{
	while (f->at < f->text.len && strchr(" \t\r\n", f->text.at[f->at]) != NULL &&
	       f->text.at[f->at] != '\0')
		f->at++;
	return f->at < f->text.len;
}

static struct seen_member *find_row(struct finder *f, uint32_t object,
                                    struct pl_span name)
{
	size_t at = (size_t)pl_hash_keyed(name, f->key) ^ ((size_t)object * 0x9e3779b1U);

	for (;; at++) {
		struct seen_member *row = &f->row[at & f->mask];

		if (row->object == 0 ||
		    (row->object == object && pl_span_eq(row->name, name)))
			return row;
	}
}

/* Only so many are named, and long names are cut. */
static void report_twice(struct finder *f)
{
	struct schema_place place[DEPTH_MAX + 2] = {{.up = NULL}};
	const char *path;

	if (f->report->unknown_count == SCHEMA_UNKNOWN_MAX) {
		f->report->more_unknown++;
		return;
	}
	for (size_t i = 1; i <= f->depth; i++) {
		struct level *level = &f->level[i];
		struct pl_span name = level->name;

		if (name.len > NAME_MAX)
			name.len = NAME_MAX;
		place[i] =
			(struct schema_place){.up = &place[i - 1], .index = level->index};
		if (level->object)
			place[i].name =
				(const char *)pl_arena_dup(f->report->arena, name).at;
		if (level->object && place[i].name == NULL && name.len > 0) {
			f->report->code = PL_NOMEM;
			return;
		}
	}
	path = schema_place_path(f->report->arena, &place[f->depth]);
	schema_report_twice(f->report, path);
}

static void drop(struct finder *f, const struct seen_member *member)
{
	if (f->dropped == NULL)
		f->dropped = pl_arena_zalloc(f->report->arena, f->text.len, 1);
	if (f->dropped == NULL)
		f->report->code = PL_NOMEM;
	else
		memset(f->dropped + member->start, 1, member->end - member->start);
}

static void begin_member(struct finder *f)
{
	struct level *level = &f->level[f->depth];
	uint32_t start = (uint32_t)f->at;
	struct seen_member *row;

	level->name = read_string(f);
	if (f->failed)
		return;
	row = find_row(f, level->number, level->name);
	if (row->object != 0) {
		report_twice(f);
		drop(f, row);
	}
	*row = (struct seen_member){level->number, start, 0, level->name};
	level->member = row;
	if (!skip_space(f) || f->text.at[f->at++] != ':')
		f->failed = true;
}

static void enter(struct finder *f, bool object)
{
	if (f->depth == DEPTH_MAX) {
		f->failed = true;
		return;
	}
	f->level[++f->depth] = (struct level){.object = object};
	if (object)
		f->level[f->depth].number = ++f->objects;
	f->at++;
}

static void next_value(struct finder *f)
{
	struct level *level = &f->level[f->depth];

	f->at++;
	level->index++;
	if (level->object && level->member != NULL)
		level->member->end = (uint32_t)f->at;
}

/* Names are where an object has just begun, or after a comma in one. */
static bool is_name(const struct finder *f, uint8_t last)
{
	return f->depth > 0 && f->level[f->depth].object && (last == '{' || last == ',');
}

static void find(struct finder *f)
{
	uint8_t last = 0;

	while (!f->failed && f->report->code == PL_OK && skip_space(f)) {
		uint8_t byte = f->text.at[f->at];

		if (byte == '"' && is_name(f, last)) {
			begin_member(f);
		} else if (byte == '"') {
			read_string(f);
		} else if (byte == '{' || byte == '[') {
			enter(f, byte == '{');
		} else if (byte == '}' || byte == ']') {
			f->failed = f->depth == 0;
			f->depth -= f->depth > 0;
			f->at++;
		} else if (byte == ',') {
			next_value(f);
		} else {
			f->at++;
		}
		last = byte;
	}
}

/* A name has two quotes and a colon. */
static bool make_rows(struct finder *f)
{
	size_t quotes = 0, colons = 0, rows = 16, names;

	for (size_t i = 0; i < f->text.len; i++) {
		quotes += f->text.at[i] == '"';
		colons += f->text.at[i] == ':';
	}
	names = quotes / 2 < colons ? quotes / 2 : colons;
	while (rows < 2 * (names + 2))
		rows *= 2;
	f->mask = rows - 1;
	f->row = pl_arena_zalloc(f->report->arena, rows, sizeof *f->row);
	return f->row != NULL;
}

static struct pl_span copy_rest(struct finder *f)
{
	uint8_t *out = pl_arena_alloc(f->report->arena, f->text.len + 1);
	size_t len = 0;

	if (out == NULL)
		return (struct pl_span){NULL, 0};
	for (size_t i = 0; i < f->text.len; i++)
		if (f->dropped[i] == 0)
			out[len++] = f->text.at[i];
	return pl_span(out, len);
}

enum pl_code schema_drop_duplicates(struct pl_span text, struct schema_report *report,
                                    struct pl_span *out)
{
	struct finder finder = {
		.text = text, .report = report, .key = pl_hash_process_key()};

	*out = text;
	if (text.len >= UINT32_MAX)
		return PL_OK;
	if (!make_rows(&finder))
		return PL_NOMEM;
	find(&finder);
	if (report->code != PL_OK)
		return report->code;
	if (finder.dropped == NULL || finder.failed || finder.depth > 0)
		return PL_OK;
	*out = copy_rest(&finder);
	if (out->at == NULL) {
		*out = text;
		return PL_NOMEM;
	}
	return PL_OK;
}
