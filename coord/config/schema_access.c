#include "coord/config/config_schema.h"

/* The document itself is coord/access/roles'. */

static void access_fill(struct config_value *value)
{
	access_document_default(&value->access);
}

static enum pl_code access_parse(struct pl_json json, struct pl_arena *arena,
                                 struct config_value *value, struct pl_err *err)
{
	return access_document_parse(json, arena, &value->access, err);
}

static void access_print(const struct config_value *value, struct pl_json_out *out)
{
	access_document_print(&value->access, out);
}

const struct config_schema config_schema_access = {.name = "access",
                                                   .fill = access_fill,
                                                   .parse = access_parse,
                                                   .print = access_print};
