/* The events of a watch as text. Internal to coord/api/watch. */
#ifndef COORD_API_WATCH_WATCH_EVENT_H
#define COORD_API_WATCH_WATCH_EVENT_H

#include "coord/api/watch/watch_hub.h"

enum watch_event_type { WATCH_ADDED, WATCH_MODIFIED, WATCH_DELETED, WATCH_EVENT_TYPES };

/* NULL: no memory. */
struct http_blob *watch_event_blob(enum watch_event_type type, struct object_shape shape,
                                   const struct object *object, bool headers,
                                   int64_t now_ms, struct pl_arena *scratch);
/* The bookmark of a resource; last: all initial objects have come. */
struct http_blob *watch_bookmark_blob(const struct schema_resource *resource,
                                      struct object_shape shape, int64_t revision,
                                      bool last);
/* The ERROR event after which a client lists again. */
struct http_blob *watch_expired_blob(void);

#endif
