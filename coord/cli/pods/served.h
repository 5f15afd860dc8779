/* For which pods anybody schedules: those of the schedulers that have a profile in the
 * configuration. */
#ifndef COORD_CLI_SERVED_H
#define COORD_CLI_SERVED_H

#include <stdbool.h>

#include "coord/cli/reach/store_session.h"
#include "store/base/json.h"

struct served {
	struct pl_json profiles;
	bool known;
};

/* What can not be read is not known. It lives in the session's arena. */
void served_read(struct served *served, struct store_session *session);
/* Whom a pod's spec, as it stands in the store, names, if that is nobody; empty: somebody
 * schedules for it, or it is not known who does. */
struct pl_span served_nobody(const struct served *served, struct pl_span spec,
                             struct pl_arena *arena);

#endif
