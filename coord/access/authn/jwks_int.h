/* Keys of a set, shared by jwks.c (the set), jwk.c (a key's JSON) and jwks_verify.c. */
#ifndef COORD_ACCESS_AUTHN_JWKS_INT_H
#define COORD_ACCESS_AUTHN_JWKS_INT_H

#include <openssl/evp.h>

#include "coord/access/authn/jwks.h"
#include "store/base/json.h"

enum jwk_type { JWK_RSA, JWK_P256, JWK_ED25519 };

struct jwk {
	enum jwk_type type;
	EVP_PKEY *key;
	bool bound;       /* to alg */
	enum jwt_alg alg; /* the only one that it serves */
	bool has_kid;
	size_t kid_len;
	char kid[JWKS_KID_MAX];
};

struct jwks {
	size_t count;
	struct jwk key[JWKS_KEYS_MAX];
};

/* PL_UNSUPPORTED: the key is to be passed over. */
PL_NODISCARD enum pl_code jwk_parse(struct pl_json json, struct jwk *out,
                                    struct pl_err *err);

#endif
