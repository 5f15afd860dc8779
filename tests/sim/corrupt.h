/* Manual edits of the keys of placed pods: shards exclude what they damage, and it is
 * repaired in the recovery phase. */
#ifndef TESTS_SIM_CORRUPT_H
#define TESTS_SIM_CORRUPT_H

#include "tests/sim/world.h"

void corrupt_alloc(struct world *world); /* or the Node */
void corrupt_state(struct world *world);
void corrupt_spec(struct world *world);
void corrupt_add_unknown_key(struct world *world);
/* Damages a registry, the lock of a term, or the record of the nodes that a rule uses. */
void corrupt_rules(struct world *world);
void corrupt_gang(struct world *world);

/* Writes again what can not be derived from other keys. */
void corrupt_repair(struct world *world);

#endif
