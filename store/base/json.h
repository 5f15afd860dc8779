/*
 * JSON from outside: bounded, strict, and with the path in every error.
 *
 * A document is first checked whole, byte by byte (json_scan.h): size, depth,
 * number of values, grammar, UTF-8, no NUL even when escaped. Only then does
 * cJSON build its tree, in the caller's arena; member names that come twice and
 * numbers that are no finite double are refused after that. So nothing of
 * cJSON's leniency is reachable, and its recursion is bounded by our depth.
 *
 * cJSON takes its memory through hooks that are global to the process. Ours are
 * set once, look at a thread-local arena, and fall back to the heap when no
 * parse is going on, so any number of threads may parse at once. (cJSON also
 * stores the place of its last error in a global, unguarded; nobody reads it.)
 *
 * A value borrows from the arena and is a plain value: copy it freely.
 * Errors: PL_INVALID what was sent is wrong, PL_LIMIT it is too large,
 * PL_NOMEM the heap or the arena is used up.
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
	uint32_t depth;  /* arrays and objects in each other; 1 to PL_JSON_DEPTH_MAX */
	uint32_t values; /* scalars, arrays and objects, in all */
};

/* 1.5 MiB (etcd's own limit of a request), 64 deep, 200,000 values. */
extern const struct pl_json_limits pl_json_limits_default;

struct cJSON;
struct pl_json_doc;

/* A value in a document. node NULL: absent. */
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

/* limits NULL: the default. text is not needed afterwards. */
PL_NODISCARD enum pl_code pl_json_parse(struct pl_arena *arena, struct pl_span text,
                                        const struct pl_json_limits *limits,
                                        struct pl_json *out, struct pl_err *err);

enum pl_json_type pl_json_type(struct pl_json value);
const char *pl_json_type_name(enum pl_json_type type);

/* Of an array or object; 0 for anything else. Counts, so it takes that long. */
size_t pl_json_count(struct pl_json value);

/* The first element or member, and the one behind; absent at the end. */
struct pl_json pl_json_first(struct pl_json value);
struct pl_json pl_json_next(struct pl_json value);
#define PL_JSON_EACH(item, value)                                             \
	for (struct pl_json item = pl_json_first(value); (item).node != NULL; \
	     (item) = pl_json_next(item))

/* The name under which a value stands in an object; "" for any other. */
const char *pl_json_key(struct pl_json value);

/* The member of that name, absent when there is none or object is no object. */
struct pl_json pl_json_member(struct pl_json object, const char *name);

/* A value as what it must be. */
PL_NODISCARD enum pl_code pl_json_as_string(struct pl_json value, const char **out,
                                            struct pl_err *err);
PL_NODISCARD enum pl_code pl_json_as_bool(struct pl_json value, bool *out,
                                          struct pl_err *err);
/* A number without a fraction and within +-(2^53 - 1), or a string of decimal
 * digits: what may pass 2^53 has to be written as a string. */
PL_NODISCARD enum pl_code pl_json_as_int(struct pl_json value, struct pl_json_range range,
                                         int64_t *out, struct pl_err *err);
PL_NODISCARD enum pl_code pl_json_as_double(struct pl_json value, double *out,
                                            struct pl_err *err);

/* A member as what it must be. One that is optional and absent or null leaves
 * *out as it was; object must be an object. */
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

/* The first member behind after (absent: from the start) whose name is not in
 * known, which ends with NULL. */
struct pl_json pl_json_unknown(struct pl_json object, const char *const *known,
                               struct pl_json after);

/* PL_INVALID when there is one. */
PL_NODISCARD enum pl_code pl_json_only(struct pl_json object, const char *const *known,
                                       struct pl_err *err);

/* "spec.containers[2].name"; the document itself is "document". Names that are
 * not plain are quoted and escaped. What does not fit is cut at the end. */
void pl_json_path(struct pl_json value, char out[PL_JSON_PATH_SIZE]);

/* For checks of one's own: "path: what is wrong", and the code comes back. */
PL_PRINTF(4, 5)
enum pl_code pl_json_fail(struct pl_json value, enum pl_code code, struct pl_err *err,
                          const char *fmt, ...);

#endif
