/*
 * Live configuration: what is known by name, what is applied now, and a watch that
 * tells of changes. Pure values here; config_watch.h has the driver, config_edit.h
 * the writers.
 */
#ifndef COORD_CONFIG_CONFIG_H
#define COORD_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "shardsched/shard/settings/settings.h"
#include "store/base/arena.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/json.h"
#include "store/base/span.h"

/* "coord" */
struct config_coord {
	uint64_t handover_ms; /* an old owner may take so long to finish */
	uint64_t settle_ms;   /* members are left alone so long before partitions move */
	uint64_t refresh_ms;  /* of rates in /shards/<id> */
	struct {
		bool enabled;
		uint64_t interval_ms;
		uint32_t threshold_percent; /* the gain that makes a new table worth it */
		uint32_t moves_percent;     /* of the partitions, in one table */
	} balancer;
	struct {
		bool enabled;
		uint64_t interval_ms;
		uint64_t keep_revisions;
		uint64_t history_bytes; /* that may stay behind the newest */
		uint64_t pin_max_ms;
		uint32_t config_history; /* versions kept of each configuration */
	} janitor;
};

/* "shards": {"drain":["east-0", ...]} ids ascending. */
struct config_shards {
	const struct pl_span *drain;
	uint32_t drain_count;
};

/* "weights": {"factors":{"east-0":1250}}: thousandths, 1 to 1000000; ids ascending. */
struct config_factor {
	struct pl_span id;
	uint32_t factor;
};

struct config_weights {
	const struct config_factor *factors;
	uint32_t factor_count;
};

/* "scheduler": what the shards schedule by, see settings.h */

enum config_name {
	CONFIG_COORD,
	CONFIG_SHARDS,
	CONFIG_WEIGHTS,
	CONFIG_SCHEDULER,
	CONFIG_NAME_COUNT
};

struct config_value {
	enum config_name name;
	union {
		struct config_coord coord;
		struct config_shards shards;
		struct config_weights weights;
		struct sched_settings scheduler;
	};
};

const char *config_name_text(enum config_name name);
/* PL_NOTFOUND: not a configuration that we know, and which there are. */
PL_NODISCARD enum pl_code config_name_parse(struct pl_span text, enum config_name *out,
                                            struct pl_err *err);

void config_default(enum config_name name, struct config_value *out);

/* Validates the whole of it: unknown fields are refused, absent ones are as in the
 * default. *out borrows from the arena. PL_INVALID with the field's path. */
PL_NODISCARD enum pl_code config_parse(enum config_name name, struct pl_json json,
                                       struct pl_arena *arena, struct config_value *out,
                                       struct pl_err *err);

/* The whole value as JSON, every field named. */
PL_NODISCARD enum pl_code config_print(const struct config_value *value,
                                       struct pl_buf *out, struct pl_err *err);

/* Whether a shard is to drain; its factor, ASSIGN_WEIGHT_ONE when it has none. */
bool config_drains(const struct config_shards *shards, struct pl_span id);
uint32_t config_factor(const struct config_weights *weights, struct pl_span id);

#endif
