/* The first byte, a digit, chooses the name. What is accepted, printed, is accepted again and
 * prints the same; as a record it is read as the same value. */
#include "coord/config/config.h"
#include "coord/config/config_record.h"
#include "tests/fuzz/fuzz.h"

static void check_value(enum config_name name, struct pl_json json,
                        struct pl_arena *arena, const struct config_value *value)
{
	struct config_value again;
	struct config_record record = {.at_ms = 1};
	struct pl_json printed = {0};
	struct pl_buf one, two, stored;

	pl_buf_init(&one, 1 << 22);
	pl_buf_init(&two, 1 << 22);
	pl_buf_init(&stored, 1 << 22);
	PL_ASSERT(config_print(value, &one, NULL) == PL_OK);
	PL_ASSERT(pl_json_parse(arena, pl_buf_span(&one), NULL, &printed, NULL) == PL_OK);
	PL_ASSERT(config_parse(name, printed, arena, &again, NULL) == PL_OK);
	PL_ASSERT(config_print(&again, &two, NULL) == PL_OK);
	PL_ASSERT(pl_span_eq(pl_buf_span(&one), pl_buf_span(&two)));
	PL_ASSERT(config_record_print(&record, 1, json, &stored, NULL) == PL_OK);
	PL_ASSERT(config_record_value(name, 1, pl_buf_span(&stored), arena, &again,
	                              NULL) == PL_OK);
	pl_buf_clear(&two, SIZE_MAX);
	PL_ASSERT(config_print(&again, &two, NULL) == PL_OK);
	PL_ASSERT(pl_span_eq(pl_buf_span(&one), pl_buf_span(&two)));
	pl_buf_done(&stored);
	pl_buf_done(&two);
	pl_buf_done(&one);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum config_name name;
	struct config_value value;
	struct pl_arena arena;
	struct pl_json json = {0};
	struct pl_err err = {0};
	uint64_t version = 0;

	if (size == 0)
		return 0;
	name = (enum config_name)((uint8_t)(data[0] - '0') % CONFIG_NAME_COUNT);
	pl_arena_init(&arena, 0, 0);
	if (pl_json_parse(&arena, pl_span(data + 1, size - 1), &config_limits, &json,
	                  &err) == PL_OK &&
	    config_parse(name, json, &arena, &value, &err) == PL_OK)
		check_value(name, json, &arena, &value);
	else
		PL_ASSERT(err.code == PL_INVALID || err.code == PL_LIMIT);
	if (config_record_value(name, 7, pl_span(data + 1, size - 1), &arena, &value,
	                        &err) != PL_OK)
		PL_ASSERT(strncmp(err.msg, "version 7: ", 11) == 0);
	if (config_current_parse(pl_span(data + 1, size - 1), &arena, &version, &err) ==
	    PL_OK)
		PL_ASSERT(version >= 1 && version <= KEYS_VERSION_MAX);
	pl_arena_done(&arena);
	return 0;
}
