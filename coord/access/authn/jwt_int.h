/* Shared by jwt.c (the envelope) and jwt_claims.c (what it says). */
#ifndef COORD_ACCESS_AUTHN_JWT_INT_H
#define COORD_ACCESS_AUTHN_JWT_INT_H

#include "coord/access/authn/jwt.h"
#include "store/base/json.h"

/* The claims as an identity. PL_DENIED, PL_NOMEM. */
PL_NODISCARD enum pl_code jwt_claims(struct pl_json claims, const struct jwt_rules *rules,
                                     struct pl_arena *arena, int64_t now_s,
                                     struct identity *out, struct pl_err *err);

#endif
