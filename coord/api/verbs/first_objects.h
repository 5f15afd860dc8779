/* First objects: the namespaces that clients expect in every cluster from its beginning. */
#ifndef COORD_API_VERBS_FIRST_OBJECTS_H
#define COORD_API_VERBS_FIRST_OBJECTS_H

#include "coord/api/verbs/change.h"

/* Creates those that lack, each with what comes with a namespace. Another server that does
 * the same at once is no harm. */
void first_objects_make(struct api *api);

#endif
