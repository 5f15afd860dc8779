/* The members of a pod's state as JSON texts, without a parse of the whole. */
#ifndef COORD_API_OBJECTS_POD_STATE_TEXT_H
#define COORD_API_OBJECTS_POD_STATE_TEXT_H

#include "coord/api/objects/object.h"

/* Empty: absent. */
struct state_text {
	struct pl_span phase, ask, next, uid, cluster, node, nominated, shard, attempts,
		reason, message, since;
};

struct state_text pod_state_text(const struct object *object);
bool state_text_phase_is(const struct state_text *state, const char *phase);
/* The pod is on a node, or was when it ended. */
bool state_text_has_place(const struct state_text *state);
/* The API's name of the pod's node, and of the nominated one; 0: none. */
size_t state_text_node(const struct state_text *state, char out[MEMBER_NAME_SIZE]);
size_t state_text_nominated(const struct state_text *state, char out[MEMBER_NAME_SIZE]);

/* A string without its quotes; empty for anything else. */
static inline struct pl_span json_unquoted(struct pl_span json)
{
	return json.len >= 2 && json.at[0] == '"' ? pl_span(json.at + 1, json.len - 2)
	                                          : (struct pl_span){0};
}

#endif
