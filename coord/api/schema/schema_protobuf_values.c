#include "coord/api/schema/schema_protobuf_int.h"
#include "coord/api/schema/schema_time.h"
#include "store/base/quantity.h"
#include "store/base/utf8.h"

static const int64_t whole_max = INT64_C(9007199254740991); /* 2^53 - 1 */

void protobuf_fail(struct protobuf_decoder *d, enum pl_code code,
                   const struct schema_place *place, const char *why)
{
	const char *path = place == NULL ? "" : schema_place_path(d->arena, place);

	if (d->code != PL_OK)
		return;
	d->code = code;
	if (path == NULL || *path == '\0')
		path = "object";
	(void)pl_err_set(d->err, code, "%s: %s", path, why);
}

struct cJSON *protobuf_count(struct protobuf_decoder *d, const struct schema_place *place,
                             struct cJSON *node)
{
	if (node == NULL)
		protobuf_fail(d, PL_NOMEM, place, "no memory");
	else if (++d->values > d->limits->values)
		protobuf_fail(d, PL_LIMIT, place, "too many values");
	return d->code == PL_OK ? node : NULL;
}

/* -- scalars ------------------------------------------------------------------------------- */

bool protobuf_is_text(struct pl_span span)
{
	size_t at = 0, take;

	while (at < span.len) {
		take = span.at[at] == 0 ? 0 : pl_utf8_char(span.at + at, span.len - at);
		if (take == 0)
			return false;
		at += take;
	}
	return true;
}

struct cJSON *protobuf_text(struct protobuf_decoder *d, const struct schema_place *place,
                            struct pl_span bytes)
{
	if (!protobuf_is_text(bytes)) {
		protobuf_fail(d, PL_INVALID, place, "want text in UTF-8");
		return NULL;
	}
	return protobuf_count(d, place, json_new_string(d->arena, bytes));
}

struct cJSON *protobuf_int(struct protobuf_decoder *d, const struct schema_place *place,
                           uint64_t number, bool narrow)
{
	int64_t value;

	memcpy(&value, &number, sizeof value);
	if (narrow ? value < INT32_MIN || value > INT32_MAX
	           : value < -whole_max || value > whole_max) {
		protobuf_fail(d, PL_INVALID, place, "the number is too large");
		return NULL;
	}
	return protobuf_count(d, place, json_new_number(d->arena, (double)value));
}

struct cJSON *protobuf_base64(struct protobuf_decoder *d,
                              const struct schema_place *place, struct pl_span bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t size = (bytes.len + 2) / 3 * 4;
	char *text = pl_arena_alloc(d->arena, size + 1), *at = text;

	if (text == NULL)
		return protobuf_count(d, place, NULL);
	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t left = bytes.len - i;
		uint32_t bits = (uint32_t)bytes.at[i] << 16;

		bits |= left > 1 ? (uint32_t)bytes.at[i + 1] << 8 : 0;
		bits |= left > 2 ? bytes.at[i + 2] : 0;
		*at++ = digits[bits >> 18];
		*at++ = digits[bits >> 12 & 63];
		at[0] = at[1] = '=';
		if (left > 1)
			at[0] = digits[bits >> 6 & 63];
		if (left > 2)
			at[1] = digits[bits & 63];
		at += 2;
	}
	return protobuf_count(d, place, json_new_string(d->arena, pl_span(text, size)));
}

/* -- small messages: their JSON is a scalar --------------------------------------------------- */

bool protobuf_small(struct protobuf_decoder *d, const struct schema_place *place,
                    struct pl_span bytes, struct protobuf_small *out)
{
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field = {0};

	*out = (struct protobuf_small){.has = {false}};
	while (wire_next(&reader, &field)) {
		uint32_t number = field.tag >> 3;

		if (number > 3)
			continue;
		out->field[number] = field;
		out->has[number] = true;
	}
	if (reader.bad)
		protobuf_fail(d, PL_INVALID, place, "the message is cut or malformed");
	return !reader.bad;
}

static int64_t small_number(const struct protobuf_small *small, unsigned number)
{
	int64_t value = 0;

	if (small->has[number] && (small->field[number].tag & 7) == WIRE_VARINT)
		memcpy(&value, &small->field[number].number, sizeof value);
	return value;
}

struct pl_span protobuf_small_bytes(const struct protobuf_small *small, unsigned number)
{
	if (!small->has[number] || (small->field[number].tag & 7) != WIRE_BYTES)
		return (struct pl_span){NULL, 0};
	return small->field[number].bytes;
}

struct cJSON *protobuf_quantity(struct protobuf_decoder *d,
                                const struct schema_place *place, struct pl_span bytes)
{
	struct pl_quantity quantity;
	struct protobuf_small small;
	struct pl_span text;

	if (!protobuf_small(d, place, bytes, &small))
		return NULL;
	text = protobuf_small_bytes(&small, 1);
	if (pl_quantity_parse(text, &quantity, NULL) != PL_OK) {
		protobuf_fail(d, PL_INVALID, place, "want a quantity");
		return NULL;
	}
	return protobuf_text(d, place, text);
}

struct cJSON *protobuf_int_or_string(struct protobuf_decoder *d,
                                     const struct schema_place *place,
                                     struct pl_span bytes)
{
	struct protobuf_small small;
	int64_t number;
	uint64_t bits;

	if (!protobuf_small(d, place, bytes, &small))
		return NULL;
	if (small_number(&small, 1) != 0)
		return protobuf_text(d, place, protobuf_small_bytes(&small, 3));
	number = small_number(&small, 2);
	memcpy(&bits, &number, sizeof bits);
	return protobuf_int(d, place, bits, true);
}

struct cJSON *protobuf_time(struct protobuf_decoder *d, const struct schema_place *place,
                            struct pl_span bytes, bool micro, bool *absent)
{
	char text[SCHEMA_TIME_SIZE];
	struct schema_time time;
	struct protobuf_small small;
	int64_t nanos;

	*absent = bytes.len == 0;
	if (*absent || !protobuf_small(d, place, bytes, &small))
		return NULL;
	nanos = small_number(&small, 2);
	time = (struct schema_time){small_number(&small, 1), (int32_t)nanos};
	if (nanos < 0 || nanos > 999999999 || !schema_time_print(time, micro, text)) {
		protobuf_fail(d, PL_INVALID, place, "want a time");
		return NULL;
	}
	return protobuf_count(d, place, json_new_str(d->arena, text));
}

struct cJSON *protobuf_any(struct protobuf_decoder *d, const struct schema_place *place,
                           struct pl_span bytes)
{
	struct json_tree tree;
	struct protobuf_small small;
	struct pl_span raw;
	enum pl_code code;

	if (!protobuf_small(d, place, bytes, &small))
		return NULL;
	raw = protobuf_small_bytes(&small, 1);
	if (raw.len == 0)
		return protobuf_count(d, place, json_new_object(d->arena));
	code = json_tree_parse(d->arena, raw, d->limits, &tree, NULL);
	if (code != PL_OK) {
		protobuf_fail(d, code, place, "want JSON");
		return NULL;
	}
	d->values += (uint32_t)json_measure(json_tree_root(&tree)).values;
	return protobuf_count(d, place, tree.root);
}
