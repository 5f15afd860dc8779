/* The objects that the bench of the API creates, and the requests around them. */
#ifndef BENCH_API_OBJECTS_H
#define BENCH_API_OBJECTS_H

#include "store/base/buf.h"

enum { OBJECTS_NAME_SIZE = 64 };

/* The head of a request and its body; what is in out before goes. The body may be
 * empty. */
void request_write(struct pl_buf *out, const char *token, const char *method,
                   const char *path, struct pl_span body);

void object_pod(struct pl_buf *out, const char *name);
/* 3 KB, as a kubelet reports a node. */
void object_node(struct pl_buf *out, const char *name);
void object_binding(struct pl_buf *out, const char *pod, uint32_t node);
void object_namespace(struct pl_buf *out, const char *name);

/* "b<ns in hex>-<number>": from when on a pod was due, and which one it is. */
void stamped_name(char out[OBJECTS_NAME_SIZE], uint64_t due_ns, uint32_t number);
/* Finds such a name in the beginning of an object. */
bool stamped_find(struct pl_span json, uint64_t *due_ns, uint32_t *number);

#endif
