/*
 * Where a pod's schedule stands. Mostly in the partition of its name; but pods of a gang,
 * or with required spreading or rules about other pods, stand where their group falls, so
 * that replicas that are judged together meet in one shard. The name's own partition then
 * holds a pointer, {"v":1,"at":p}, made in the same transaction: so a name is unique, and
 * is always found by its hash.
 */
#ifndef SHARDSCHED_LEDGER_HOME_H
#define SHARDSCHED_LEDGER_HOME_H

#include "shardsched/model/pod.h"
#include "store/base/buf.h"
#include "store/keys/keys.h"

struct home {
	uint32_t partition; /* where spec and state stand */
	uint32_t named;     /* where the name falls; the same, or the pointer is there */
};

/* count: of partitions. PL_INVALID: a name that no key can have. */
PL_NODISCARD enum pl_code home_of(const struct model *model, const struct pod *pod,
                                  uint32_t count, struct home *out, struct pl_err *err);

PL_NODISCARD enum pl_code pointer_print(uint32_t partition, struct pl_buf *out);
/* Whether a value at a spec's key is a pointer, and where to. PL_INVALID: it says "at",
 * and what it says is no partition. */
PL_NODISCARD enum pl_code pointer_parse(struct pl_span value, bool *is_pointer,
                                        uint32_t *partition, struct pl_err *err);

#endif
