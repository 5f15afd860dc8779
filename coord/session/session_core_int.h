/* Shared by the files of session_core. */
#ifndef COORD_SESSION_SESSION_CORE_INT_H
#define COORD_SESSION_SESSION_CORE_INT_H

#include "coord/session/session_core.h"

struct session_action *session_emit(struct session_actions *actions,
                                    enum session_action_type type,
                                    const struct session_core *core);
void session_trouble(const struct session_core *core, enum session_why why,
                     enum pl_code code, struct session_actions *actions);
void session_plan(struct session_core *core, enum session_request_kind next,
                  uint64_t at_ms);
/* Gives up a lease that lives, so that keys under it do not wait for its end. */
void session_give_up(struct session_core *core, enum pl_code code,
                     struct session_actions *actions);
/* Counts a failure and returns until when nothing more is requested. */
uint64_t session_hold(struct session_core *core, uint64_t now_ms);

/* session_record.c: what the record turned out to be. asked: the request that brought
 * it. */
void session_on_put(struct session_core *core, const struct session_event *event,
                    enum session_request_kind asked, struct session_actions *actions);
void session_on_found(struct session_core *core, const struct session_event *event,
                      enum session_request_kind asked, struct session_actions *actions);
void session_on_absent(struct session_core *core, uint64_t now_ms,
                       enum session_request_kind asked, struct session_actions *actions);
void session_on_ttl(struct session_core *core, const struct session_event *event,
                    struct session_actions *actions);
void session_on_no_lease(struct session_core *core, uint64_t now_ms);

#endif
