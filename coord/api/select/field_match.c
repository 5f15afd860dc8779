#include "coord/api/reply/field_get.h"
#include "coord/api/select/field_selector.h"
#include "store/base/num.h"

bool field_selector_matches(const struct field_selector *selector, field_value_fn *value,
                            const void *ctx)
{
	for (uint32_t i = 0; i < selector->count; i++) {
		const struct field_term *term = &selector->terms[i];

		if (pl_span_eq(value(ctx, term->field), term->value) != term->equal)
			return false;
	}
	return true;
}

bool field_selector_wants(const struct field_selector *selector, const char *field,
                          struct pl_span *value)
{
	for (uint32_t i = 0; i < selector->count; i++) {
		if (!selector->terms[i].equal ||
		    strcmp(selector->terms[i].field, field) != 0)
			continue;
		*value = selector->terms[i].value;
		return true;
	}
	return false;
}

/* -- values in JSON ----------------------------------------------------------------------- */

/* Where a field stands in the object when that is not its name. */
static const struct {
	const char *field, *path;
	const char *absent; /* the value without it; NULL: looked for elsewhere */
} places[] = {
	{"spec.hostNetwork", "spec.hostNetwork", "false"},
	{"spec.unschedulable", "spec.unschedulable", "false"},
	{"status.replicas", "status.replicas", "0"},
	{"status.successful", "status.succeeded", "0"},
	{"status.podIPs", "", ""}, /* accepted, and always empty */
	{"source", "source.component", NULL},
};

static struct pl_span scalar_text(struct pl_json value, char scratch[PL_NUM_TEXT_SIZE])
{
	const struct pl_json_range any = {INT64_MIN, INT64_MAX};
	const char *text = "";
	bool flag = false;
	int64_t number = 0;

	if (pl_json_type(value) == PL_JSON_STRING &&
	    pl_json_as_string(value, &text, NULL) == PL_OK)
		return pl_span_str(text);
	if (pl_json_type(value) == PL_JSON_BOOL &&
	    pl_json_as_bool(value, &flag, NULL) == PL_OK)
		return pl_span_str(flag ? "true" : "false");
	if (pl_json_type(value) == PL_JSON_NUMBER &&
	    pl_json_as_int(value, any, &number, NULL) == PL_OK)
		return pl_span(scratch, pl_num_print_i64(scratch, number));
	return pl_span_str("");
}

struct pl_span field_value_json(struct pl_json object, const char *field,
                                char scratch[24])
{
	const char *path = field, *absent = "";
	struct pl_span value;

	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
		if (strcmp(places[i].field, field) == 0) {
			path = places[i].path;
			absent = places[i].absent;
		}
	value = path[0] == 0 ? pl_span_str("")
	                     : scalar_text(field_at(object, path), scratch);
	if (value.len > 0)
		return value;
	/* An event without a source has the controller that reported it. */
	if (absent == NULL)
		return scalar_text(pl_json_member(object, "reportingComponent"), scratch);
	return pl_span_str(absent);
}

struct json_object_ctx {
	struct pl_json object;
	char *scratch;
};

static struct pl_span value_of_json(const void *ctx, const char *field)
{
	const struct json_object_ctx *json = ctx;

	return field_value_json(json->object, field, json->scratch);
}

bool field_selector_matches_json(const struct field_selector *selector,
                                 struct pl_json object)
{
	char scratch[PL_NUM_TEXT_SIZE];
	struct json_object_ctx ctx = {object, scratch};

	return field_selector_matches(selector, value_of_json, &ctx);
}
