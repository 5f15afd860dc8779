/* Inside the reader of pods: its larger parts. */
#ifndef SHARDSCHED_MODEL_POD_READ_H
#define SHARDSCHED_MODEL_POD_READ_H

#include "shardsched/model/pod_draft.h"
#include "shardsched/model/reader.h"

struct draft_containers pod_read_containers(struct reader *reader, struct pl_json spec,
                                            const char *name);
void pod_read_volumes(struct reader *reader, struct pl_json spec, struct pod_draft *out);
void pod_read_affinity(struct reader *reader, struct pl_json spec, struct pod_draft *out);

#endif
