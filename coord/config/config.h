/*
 * Live configuration: the documents that are known by name, their defaults, checks and
 * JSON. This header has plain values only; config_watch.h follows what is applied,
 * config_edit.h writes new versions.
 */
#ifndef COORD_CONFIG_CONFIG_H
#define COORD_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "coord/access/roles/access_document.h"
#include "shardsched/shard/settings/settings.h"
#include "store/base/arena.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/json.h"
#include "store/base/span.h"

/* "coord" */
struct config_coord {
	uint64_t handover_ms; /* time that the old owner of a partition gets to finish */
	uint64_t settle_ms;   /* time that an owner keeps a partition after the members
	                       * have changed */
	uint64_t refresh_ms;  /* interval at which the rates in /shards/<id> are
	                       * refreshed */
	struct {
		bool enabled;
		uint64_t interval_ms;
		uint32_t threshold_percent; /* gain that makes a new table worth
		                             * writing */
		uint32_t moves_percent;     /* of the partitions, at most this part
		                             * moves with one table */
	} balancer;
	struct {
		bool enabled;
		uint64_t interval_ms;
		uint64_t keep_revisions;
		uint64_t history_bytes; /* bytes of history that may stay in the store */
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

/* "scheduler": the profiles by which the shards schedule, see settings.h */
/* "access": who may what, see access_document.h */

enum config_name {
	CONFIG_COORD,
	CONFIG_SHARDS,
	CONFIG_WEIGHTS,
	CONFIG_SCHEDULER,
	CONFIG_ACCESS,
	CONFIG_NAME_COUNT
};

struct config_value {
	enum config_name name;
	union {
		struct config_coord coord;
		struct config_shards shards;
		struct config_weights weights;
		struct sched_settings scheduler;
		struct access_document access;
	};
};

const char *config_name_text(enum config_name name);
/* PL_NOTFOUND: there is no configuration of that name; the error lists the names that
 * there are. */
PL_NODISCARD enum pl_code config_name_parse(struct pl_span text, enum config_name *out,
                                            struct pl_err *err);

void config_default(enum config_name name, struct config_value *out);

/* Validates the whole document: unknown fields are refused, absent fields get their
 * defaults. *out borrows from the arena. PL_INVALID names the field's path. */
PL_NODISCARD enum pl_code config_parse(enum config_name name, struct pl_json json,
                                       struct pl_arena *arena, struct config_value *out,
                                       struct pl_err *err);

/* Writes the whole value as JSON with every field. */
PL_NODISCARD enum pl_code config_print(const struct config_value *value,
                                       struct pl_buf *out, struct pl_err *err);

/* Whether the shard is ordered to drain; and its factor, 1000 if the table does not
 * name it. */
bool config_drains(const struct config_shards *shards, struct pl_span id);
uint32_t config_factor(const struct config_weights *weights, struct pl_span id);

#endif
