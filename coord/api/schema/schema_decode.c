/* Decoding: a tree is made to fit its type, in place. */
#include <stdio.h>
#include <string.h>

#include "coord/api/base/go_quote.h"
#include "coord/api/schema/schema_check.h"
#include "coord/api/schema/schema_time.h"
#include "store/base/quantity.h"

struct object_decoder {
	struct json_tree *tree;
	struct schema_report *report;
	const struct schema_type *type; /* of the innermost object */
};

/* A value that is looked at, and the array or object that has it. */
struct decode_slot {
	struct cJSON *parent;
	struct pl_json value;
	const struct schema_place *place;
};

static const double whole_max = 9007199254740991.0; /* 2^53 - 1 */

bool schema_strictness_of(struct pl_span word, enum schema_strictness *out)
{
	static const char *const words[] = {[SCHEMA_IGNORE] = "Ignore",
	                                    [SCHEMA_WARN] = "Warn",
	                                    [SCHEMA_STRICT] = "Strict"};

	for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
		if (pl_span_eq(word, pl_span_str(words[i]))) {
			*out = (enum schema_strictness)i;
			return true;
		}
	if (word.len == 0)
		*out = SCHEMA_WARN;
	return word.len == 0;
}

/* -- messages ------------------------------------------------------------------------ */

/* The value's type in Go's words. */
static const char *go_value(struct pl_json value)
{
	switch (pl_json_type(value)) {
	case PL_JSON_ABSENT:
	case PL_JSON_NULL:
		return "null";
	case PL_JSON_BOOL:
		return "bool";
	case PL_JSON_NUMBER:
		return "number";
	case PL_JSON_STRING:
		return "string";
	case PL_JSON_ARRAY:
		return "array";
	case PL_JSON_OBJECT:
		return "object";
	}
	PL_UNREACHABLE("JSON type");
}

static const char *last_word(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot == NULL ? name : dot + 1;
}

/* The type of one value of the field in Go's words. */
static const char *go_kind(const struct schema_field *field)
{
	switch ((enum schema_kind)field->kind) {
	case SCHEMA_INT32:
		return "int32";
	case SCHEMA_INT64:
		return "int64";
	case SCHEMA_BOOL:
		return "bool";
	case SCHEMA_DOUBLE:
		return "float64";
	case SCHEMA_BYTES:
		return "uint8";
	case SCHEMA_STRING:
		return "string";
	case SCHEMA_OBJECT:
		return last_word(field->type->name);
	case SCHEMA_QUANTITY:
		return "resource.Quantity";
	case SCHEMA_INT_OR_STRING:
		return "intstr.IntOrString";
	case SCHEMA_TIME:
		return "v1.Time";
	case SCHEMA_MICRO_TIME:
		return "v1.MicroTime";
	case SCHEMA_ANY:
		return "v1.FieldsV1";
	}
	PL_UNREACHABLE("what a field holds");
}

static void wrong(const struct object_decoder *d, const char *text)
{
	schema_report_wrong(d->report, text);
}

static const char *value_word(const struct object_decoder *d, struct pl_json value)
{
	double number;

	if (pl_json_type(value) != PL_JSON_NUMBER ||
	    pl_json_as_double(value, &number, NULL) != PL_OK)
		return go_value(value);
	return pl_arena_printf(d->tree->arena, "number %.17g", number);
}

/* "json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type
 * int32". value: what Go calls the value. */
static void wrong_type(const struct object_decoder *d, const struct schema_place *place,
                       const char *value, const char *before, const char *of)
{
	struct pl_arena *arena = d->tree->arena;
	const char *names;

	if (d->report->wrong.len > 0)
		return;
	names = schema_place_names(arena, place);
	if (names == NULL || value == NULL)
		wrong(d, NULL);
	else if (*names == '\0')
		wrong(d, pl_arena_printf(
				 arena,
				 "json: cannot unmarshal %s into Go value of type %s%s",
				 value, before, of));
	else
		wrong(d, pl_arena_printf(arena,
		                         "json: cannot unmarshal %s into Go struct field "
		                         "%s.%s of type %s%s",
		                         value, last_word(d->type->name), names, before,
		                         of));
}

static void wrong_value(const struct object_decoder *d, const struct decode_slot *slot,
                        const struct schema_field *field)
{
	wrong_type(d, slot->place, go_value(slot->value),
	           field->kind == SCHEMA_OBJECT ? "v1." : "", go_kind(field));
}

/* -- values -------------------------------------------------------------------------- */

static void put(const struct object_decoder *d, const struct decode_slot *slot,
                struct cJSON *node)
{
	if (node == NULL)
		d->report->code = PL_NOMEM;
	else
		json_replace(slot->parent, json_tree_node(d->tree, slot->value), node);
}

static bool is_whole(double number, double low, double high)
{
	/* The bounds are within those of int64_t. */
	return number >= low && number <= high && number == (double)(int64_t)number;
}

static void decode_int(const struct object_decoder *d, const struct decode_slot *slot,
                       const struct schema_field *field)
{
	double number, low = -whole_max, high = whole_max;

	if (field->kind == SCHEMA_INT32) {
		low = INT32_MIN;
		high = INT32_MAX;
	}
	if (pl_json_type(slot->value) != PL_JSON_NUMBER)
		wrong_value(d, slot, field);
	else if (pl_json_as_double(slot->value, &number, NULL) != PL_OK ||
	         !is_whole(number, low, high))
		wrong_type(d, slot->place, value_word(d, slot->value), "",
		           go_kind(field));
}

static void decode_scalar(const struct object_decoder *d, const struct decode_slot *slot,
                          const struct schema_field *field, enum pl_json_type want)
{
	if (pl_json_type(slot->value) != want)
		wrong_value(d, slot, field);
}

static const char *quantity_fault(enum pl_code code)
{
	return code == PL_LIMIT ? "unable to parse quantity's suffix"
	                        : "quantities must match the regular expression "
	                          "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
}

static void decode_quantity(const struct object_decoder *d,
                            const struct decode_slot *slot)
{
	char number[PL_QUANTITY_TEXT_SIZE], printed[PL_QUANTITY_TEXT_SIZE];
	struct pl_quantity quantity;
	const char *text = number;
	enum pl_code code = PL_OK;
	double value;

	if (pl_json_as_double(slot->value, &value, NULL) == PL_OK)
		snprintf(number, sizeof number, "%.15g", value);
	else
		code = pl_json_as_string(slot->value, &text, NULL);
	if (code == PL_OK)
		code = pl_quantity_parse(pl_span_str(text), &quantity, NULL);
	if (code != PL_OK) {
		wrong(d, quantity_fault(code));
		return;
	}
	pl_quantity_print(quantity, printed);
	if (text == number || strcmp(text, printed) != 0)
		put(d, slot, json_new_str(d->tree->arena, printed));
}

static void decode_int_or_string(const struct object_decoder *d,
                                 const struct decode_slot *slot)
{
	double number;

	if (pl_json_type(slot->value) == PL_JSON_STRING)
		return;
	if (pl_json_type(slot->value) != PL_JSON_NUMBER)
		wrong(d, pl_arena_printf(
				 d->tree->arena,
				 "json: cannot unmarshal %s into Go value of type int32",
				 go_value(slot->value)));
	else if (pl_json_as_double(slot->value, &number, NULL) != PL_OK ||
	         !is_whole(number, INT32_MIN, INT32_MAX))
		wrong(d, pl_arena_printf(
				 d->tree->arena,
				 "json: cannot unmarshal %s into Go value of type int32",
				 value_word(d, slot->value)));
}

static const char *time_fault(const struct object_decoder *d, const char *text,
                              bool micro)
{
	const char *quoted = go_quote(d->tree->arena, pl_span_str(text));

	if (quoted == NULL)
		return NULL;
	return pl_arena_printf(
		d->tree->arena,
		"parsing time %s as \"2006-01-02T15:04:05%sZ07:00\": cannot "
		"parse %s as \"2006\"",
		quoted, micro ? ".000000" : "", quoted);
}

static void decode_time(const struct object_decoder *d, const struct decode_slot *slot,
                        bool micro)
{
	char printed[SCHEMA_TIME_SIZE];
	struct schema_time time;
	const char *text;

	if (pl_json_as_string(slot->value, &text, NULL) != PL_OK)
		wrong(d, pl_arena_printf(
				 d->tree->arena,
				 "json: cannot unmarshal %s into Go value of type string",
				 go_value(slot->value)));
	else if (!schema_time_parse(pl_span_str(text), &time) ||
	         !schema_time_print(time, micro, printed))
		wrong(d, time_fault(d, text, micro));
	else if (strcmp(text, printed) != 0)
		put(d, slot, json_new_str(d->tree->arena, printed));
}

static bool is_base64(const char *text, size_t *at)
{
	size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	                          "0123456789+/");
	size_t ends = strspn(text + len, "=");

	*at = len;
	return text[len + ends] == '\0' && ends <= 2 && (len + ends) % 4 == 0;
}

static void decode_bytes(const struct object_decoder *d, const struct decode_slot *slot,
                         const struct schema_field *field)
{
	const char *text;
	size_t at;

	if (pl_json_as_string(slot->value, &text, NULL) != PL_OK)
		wrong_value(d, slot, field);
	else if (!is_base64(text, &at))
		wrong(d, pl_arena_printf(d->tree->arena,
		                         "illegal base64 data at input byte %zu", at));
}

static void decode_object(struct object_decoder *d, const struct decode_slot *slot,
                          const struct schema_type *type);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void decode_value(struct object_decoder *d, const struct decode_slot *slot,
                         const struct schema_field *field)
{
	switch ((enum schema_kind)field->kind) {
	case SCHEMA_OBJECT:
		decode_object(d, slot, field->type);
		break;
	case SCHEMA_STRING:
		decode_scalar(d, slot, field, PL_JSON_STRING);
		break;
	case SCHEMA_INT32:
	case SCHEMA_INT64:
		decode_int(d, slot, field);
		break;
	case SCHEMA_BOOL:
		decode_scalar(d, slot, field, PL_JSON_BOOL);
		break;
	case SCHEMA_DOUBLE:
		decode_scalar(d, slot, field, PL_JSON_NUMBER);
		break;
	case SCHEMA_QUANTITY:
		decode_quantity(d, slot);
		break;
	case SCHEMA_INT_OR_STRING:
		decode_int_or_string(d, slot);
		break;
	case SCHEMA_TIME:
	case SCHEMA_MICRO_TIME:
		decode_time(d, slot, field->kind == SCHEMA_MICRO_TIME);
		break;
	case SCHEMA_BYTES:
		decode_bytes(d, slot, field);
		break;
	case SCHEMA_ANY:
		break;
	}
}

/* -- objects, lists, maps -------------------------------------------------------------- */

/* A null among the elements of a list or map stands for the empty value. */
static struct cJSON *empty_of(const struct object_decoder *d,
                              const struct schema_field *field)
{
	if (field->kind == SCHEMA_OBJECT)
		return json_new_object(d->tree->arena);
	if (field->kind == SCHEMA_STRING)
		return json_new_str(d->tree->arena, "");
	return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void decode_element(struct object_decoder *d, struct decode_slot *slot,
                           const struct schema_field *field)
{
	struct cJSON *empty;

	if (field->kind == SCHEMA_ANY)
		return;
	if (pl_json_type(slot->value) != PL_JSON_NULL) {
		decode_value(d, slot, field);
		return;
	}
	empty = empty_of(d, field);
	if (empty == NULL && field->kind != SCHEMA_OBJECT && field->kind != SCHEMA_STRING)
		wrong_value(d, slot, field);
	else
		put(d, slot, empty);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void decode_list(struct object_decoder *d, const struct decode_slot *slot,
                        const struct schema_field *field)
{
	struct schema_place place = {.up = slot->place};
	struct pl_json next;

	if (pl_json_type(slot->value) != PL_JSON_ARRAY) {
		wrong_type(d, slot->place, go_value(slot->value),
		           field->kind == SCHEMA_OBJECT ? "[]v1." : "[]", go_kind(field));
		return;
	}
	for (struct pl_json item = pl_json_first(slot->value); item.node != NULL;
	     item = next) {
		struct decode_slot element = {json_tree_node(d->tree, slot->value), item,
		                              &place};

		next = pl_json_next(item);
		decode_element(d, &element, field);
		place.index++;
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void decode_map(struct object_decoder *d, const struct decode_slot *slot,
                       const struct schema_field *field)
{
	struct schema_place place = {.up = slot->place, .in_map = true};
	struct pl_json next;

	if (pl_json_type(slot->value) != PL_JSON_OBJECT) {
		wrong_type(d, slot->place, go_value(slot->value), "map[string]",
		           go_kind(field));
		return;
	}
	for (struct pl_json item = pl_json_first(slot->value); item.node != NULL;
	     item = next) {
		struct decode_slot element = {json_tree_node(d->tree, slot->value), item,
		                              &place};

		next = pl_json_next(item);
		place.name = pl_json_key(item);
		decode_element(d, &element, field);
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void decode_field(struct object_decoder *d, const struct decode_slot *slot,
                         const struct schema_field *field)
{
	switch ((enum schema_shape)field->shape) {
	case SCHEMA_ONE:
		decode_value(d, slot, field);
		break;
	case SCHEMA_LIST:
		decode_list(d, slot, field);
		break;
	case SCHEMA_MAP:
		decode_map(d, slot, field);
		break;
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void decode_member(struct object_decoder *d, const struct decode_slot *slot,
                          const struct schema_type *type)
{
	const struct schema_field *field =
		schema_field_find(type, pl_json_key(slot->value));

	if (field == NULL)
		schema_report_unknown(d->report, slot->place);
	if (field == NULL || pl_json_type(slot->value) == PL_JSON_NULL)
		json_detach(slot->parent, json_tree_node(d->tree, slot->value));
	else
		decode_field(d, slot, field);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void decode_object(struct object_decoder *d, const struct decode_slot *slot,
                          const struct schema_type *type)
{
	struct cJSON *object = json_tree_node(d->tree, slot->value);
	const struct schema_type *outer = d->type;
	struct pl_json next;

	if (pl_json_type(slot->value) != PL_JSON_OBJECT) {
		wrong_type(d, slot->place, go_value(slot->value), "v1.",
		           last_word(type->name));
		return;
	}
	d->type = type;
	for (struct pl_json item = pl_json_first(slot->value); item.node != NULL;
	     item = next) {
		struct schema_place place = {.up = slot->place,
		                             .name = pl_json_key(item)};
		struct decode_slot member = {object, item, &place};

		next = pl_json_next(item);
		decode_member(d, &member, type);
	}
	d->type = outer;
}

enum pl_code schema_decode(struct json_tree *tree, const struct schema_type *type,
                           struct schema_report *report)
{
	struct object_decoder decoder = {tree, report, type};
	struct schema_place place = {.up = NULL};
	struct decode_slot slot = {NULL, json_tree_root(tree), &place};

	decode_object(&decoder, &slot, type);
	if (report->code != PL_OK)
		return report->code;
	return report->wrong.len > 0 ? PL_INVALID : PL_OK;
}
