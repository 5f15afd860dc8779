/* People who write where pods are placed, by hand: what they spoil is set aside by the
 * shards, and mended when all is calm. */
#ifndef TESTS_SIM_SPOIL_H
#define TESTS_SIM_SPOIL_H

#include "tests/sim/world.h"

void spoil_alloc(struct world *world); /* or the Node */
void spoil_state(struct world *world);
void spoil_spec(struct world *world);
void spoil_stray(struct world *world);
/* A registry, the lock of a term, or what nodes there are. */
void spoil_rules(struct world *world);
void spoil_gang(struct world *world);

/* What nothing can be derived from is put right by those who know. */
void spoil_calm(struct world *world);

#endif
