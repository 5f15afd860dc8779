/* Whether a node admits a pod, judged one node and one pod at a time. */
#ifndef TESTS_SIM_NAIVE_H
#define TESTS_SIM_NAIVE_H

#include "tests/sim/mirror.h"

/* Returns why node n does not admit pod i; NULL: it does, apart from room. The pod
 * itself, if it is there, does not count. */
const char *naive_refuses(const struct mirror *mirror, uint32_t n, uint32_t i);
bool naive_has_room(const struct mirror *mirror, uint32_t n, uint32_t i);
/* Returns for how many pods of that size. */
uint64_t naive_room(const struct mirror *mirror, uint32_t n,
                    const struct scenario_pod *size);

#endif
