/*
 * An identity: who a client is, as a good credential says it, or that it showed none.
 *
 * Invariants: the user is never empty and at most IDENTITY_NAME_MAX bytes, as each group,
 * without bytes below a space. An authenticated identity has the group
 * "system:authenticated", one without a credential "system:unauthenticated". Names that
 * begin with "system:" never come from signed tokens. No part of an
 * identity is secret, so each may be logged. Borrowed from the arena that it was made in.
 */
#ifndef COORD_ACCESS_BASE_IDENTITY_H
#define COORD_ACCESS_BASE_IDENTITY_H

#include "store/base/arena.h"
#include "store/base/err.h"

enum {
	IDENTITY_NAME_MAX = 1024, /* of a user, a uid, a group, a credential */
	IDENTITY_GROUPS_MAX = 256,
	IDENTITY_EXTRA_MAX = 32,
};

#define IDENTITY_RESERVED "system:"
#define IDENTITY_ANONYMOUS_USER "system:anonymous"
#define IDENTITY_LOCAL_USER "placet:local"
#define IDENTITY_AUTHENTICATED "system:authenticated"
#define IDENTITY_UNAUTHENTICATED "system:unauthenticated"
#define IDENTITY_MASTERS "system:masters"

/* X(constant, name in logs and audit) */
#define IDENTITY_VIA_MAP(X)                  \
	X(ANONYMOUS, "anonymous")            \
	X(LOCAL, "local")                    \
	X(CERTIFICATE, "client-certificate") \
	X(TOKEN_FILE, "token-file")          \
	X(ISSUED, "issued-token")            \
	X(SIGNED, "signed-token")            \
	X(IMPERSONATED, "impersonation")

#define IDENTITY_VIA_ENUM(constant, name) IDENTITY_##constant,
enum identity_via { IDENTITY_VIA_MAP(IDENTITY_VIA_ENUM) IDENTITY_VIA_COUNT };

/* Further facts about a user, as authentication.k8s.io has them: a key with its values. */
struct identity_extra {
	struct pl_span key;
	const struct pl_span *values;
	size_t count;
};

struct identity {
	struct pl_span user, uid; /* uid may be empty */
	const struct pl_span *groups;
	size_t group_count;
	const struct identity_extra *extra;
	size_t extra_count;
	enum identity_via via;
	struct pl_span credential; /* which one: a token's id, a certificate's serial
	                            * number; empty: it has none */
};

const char *identity_via_name(enum identity_via via);

/* Without a credential. Borrows constants. */
struct identity identity_anonymous(void);
/* Every client of a placetd on loopback that has no credentials configured. */
struct identity identity_local(void);

bool identity_in_group(const struct identity *identity, const char *group);
bool identity_is_authenticated(const struct identity *identity);

/* Whether a name fits an identity: 1 to IDENTITY_NAME_MAX bytes of well-formed UTF-8 without
 * control characters. */
bool identity_name_ok(struct pl_span name);
bool identity_name_reserved(struct pl_span name);

/* Makes an authenticated identity: copies everything, drops groups that come twice, adds
 * "system:authenticated". PL_INVALID: a name or a count is over its bound; PL_NOMEM. */
PL_NODISCARD enum pl_code identity_make(struct pl_arena *arena,
                                        const struct identity *from, struct identity *out,
                                        struct pl_err *err);

#endif
