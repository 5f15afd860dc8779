/* Label promotion: a label that only a few selectors ask for stands beside the class of
 * its pod (identity.h), so that pods which differ in it share a class. Once a selector
 * asks for the label it is promoted into the class (label_promotion.c). */
#ifndef SHARDSCHED_SHARD_LABEL_PROMOTION_H
#define SHARDSCHED_SHARD_LABEL_PROMOTION_H

#include <stdbool.h>

struct sched;

/* Promotes all labels that are asked for by now; to be called before anything is judged.
 * False: memory is missing, and nothing is to be judged until the repair. */
bool label_promotion_run(struct sched *sched);

#endif
