/* A schema: a configuration that is known by name, with its default, check and JSON.
 * Each schema has a file; config.c has the table of them. */
#ifndef COORD_CONFIG_CONFIG_SCHEMA_H
#define COORD_CONFIG_CONFIG_SCHEMA_H

#include "coord/config/config.h"
#include "store/base/json_out.h"

/* The most shards that a document may name: more than a federation has. */
enum { CONFIG_IDS_MAX = 16384 };

struct config_schema {
	const char *name;
	/* Sets the default. value->name is set already, everything else is 0. */
	void (*fill)(struct config_value *value);
	/* json is an object; value holds the default. */
	enum pl_code (*parse)(struct pl_json json, struct pl_arena *arena,
	                      struct config_value *value, struct pl_err *err);
	void (*print)(const struct config_value *value, struct pl_json_out *out);
};

extern const struct config_schema config_schema_coord;
extern const struct config_schema config_schema_shards;
extern const struct config_schema config_schema_weights;
extern const struct config_schema config_schema_scheduler;
extern const struct config_schema config_schema_access;

#endif
