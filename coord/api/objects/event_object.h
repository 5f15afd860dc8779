/*
 * Events that clients report. They are stored in the form of core/v1 and shown in that of
 * either resource; the two differ in the names of their members only.
 */
#ifndef COORD_API_OBJECTS_EVENT_OBJECT_H
#define COORD_API_OBJECTS_EVENT_OBJECT_H

#include "coord/api/objects/object.h"
#include "store/base/json_edit.h"

/* The value of a field for a selector, by the names of either resource. */
struct pl_span object_event_field(const struct object *object, struct pl_span path);

/* Renames the members of an events.k8s.io/v1 Event to those of core/v1. PL_NOMEM. */
PL_NODISCARD enum pl_code event_to_core(struct json_tree *tree);

/* The scalar at a path of a JSON object, as text without quotes; empty: none. */
struct pl_span object_path(struct pl_span json, struct pl_span path);

#endif
