/*
 * Signed tokens (JWT, RFC 7519, in the compact form of RFC 7515):
 *
 *	bounds --> header --> signature --> claims --> identity
 *
 * Invariants: nothing of a payload is read before its signature is good. A header only
 * says which algorithm and which key of our own set; keys and addresses in it are never
 * looked at. Whatever is not understood as one thing is refused: members that come twice,
 * extensions that must be understood ("crit"), claims of another type.
 */
#ifndef COORD_ACCESS_AUTHN_JWT_H
#define COORD_ACCESS_AUTHN_JWT_H

#include "coord/access/authn/jwks.h"
#include "coord/access/base/identity.h"

enum {
	JWT_BYTES_MAX = 16 << 10,
	JWT_LEEWAY_S = 60, /* of other clocks */
	JWT_AUDIENCES_MAX = 16,
};

/* The claims that a token must have, and how names are made of them. Texts are never NULL. */
struct jwt_rules {
	struct pl_span issuer;
	struct pl_span audience[JWT_AUDIENCES_MAX]; /* one of these */
	size_t audience_count;
	const char *user_claim, *groups_claim;
	const char *user_prefix, *groups_prefix;
};

/* A set of tokens whose signatures were good, by digests: the next look costs less. Of one
 * set of keys. */
struct jwt_seen;

struct jwt_seen *jwt_seen_new(void); /* NULL: no memory */
void jwt_seen_free(struct jwt_seen *seen);
void jwt_seen_clear(struct jwt_seen *seen);

/* PL_OK: *out is whose token it is. Else PL_DENIED with the cause, or PL_NOMEM. seen may
 * be NULL. */
PL_NODISCARD enum pl_code jwt_identify(const struct jwks *jwks,
                                       const struct jwt_rules *rules,
                                       struct jwt_seen *seen, struct pl_span token,
                                       struct pl_arena *arena, int64_t now_s,
                                       struct identity *out, struct pl_err *err);

#endif
