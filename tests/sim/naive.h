/* Where a pod may be, judged one node and one pod at a time. */
#ifndef TESTS_SIM_NAIVE_H
#define TESTS_SIM_NAIVE_H

#include "tests/sim/stock.h"

/* Of the n-th node and the i-th pod. Why not; NULL: the node takes it, but for room. The
 * pod itself, if it is there, does not count. */
const char *naive_refuses(const struct stock *stock, uint32_t n, uint32_t i);
bool naive_has_room(const struct stock *stock, uint32_t n, uint32_t i);
/* For how many of that size. */
uint64_t naive_room(const struct stock *stock, uint32_t n, const struct scene_pod *size);

#endif
