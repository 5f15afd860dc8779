/*
 * Metadata alone: PartialObjectMetadata and its list, for clients that want no more than
 * names, labels and owners.
 */
#ifndef COORD_API_REPLY_PARTIAL_H
#define COORD_API_REPLY_PARTIAL_H

#include <stdbool.h>

#include "coord/api/reply/list_meta.h"

/* beta: meta.k8s.io/v1beta1. An object without metadata has empty metadata. */
void partial_write(struct pl_json_out *out, struct pl_json object, bool beta);

void partial_list_begin(struct pl_json_out *out, const struct list_meta *meta, bool beta);
void partial_list_add(struct pl_json_out *out, struct pl_json object, bool beta);
void partial_list_end(struct pl_json_out *out);

#endif
