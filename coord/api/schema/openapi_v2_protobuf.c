/*
 * OpenAPI 2 as protobuf, made from the JSON document: as much of gnostic's messages as
 * that document uses. Extensions are texts in YAML, which JSON is.
 */
#include <string.h>

#include "coord/api/schema/openapi_v2.h"
#include "store/etcd/wire.h"

/* A message of the document is below 1 MiB, the whole below 4. */
enum { PART_MAX = 4 << 20, VALUES_MAX = 1000000, DEPTH_MAX = 48 };

/* The first failure sticks. */
struct encoder {
	enum pl_code code;
};

typedef void encode_fn(struct encoder *e, struct pl_json value, struct pl_buf *out);

static void put_bytes(struct encoder *e, struct pl_buf *out, uint32_t number,
                      struct pl_span bytes)
{
	uint32_t tag = number << 3 | WIRE_BYTES;
	uint8_t head[2 * WIRE_VARINT_MAX], *end = wire_sub(head, tag, bytes.len);

	if (e->code == PL_OK)
		e->code = pl_buf_add(out, pl_span(head, (size_t)(end - head)));
	if (e->code == PL_OK)
		e->code = pl_buf_add(out, bytes);
}

static void put_true(struct encoder *e, struct pl_buf *out, uint32_t number)
{
	uint8_t head[2 * WIRE_VARINT_MAX],
		*end = wire_varint(head, number << 3 | WIRE_VARINT);

	end = wire_varint(end, 1);
	if (e->code == PL_OK)
		e->code = pl_buf_add(out, pl_span(head, (size_t)(end - head)));
}

static void put_message(struct encoder *e, struct pl_buf *out, uint32_t number,
                        encode_fn *encode, struct pl_json value)
{
	struct pl_buf part;

	pl_buf_init(&part, PART_MAX);
	encode(e, value, &part);
	put_bytes(e, out, number, pl_buf_span(&part));
	pl_buf_done(&part);
}

static struct pl_span text_of(struct pl_json value)
{
	const char *text = "";

	if (pl_json_as_string(value, &text, NULL) != PL_OK)
		text = "";
	return pl_span_str(text);
}

/* A message that has one field, which is a message, a text, or several. */
static void wrap(struct encoder *e, struct pl_buf *out, uint32_t number, uint32_t inner,
                 encode_fn *encode, struct pl_json value)
{
	struct pl_buf part;

	pl_buf_init(&part, PART_MAX);
	put_message(e, &part, inner, encode, value);
	put_bytes(e, out, number, pl_buf_span(&part));
	pl_buf_done(&part);
}

/* Any: a value as YAML. */
static void encode_any(struct encoder *e, struct pl_json value, struct pl_buf *out)
{
	struct pl_json_out json;
	struct pl_buf text;
	enum pl_code code;

	pl_buf_init(&text, PART_MAX);
	pl_json_out_init(&json, &text);
	pl_json_out_value(&json, value);
	code = pl_json_out_done(&json);
	if (e->code == PL_OK)
		e->code = code;
	put_bytes(e, out, 2, pl_buf_span(&text));
	pl_buf_done(&text);
}

/* NamedAny, NamedSchema, ...: the name of a member, and its value. */
static void put_named(struct encoder *e, struct pl_buf *out, uint32_t number,
                      encode_fn *encode, struct pl_json member)
{
	struct pl_buf part;

	pl_buf_init(&part, PART_MAX);
	put_bytes(e, &part, 1, pl_span_str(pl_json_key(member)));
	put_message(e, &part, 2, encode, member);
	put_bytes(e, out, number, pl_buf_span(&part));
	pl_buf_done(&part);
}

static bool is_extension(const char *name)
{
	return strncmp(name, "x-", 2) == 0;
}

/* A member that is a text, by name. */
struct text_row {
	const char *name;
	uint32_t number;
};

static bool put_text(struct encoder *e, struct pl_buf *out, struct pl_json member,
                     const struct text_row *rows)
{
	for (; rows->name != NULL; rows++)
		if (strcmp(rows->name, pl_json_key(member)) == 0) {
			put_bytes(e, out, rows->number, text_of(member));
			return true;
		}
	return false;
}

/* -- schemas ------------------------------------------------------------------------------- */

static void encode_type(struct encoder *e, struct pl_json value, struct pl_buf *out)
{
	put_bytes(e, out, 1, text_of(value));
}

static void encode_schema(struct encoder *e, struct pl_json value, struct pl_buf *out);

/* Definitions and Properties have the same form. */
static void encode_schemas(struct encoder *e, struct pl_json value, struct pl_buf *out)
{
	PL_JSON_EACH (member, value)
		put_named(e, out, 1, encode_schema, member);
}

static void encode_schema(struct encoder *e, struct pl_json value, struct pl_buf *out)
{
	static const struct text_row texts[] = {
		{"$ref", 1}, {"format", 2}, {"description", 4}, {NULL, 0}};

	PL_JSON_EACH (member, value) {
		const char *name = pl_json_key(member);

		if (put_text(e, out, member, texts))
			continue;
		if (strcmp(name, "type") == 0)
			put_message(e, out, 22, encode_type, member);
		else if (strcmp(name, "additionalProperties") == 0)
			wrap(e, out, 21, 1, encode_schema, member);
		else if (strcmp(name, "items") == 0)
			wrap(e, out, 23, 1, encode_schema, member);
		else if (strcmp(name, "properties") == 0)
			put_message(e, out, 25, encode_schemas, member);
		else if (is_extension(name))
			put_named(e, out, 31, encode_any, member);
		else if (strcmp(name, "required") == 0)
			PL_JSON_EACH (item, member)
				put_bytes(e, out, 19, text_of(item));
	}
}

/* -- paths ----------------------------------------------------------------------------------- */

static void encode_body(struct encoder *e, struct pl_json value, struct pl_buf *out)
{
	static const struct text_row texts[] = {
		{"description", 1}, {"name", 2}, {"in", 3}, {NULL, 0}};

	PL_JSON_EACH (member, value)
		if (strcmp(pl_json_key(member), "schema") == 0)
			put_message(e, out, 5, encode_schema, member);
		else if (strcmp(pl_json_key(member), "required") == 0)
			put_true(e, out, 4);
		else
			put_text(e, out, member, texts);
}

static void encode_query(struct encoder *e, struct pl_json value, struct pl_buf *out)
{
	static const struct text_row texts[] = {
		{"in", 2}, {"description", 3}, {"name", 4}, {"type", 6}, {NULL, 0}};

	PL_JSON_EACH (member, value)
		put_text(e, out, member, texts);
	put_true(e, out, 20);
}

static void encode_path_param(struct encoder *e, struct pl_json value, struct pl_buf *out)
{
	static const struct text_row texts[] = {
		{"in", 2}, {"description", 3}, {"name", 4}, {"type", 5}, {NULL, 0}};

	put_true(e, out, 1);
	PL_JSON_EACH (member, value)
		put_text(e, out, member, texts);
	put_true(e, out, 19);
}

static void encode_param(struct encoder *e, struct pl_json value, struct pl_buf *out)
{
	struct pl_span in = text_of(pl_json_member(value, "in"));

	if (pl_span_eq(in, PL_SPAN_LIT("body")))
		put_message(e, out, 1, encode_body, value);
	else if (pl_span_eq(in, PL_SPAN_LIT("query")))
		wrap(e, out, 2, 3, encode_query, value);
	else
		wrap(e, out, 2, 4, encode_path_param, value);
}

static void encode_answer(struct encoder *e, struct pl_json value, struct pl_buf *out)
{
	put_bytes(e, out, 1, text_of(pl_json_member(value, "description")));
	wrap(e, out, 2, 1, encode_schema, pl_json_member(value, "schema"));
}

static void encode_answer_value(struct encoder *e, struct pl_json value,
                                struct pl_buf *out)
{
	put_message(e, out, 1, encode_answer, value);
}

static void encode_answers(struct encoder *e, struct pl_json value, struct pl_buf *out)
{
	PL_JSON_EACH (member, value)
		put_named(e, out, 1, encode_answer_value, member);
}

static void encode_operation(struct encoder *e, struct pl_json value, struct pl_buf *out)
{
	static const struct text_row texts[] = {{"operationId", 5}, {NULL, 0}};

	PL_JSON_EACH (member, value) {
		const char *name = pl_json_key(member);

		if (put_text(e, out, member, texts))
			continue;
		if (strcmp(name, "responses") == 0)
			put_message(e, out, 9, encode_answers, member);
		else if (is_extension(name))
			put_named(e, out, 13, encode_any, member);
		else if (strcmp(name, "consumes") == 0)
			PL_JSON_EACH (item, member)
				put_bytes(e, out, 7, text_of(item));
		else if (strcmp(name, "parameters") == 0)
			PL_JSON_EACH (item, member)
				wrap(e, out, 8, 1, encode_param, item);
	}
}

static void encode_path(struct encoder *e, struct pl_json value, struct pl_buf *out)
{
	static const struct text_row methods[] = {{"get", 2},   {"put", 3},
	                                          {"post", 4},  {"delete", 5},
	                                          {"patch", 8}, {NULL, 0}};

	PL_JSON_EACH (member, value) {
		for (const struct text_row *row = methods; row->name != NULL; row++)
			if (strcmp(pl_json_key(member), row->name) == 0)
				put_message(e, out, row->number, encode_operation,
				            member);
		if (strcmp(pl_json_key(member), "parameters") == 0)
			PL_JSON_EACH (item, member)
				wrap(e, out, 9, 1, encode_param, item);
	}
}

static void encode_paths(struct encoder *e, struct pl_json value, struct pl_buf *out)
{
	PL_JSON_EACH (member, value)
		put_named(e, out, 2, encode_path, member);
}

static void encode_info(struct encoder *e, struct pl_json value, struct pl_buf *out)
{
	put_bytes(e, out, 1, text_of(pl_json_member(value, "title")));
	put_bytes(e, out, 2, text_of(pl_json_member(value, "version")));
}

enum pl_code openapi_v2_protobuf(struct pl_span json, struct pl_buf *out,
                                 struct pl_err *err)
{
	static const struct pl_json_limits limits = {PART_MAX, DEPTH_MAX, VALUES_MAX};
	struct encoder encoder = {PL_OK};
	struct pl_json document = {NULL, NULL};
	struct pl_arena arena;
	enum pl_code code;

	pl_arena_init(&arena, 1 << 16, 0);
	code = pl_json_parse(&arena, json, &limits, &document, err);
	if (code == PL_OK) {
		put_bytes(&encoder, out, 1, text_of(pl_json_member(document, "swagger")));
		put_message(&encoder, out, 2, encode_info,
		            pl_json_member(document, "info"));
		put_message(&encoder, out, 8, encode_paths,
		            pl_json_member(document, "paths"));
		put_message(&encoder, out, 9, encode_schemas,
		            pl_json_member(document, "definitions"));
		if (encoder.code != PL_OK)
			code = pl_err_set(err, encoder.code,
			                  "encode the OpenAPI document");
	}
	pl_arena_done(&arena);
	return code;
}
