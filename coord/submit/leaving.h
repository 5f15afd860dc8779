/* Whether a pod is being deleted: it goes, whatever else becomes of it, and its name is
 * free again only then. One that is evicted is placed again, and is none. */
#ifndef COORD_SUBMIT_LEAVING_H
#define COORD_SUBMIT_LEAVING_H

#include "shardsched/records/pod_state.h"

static inline bool state_is_leaving(const struct pod_state *state)
{
	return state->ask == STATE_ASK_DELETE ||
	       (state->phase == STATE_TERMINATING && !state->next_pending);
}

#endif
