/*
 * What stands under /config/: a version, and which of them is current.
 *
 *	{"v":1,"at":"2026-11-21T05:00:00.000Z","by":"who","why":"...",
 *	 "nonce":"0123456789abcdef","config":{...}}
 *	{"v":1,"version":12}
 *
 * Members that we do not know are passed over. The nonce tells a writer that does
 * not know what became of its write whether a version is its own.
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
	struct pl_json config; /* an object; not looked at by config_record_print */
};

PL_NODISCARD enum pl_code config_record_print(const struct config_record *record,
                                              uint64_t nonce, struct pl_json config,
                                              struct pl_buf *out, struct pl_err *err);
/* *out borrows from the arena. The configuration's own check is config_parse. */
PL_NODISCARD enum pl_code config_record_parse(struct pl_span json, struct pl_arena *arena,
                                              struct config_record *out,
                                              struct pl_err *err);

/* The record and its configuration, as a shard applies it: "version 4: ..." */
PL_NODISCARD enum pl_code config_record_value(enum config_name name, uint64_t version,
                                              struct pl_span json, struct pl_arena *arena,
                                              struct config_value *out,
                                              struct pl_err *err);

PL_NODISCARD enum pl_code config_current_print(uint64_t version, struct pl_buf *out,
                                               struct pl_err *err);
/* "current: ...". Takes at most CONFIG_CURRENT_ROOM from the arena. */
PL_NODISCARD enum pl_code config_current_parse(struct pl_span json,
                                               struct pl_arena *arena, uint64_t *version,
                                               struct pl_err *err);

/* Their keys; a version that no key can have is our own fault. */
void config_version_key(enum config_name name, uint64_t version, struct keys_text *out);
void config_current_key(enum config_name name, struct keys_text *out);

#endif
