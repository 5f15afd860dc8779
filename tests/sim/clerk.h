/*
 * Who wants things: a client on a host of its own, with its own network, that brings
 * nodes and pods, changes and removes them by the product's own means (coord/submit,
 * coord/nodes). When calm comes it checks and mends what people have spoilt
 * (coord/fsck), gives room to everything, and submits what may have been lost.
 */
#ifndef TESTS_SIM_CLERK_H
#define TESTS_SIM_CLERK_H

#include "tests/sim/world.h"

struct clerk;

struct clerk *clerk_open(struct world *world);
void clerk_calm(struct clerk *clerk);
/* Nothing new; false, something goes on. NULL has left. */
void clerk_leave(struct clerk *clerk);
bool clerk_has_left(const struct clerk *clerk);
void clerk_free(struct clerk *clerk); /* it has left; NULL does nothing */

/* The pod is wanted: it was submitted, and not removed on purpose. */
bool clerk_wants_pod(const struct clerk *clerk, uint32_t pod);
/* It was asked for its removal; or was lately, and the store was restored: that is heard
 * once more. */
bool clerk_removes_pod(const struct clerk *clerk, uint32_t pod);
/* In that life it may have ended by itself. */
bool clerk_has_run_pod(const struct clerk *clerk, uint32_t pod, uint32_t life);
/* A check found nothing, since calm, and everything was mended and submitted. */
bool clerk_is_content(const struct clerk *clerk, char *why, size_t size);
/* It is said in the store that a pod has ended. By name, so it may have been said of an
 * earlier life of it, which the store was restored to, or of the next one. */
void clerk_heard(struct clerk *clerk, uint32_t pod);
/* Dies at this moment, whatever it is at, and is started again after a while. */
void clerk_crash(struct clerk *clerk);
/* Its wall clock is ahead by so much. */
void clerk_set_wall(struct clerk *clerk, int64_t ahead_ms);
/* The connection breaks. */
void clerk_break(struct clerk *clerk, bool forget);

#endif
