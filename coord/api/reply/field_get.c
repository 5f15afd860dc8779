#include "coord/api/reply/field_get.h"

#include <string.h>

enum { NAME_SIZE = 64 };

struct pl_json field_at(struct pl_json object, const char *path)
{
	char name[NAME_SIZE];

	while (*path != 0 && object.node != NULL) {
		size_t len = strcspn(path, ".");

		PL_ASSERT(len < sizeof name);
		memcpy(name, path, len);
		name[len] = 0;
		object = pl_json_member(object, name);
		path += path[len] == '.' ? len + 1 : len;
	}
	return object;
}

const char *field_text_or(struct pl_json object, const char *path, const char *normal)
{
	struct pl_json field = field_at(object, path);
	const char *text = normal;

	if (pl_json_type(field) != PL_JSON_STRING ||
	    pl_json_as_string(field, &text, NULL) != PL_OK)
		return normal;
	return text;
}

const char *field_text(struct pl_json object, const char *path)
{
	return field_text_or(object, path, NULL);
}

int64_t field_int(struct pl_json object, const char *path, int64_t normal)
{
	const struct pl_json_range any = {INT64_MIN, INT64_MAX};
	struct pl_json field = field_at(object, path);
	int64_t value = normal;

	if (pl_json_type(field) != PL_JSON_NUMBER ||
	    pl_json_as_int(field, any, &value, NULL) != PL_OK)
		return normal;
	return value;
}

bool field_bool(struct pl_json object, const char *path, bool normal)
{
	struct pl_json field = field_at(object, path);
	bool value = normal;

	if (pl_json_type(field) != PL_JSON_BOOL ||
	    pl_json_as_bool(field, &value, NULL) != PL_OK)
		return normal;
	return value;
}

bool field_is_set(struct pl_json object, const char *path)
{
	enum pl_json_type type = pl_json_type(field_at(object, path));

	return type != PL_JSON_ABSENT && type != PL_JSON_NULL;
}
