#include "coord/api/schema/schema_protobuf.h"

#include <stdlib.h>
#include <string.h>

#include "coord/api/schema/schema_protobuf_int.h"

static const uint8_t magic[4] = {'k', '8', 's', 0};

/* A message that is being read, and the object that its fields become members of. */
struct message {
	struct wire_reader reader;
	struct cJSON *object;
	const struct schema_type *type;
	uint8_t inside; /* of the type's fields, those of this message */
	const struct schema_place *place;
};

/* -- fields ----------------------------------------------------------------------------------- */

static void read_message(struct protobuf_decoder *d, const struct message *outer,
                         struct pl_span bytes);

static unsigned wire_of(const struct schema_field *field)
{
	switch ((enum schema_kind)field->kind) {
	case SCHEMA_INT32:
	case SCHEMA_INT64:
	case SCHEMA_BOOL:
		return WIRE_VARINT;
	case SCHEMA_DOUBLE:
	case SCHEMA_OBJECT:
	case SCHEMA_STRING:
	case SCHEMA_QUANTITY:
	case SCHEMA_INT_OR_STRING:
	case SCHEMA_TIME:
	case SCHEMA_MICRO_TIME:
	case SCHEMA_BYTES:
	case SCHEMA_ANY:
		break;
	}
	return WIRE_BYTES;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static struct cJSON *read_object(struct protobuf_decoder *d,
                                 const struct schema_field *field,
                                 const struct schema_place *place, struct pl_span bytes,
                                 struct cJSON *existing)
{
	struct cJSON *object = existing;

	if (object == NULL)
		object = protobuf_count(d, place, json_new_object(d->arena));
	if (object != NULL)
		read_message(d,
		             &(struct message){.object = object,
		                               .type = field->type,
		                               .place = place},
		             bytes);
	return object;
}

/* NULL: a failure, or *absent. existing: the object that the message adds to; NULL: none. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static struct cJSON *read_value(struct protobuf_decoder *d,
                                const struct schema_field *field,
                                const struct schema_place *place,
                                const struct wire_field *wire, struct cJSON *existing,
                                bool *absent)
{
	if ((wire->tag & 7) != wire_of(field)) {
		protobuf_fail(d, PL_INVALID, place, "the field has another wire type");
		return NULL;
	}
	switch ((enum schema_kind)field->kind) {
	case SCHEMA_OBJECT:
		return read_object(d, field, place, wire->bytes, existing);
	case SCHEMA_STRING:
		return protobuf_text(d, place, wire->bytes);
	case SCHEMA_INT32:
		return protobuf_int(d, place, wire->number, true);
	case SCHEMA_INT64:
		return protobuf_int(d, place, wire->number, false);
	case SCHEMA_BOOL:
		return protobuf_count(d, place,
		                      json_new_bool(d->arena, wire->number != 0));
	case SCHEMA_QUANTITY:
		return protobuf_quantity(d, place, wire->bytes);
	case SCHEMA_INT_OR_STRING:
		return protobuf_int_or_string(d, place, wire->bytes);
	case SCHEMA_TIME:
	case SCHEMA_MICRO_TIME:
		return protobuf_time(d, place, wire->bytes,
		                     field->kind == SCHEMA_MICRO_TIME, absent);
	case SCHEMA_BYTES:
		return protobuf_base64(d, place, wire->bytes);
	case SCHEMA_ANY:
		return protobuf_any(d, place, wire->bytes);
	case SCHEMA_DOUBLE:
		break; /* no message of Kubernetes that is served has one */
	}
	protobuf_fail(d, PL_INVALID, place, "the field is not read from protobuf");
	return NULL;
}

/* A value that Go writes although there is nothing to say. */
static bool is_zero(const struct schema_field *field, const struct wire_field *wire)
{
	if ((field->flags & (SCHEMA_ZERO_COUNTS | SCHEMA_REQUIRED)) != 0)
		return false;
	switch ((enum schema_kind)field->kind) {
	case SCHEMA_STRING:
		return (wire->tag & 7) == WIRE_BYTES && wire->bytes.len == 0;
	case SCHEMA_INT32:
	case SCHEMA_INT64:
	case SCHEMA_BOOL:
		return (wire->tag & 7) == WIRE_VARINT && wire->number == 0;
	case SCHEMA_OBJECT:
	case SCHEMA_DOUBLE:
	case SCHEMA_QUANTITY:
	case SCHEMA_INT_OR_STRING:
	case SCHEMA_TIME:
	case SCHEMA_MICRO_TIME:
	case SCHEMA_BYTES:
	case SCHEMA_ANY:
		break;
	}
	return false;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void read_one(struct protobuf_decoder *d, const struct message *message,
                     const struct schema_field *field, const struct wire_field *wire)
{
	struct schema_place place = {.up = message->place, .name = field->name};
	struct cJSON *existing = json_get(message->object, field->name), *value;
	bool absent = is_zero(field, wire);

	if (absent) {
		json_remove(message->object, field->name);
		return;
	}
	value = read_value(d, field, &place, wire, existing, &absent);
	if (value != NULL && value != existing &&
	    !json_set(d->arena, message->object, field->name, value))
		protobuf_fail(d, PL_NOMEM, &place, "no memory");
}

/* The list or map that a repeated field adds to. */
static struct cJSON *open_many(struct protobuf_decoder *d, const struct message *message,
                               const struct schema_field *field,
                               const struct schema_place *place)
{
	struct cJSON *many = json_get(message->object, field->name);

	if (many != NULL)
		return many;
	many = protobuf_count(d, place,
	                      field->shape == SCHEMA_LIST ? json_new_array(d->arena)
	                                                  : json_new_object(d->arena));
	if (many != NULL && !json_add(d->arena, message->object, field->name, many))
		protobuf_fail(d, PL_NOMEM, place, "no memory");
	return d->code == PL_OK ? many : NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void read_element(struct protobuf_decoder *d, struct cJSON *list,
                         const struct schema_field *field,
                         const struct schema_place *place, const struct wire_field *wire)
{
	bool absent = false;
	struct cJSON *value = read_value(d, field, place, wire, NULL, &absent);

	if (absent)
		protobuf_fail(d, PL_INVALID, place, "want a value");
	if (value != NULL && !json_append(list, value))
		protobuf_fail(d, PL_NOMEM, place, "no memory");
}

/* Numbers may come packed: many in one field. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void read_list(struct protobuf_decoder *d, const struct message *message,
                      const struct schema_field *field, const struct wire_field *wire)
{
	struct schema_place place = {.up = message->place, .name = field->name};
	struct cJSON *list = open_many(d, message, field, &place);
	struct wire_field number = {.tag = WIRE_VARINT};
	struct wire_reader reader;

	if (list == NULL)
		return;
	if (wire_of(field) != WIRE_VARINT || (wire->tag & 7) != WIRE_BYTES) {
		read_element(d, list, field, &place, wire);
		return;
	}
	reader = wire_reader(wire->bytes);
	while (d->code == PL_OK && reader.at != reader.end &&
	       wire_read_varint(&reader, &number.number))
		read_element(d, list, field, &place, &number);
	if (reader.bad)
		protobuf_fail(d, PL_INVALID, &place, "the numbers are cut or malformed");
}

/* The value of an entry that has none. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static struct cJSON *zero_of(struct protobuf_decoder *d, const struct schema_field *field,
                             const struct schema_place *place)
{
	struct wire_field nothing = {.tag = wire_of(field), .bytes = PL_SPAN_LIT("")};
	bool absent = false;

	return read_value(d, field, place, &nothing, NULL, &absent);
}

/* An entry is a message of the key and the value. An entry of a key that came before
 * replaces that one. Maps whose values Kubernetes never sends in protobuf have none. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void read_entry(struct protobuf_decoder *d, const struct message *message,
                       const struct schema_field *field, const struct wire_field *wire)
{
	struct schema_place place = {.up = message->place, .name = field->name};
	struct schema_place entry = {.up = &place, .name = "", .in_map = true};
	struct cJSON *map = open_many(d, message, field, &place), *value;
	bool absent = false;
	struct protobuf_small small;
	struct pl_span key;

	if (map == NULL || d->code != PL_OK)
		return;
	if ((wire->tag & 7) != WIRE_BYTES) {
		protobuf_fail(d, PL_INVALID, &place, "the field has another wire type");
		return;
	}
	if (!protobuf_small(d, &place, wire->bytes, &small))
		return;
	key = protobuf_small_bytes(&small, 1);
	if (!protobuf_is_text(key)) {
		protobuf_fail(d, PL_INVALID, &place, "want keys in UTF-8");
		return;
	}
	key = pl_arena_dup(d->arena, key.at == NULL ? PL_SPAN_LIT("") : key);
	if (key.at == NULL) {
		protobuf_fail(d, PL_NOMEM, &place, "no memory");
		return;
	}
	entry.name = (const char *)key.at;
	value = small.has[2]
	                ? read_value(d, field, &entry, &small.field[2], NULL, &absent)
	                : zero_of(d, field, &entry);
	if (absent)
		protobuf_fail(d, PL_INVALID, &entry, "want a value");
	if (value != NULL && !json_add(d->arena, map, entry.name, value))
		protobuf_fail(d, PL_NOMEM, &entry, "no memory");
}

/* -- keys that come twice in a map: the last one counts ---------------------------------------- */

struct protobuf_member {
	struct cJSON *node;
	const char *name;
	size_t at;
};

static int by_name(const void *a, const void *b)
{
	const struct protobuf_member *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	if (order != 0)
		return order;
	return left->at < right->at ? -1 : left->at > right->at;
}

static void keep_last(struct protobuf_decoder *d, struct cJSON *map)
{
	struct pl_json value = json_tree_value(d->tree, map);
	size_t members = pl_json_count(value), at = 0;
	struct protobuf_member *member;

	if (members < 2)
		return;
	member = pl_arena_zalloc(d->arena, members, sizeof *member);
	if (member == NULL) {
		protobuf_fail(d, PL_NOMEM, NULL, "no memory");
		return;
	}
	PL_JSON_EACH (item, value) {
		member[at] = (struct protobuf_member){json_tree_node(d->tree, item),
		                                      pl_json_key(item), at};
		at++;
	}
	qsort(member, members, sizeof *member, by_name);
	for (size_t i = 0; i + 1 < members; i++)
		if (strcmp(member[i].name, member[i + 1].name) == 0)
			json_detach(map, member[i].node);
}

/* Once, at the end: a message may come in any number of parts. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void finish_maps(struct protobuf_decoder *d, struct cJSON *object,
                        const struct schema_type *type)
{
	for (const struct schema_field *field = type->fields;
	     field->name != NULL && d->code == PL_OK; field++) {
		bool map = field->shape == SCHEMA_MAP;
		struct cJSON *node;

		if (!map && field->kind != SCHEMA_OBJECT)
			continue;
		node = json_get(object, field->name);
		if (node == NULL)
			continue;
		if (map)
			keep_last(d, node);
		if (field->kind == SCHEMA_OBJECT && field->shape == SCHEMA_ONE)
			finish_maps(d, node, field->type);
		if (field->kind == SCHEMA_OBJECT && field->shape != SCHEMA_ONE)
			PL_JSON_EACH (item, json_tree_value(d->tree, node))
				finish_maps(d, json_tree_node(d->tree, item),
				            field->type);
	}
}

/* -- messages ----------------------------------------------------------------------------------- */

static const struct schema_field *field_of(const struct message *message, uint32_t number)
{
	for (const struct schema_field *field = message->type->fields;
	     field->name != NULL; field++)
		if (field->number == number && field->inside == message->inside)
			return field;
	return NULL;
}

/* Whether a field of the message's own is a message whose members JSON has here. */
static bool is_outer(const struct message *message, uint32_t number)
{
	if (message->inside != 0)
		return false;
	for (const struct schema_field *field = message->type->fields;
	     field->name != NULL; field++)
		if (field->inside == number)
			return true;
	return false;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void read_field(struct protobuf_decoder *d, const struct message *message,
                       const struct wire_field *wire)
{
	uint32_t number = wire->tag >> 3;
	const struct schema_field *field = field_of(message, number);

	if (field == NULL && is_outer(message, number) && (wire->tag & 7) == WIRE_BYTES) {
		struct message inner = *message;

		inner.inside = (uint8_t)number;
		read_message(d, &inner, wire->bytes);
		return;
	}
	if (field == NULL) {
		d->unknown++;
		return;
	}
	switch ((enum schema_shape)field->shape) {
	case SCHEMA_ONE:
		read_one(d, message, field, wire);
		break;
	case SCHEMA_LIST:
		read_list(d, message, field, wire);
		break;
	case SCHEMA_MAP:
		read_entry(d, message, field, wire);
		break;
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void read_message(struct protobuf_decoder *d, const struct message *outer,
                         struct pl_span bytes)
{
	struct message message = *outer;
	struct wire_field wire;

	message.reader = wire_reader(bytes);
	while (d->code == PL_OK && wire_next(&message.reader, &wire))
		read_field(d, &message, &wire);
	if (message.reader.bad)
		protobuf_fail(d, PL_INVALID, message.place,
		              "the message is cut or malformed");
}

/* -- the envelope --------------------------------------------------------------------------------- */

struct envelope {
	struct pl_span api_version, kind, raw, encoding, content_type;
};

bool schema_is_protobuf(struct pl_span body)
{
	return body.len >= sizeof magic && memcmp(body.at, magic, sizeof magic) == 0;
}

static bool read_envelope(struct pl_span body, struct envelope *out)
{
	struct wire_reader reader =
		wire_reader(pl_span(body.at + sizeof magic, body.len - sizeof magic));
	struct wire_reader kind = {NULL, NULL, false};
	struct wire_field field = {0};

	*out = (struct envelope){.raw = {NULL, 0}};
	while (wire_next(&reader, &field)) {
		struct pl_span bytes = (field.tag & 7) == WIRE_BYTES
		                               ? field.bytes
		                               : (struct pl_span){NULL, 0};

		if (field.tag >> 3 == 1)
			kind = wire_reader(bytes);
		else if (field.tag >> 3 == 2)
			out->raw = bytes;
		else if (field.tag >> 3 == 3)
			out->encoding = bytes;
		else if (field.tag >> 3 == 4)
			out->content_type = bytes;
	}
	while (kind.at != NULL && wire_next(&kind, &field))
		if ((field.tag & 7) == WIRE_BYTES && field.tag >> 3 == 1)
			out->api_version = field.bytes;
		else if ((field.tag & 7) == WIRE_BYTES && field.tag >> 3 == 2)
			out->kind = field.bytes;
	return !reader.bad && !kind.bad && protobuf_is_text(out->api_version) &&
	       protobuf_is_text(out->kind) && out->encoding.len == 0 &&
	       (out->content_type.len == 0 ||
	        pl_span_eq(out->content_type,
	                   PL_SPAN_LIT("application/vnd.kubernetes.protobuf")));
}

static bool add_kind(struct protobuf_decoder *d, struct cJSON *root, const char *name,
                     struct pl_span text)
{
	struct cJSON *node;

	if (text.len == 0)
		return true;
	node = protobuf_count(d, NULL, json_new_string(d->arena, text));
	return node != NULL && json_add(d->arena, root, name, node);
}

static enum pl_code decode_raw(struct protobuf_decoder *d,
                               const struct envelope *envelope,
                               struct schema_protobuf *out)
{
	struct schema_place place = {.up = NULL};
	struct pl_json nothing = {NULL, NULL};
	struct cJSON *root = json_new_object(d->arena);

	if (json_tree_copy(d->arena, nothing, &out->tree) != PL_OK || root == NULL ||
	    !add_kind(d, root, "apiVersion", envelope->api_version) ||
	    !add_kind(d, root, "kind", envelope->kind))
		return d->code != PL_OK
		               ? d->code
		               : pl_err_set(d->err, PL_NOMEM, "object: no memory");
	json_tree_set_root(&out->tree, root);
	read_message(
		d, &(struct message){.object = root, .type = out->type, .place = &place},
		envelope->raw);
	if (d->code == PL_OK)
		finish_maps(d, root, out->type);
	out->unknown = d->unknown;
	return d->code;
}

enum pl_code schema_protobuf_decode(struct pl_arena *arena, struct pl_span body,
                                    const struct schema_type *type,
                                    const struct pl_json_limits *limits,
                                    struct schema_protobuf *out, struct pl_err *err)
{
	struct protobuf_decoder decoder = {
		.arena = arena,
		.limits = limits == NULL ? &pl_json_limits_default : limits,
		.tree = &out->tree,
		.err = err};
	struct envelope envelope;

	if (!schema_is_protobuf(body))
		return pl_err_set(err, PL_INVALID,
		                  "provided data does not appear to be a "
		                  "protobuf message, expected prefix "
		                  "[107 56 115 0]");
	if (body.len > decoder.limits->bytes)
		return pl_err_set(err, PL_LIMIT, "protobuf of %zu bytes: at most %zu",
		                  body.len, decoder.limits->bytes);
	if (!read_envelope(body, &envelope))
		return pl_err_set(err, PL_INVALID, "the protobuf envelope is malformed");
	*out = (struct schema_protobuf){.type = type};
	out->api_version = pl_arena_dup(arena, envelope.api_version);
	out->kind = pl_arena_dup(arena, envelope.kind);
	if (out->type == NULL)
		out->type = schema_type_of_kind(envelope.api_version, envelope.kind);
	if (out->type == NULL)
		return pl_err_set(err, PL_NOTFOUND,
		                  "no kind \"" PL_SPAN_FMT "\" is registered for version "
		                  "\"" PL_SPAN_FMT "\"",
		                  PL_SPAN_ARG(envelope.kind),
		                  PL_SPAN_ARG(envelope.api_version));
	return decode_raw(&decoder, &envelope, out);
}
