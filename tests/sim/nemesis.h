/*
 * Who spoils things: draws one fault after the other by the plan, and takes all
 * of them back when calm begins.
 */
#ifndef TESTS_SIM_NEMESIS_H
#define TESTS_SIM_NEMESIS_H

#include "tests/sim/world.h"

void nemesis_open(struct world *world);
void nemesis_start(struct world *world);
/* Everything is mended, who was dead is started again, and nothing new comes.
 */
void nemesis_calm(struct world *world);
void nemesis_close(struct world *world);

/* An owner key has gone: a good moment for a compaction, if one is due. */
void nemesis_owner_gone(struct world *world);
/* Who could not be reached for a while finds that what happened meanwhile is compacted.
 */
void nemesis_left_behind(struct world *world);
/* A large gang's record is another. */
struct stock_gang;
void nemesis_gang(struct world *world, const struct stock_gang *gang);

/* A shard with an id that nobody has had; the hosts have two each. */
struct proc;
struct proc *nemesis_join(struct world *world);

/* Operators, who write straight into the store (hands.c). */
struct hands;
struct hands *hands_new(struct world *world);
void hands_free(struct hands *hands);
void hands_config(struct hands *hands);
/* So that nothing moves but what has to. */
void hands_no_balancer(struct hands *hands);
void hands_config_bad(struct hands *hands);
void hands_drain(struct hands *hands);
void hands_evict(struct hands *hands);
void hands_delete_owner(struct hands *hands);
void hands_garble_owner(struct hands *hands);
void hands_pin(struct hands *hands);
void hands_incarnation(struct hands *hands);
/* Undrains everybody, puts good configurations, takes pins back. */
void hands_calm(struct hands *hands);

#endif
