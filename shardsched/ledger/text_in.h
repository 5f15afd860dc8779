/*
 * Values of ours, read. The first failure sticks, with the path in its message, and what
 * follows reads nothing. Members that we do not know are passed over; another "v" than 1
 * is not.
 */
#ifndef SHARDSCHED_LEDGER_TEXT_IN_H
#define SHARDSCHED_LEDGER_TEXT_IN_H

#include "store/base/json.h"

struct text_in {
	struct pl_arena *arena;
	struct pl_err *err; /* may be NULL */
	enum pl_code code;
};

/* The root, an object with "v":1; absent on failure. */
struct pl_json text_in_begin(struct text_in *in, struct pl_arena *arena,
                             struct pl_span text, size_t bytes_max, struct pl_err *err);

PL_PRINTF(3, 4)
void text_in_refuse(struct text_in *in, struct pl_json at, const char *fmt, ...);

void text_in_type(struct text_in *in, struct pl_json value, enum pl_json_type type);
/* A value that must be a string; a NUL follows. at NULL on failure only. */
struct pl_span text_in_string(struct text_in *in, struct pl_json value);

/* Members that may be missing: absent, or empty, then. */
struct pl_json text_in_object(struct text_in *in, struct pl_json object,
                              const char *name);
struct pl_json text_in_array(struct text_in *in, struct pl_json object, const char *name);
struct pl_span text_in_text(struct text_in *in, struct pl_json object, const char *name);
uint64_t text_in_count(struct text_in *in, struct pl_json object, const char *name);

/* Members that must be there. Numbers are not negative. */
struct pl_span text_in_word(struct text_in *in, struct pl_json object, const char *name);
uint64_t text_in_number(struct text_in *in, struct pl_json object, const char *name);
int64_t text_in_stamp(struct text_in *in, struct pl_json object, const char *name);

#endif
