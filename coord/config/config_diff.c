#include "coord/config/config_diff.h"

#include <stdlib.h>

#include "store/base/json_out.h"

/*
 * Each document becomes a list of its values, sorted by path; then the two lists are
 * merged. Containers are entries too, so that an empty container differs from a
 * missing one; a container with elements is never reported itself.
 */

struct diff_entry {
	const char *path;
	const char *element; /* the element as text if it is one of a set; else "" */
	struct pl_json value;
};

struct diff_list {
	struct pl_arena *arena;
	struct diff_entry *entry;
	size_t count;
	size_t room;
};

struct diff_level {
	struct pl_json next;
	const char *path;
	bool in_object;
	bool in_set;
	uint32_t index;
};

static bool is_container(struct pl_json value)
{
	enum pl_json_type type = pl_json_type(value);

	return type == PL_JSON_OBJECT || type == PL_JSON_ARRAY;
}

static bool is_set(struct pl_json value)
{
	PL_JSON_EACH (item, value) {
		if (is_container(item))
			return false;
	}
	return pl_json_type(value) == PL_JSON_ARRAY;
}

static bool is_plain(const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789_-"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return *name != 0 && strspn(name, plain) == strlen(name);
}

/* Prints a value as JSON, or a name as a JSON string. */
static const char *text_of(struct pl_arena *arena, struct pl_json value, const char *name)
{
	struct pl_json_out out;
	struct pl_span text = {0};
	struct pl_buf buf;

	pl_buf_init(&buf, SIZE_MAX / 2);
	pl_json_out_init(&out, &buf);
	if (name != NULL)
		pl_json_out_str(&out, name);
	else
		pl_json_out_value(&out, value);
	if (pl_json_out_done(&out) == PL_OK)
		text = pl_arena_dup(arena, pl_buf_span(&buf));
	pl_buf_done(&buf);
	return (const char *)text.at;
}

static const char *path_of(struct pl_arena *arena, const struct diff_level *level,
                           struct pl_json item)
{
	const char *name = pl_json_key(item);

	if (level->in_set)
		return level->path;
	if (!level->in_object)
		return pl_arena_printf(arena, "%s[%u]", level->path, level->index);
	if (!is_plain(name))
		name = text_of(arena, item, name);
	if (name == NULL)
		return NULL;
	return pl_arena_printf(arena, "%s.%s", level->path, name);
}

static enum pl_code list_add(struct diff_list *list, struct diff_entry entry)
{
	struct diff_entry *grown;
	size_t room = list->room == 0 ? 64 : 2 * list->room;

	if (entry.path == NULL || entry.element == NULL)
		return PL_NOMEM;
	if (list->count == list->room) {
		grown = pl_arena_alloc(list->arena, room * sizeof *grown);
		if (grown == NULL)
			return PL_NOMEM;
		if (list->count > 0)
			memcpy(grown, list->entry, list->count * sizeof *grown);
		list->entry = grown;
		list->room = room;
	}
	list->entry[list->count++] = entry;
	return PL_OK;
}

static struct diff_level level_of(struct pl_json container, const char *path)
{
	return (struct diff_level){.next = pl_json_first(container),
	                           .path = path,
	                           .in_object = pl_json_type(container) == PL_JSON_OBJECT,
	                           .in_set = is_set(container)};
}

static enum pl_code list_add_tree(struct diff_list *list, struct pl_json root)
{
	struct diff_level up[PL_JSON_DEPTH_MAX + 1];
	size_t depth = 0;
	enum pl_code code = list_add(
		list, (struct diff_entry){.path = "", .element = "", .value = root});

	up[depth++] = level_of(root, "");
	while (depth > 0 && code == PL_OK) {
		struct diff_level *level = &up[depth - 1];
		struct diff_entry entry = {.value = level->next, .element = ""};

		if (level->next.node == NULL) {
			depth--;
			continue;
		}
		entry.path = path_of(list->arena, level, entry.value);
		if (level->in_set)
			entry.element = text_of(list->arena, entry.value, NULL);
		code = list_add(list, entry);
		level->next = pl_json_next(level->next);
		level->index++;
		if (is_container(entry.value))
			up[depth++] = level_of(entry.value, entry.path);
	}
	return code;
}

static int entry_order(const struct diff_entry *a, const struct diff_entry *b)
{
	int by_path = strcmp(a->path, b->path);

	return by_path != 0 ? by_path : strcmp(a->element, b->element);
}

static int entry_cmp(const void *a, const void *b)
{
	return entry_order(a, b);
}

static bool scalar_same(struct pl_json a, struct pl_json b)
{
	const char *left = "", *right = "";
	double x = 0, y = 0;
	bool p = false, q = false;

	if (pl_json_as_string(a, &left, NULL) == PL_OK)
		return pl_json_as_string(b, &right, NULL) == PL_OK &&
		       strcmp(left, right) == 0;
	if (pl_json_as_double(a, &x, NULL) == PL_OK)
		return pl_json_as_double(b, &y, NULL) == PL_OK && !(x < y) && !(x > y);
	if (pl_json_as_bool(a, &p, NULL) == PL_OK)
		return pl_json_as_bool(b, &q, NULL) == PL_OK && p == q;
	return pl_json_type(a) == pl_json_type(b);
}

static bool holds_some(struct pl_json value)
{
	return is_container(value) && pl_json_first(value).node != NULL;
}

/* One of the two entries may be NULL. */
static enum pl_code report_change(const struct diff_entry *before,
                                  const struct diff_entry *after, config_change_fn *fn,
                                  void *ctx)
{
	struct config_change change = {.path = before != NULL ? before->path
	                                                      : after->path};
	bool both = before != NULL && after != NULL;

	if (both && is_container(before->value) &&
	    pl_json_type(before->value) == pl_json_type(after->value))
		return PL_OK;
	if (both && !is_container(before->value) &&
	    scalar_same(before->value, after->value))
		return PL_OK;
	if (before != NULL && !holds_some(before->value))
		change.before = before->value;
	if (after != NULL && !holds_some(after->value))
		change.after = after->value;
	if (change.before.node == NULL && change.after.node == NULL)
		return PL_OK;
	change.what = change.before.node == NULL  ? CONFIG_ADDED
	              : change.after.node == NULL ? CONFIG_REMOVED
	                                          : CONFIG_CHANGED;
	return fn(ctx, &change);
}

static enum pl_code merge_entries(const struct diff_list *before,
                                  const struct diff_list *after, config_change_fn *fn,
                                  void *ctx)
{
	size_t i = 0, j = 0;
	enum pl_code code = PL_OK;

	while (code == PL_OK && (i < before->count || j < after->count)) {
		const struct diff_entry *left =
			i < before->count ? &before->entry[i] : NULL;
		const struct diff_entry *right =
			j < after->count ? &after->entry[j] : NULL;
		int which = left == NULL    ? 1
		            : right == NULL ? -1
		                            : entry_order(left, right);

		i += which <= 0;
		j += which >= 0;
		code = report_change(which <= 0 ? left : NULL, which >= 0 ? right : NULL,
		                     fn, ctx);
	}
	return code;
}

enum pl_code config_diff(struct pl_json before, struct pl_json after,
                         config_change_fn *fn, void *ctx)
{
	struct pl_arena arena;
	struct diff_list old = {.arena = &arena}, new = {.arena = &arena};
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	code = list_add_tree(&old, before);
	if (code == PL_OK)
		code = list_add_tree(&new, after);
	if (code == PL_OK) {
		qsort(old.entry, old.count, sizeof *old.entry, entry_cmp);
		qsort(new.entry, new.count, sizeof *new.entry, entry_cmp);
		code = merge_entries(&old, &new, fn, ctx);
	}
	pl_arena_done(&arena);
	return code;
}

static enum pl_code on_change(void *ctx, const struct config_change *change)
{
	(void)change;
	*(bool *)ctx = false;
	return PL_CANCELED;
}

enum pl_code config_same(struct pl_json before, struct pl_json after, bool *out)
{
	bool same = true;
	enum pl_code code = config_diff(before, after, on_change, &same);

	if (code != PL_OK && code != PL_CANCELED)
		return code;
	*out = same;
	return PL_OK;
}

static enum pl_code add_line(struct pl_buf *out, char sign, const char *path,
                             struct pl_json value)
{
	struct pl_json_out json;
	enum pl_code code;

	if (value.node == NULL)
		return PL_OK;
	code = pl_buf_printf(out, "%c %s: ", sign, *path == 0 ? "." : path);
	if (code != PL_OK)
		return code;
	pl_json_out_init(&json, out);
	pl_json_out_value(&json, value);
	code = pl_json_out_done(&json);
	return code == PL_OK ? pl_buf_add_str(out, "\n") : code;
}

static enum pl_code on_line(void *ctx, const struct config_change *change)
{
	enum pl_code code = add_line(ctx, '-', change->path, change->before);

	return code == PL_OK ? add_line(ctx, '+', change->path, change->after) : code;
}

enum pl_code config_diff_text(struct pl_json before, struct pl_json after,
                              struct pl_buf *out, struct pl_err *err)
{
	enum pl_code code = config_diff(before, after, on_line, out);

	return code == PL_OK
	               ? code
	               : pl_err_set(err, code, "differences: %s", pl_code_name(code));
}
