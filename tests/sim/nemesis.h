/*
 * The nemesis draws one fault after the other by the plan, and undoes all of them when
 * the recovery phase begins.
 */
#ifndef TESTS_SIM_NEMESIS_H
#define TESTS_SIM_NEMESIS_H

#include "tests/sim/world.h"

void nemesis_open(struct world *world);
void nemesis_start(struct world *world);
/* Undoes all faults and starts dead processes again; no new fault comes. */
void nemesis_stop(struct world *world);
void nemesis_close(struct world *world);

/* An owner key was deleted: a good moment for a compaction, if one is due. */
void nemesis_owner_gone(struct world *world);
/* Compacts what happened while a process could not be reached. */
void nemesis_left_behind(struct world *world);
/* The record of a large gang changed. */
struct mirror_gang;
void nemesis_gang(struct world *world, const struct mirror_gang *gang);

/* Starts a shard with a new id; each host has two. */
struct proc;
struct proc *nemesis_join(struct world *world);

/* Operators, who write straight into the store (operators.c). */
struct operators;
struct operators *operators_new(struct world *world);
void operators_free(struct operators *operators);
void operators_config(struct operators *operators);
/* Disables the balancer, so that no partition moves without need. */
void operators_no_balancer(struct operators *operators);
void operators_config_bad(struct operators *operators);
void operators_drain(struct operators *operators);
void operators_evict(struct operators *operators);
void operators_delete_owner(struct operators *operators);
void operators_corrupt_owner(struct operators *operators);
void operators_pin(struct operators *operators);
void operators_incarnation(struct operators *operators);
/* Undoes drains, writes good configurations, deletes pins. */
void operators_recover(struct operators *operators);

#endif
