/*
 * A binding is what follows a decision: the pod is on its way to the node that was
 * chosen. No program drives one yet: the shard and the simulator commit placements
 * without Reserve, Permit and the bind points, and only gangs call Reserve
 * (gang/reserve.c).
 *
 *	start -- Reserve, Permit --+--> WAITING -- every plugin allows --> ALLOWED
 *	   |                       |       |                                  |
 *	   | refused               |       | denied, too late, canceled       | commit:
 *	   |                       |       |                                  | PreBind, Bind
 *	   v                       |       v                                  v
 *	UNDONE <-------------------+-------+------- refused, canceled --------+
 *	   ^                                                                  |
 *	   |                                                                  v
 *	   +----------------- not written ----------------------------- COMMITTING
 *	                                                                      |
 *	   Unreserve is called on the way                                     | written
 *	   to UNDONE, in reverse order                                        v
 *	                                                                PostBind, BOUND
 *
 * Without a Permit plugin that waits, binding_start leads to ALLOWED at once. The driver
 * assumes the pod in the snapshot before binding_start, forgets it at UNDONE, writes what
 * is COMMITTING, and keeps a table of the WAITING ones, to find a pod's binding when a
 * plugin allows it and to expire it at its deadline.
 *
 * Plugins are called inside these functions and nowhere else. They no longer see the
 * cycle that chose the node (call->state is NULL); the arena is theirs for the call.
 * Pure: time is a parameter, and nothing is allocated.
 */
#ifndef SHARDSCHED_FRAMEWORK_BINDING_H
#define SHARDSCHED_FRAMEWORK_BINDING_H

#include "shardsched/framework/cycle.h"

/* X(STATE, name) */
#define BINDING_STATE_MAP(X)        \
	X(WAITING, "waiting")       \
	X(ALLOWED, "allowed")       \
	X(COMMITTING, "committing") \
	X(BOUND, "bound")           \
	X(UNDONE, "undone")

#define BINDING_STATE_ENUM(state, name) BINDING_##state,
enum binding_state { BINDING_STATE_MAP(BINDING_STATE_ENUM) BINDING_STATES };

/* A plugin that wants to wait longer waits that long, as with kube-scheduler. */
enum { BINDING_WAIT_MAX_MS = 15 * 60 * 1000 };

struct binding {
	enum binding_state state;
	uint32_t slot;
	struct cycle *cycle; /* borrowed until the end, as is the class */
	struct fw_class *class;
	struct pod_self pod;
	/* mask of the Permit plugins that have not allowed the pod yet */
	uint64_t waiting;
	unsigned reserved;  /* how many plugins of the Reserve point were called */
	struct verdict why; /* in UNDONE: which plugin refused, and why */
	uint64_t deadline_ms[PLUGINS_MAX]; /* by plugin; only for the mask waiting */
};

const char *binding_state_name(enum binding_state state);

/* Each of these functions returns the state that follows. */

/* Leads to WAITING, ALLOWED or UNDONE. */
enum binding_state binding_start(struct binding *binding, struct cycle *cycle,
                                 struct fw_class *class, const struct pod_self *pod,
                                 uint32_t slot, uint64_t now_ms);
/* A plugin that the binding does not wait for changes nothing. */
enum binding_state binding_allow(struct binding *binding, unsigned plugin);
/* Leads to UNDONE if the binding waits for the plugin. verdict may be NULL. */
enum binding_state binding_deny(struct binding *binding, unsigned plugin,
                                const struct verdict *verdict);
/* The first deadline of the plugins that are waited for; UINT64_MAX: there is none. */
uint64_t binding_deadline_ms(const struct binding *binding);
/* Denies the binding for the first plugin whose deadline has passed. */
enum binding_state binding_expire(struct binding *binding, uint64_t now_ms);
/* Leads from ALLOWED to COMMITTING, or to UNDONE when a plugin refuses. */
enum binding_state binding_commit(struct binding *binding);
/* Leads from COMMITTING to BOUND when the pod was written, or to UNDONE when it was not
 * and never will be. */
enum binding_state binding_committed(struct binding *binding, bool written);
/* Leads to UNDONE, unless the pod is BOUND. Not allowed while COMMITTING: the driver has
 * to find out first whether the pod was written. */
enum binding_state binding_cancel(struct binding *binding);

#endif
