/*
 * The faults that the scheduler's model finds in a pod, as causes in the words of
 * Kubernetes: the model says what it wants, Kubernetes what is wrong, with the value.
 *
 *	spec.containers[0].resources.requests[cpu]   "want 0 or more"
 *	    Invalid value: "-1": must be greater than or equal to 0
 *
 * Pure. A sentence of the model that Kubernetes has no words for is kept.
 */
#ifndef COORD_API_SCHEMA_SCHEMA_MODEL_WORDS_H
#define COORD_API_SCHEMA_SCHEMA_MODEL_WORDS_H

#include "coord/api/schema/schema_report.h"
#include "shardsched/model/field_errors.h"

/* pod: the object in which the errors were found. */
void schema_report_model(struct schema_report *report, const struct field_errors *errors,
                         struct pl_json pod);

#endif
