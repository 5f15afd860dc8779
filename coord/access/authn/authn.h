/*
 * Authentication: finds out who sent a request, by the credentials that it shows.
 *
 *	client certificate --> bearer token: token file --> issued token --> signed token
 *
 * The first credential that is good decides. One that is not good does not spoil another:
 * a certificate of a foreign authority beside a good token is no failure.
 *
 * Invariants:
 *  - Every credential that is not good ends with PL_DENIED, whatever was wrong with it.
 *    The cause stands in err for logs and the audit only: a client must never see it.
 *  - No work is left out because a secret part was wrong: tokens are compared by digests,
 *    in constant time, and an unknown token's digest is compared, too.
 *  - Changed files are read again, at most once a second. A file that is not good is
 *    logged, and what was read before stays in use.
 *  - Nothing here blocks on anything but these files, and none of it is shared between
 *    threads.
 */
#ifndef COORD_ACCESS_AUTHN_AUTHN_H
#define COORD_ACCESS_AUTHN_AUTHN_H

#include "coord/access/base/identity.h"
#include "store/net/http_server.h"

struct authn;
struct issued_tokens;

/* The authority whose signed tokens (JWT) are accepted. */
struct authn_jwt_opts {
	const char *jwks_file; /* NULL: signed tokens are not accepted */
	const char *issuer;    /* of "iss" */
	const char *audience;  /* one of "aud" must be among these, separated by commas */
	const char *user_claim;    /* NULL: "sub" */
	const char *groups_claim;  /* NULL: "groups" */
	const char *user_prefix;   /* NULL: "jwt:" */
	const char *groups_prefix; /* NULL: "jwt:" */
};

struct authn_opts {
	const char *token_file; /* NULL: none */
	struct authn_jwt_opts jwt;
	const struct issued_tokens *issued; /* NULL: none; outlives the authn */
	/* A client without a credential is identity_local(): on loopback, when no kind of
	 * credential is configured. */
	bool local;
};

/* Copies the opts. PL_INVALID, PL_IO: a file can not be used; the message names it. */
PL_NODISCARD enum pl_code authn_new(const struct authn_opts *opts, struct authn **out,
                                    struct pl_err *err);
void authn_free(struct authn *authn);
/* Looks at the files now. */
void authn_refresh(struct authn *authn);

/* PL_OK: *out is who it is, in the arena. PL_NOTFOUND: no credential was shown, so the
 * client is identity_anonymous(). PL_DENIED: none of those shown is good. PL_UNAVAIL: the
 * issued tokens have not been listed yet. PL_NOMEM. */
PL_NODISCARD enum pl_code authn_identify(struct authn *authn,
                                         const struct http_request *request,
                                         struct pl_arena *arena, int64_t now_s,
                                         struct identity *out, struct pl_err *err);

/* The same for a bearer token alone (authentication.k8s.io TokenReview). */
PL_NODISCARD enum pl_code authn_identify_token(struct authn *authn, struct pl_span token,
                                               struct pl_arena *arena, int64_t now_s,
                                               struct identity *out, struct pl_err *err);

#endif
