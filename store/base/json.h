/*
 * JSON from outside: bounded, strict, and with the path of the value in every error.
 *
 * A document is first checked as a whole, byte by byte (json_scan.h): size, depth, number
 * of values, grammar, UTF-8, no NUL even when escaped. Only then is its tree built of
 * cJSON's nodes, in the caller's arena (json_build.h). Duplicate member names and numbers
 * that are no finite double are refused after that. cJSON's own, lenient parser is not
 * used.
 *
 * A value is a plain value that borrows from the arena, and can be copied freely. Errors:
 * PL_INVALID, the document is wrong; PL_LIMIT, it is too large; PL_NOMEM, the heap or the
 * arena is used up.
 */
#ifndef STORE_BASE_JSON_H
#define STORE_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/arena.h"
#include "store/base/err.h"
#include "store/base/span.h"

enum { PL_JSON_DEPTH_MAX = 128, PL_JSON_PATH_SIZE = 160 };

struct pl_json_limits {
	size_t bytes;
	uint32_t depth;  /* levels of arrays and objects; 1 to PL_JSON_DEPTH_MAX */
	uint32_t values; /* number of scalars, arrays and objects in all */
};

/* 1.5 MiB (etcd's own limit of a request), a depth of 64, 200,000 values. */
extern const struct pl_json_limits pl_json_limits_default;

struct cJSON;
struct pl_json_doc;

/* A value in a document. node NULL: the value is absent. */
struct pl_json {
	const struct cJSON *node;
	const struct pl_json_doc *doc;
};

enum pl_json_type {
	PL_JSON_ABSENT,
	PL_JSON_NULL,
	PL_JSON_BOOL,
	PL_JSON_NUMBER,
	PL_JSON_STRING,
	PL_JSON_ARRAY,
	PL_JSON_OBJECT,
};

enum pl_json_need { PL_JSON_REQUIRED, PL_JSON_OPTIONAL };

struct pl_json_range {
	int64_t low;
	int64_t high;
};

/* limits NULL: the default. The text may go once the call has returned. */
PL_NODISCARD enum pl_code pl_json_parse(struct pl_arena *arena, struct pl_span text,
                                        const struct pl_json_limits *limits,
                                        struct pl_json *out, struct pl_err *err);

enum pl_json_type pl_json_type(struct pl_json value);
const char *pl_json_type_name(enum pl_json_type type);

/* The number of elements or members; 0 for a scalar. Takes linear time. */
size_t pl_json_count(struct pl_json value);

/* The first element or member, and the next one; absent at the end. */
struct pl_json pl_json_first(struct pl_json value);
struct pl_json pl_json_next(struct pl_json value);
#define PL_JSON_EACH(item, value)                                             \
	for (struct pl_json item = pl_json_first(value); (item).node != NULL; \
	     (item) = pl_json_next(item))

/* The name of a member, or "" for a value that is no member. */
const char *pl_json_key(struct pl_json value);

/* The member with that name. Absent: there is none, or object is no object. */
struct pl_json pl_json_member(struct pl_json object, const char *name);

/* Conversions of a value to a type. They fail with the value's path and type. */
PL_NODISCARD enum pl_code pl_json_as_string(struct pl_json value, const char **out,
                                            struct pl_err *err);
PL_NODISCARD enum pl_code pl_json_as_bool(struct pl_json value, bool *out,
                                          struct pl_err *err);
/* Accepts a number without a fraction within +-(2^53 - 1), or a string of decimal digits:
 * a number that may pass 2^53 must be written as a string. */
PL_NODISCARD enum pl_code pl_json_as_int(struct pl_json value, struct pl_json_range range,
                                         int64_t *out, struct pl_err *err);
PL_NODISCARD enum pl_code pl_json_as_double(struct pl_json value, double *out,
                                            struct pl_err *err);

/* Conversions of a member to a type. An optional member that is absent or null leaves
 * *out unchanged. object must be an object. */
PL_NODISCARD enum pl_code pl_json_string(struct pl_json object, const char *name,
                                         enum pl_json_need need, const char **out,
                                         struct pl_err *err);
PL_NODISCARD enum pl_code pl_json_bool(struct pl_json object, const char *name,
                                       enum pl_json_need need, bool *out,
                                       struct pl_err *err);
PL_NODISCARD enum pl_code pl_json_int(struct pl_json object, const char *name,
                                      enum pl_json_need need, int64_t *out,
                                      struct pl_err *err);
PL_NODISCARD enum pl_code pl_json_int_in(struct pl_json object, const char *name,
                                         enum pl_json_need need,
                                         struct pl_json_range range, int64_t *out,
                                         struct pl_err *err);
PL_NODISCARD enum pl_code pl_json_double(struct pl_json object, const char *name,
                                         enum pl_json_need need, double *out,
                                         struct pl_err *err);
PL_NODISCARD enum pl_code pl_json_object(struct pl_json object, const char *name,
                                         enum pl_json_need need, struct pl_json *out,
                                         struct pl_err *err);
PL_NODISCARD enum pl_code pl_json_array(struct pl_json object, const char *name,
                                        enum pl_json_need need, struct pl_json *out,
                                        struct pl_err *err);

/* The first member behind after (absent: from the start) whose name is not in known, a
 * list that ends with NULL. */
struct pl_json pl_json_unknown(struct pl_json object, const char *const *known,
                               struct pl_json after);

/* PL_INVALID: the object has a member that is not in known. */
PL_NODISCARD enum pl_code pl_json_only(struct pl_json object, const char *const *known,
                                       struct pl_err *err);

/* The path of a value, such as "spec.containers[2].name", or "document" for the document
 * itself. Names with special characters are quoted and escaped. A path that does not fit
 * is cut at its end. */
void pl_json_path(struct pl_json value, char out[PL_JSON_PATH_SIZE]);

/* For a caller's own checks: sets the error to "path: message" and returns code. */
PL_PRINTF(4, 5)
enum pl_code pl_json_fail(struct pl_json value, enum pl_code code, struct pl_err *err,
                          const char *fmt, ...);

#endif
