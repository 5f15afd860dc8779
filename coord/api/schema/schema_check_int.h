/* The parts of the checks. */
#ifndef COORD_API_SCHEMA_SCHEMA_CHECK_INT_H
#define COORD_API_SCHEMA_SCHEMA_CHECK_INT_H

#include "coord/api/schema/schema_check.h"
#include "shardsched/model/text.h"

/* The sentence of the API server for a fault of a text. */
const char *schema_text_sentence(enum text_fault fault);

void schema_check_meta(const struct schema_object *object, struct schema_report *report);
void schema_check_meta_update(const struct schema_object *object, struct pl_json old,
                              struct schema_report *report);

/* Adds a cause, and says so, when comparing each element with each would take long. Lists
 * that are equal are never too long. */
bool schema_check_too_many(struct schema_report *report, const struct schema_place *place,
                           struct pl_json after, struct pl_json before);

/* Values that depend on the type or on each other. */
void schema_check_values(const struct schema_object *object,
                         struct schema_report *report);

/* "spec is immutable ...": rules of one type that the table has no words for. */
void schema_check_rules_update(const struct schema_object *object, struct pl_json old,
                               struct schema_report *report);

#endif
