/*
 * The values under /config/: a version, and the pointer to the current one.
 *
 *	{"v":1,"at":"2026-11-21T05:00:00.000Z","by":"who","why":"...",
 *	 "nonce":"0123456789abcdef","config":{...}}
 *	{"v":1,"version":12}
 *
 * Unknown fields are ignored. A writer that does not know the outcome of its write
 * recognises its own version by the nonce.
 */
#ifndef COORD_CONFIG_CONFIG_RECORD_H
#define COORD_CONFIG_CONFIG_RECORD_H

#include "coord/config/config.h"
#include "store/keys/keys.h"

/* 1 MiB, 16 deep, 100,000 values. */
extern const struct pl_json_limits config_limits;

enum { CONFIG_CURRENT_ROOM = 64 << 10 };

struct config_record {
	int64_t at_ms;
	struct pl_span by;
	struct pl_span why;
	struct pl_json config; /* an object; ignored by config_record_print */
};

PL_NODISCARD enum pl_code config_record_print(const struct config_record *record,
                                              uint64_t nonce, struct pl_json config,
                                              struct pl_buf *out, struct pl_err *err);
/* *out borrows from the arena. The document itself is checked by config_parse. */
PL_NODISCARD enum pl_code config_record_parse(struct pl_span json, struct pl_arena *arena,
                                              struct config_record *out,
                                              struct pl_err *err);

/* Parses the record and its document as a shard applies it. Errors begin with "version
 * 4: ...". */
PL_NODISCARD enum pl_code config_record_value(enum config_name name, uint64_t version,
                                              struct pl_span json, struct pl_arena *arena,
                                              struct config_value *out,
                                              struct pl_err *err);

PL_NODISCARD enum pl_code config_current_print(uint64_t version, struct pl_buf *out,
                                               struct pl_err *err);
/* Errors begin with "current: ...". Takes at most CONFIG_CURRENT_ROOM from the arena. */
PL_NODISCARD enum pl_code config_current_parse(struct pl_span json,
                                               struct pl_arena *arena, uint64_t *version,
                                               struct pl_err *err);

/* The keys of a version and of current. A version above KEYS_VERSION_MAX is a fault of
 * the caller. */
void config_version_key(enum config_name name, uint64_t version, struct keys_text *out);
void config_current_key(enum config_name name, struct keys_text *out);

#endif
