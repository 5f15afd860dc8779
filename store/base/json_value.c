#include <cjson/cJSON.h>
#include <inttypes.h>

#include "store/base/json_tree.h"
#include "store/base/num.h"

/* Beyond this number a double does not say any more which whole number was written. */
static const double exact_max = 9007199254740991.0; /* 2^53 - 1 */

enum pl_json_type pl_json_type(struct pl_json value)
{
	if (value.node == NULL)
		return PL_JSON_ABSENT;
	/* The other bits say who owns the value's memory. */
	switch (value.node->type & 0xff) {
	case cJSON_False:
	case cJSON_True:
		return PL_JSON_BOOL;
	case cJSON_Number:
		return PL_JSON_NUMBER;
	case cJSON_String:
		return PL_JSON_STRING;
	case cJSON_Array:
		return PL_JSON_ARRAY;
	case cJSON_Object:
		return PL_JSON_OBJECT;
	default:
		return PL_JSON_NULL;
	}
}

const char *pl_json_type_name(enum pl_json_type type)
{
	switch (type) {
	case PL_JSON_ABSENT:
		return "nothing";
	case PL_JSON_NULL:
		return "null";
	case PL_JSON_BOOL:
		return "a boolean";
	case PL_JSON_NUMBER:
		return "a number";
	case PL_JSON_STRING:
		return "a string";
	case PL_JSON_ARRAY:
		return "an array";
	case PL_JSON_OBJECT:
		return "an object";
	}
	PL_UNREACHABLE("JSON type");
}

static enum pl_code want_type(struct pl_json value, enum pl_json_type type,
                              struct pl_err *err)
{
	enum pl_json_type got = pl_json_type(value);

	if (got == type)
		return PL_OK;
	return pl_json_fail(value, PL_INVALID, err, "want %s, got %s",
	                    pl_json_type_name(type), pl_json_type_name(got));
}

static bool has_children(struct pl_json value)
{
	enum pl_json_type type = pl_json_type(value);

	return type == PL_JSON_ARRAY || type == PL_JSON_OBJECT;
}

struct pl_json pl_json_first(struct pl_json value)
{
	value.node = has_children(value) ? value.node->child : NULL;
	return value;
}

struct pl_json pl_json_next(struct pl_json value)
{
	if (value.node != NULL)
		value.node = value.node->next;
	return value;
}

size_t pl_json_count(struct pl_json value)
{
	size_t count = 0;

	PL_JSON_EACH (item, value)
		count++;
	return count;
}

const char *pl_json_key(struct pl_json value)
{
	return value.node == NULL || value.node->string == NULL ? "" : value.node->string;
}

struct pl_json pl_json_member(struct pl_json object, const char *name)
{
	struct pl_json item = {.node = NULL, .doc = object.doc};

	if (pl_json_type(object) != PL_JSON_OBJECT)
		return item;
	/* Most names differ in the first byte, which spares the call. */
	for (item.node = object.node->child; item.node != NULL;
	     item.node = item.node->next)
		if (item.node->string[0] == name[0] &&
		    strcmp(item.node->string, name) == 0)
			break;
	return item;
}

enum pl_code pl_json_as_string(struct pl_json value, const char **out, struct pl_err *err)
{
	enum pl_code code = want_type(value, PL_JSON_STRING, err);

	if (code == PL_OK)
		*out = value.node->valuestring;
	return code;
}

enum pl_code pl_json_as_bool(struct pl_json value, bool *out, struct pl_err *err)
{
	enum pl_code code = want_type(value, PL_JSON_BOOL, err);

	if (code == PL_OK)
		*out = cJSON_IsTrue(value.node);
	return code;
}

enum pl_code pl_json_as_double(struct pl_json value, double *out, struct pl_err *err)
{
	enum pl_code code = want_type(value, PL_JSON_NUMBER, err);

	if (code == PL_OK)
		*out = value.node->valuedouble;
	return code;
}

static enum pl_code int_from_string(struct pl_json value, int64_t *out,
                                    struct pl_err *err)
{
	struct pl_err why = {0};
	enum pl_code code = pl_num_i64(pl_span_str(value.node->valuestring), out, &why);

	return code == PL_OK ? code : pl_json_fail(value, PL_INVALID, err, "%s", why.msg);
}

static enum pl_code int_from_double(struct pl_json value, int64_t *out,
                                    struct pl_err *err)
{
	double number = value.node->valuedouble;

	if (number > exact_max || number < -exact_max)
		return pl_json_fail(value, PL_INVALID, err,
		                    "a whole number beyond 2^53 must be a string");
	if (number != (double)(int64_t)number)
		return pl_json_fail(value, PL_INVALID, err,
		                    "want a whole number, got a fraction");
	*out = (int64_t)number;
	return PL_OK;
}

enum pl_code pl_json_as_int(struct pl_json value, struct pl_json_range range,
                            int64_t *out, struct pl_err *err)
{
	enum pl_code code;
	int64_t number = 0;

	if (pl_json_type(value) == PL_JSON_STRING)
		code = int_from_string(value, &number, err);
	else if (pl_json_type(value) == PL_JSON_NUMBER)
		code = int_from_double(value, &number, err);
	else
		return pl_json_fail(value, PL_INVALID, err, "want a whole number, got %s",
		                    pl_json_type_name(pl_json_type(value)));
	if (code != PL_OK)
		return code;
	if (number < range.low || number > range.high)
		return pl_json_fail(value, PL_INVALID, err,
		                    "want %" PRId64 " to %" PRId64 ", got %" PRId64,
		                    range.low, range.high, number);
	*out = number;
	return PL_OK;
}

/* Finds a member, and treats null like an absent member, because Kubernetes writes null
 * for "nothing". */
static enum pl_code find_member(struct pl_json object, const char *name,
                                enum pl_json_need need, struct pl_json *out,
                                struct pl_err *err)
{
	enum pl_code code = want_type(object, PL_JSON_OBJECT, err);
	struct pl_json item;

	if (code != PL_OK)
		return code;
	item = pl_json_member(object, name);
	if (need == PL_JSON_REQUIRED && item.node == NULL)
		return pl_json_missing(object, name, err);
	if (need == PL_JSON_OPTIONAL && pl_json_type(item) == PL_JSON_NULL)
		item.node = NULL;
	*out = item;
	return PL_OK;
}

#define FIND_OR_RETURN(item)                                                        \
	do {                                                                        \
		enum pl_code code_ = find_member(object, name, need, &(item), err); \
		if (code_ != PL_OK || (item).node == NULL)                          \
			return code_;                                               \
	} while (0)

enum pl_code pl_json_string(struct pl_json object, const char *name,
                            enum pl_json_need need, const char **out, struct pl_err *err)
{
	struct pl_json item = {0};

	FIND_OR_RETURN(item);
	return pl_json_as_string(item, out, err);
}

enum pl_code pl_json_bool(struct pl_json object, const char *name, enum pl_json_need need,
                          bool *out, struct pl_err *err)
{
	struct pl_json item = {0};

	FIND_OR_RETURN(item);
	return pl_json_as_bool(item, out, err);
}

enum pl_code pl_json_int_in(struct pl_json object, const char *name,
                            enum pl_json_need need, struct pl_json_range range,
                            int64_t *out, struct pl_err *err)
{
	struct pl_json item = {0};

	FIND_OR_RETURN(item);
	return pl_json_as_int(item, range, out, err);
}

enum pl_code pl_json_int(struct pl_json object, const char *name, enum pl_json_need need,
                         int64_t *out, struct pl_err *err)
{
	struct pl_json_range any = {INT64_MIN, INT64_MAX};

	return pl_json_int_in(object, name, need, any, out, err);
}

enum pl_code pl_json_double(struct pl_json object, const char *name,
                            enum pl_json_need need, double *out, struct pl_err *err)
{
	struct pl_json item = {0};

	FIND_OR_RETURN(item);
	return pl_json_as_double(item, out, err);
}

static enum pl_code want_container(struct pl_json item, enum pl_json_type type,
                                   struct pl_json *out, struct pl_err *err)
{
	enum pl_code code = want_type(item, type, err);

	if (code == PL_OK)
		*out = item;
	return code;
}

enum pl_code pl_json_object(struct pl_json object, const char *name,
                            enum pl_json_need need, struct pl_json *out,
                            struct pl_err *err)
{
	struct pl_json item = {0};

	FIND_OR_RETURN(item);
	return want_container(item, PL_JSON_OBJECT, out, err);
}

enum pl_code pl_json_array(struct pl_json object, const char *name,
                           enum pl_json_need need, struct pl_json *out,
                           struct pl_err *err)
{
	struct pl_json item = {0};

	FIND_OR_RETURN(item);
	return want_container(item, PL_JSON_ARRAY, out, err);
}

static bool is_known(const char *const *known, const char *name)
{
	for (; *known != NULL; known++)
		if (strcmp(*known, name) == 0)
			return true;
	return false;
}

struct pl_json pl_json_unknown(struct pl_json object, const char *const *known,
                               struct pl_json after)
{
	struct pl_json item =
		after.node == NULL ? pl_json_first(object) : pl_json_next(after);

	while (item.node != NULL && is_known(known, pl_json_key(item)))
		item = pl_json_next(item);
	return item;
}

enum pl_code pl_json_only(struct pl_json object, const char *const *known,
                          struct pl_err *err)
{
	enum pl_code code = want_type(object, PL_JSON_OBJECT, err);
	struct pl_json item;

	if (code != PL_OK)
		return code;
	item = pl_json_unknown(object, known, (struct pl_json){0});
	if (item.node == NULL)
		return PL_OK;
	return pl_json_fail(item, PL_INVALID, err, "unknown field");
}
