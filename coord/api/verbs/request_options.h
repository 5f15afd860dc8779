/*
 * Whether the options of a request make sense together: what Kubernetes refuses as an
 * Invalid of CreateOptions, PatchOptions, ... before it looks at any object. Pure.
 */
#ifndef COORD_API_VERBS_REQUEST_OPTIONS_H
#define COORD_API_VERBS_REQUEST_OPTIONS_H

#include "coord/api/reply/status.h"
#include "coord/api/schema/schema_check.h"
#include "coord/api/verbs/request.h"

/* The query of a verb. applies: a patch is a server-side apply. False: *out is the Status
 * to answer with. */
PL_NODISCARD bool options_check(struct pl_arena *arena, enum request_verb verb,
                                const struct request_query *query, bool applies,
                                struct api_status *out);

/* The words of a deletion: its query, or its body. Empty: absent. */
struct options_of_delete {
	struct pl_span dry_run, propagation;
	bool has_orphans;
};

PL_NODISCARD bool options_check_delete(struct pl_arena *arena,
                                       const struct options_of_delete *options,
                                       struct api_status *out);

#endif
