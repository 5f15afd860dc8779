/* Fields of objects as the API gives them. What has another type than it should is absent, so
 * that any server's answer can be shown. */
#ifndef COORD_CLI_SESSION_API_OBJECT_H
#define COORD_CLI_SESSION_API_OBJECT_H

#include "coord/api/reply/field_get.h"
#include "store/base/span.h"

/* Empty: absent. */
struct pl_span api_text(struct pl_json object, const char *path);
/* Milliseconds since 1970. False: absent, or no time. */
bool api_time(struct pl_json object, const char *path, int64_t *out);
/* The condition of that type; absent: there is none. */
struct pl_json api_condition(struct pl_json object, const char *type);

/* "east:n-1" as the API names it becomes cluster and node; borrowed, or static. */
void api_node_name(struct pl_span text, struct pl_span *cluster, struct pl_span *node);

#endif
