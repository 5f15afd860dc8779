/* For which pods anybody schedules: those of the schedulers that have a profile in the
 * configuration. */
#ifndef COORD_CLI_PODS_KNOWN_SCHEDULERS_H
#define COORD_CLI_PODS_KNOWN_SCHEDULERS_H

#include <stdbool.h>

#include "coord/cli/session/store_session.h"
#include "store/base/json.h"

struct known_schedulers {
	struct pl_json profiles;
	bool known;
};

/* What can not be read is not known. It lives in the session's arena. */
void known_schedulers_read(struct known_schedulers *known_schedulers,
                           struct store_session *session);
/* Whom a pod's spec, as it stands in the store, names, if that is nobody; empty: somebody
 * schedules for it, or it is not known who does. */
struct pl_span known_schedulers_missing(const struct known_schedulers *known_schedulers,
                                        struct pl_span spec, struct pl_arena *arena);

#endif
