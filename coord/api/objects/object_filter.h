/*
 * Which objects of a resource a client asks for: label and field selectors. (Namespace and
 * name are a range of the source, not a filter.)
 */
#ifndef COORD_API_OBJECTS_OBJECT_FILTER_H
#define COORD_API_OBJECTS_OBJECT_FILTER_H

#include "coord/api/objects/object.h"
#include "coord/api/select/field_selector.h"
#include "coord/api/select/label_selector.h"

struct object_filter {
	struct label_selector labels;
	struct field_selector fields;
};

static inline bool object_filter_is_all(const struct object_filter *filter)
{
	return filter->labels.count == 0 && filter->fields.count == 0;
}

/* False for an object that is not there. */
bool object_filter_matches(const struct object_filter *filter,
                           const struct object *object);

#endif
