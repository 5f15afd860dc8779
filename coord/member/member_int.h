/* Inside of member: the part of a record that tells of scheduling. */
#ifndef COORD_MEMBER_MEMBER_INT_H
#define COORD_MEMBER_MEMBER_INT_H

#include "coord/member/member.h"
#include "store/base/json_out.h"

/* The member "work", unless there is none. */
void member_work_print(const struct member_work *work, struct pl_json_out *out);
PL_NODISCARD enum pl_code member_work_parse(struct pl_json root, struct pl_arena *arena,
                                            struct member_work *out, struct pl_err *err);

#endif
