#include "coord/config/config_schema.h"

static void scheduler_fill(struct config_value *value)
{
	value->scheduler = (struct sched_settings){0};
}

static enum pl_code scheduler_parse(struct pl_json json, struct pl_arena *arena,
                                    struct config_value *value, struct pl_err *err)
{
	return settings_read(json, arena, &value->scheduler, err);
}

static void scheduler_print(const struct config_value *value, struct pl_json_out *out)
{
	settings_print(&value->scheduler, out);
}

const struct config_schema config_schema_scheduler = {.name = "scheduler",
                                                      .fill = scheduler_fill,
                                                      .parse = scheduler_parse,
                                                      .print = scheduler_print};
