/* Internals of the membership: the part of a record about scheduling. */
#ifndef COORD_MEMBERSHIP_MEMBERSHIP_INT_H
#define COORD_MEMBERSHIP_MEMBERSHIP_INT_H

#include "coord/membership/membership.h"
#include "store/base/json_out.h"

/* Prints the field "work" if the shard does scheduling work. */
void membership_work_print(const struct membership_work *work, struct pl_json_out *out);
PL_NODISCARD enum pl_code membership_work_parse(struct pl_json root,
                                                struct pl_arena *arena,
                                                struct membership_work *out,
                                                struct pl_err *err);

#endif
