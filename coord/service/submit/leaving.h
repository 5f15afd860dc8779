/* Whether a pod is being deleted: it will go in any case, and its name is free only
 * then. An evicted pod is placed again, so it is not leaving. */
#ifndef COORD_SERVICE_SUBMIT_LEAVING_H
#define COORD_SERVICE_SUBMIT_LEAVING_H

#include "shardsched/records/pod_state.h"

static inline bool state_is_leaving(const struct pod_state *state)
{
	return state->ask == STATE_ASK_DELETE ||
	       (state->phase == STATE_TERMINATING && !state->next_pending);
}

#endif
