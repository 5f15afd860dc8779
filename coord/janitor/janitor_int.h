/* The two halves of janitor_core: each has its requests, its deadline and nothing
 * to do with the other. */
#ifndef COORD_JANITOR_JANITOR_INT_H
#define COORD_JANITOR_JANITOR_INT_H

#include "coord/janitor/janitor_core.h"

struct janitor_action *janitor_emit(struct janitor_actions *actions,
                                    enum janitor_action_type type);

/* At work from now on, knowing nothing. */
void compaction_start(struct janitor_core *core, uint64_t now_ms);
void compaction_event(struct janitor_core *core, const struct janitor_event *event,
                      struct janitor_actions *actions);
void compaction_timeout(struct janitor_core *core, struct janitor_actions *actions);
uint64_t compaction_deadline_ms(const struct janitor_core *core);
void compaction_check(const struct janitor_core *core);

void sweep_start(struct janitor_core *core, uint64_t now_ms);
/* The next sweep is no later than an interval from now. */
void sweep_tune(struct janitor_core *core, uint64_t now_ms);
void sweep_event(struct janitor_core *core, const struct janitor_event *event,
                 struct janitor_actions *actions);
void sweep_timeout(struct janitor_core *core, struct janitor_actions *actions);
uint64_t sweep_deadline_ms(const struct janitor_core *core);
void sweep_check(const struct janitor_core *core);

#endif
