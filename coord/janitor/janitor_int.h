/* The two halves of janitor_core, compaction and sweep. Each has its own requests and
 * its own deadline; neither depends on the other. */
#ifndef COORD_JANITOR_JANITOR_INT_H
#define COORD_JANITOR_JANITOR_INT_H

#include "coord/janitor/janitor_core.h"

struct janitor_action *janitor_emit(struct janitor_actions *actions,
                                    enum janitor_action_type type);

/* Begins to work, with no knowledge of the store. */
void compaction_start(struct janitor_core *core, uint64_t now_ms);
void compaction_event(struct janitor_core *core, const struct janitor_event *event,
                      struct janitor_actions *actions);
void compaction_timeout(struct janitor_core *core, struct janitor_actions *actions);
uint64_t compaction_deadline_ms(const struct janitor_core *core);
void compaction_check(const struct janitor_core *core);

void sweep_start(struct janitor_core *core, uint64_t now_ms);
/* Moves the next sweep forward, to an interval from now at the latest. */
void sweep_tune(struct janitor_core *core, uint64_t now_ms);
void sweep_event(struct janitor_core *core, const struct janitor_event *event,
                 struct janitor_actions *actions);
void sweep_timeout(struct janitor_core *core, struct janitor_actions *actions);
uint64_t sweep_deadline_ms(const struct janitor_core *core);
void sweep_check(const struct janitor_core *core);

#endif
