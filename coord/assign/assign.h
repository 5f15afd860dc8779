/*
 * Which member each partition falls to: weighted rendezvous hashing.
 *
 * A pure function of members and weights, the same bits on every machine: the
 * order in which members were added or removed does not matter. Kept up to date
 * change by change: adding a member costs a score a partition, removing one a
 * score a member for each partition that it had.
 *
 * The score of a member for a partition is -weight / ln(hash(id, partition)), in
 * integers; the highest wins, then the smaller id.
 */
#ifndef COORD_ASSIGN_ASSIGN_H
#define COORD_ASSIGN_ASSIGN_H

#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"

enum { ASSIGN_WEIGHT_ONE = 1000, ASSIGN_WEIGHT_MAX = 1000 * 1000 };

struct assign;

PL_NODISCARD enum pl_code assign_new(uint32_t partitions, struct assign **out,
                                     struct pl_err *err);
void assign_free(struct assign *assign);
PL_NODISCARD enum pl_code assign_copy(const struct assign *assign, struct assign **out,
                                      struct pl_err *err);

/* Adds the member (its id is copied) or changes its weight, 1 to the maximum. */
PL_NODISCARD enum pl_code assign_put(struct assign *assign, struct pl_span id,
                                     uint32_t weight, struct pl_err *err);
void assign_del(struct assign *assign, struct pl_span id);
void assign_clear(struct assign *assign);

uint32_t assign_partitions(const struct assign *assign);
size_t assign_members(const struct assign *assign);
/* Empty: there are no members. Valid until the assignment changes. */
struct pl_span assign_of(const struct assign *assign, uint32_t partition);
uint32_t assign_count(const struct assign *assign, struct pl_span id);

#endif
