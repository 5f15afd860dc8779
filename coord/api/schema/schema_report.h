/*
 * A report: what is wrong with an object, in the words of Kubernetes. Decoding finds at
 * most one value of a wrong type and any number of unknown fields; the checks find
 * causes. More than a bound are counted only.
 */
#ifndef COORD_API_SCHEMA_SCHEMA_REPORT_H
#define COORD_API_SCHEMA_SCHEMA_REPORT_H

#include "coord/api/schema/schema_place.h"
#include "store/base/err.h"
#include "store/base/json.h"

enum { SCHEMA_CAUSES_MAX = 64, SCHEMA_UNKNOWN_MAX = 100 };

/* X(NAME, type of a cause, beginning of its message) */
#define SCHEMA_FAULT_MAP(X)                                             \
	X(REQUIRED, "FieldValueRequired", "Required value")             \
	X(INVALID, "FieldValueInvalid", "Invalid value")                \
	X(NOT_SUPPORTED, "FieldValueNotSupported", "Unsupported value") \
	X(DUPLICATE, "FieldValueDuplicate", "Duplicate value")          \
	X(FORBIDDEN, "FieldValueForbidden", "Forbidden")                \
	X(TOO_LONG, "FieldValueTooLong", "Too long")                    \
	X(TOO_MANY, "FieldValueTooMany", "Too many")

#define SCHEMA_FAULT_ENUM(name, type, words) SCHEMA_##name##_FAULT,
enum schema_fault { SCHEMA_FAULT_MAP(SCHEMA_FAULT_ENUM) SCHEMA_FAULT_COUNT };

struct schema_cause {
	const char *type;       /* "FieldValueRequired" */
	struct pl_span field;   /* "spec.containers[0].name" */
	struct pl_span message; /* "Required value: ..." */
};

/* All texts are in the arena. */
struct schema_report {
	struct pl_arena *arena;
	enum pl_code code;    /* PL_NOMEM: not all could be kept */
	struct pl_span wrong; /* "json: cannot unmarshal ..."; empty: no value has a wrong
	                       * type */
	uint32_t unknown_count, more_unknown;
	uint32_t cause_count, more_causes;
	struct pl_span unknown[SCHEMA_UNKNOWN_MAX]; /* "unknown field \"spec.foo\"" */
	struct schema_cause cause[SCHEMA_CAUSES_MAX];
};

void schema_report_init(struct schema_report *report, struct pl_arena *arena);

/* Adds a cause. value: shown as the bad value, where messages of the fault show one;
 * absent: "null". detail may be NULL. */
void schema_report_add(struct schema_report *report, const struct schema_place *place,
                       enum schema_fault fault, struct pl_json value, const char *detail);
/* value is shown as a text. */
void schema_report_text(struct schema_report *report, const struct schema_place *place,
                        enum schema_fault fault, struct pl_span value,
                        const char *detail);
/* "unknown field \"spec.foo\"". */
void schema_report_unknown(struct schema_report *report,
                           const struct schema_place *place);
/* "duplicate field \"spec.paused\"". path NULL: no memory. */
void schema_report_twice(struct schema_report *report, const char *path);
/* Keeps the first one. NULL: no memory. */
void schema_report_wrong(struct schema_report *report, const char *text);

/* "strict decoding error: unknown field ..., unknown field ..."; empty: there are none,
 * or no memory (code). */
struct pl_span schema_report_strict(struct schema_report *report);

#endif
