/* FieldsV1: a set of fields as JSON. Pure. */
#ifndef COORD_API_PATCH_FIELDS_V1_H
#define COORD_API_PATCH_FIELDS_V1_H

#include "coord/api/patch/field_set.h"

/* PL_INVALID: it is no FieldsV1. PL_NOMEM. Keys and values are made canonical; elements of
 * a kind that is not known are left out, as Kubernetes does. */
PL_NODISCARD enum pl_code fields_v1_read(struct field_maker *maker, struct pl_json fields,
                                         struct owned_fields *out, struct pl_err *err);
/* NULL: no memory. */
struct cJSON *fields_v1_write(struct field_maker *maker, struct owned_fields set);

/* The canonical JSON of a scalar, or of an object of scalars whose members are sorted. In
 * the arena; NULL: no memory, and the maker has failed. */
const char *fields_v1_text(struct field_maker *maker, const struct cJSON *value);

#endif
