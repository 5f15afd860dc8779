/*
 * A pod's location: the partition in which its schedule stands. Mostly that is the
 * partition of its name. Pods of a gang, or with required spread or rules about other
 * pods, stand where their group falls, so that replicas that are judged together meet in
 * one shard. The name's own partition then holds a pointer, {"v":1,"at":p}, made in the
 * same transaction: so a name is unique and is always found by its hash.
 *
 *	gang                                   <namespace>/<gang>
 *	required spread or terms, controller   <namespace>/<kind>/<name>/<uid>
 *	else                                   <namespace>/<pod>
 */
#ifndef SHARDSCHED_RECORDS_POD_LOCATION_H
#define SHARDSCHED_RECORDS_POD_LOCATION_H

#include "shardsched/model/pod.h"
#include "shardsched/model/pod_draft.h"
#include "store/base/buf.h"
#include "store/keys/keys.h"

struct pod_location {
	uint32_t partition; /* of spec and state */
	uint32_t named;     /* partition of the name: the same, or that of the pointer */
};

/* count: number of partitions. PL_INVALID: a name of the pod, its gang or its controller
 * that no key can have. */
PL_NODISCARD enum pl_code pod_location_of(const struct model *model,
                                          const struct pod *pod, uint32_t count,
                                          struct pod_location *out, struct pl_err *err);

/* The same of a pod that was read and is not made. */
PL_NODISCARD enum pl_code pod_location_of_draft(const struct pod_draft *draft,
                                                uint32_t count, struct pod_location *out,
                                                struct pl_err *err);

enum { POINTER_TEXT_SIZE = 32, POINTER_BYTES_MAX = 256 };

PL_NODISCARD enum pl_code pointer_print(uint32_t partition, struct pl_buf *out);
/* The returned span is in out. */
struct pl_span pointer_text(uint32_t partition, char out[POINTER_TEXT_SIZE]);
/* Whether the value of a spec's key is a pointer, and to which partition. PL_INVALID:
 * "at" is no partition, or "v" is not 1. A value that is longer than a pointer can be, or
 * no JSON, is no pointer. Allocates nothing, since most values are pods. */
PL_NODISCARD enum pl_code pointer_parse(struct pl_span value, bool *is_pointer,
                                        uint32_t *partition, struct pl_err *err);

#endif
