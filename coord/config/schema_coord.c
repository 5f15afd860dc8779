#include <stddef.h>

#include "coord/config/config_schema.h"

/* The document has its fields in groups; GROUP_TOP is the document itself. */
enum field_group { GROUP_TOP, GROUP_BALANCER, GROUP_JANITOR, GROUP_COUNT };

static const char *const group_names[GROUP_COUNT] = {
	[GROUP_BALANCER] = "balancer",
	[GROUP_JANITOR] = "janitor",
};

enum field_type { TYPE_BOOL, TYPE_U32, TYPE_U64 };

struct coord_field {
	enum field_group group;
	enum field_type type;
	const char *name;
	size_t offset; /* in struct config_coord */
	struct pl_json_range range;
	uint64_t fallback; /* default */
};

enum { SECOND = 1000, MINUTE = 60000, TEN_MINUTES = 600000, DAY = 86400000 };

#define KEEP_MAX INT64_C(1000000000000)
#define MIB (INT64_C(1) << 20)
#define TIB (INT64_C(1) << 40)

/* NOLINTBEGIN(bugprone-macro-parentheses): names of fields and groups */
#define TOP(type, field, low, high, fallback)                                         \
	{                                                                             \
		GROUP_TOP, TYPE_##type, #field, offsetof(struct config_coord, field), \
			{low, high}, fallback                                         \
	}
#define IN(GROUP, group, type, field, low, high, fallback)                       \
	{                                                                        \
		GROUP_##GROUP, TYPE_##type, #field,                              \
			offsetof(struct config_coord, group.field), {low, high}, \
			fallback                                                 \
	}
/* NOLINTEND(bugprone-macro-parentheses) */

static const struct coord_field fields[] = {
	TOP(U64, handover_ms, 1, MINUTE, 2000),
	TOP(U64, settle_ms, 0, MINUTE, 300),
	TOP(U64, refresh_ms, 500, TEN_MINUTES, 10000),

	IN(BALANCER, balancer, BOOL, enabled, 0, 1, true),
	IN(BALANCER, balancer, U64, interval_ms, SECOND, DAY, 30000),
	IN(BALANCER, balancer, U32, threshold_percent, 1, 100, 10),
	IN(BALANCER, balancer, U32, moves_percent, 1, 100, 10),

	IN(JANITOR, janitor, BOOL, enabled, 0, 1, true),
	IN(JANITOR, janitor, U64, interval_ms, SECOND, DAY, 30000),
	IN(JANITOR, janitor, U64, keep_revisions, 1000, KEEP_MAX, 200000),
	IN(JANITOR, janitor, U64, history_bytes, MIB, TIB, 256 * MIB),
	IN(JANITOR, janitor, U64, pin_max_ms, SECOND, DAY, 600000),
	IN(JANITOR, janitor, U32, config_history, 2, 1000, 100),
};

enum { FIELD_COUNT = sizeof fields / sizeof fields[0], NAMES_MAX = FIELD_COUNT + 3 };

static void field_set(struct config_coord *coord, const struct coord_field *field,
                      uint64_t number)
{
	uint8_t *at = (uint8_t *)coord + field->offset;
	uint32_t narrow = (uint32_t)number;
	bool truth = number != 0;

	switch (field->type) {
	case TYPE_BOOL:
		memcpy(at, &truth, sizeof truth);
		break;
	case TYPE_U32:
		memcpy(at, &narrow, sizeof narrow);
		break;
	case TYPE_U64:
		memcpy(at, &number, sizeof number);
		break;
	}
}

static uint64_t field_get(const struct config_coord *coord,
                          const struct coord_field *field)
{
	const uint8_t *at = (const uint8_t *)coord + field->offset;
	uint64_t number = 0;
	uint32_t narrow = 0;
	bool truth = false;

	switch (field->type) {
	case TYPE_BOOL:
		memcpy(&truth, at, sizeof truth);
		return truth;
	case TYPE_U32:
		memcpy(&narrow, at, sizeof narrow);
		return narrow;
	case TYPE_U64:
		memcpy(&number, at, sizeof number);
		return number;
	}
	PL_UNREACHABLE("type of a field");
}

static void coord_fill(struct config_value *value)
{
	for (size_t i = 0; i < FIELD_COUNT; i++)
		field_set(&value->coord, &fields[i], fields[i].fallback);
}

/* The names that a group may have; the top group has the names of the other groups
 * too. */
static enum pl_code known_only(struct pl_json object, enum field_group group,
                               struct pl_err *err)
{
	const char *known[NAMES_MAX];
	size_t count = 0;

	for (size_t i = 0; i < FIELD_COUNT; i++) {
		if (fields[i].group == group)
			known[count++] = fields[i].name;
	}
	for (unsigned i = GROUP_TOP + 1; group == GROUP_TOP && i < GROUP_COUNT; i++)
		known[count++] = group_names[i];
	PL_ASSERT(count < NAMES_MAX);
	known[count] = NULL;
	return pl_json_only(object, known, err);
}

static enum pl_code field_parse(struct pl_json object, const struct coord_field *field,
                                struct config_coord *coord, struct pl_err *err)
{
	uint64_t now = field_get(coord, field);
	int64_t number = (int64_t)now;
	bool truth = now != 0;
	enum pl_code code;

	if (field->type == TYPE_BOOL) {
		code = pl_json_bool(object, field->name, PL_JSON_OPTIONAL, &truth, err);
		number = truth;
	} else {
		code = pl_json_int_in(object, field->name, PL_JSON_OPTIONAL, field->range,
		                      &number, err);
	}
	if (code == PL_OK)
		field_set(coord, field, (uint64_t)number);
	return code;
}

static enum pl_code group_parse(struct pl_json object, enum field_group group,
                                struct config_coord *coord, struct pl_err *err)
{
	enum pl_code code = known_only(object, group, err);

	for (size_t i = 0; i < FIELD_COUNT && code == PL_OK; i++) {
		if (fields[i].group == group)
			code = field_parse(object, &fields[i], coord, err);
	}
	return code;
}

static enum pl_code coord_parse(struct pl_json json, struct pl_arena *arena,
                                struct config_value *value, struct pl_err *err)
{
	enum pl_code code = group_parse(json, GROUP_TOP, &value->coord, err);

	(void)arena;
	for (unsigned i = GROUP_TOP + 1; i < GROUP_COUNT && code == PL_OK; i++) {
		struct pl_json object = {0};

		code = pl_json_object(json, group_names[i], PL_JSON_OPTIONAL, &object,
		                      err);
		if (code == PL_OK && object.node != NULL)
			code = group_parse(object, (enum field_group)i, &value->coord,
			                   err);
	}
	return code;
}

static void group_print(const struct config_coord *coord, enum field_group group,
                        struct pl_json_out *out)
{
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const struct coord_field *field = &fields[i];

		if (field->group != group)
			continue;
		pl_json_out_name(out, field->name);
		if (field->type == TYPE_BOOL)
			pl_json_out_bool(out, field_get(coord, field) != 0);
		else
			pl_json_out_int(out, (int64_t)field_get(coord, field));
	}
}

static void coord_print(const struct config_value *value, struct pl_json_out *out)
{
	pl_json_out_object(out);
	group_print(&value->coord, GROUP_TOP, out);
	for (unsigned i = GROUP_TOP + 1; i < GROUP_COUNT; i++) {
		pl_json_out_name(out, group_names[i]);
		pl_json_out_object(out);
		group_print(&value->coord, (enum field_group)i, out);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

const struct config_schema config_schema_coord = {
	.name = "coord", .fill = coord_fill, .parse = coord_parse, .print = coord_print};
