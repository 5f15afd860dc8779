/*
 * Config content: a version of a configuration as a document, and what two of them differ
 * in. A field that is left out counts as its default.
 */
#ifndef COORD_SERVICE_CONFIG_CONFIG_CONTENT_H
#define COORD_SERVICE_CONFIG_CONFIG_CONTENT_H

#include "coord/config/config_read.h"
#include "coord/membership/roster.h"
#include "store/base/arena.h"
#include "store/base/buf.h"
#include "store/base/json.h"

/* The newest of what was found, as it was written; the default, where there is none. In
 * the arena. */
PL_NODISCARD enum pl_code config_content(enum config_name name,
                                         const struct config_found *found,
                                         struct pl_arena *arena, struct pl_json *out,
                                         struct pl_err *err);

/* *out: both say the same. The arena is for scratch. */
PL_NODISCARD enum pl_code config_content_same(enum config_name name,
                                              struct pl_json before, struct pl_json after,
                                              struct pl_arena *arena, bool *out,
                                              struct pl_err *err);

/* Adds "- .drain: ..." lines. A content that does not pass its schema is compared as it
 * is. The arena is for scratch. */
PL_NODISCARD enum pl_code config_content_diff(enum config_name name,
                                              struct pl_json before, struct pl_json after,
                                              struct pl_arena *arena, struct pl_buf *out,
                                              struct pl_err *err);

/* Which versions a history has. */
struct config_versions {
	uint64_t current; /* 0: the default */
	uint64_t before;  /* the newest one below current; 0: there is none */
};

/* Fails when the current version is not known. */
PL_NODISCARD enum pl_code config_versions_of(enum config_name name,
                                             const struct config_found *history,
                                             struct config_versions *out,
                                             struct pl_err *err);

/* How the shards have received a version of a configuration. */
struct config_acceptance {
	uint32_t shards;  /* how many there are */
	uint32_t applied; /* apply the version */
	uint32_t refused; /* say that they refuse the current one */
};

struct config_acceptance config_acceptance_of(const struct roster *roster,
                                              enum config_name name, uint64_t version);

#endif
