/*
 * A set of public keys (RFC 7517) that sign tokens, and the check of a signature by them.
 *
 * Invariants:
 *  - A key serves one kind of algorithm, which its own type says; the token's header only
 *    chooses among keys. So no key can be taken for another kind of key.
 *  - Keys of other kinds, and keys that are not for signatures, are passed over. A secret
 *    in the set (of an RSA or EC pair, or a symmetric key) makes the set unusable: its
 *    readers could sign.
 *  - A set has at least one key that can be used, and never changes.
 */
#ifndef COORD_ACCESS_AUTHN_JWKS_H
#define COORD_ACCESS_AUTHN_JWKS_H

#include "store/base/err.h"
#include "store/base/span.h"

enum { JWKS_BYTES_MAX = 256 << 10, JWKS_KEYS_MAX = 64, JWKS_KID_MAX = 256 };

/* X(constant, name in a token's header) */
#define JWT_ALG_MAP(X)    \
	X(RS256, "RS256") \
	X(PS256, "PS256") \
	X(ES256, "ES256") \
	X(EDDSA, "EdDSA")

#define JWT_ALG_ENUM(constant, name) JWT_##constant,
enum jwt_alg { JWT_ALG_MAP(JWT_ALG_ENUM) JWT_ALG_COUNT };

/* JWT_ALG_COUNT: it is none of these. */
enum jwt_alg jwt_alg_parse(struct pl_span name);

struct jwks;

PL_NODISCARD enum pl_code jwks_parse(struct pl_span json, struct jwks **out,
                                     struct pl_err *err);
void jwks_free(struct jwks *jwks);
size_t jwks_count(const struct jwks *jwks);

struct jwks_signed {
	enum jwt_alg alg;
	bool has_kid;
	struct pl_span kid;
	struct pl_span text, signature;
};

/* PL_OK: one of the keys has made the signature. Else PL_DENIED with the cause. */
PL_NODISCARD enum pl_code jwks_verify(const struct jwks *jwks,
                                      const struct jwks_signed *what, struct pl_err *err);

#endif
