/*
 * What follows a decision: the pod is on its way to a node.
 *
 *	start --Reserve, Permit--> WAITING --all allow--> ALLOWED --commit: PreBind,
 *Bind--+ |            |              | denied, late         | canceled v |            |
 *|                      |          COMMITTING --ok--> BOUND |refused     |denied        v
 *v              | not          PostBind
 *	  +------------+----------> UNDONE <-----------------+--------------+
 *	                            Unreserve, in reverse
 *
 * Without a Permit that waits, start leads to ALLOWED at once. Whoever drives it assumes
 * the pod in the snapshot before, forgets it when it is UNDONE, writes what is
 * COMMITTING, and keeps a table of those that are WAITING: a pod's binding is found by
 * whoever allows it, and expired at its deadline.
 *
 * Plugins are called inside these functions and nowhere else; of the cycle that chose the
 * node they see nothing any more (their state is NULL), the arena is theirs for the call.
 * Pure: time is a parameter, nothing is allocated.
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
	struct cycle *cycle; /* borrowed, until the end, as is the class */
	struct fw_class *class;
	struct pod_self pod;
	uint64_t waiting;   /* mask of the Permit plugins that have not allowed it yet */
	unsigned reserved;  /* of the Reserve point, these were asked */
	struct verdict why; /* UNDONE: who, and what for */
	uint64_t deadline_ms[PLUGINS_MAX]; /* of those in waiting */
};

const char *binding_state_name(enum binding_state state);

/* All of these give the state that follows. */

/* WAITING, ALLOWED or UNDONE. */
enum binding_state binding_start(struct binding *binding, struct cycle *cycle,
                                 struct fw_class *class, const struct pod_self *pod,
                                 uint32_t slot, uint64_t now_ms);
/* A plugin that is not waited for changes nothing. */
enum binding_state binding_allow(struct binding *binding, unsigned plugin);
/* The same; say may be NULL. */
enum binding_state binding_deny(struct binding *binding, unsigned plugin,
                                const struct verdict *verdict);
/* When the first of those that are waited for is late; UINT64_MAX: nobody is. */
uint64_t binding_deadline_ms(const struct binding *binding);
/* Denied by whoever is late by then. */
enum binding_state binding_expire(struct binding *binding, uint64_t now_ms);
/* From ALLOWED to COMMITTING, or UNDONE. */
enum binding_state binding_commit(struct binding *binding);
/* From COMMITTING: it was written, or will never be. */
enum binding_state binding_committed(struct binding *binding, bool written);
/* The pod is not wanted any more: UNDONE, unless it is BOUND. Not while COMMITTING: what
 * became of that is to be found out first. */
enum binding_state binding_cancel(struct binding *binding);

#endif
