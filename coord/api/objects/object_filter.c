#include "coord/api/objects/object_filter.h"

#include "shardsched/model/object.h"

enum { LABELS_MAX = 128 };

struct field_source {
	const struct object *object;
	char *scratch;
};

static struct pl_span value_of(const void *ctx, const char *field)
{
	const struct field_source *source = ctx;
	struct pl_span value =
		object_field(source->object, pl_span_str(field), source->scratch);

	return value;
}

static struct pl_span unquoted(struct pl_span json)
{
	return json.len >= 2 && json.at[0] == '"' ? pl_span(json.at + 1, json.len - 2)
	                                          : (struct pl_span){0};
}

/* Labels by key. Neither keys nor values of labels have characters that JSON escapes. More
 * labels than an object can have in earnest are not looked at. */
static uint32_t sorted_labels(struct pl_span json, struct label_pair out[LABELS_MAX])
{
	struct pl_span name, value;
	uint32_t count = 0;

	while (json.len > 0 && count < LABELS_MAX && object_pair(&json, &name, &value)) {
		struct label_pair pair = {unquoted(name), unquoted(value)};
		uint32_t at = count++;

		for (; at > 0 && pl_span_cmp(pair.key, out[at - 1].key) < 0; at--)
			out[at] = out[at - 1];
		out[at] = pair;
	}
	return count;
}

bool object_filter_matches(const struct object_filter *filter,
                           const struct object *object)
{
	if (object->part[OBJECT_MAIN] == NULL)
		return false;
	if (filter->labels.count > 0) {
		struct label_pair pairs[LABELS_MAX];
		struct label_pairs labels = {.at = pairs};

		labels.count = sorted_labels(object_labels(object), pairs);
		if (!label_selector_matches(&filter->labels, &labels))
			return false;
	}
	if (filter->fields.count > 0) {
		char scratch[MEMBER_NAME_SIZE];
		struct field_source source = {object, scratch};

		return field_selector_matches(&filter->fields, value_of, &source);
	}
	return true;
}
