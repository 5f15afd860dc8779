/*
 * Values of ours, read. The first failure sticks, with the path in its message, and what
 * follows reads nothing. Members that we do not know are passed over; another "v" than 1
 * is not.
 */
#ifndef SHARDSCHED_RECORDS_VALUE_READER_H
#define SHARDSCHED_RECORDS_VALUE_READER_H

#include "store/base/json.h"

struct value_reader {
	struct pl_arena *arena;
	struct pl_err *err; /* may be NULL */
	enum pl_code code;
};

/* Reads the root, an object with "v":1; absent on failure. */
struct pl_json value_reader_begin(struct value_reader *in, struct pl_arena *arena,
                                  struct pl_span text, size_t bytes_max,
                                  struct pl_err *err);

PL_PRINTF(3, 4)
void value_reader_refuse(struct value_reader *in, struct pl_json at, const char *fmt,
                         ...);

void value_reader_type(struct value_reader *in, struct pl_json value,
                       enum pl_json_type type);
/* Reads a value that must be a string; a NUL follows it. at NULL only on failure. */
struct pl_span value_reader_string(struct value_reader *in, struct pl_json value);

/* The number of elements of a list or object, at most that many. */
uint32_t value_reader_length(struct value_reader *in, struct pl_json list, uint32_t most);
/* A zeroed array in the arena; NULL when count is 0, or after a failure. */
void *value_reader_alloc(struct value_reader *in, size_t count, size_t size);
/* A string like "12m" with that unit, which may be empty: the number, at least that large
 * (0 or more). */
int64_t value_reader_amount(struct value_reader *in, struct pl_json value,
                            const char *unit, int64_t least);

/* Members that may be missing: absent or empty then. */
struct pl_json value_reader_object(struct value_reader *in, struct pl_json object,
                                   const char *name);
struct pl_json value_reader_array(struct value_reader *in, struct pl_json object,
                                  const char *name);
struct pl_span value_reader_text(struct value_reader *in, struct pl_json object,
                                 const char *name);
uint64_t value_reader_count(struct value_reader *in, struct pl_json object,
                            const char *name);

/* Members that must exist. Numbers are not negative. */
struct pl_span value_reader_word(struct value_reader *in, struct pl_json object,
                                 const char *name);
uint64_t value_reader_number(struct value_reader *in, struct pl_json object,
                             const char *name);
int64_t value_reader_stamp(struct value_reader *in, struct pl_json object,
                           const char *name);

#endif
