/* Labels that classes have beside what their pods have in common (join.c). */
#ifndef SHARDSCHED_SHARD_LABEL_PROMOTION_H
#define SHARDSCHED_SHARD_LABEL_PROMOTION_H

#include <stdbool.h>

struct sched;

/* Labels that stood beside classes and are asked for by now go into them: to be called
 * before anything is judged. False: it is not to be judged. */
bool label_promotion_run(struct sched *sched);

#endif
