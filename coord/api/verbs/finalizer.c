#include "coord/api/verbs/finalizer.h"

#include "shardsched/model/object.h"

static struct pl_span stored_meta(const struct object *object)
{
	const struct cache_entry *entry = object->part[OBJECT_MAIN];

	return object_piece_text(entry, object_parts_of(entry)->metadata);
}

/* Stored text has no white space, and quotes in strings have a backslash before them, so
 * a member is found by its name. */
static const uint8_t *find_member(struct pl_span meta, const char *name, size_t len)
{
	const uint8_t *at = meta.len == 0 ? NULL : memmem(meta.at, meta.len, name, len);

	return at != NULL && at + len < meta.at + meta.len ? at + len : NULL;
}

bool finalizers_hold(const struct object *object)
{
	static const char name[] = "\"finalizers\":[";
	const uint8_t *at = find_member(stored_meta(object), name, sizeof name - 1);

	return at != NULL && *at != ']';
}

bool deletion_is_marked(const struct object *object)
{
	static const char name[] = "\"deletionTimestamp\":\"";

	return find_member(stored_meta(object), name, sizeof name - 1) != NULL;
}

struct pl_span deletion_mark(struct pl_arena *arena, const struct cache_entry *entry,
                             const char *time)
{
	struct object_piece meta = object_parts_of(entry)->metadata;
	struct pl_span value = entry->value;
	size_t head = (size_t)meta.at + 1; /* behind the brace */
	char *text;

	PL_ASSERT(meta.len > 2); /* an object has a name */
	text = pl_arena_printf(arena,
	                       PL_SPAN_FMT
	                       "\"deletionTimestamp\":\"%s\","
	                       "\"deletionGracePeriodSeconds\":0," PL_SPAN_FMT,
	                       PL_SPAN_ARG(pl_span(value.at, head)), time,
	                       PL_SPAN_ARG(pl_span(value.at + head, value.len - head)));
	return text == NULL ? (struct pl_span){0} : pl_span_str(text);
}

struct pl_span deletion_mark_budget(struct pl_arena *arena,
                                    const struct cache_entry *entry, const char *time)
{
	struct pl_span record = deletion_mark(arena, entry, time);

	return record.at == NULL ? record : object_member(record, "budget");
}

void finalizers_await(struct change *change)
{
	struct request *request = change->request;
	const struct cache_entry *entry = change->current.part[OBJECT_MAIN];
	struct pl_json_limits limits = pl_json_limits_default;
	struct pl_err err = {0};
	char time[CHANGE_TIME_SIZE];
	struct pl_span text;

	if (deletion_is_marked(&change->current)) {
		answer_object(request, 200, &change->current);
		return;
	}
	limits.bytes = 16 << 20;
	time_now(change, time);
	text = change->source == SOURCE_BUDGETS
	               ? deletion_mark_budget(&request->arena, entry, time)
	               : deletion_mark(&request->arena, entry, time);
	if (text.at == NULL || json_tree_parse(&request->arena, text, &limits,
	                                       &change->wanted, &err) != PL_OK) {
		answer_no_memory(request);
		return;
	}
	change->kind = CHANGE_UPDATE;
	change->committed = NULL;
	change_commit(change);
}

bool finalizers_are_kept(enum source_kind source)
{
	return source == SOURCE_OBJECTS || source == SOURCE_NODES ||
	       source == SOURCE_BUDGETS;
}

bool finalizers_done(const struct change *change)
{
	const struct cJSON *meta = json_get(change->wanted.root, "metadata");
	struct pl_json list = {.node = meta == NULL ? NULL
	                                            : json_get(meta, "finalizers")};

	if (!finalizers_are_kept(change->source) || is_namespace(change->request) ||
	    meta_text(meta, "deletionTimestamp").len == 0)
		return false;
	return list.node == NULL || pl_json_type(list) != PL_JSON_ARRAY ||
	       pl_json_count(list) == 0;
}
