/*
 * Health: the checks of a process, and the answers of /livez, /readyz and /healthz as
 * Kubernetes' programs give them.
 *
 *	/readyz                    "ok", or all checks and 500
 *	/readyz?verbose            all checks: "[+]store ok"
 *	/readyz?exclude=store      the others only
 *	/readyz/store              one check
 *
 * A check answers at once, from what is known; it never waits.
 */
#ifndef COORD_INTROSPECT_HEALTH_H
#define COORD_INTROSPECT_HEALTH_H

#include <stdbool.h>

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/span.h"

enum { HEALTH_WHY_SIZE = 160, HEALTH_NAME_SIZE = 288, HEALTH_EXCLUDED_MAX = 32 };

/* Which paths ask a check; /healthz asks those of /readyz. */
enum health_path { HEALTH_LIVEZ = 1, HEALTH_READYZ = 2 };

struct health_check {
	char name[HEALTH_NAME_SIZE]; /* "store", "shard/east-0" */
	unsigned paths;              /* of enum health_path */
	/* False: why holds the reason, a sentence without an end. */
	bool (*good)(void *ctx, char why[HEALTH_WHY_SIZE]);
	void *ctx;
};

struct health_checks {
	const struct health_check *at;
	size_t count;
};

struct health_question {
	struct pl_span path;  /* health_is_path's */
	struct pl_span query; /* as it was sent */
	bool reasons; /* why a check failed may be told: reasons name what is inside */
};

/* Whether the path is one of health's: "/livez", "/readyz/store", ... */
bool health_is_path(struct pl_span path);

/* Appends the answer's text to out, which must be empty, and gives its status: 200, 404
 * (there is no such check) or 500. */
PL_NODISCARD enum pl_code health_answer(const struct health_checks *checks, size_t lists,
                                        const struct health_question *question,
                                        struct pl_buf *out, int *status);

#endif
