/*
 * Field errors: the faults of an object as the API server reports them. Each has a kind,
 * the path of the field and a sentence. All faults are kept up to a bound; more are
 * counted.
 */
#ifndef SHARDSCHED_MODEL_FIELD_ERRORS_H
#define SHARDSCHED_MODEL_FIELD_ERRORS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/arena.h"
#include "store/base/err.h"

/* X(NAME, Kubernetes' word) */
#define FIELD_FAULT_MAP(X)                         \
	X(INVALID, "FieldValueInvalid")            \
	X(REQUIRED, "FieldValueRequired")          \
	X(NOT_SUPPORTED, "FieldValueNotSupported") \
	X(DUPLICATE, "FieldValueDuplicate")        \
	X(FORBIDDEN, "FieldValueForbidden")        \
	X(TOO_LONG, "FieldValueTooLong")

#define FIELD_FAULT_ENUM(name, word) FIELD_##name,
enum field_fault { FIELD_FAULT_MAP(FIELD_FAULT_ENUM) FIELD_FAULT_COUNT };

enum { FIELD_ERRORS_MAX = 64 };

struct field_error {
	enum field_fault fault;
	const char *path;   /* in the arena; cut when it is very long */
	const char *detail; /* in the arena; cut when it is very long */
};

struct field_errors {
	struct pl_arena *arena;
	enum pl_code code; /* PL_NOMEM: not all could be kept */
	uint32_t count;    /* number of errors in at */
	uint32_t more;     /* beyond FIELD_ERRORS_MAX */
	struct field_error at[FIELD_ERRORS_MAX];
};

void field_errors_init(struct field_errors *errors, struct pl_arena *arena);

/* Copies both. */
void field_errors_add(struct field_errors *errors, enum field_fault fault,
                      const char *path, const char *detail);

const char *field_fault_word(enum field_fault fault);

/* PL_OK: nothing is wrong. PL_INVALID: "spec.containers[0].name: want ... (and 3
 * more)". PL_NOMEM. err may be NULL. */
PL_NODISCARD enum pl_code field_errors_verdict(const struct field_errors *errors,
                                               struct pl_err *err);

#endif
