#include "coord/config/schema.h"

static void fill(struct config_value *value)
{
	value->scheduler = (struct sched_settings){0};
}

static enum pl_code parse(struct pl_json json, struct pl_arena *arena,
                          struct config_value *value, struct pl_err *err)
{
	return settings_read(json, arena, &value->scheduler, err);
}

static void print(const struct config_value *value, struct pl_json_out *out)
{
	settings_print(&value->scheduler, out);
}

const struct config_schema config_schema_scheduler = {
	.name = "scheduler", .fill = fill, .parse = parse, .print = print};
