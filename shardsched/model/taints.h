/* Taints of nodes and tolerations of pods, as shared sets in the order written. */
#ifndef SHARDSCHED_MODEL_TAINTS_H
#define SHARDSCHED_MODEL_TAINTS_H

#include "shardsched/model/model.h"

/* X(NAME, word) */
#define TAINT_EFFECT_MAP(X)                       \
	X(NO_SCHEDULE, "NoSchedule")              \
	X(PREFER_NO_SCHEDULE, "PreferNoSchedule") \
	X(NO_EXECUTE, "NoExecute")

#define TAINT_EFFECT_ENUM(name, word) TAINT_##name,
/* TAINT_ANY: the toleration names none. TAINT_OTHER: an unknown word, which taints
 * nothing. */
enum taint_effect { TAINT_ANY, TAINT_EFFECT_MAP(TAINT_EFFECT_ENUM) TAINT_OTHER };

enum toleration_op { TOLERATION_EQUAL, TOLERATION_EXISTS, TOLERATION_BAD };

struct taint {
	uint32_t key;
	uint32_t value; /* never 0 */
	uint32_t effect;
};

struct taints {
	struct intern_item item;
	uint32_t count;
	uint32_t effects; /* a bit for each effect in the set */
	struct taint row[];
};

/* When the taints of a node were added, in their order, by the clock of their writer. 0:
 * absent, or of no concern, since the taint is not NoExecute. Interned. */
struct taint_times {
	struct intern_item item;
	uint32_t count;
	int64_t added_ms[];
};

struct toleration {
	uint32_t key;   /* 0: all keys */
	uint32_t value; /* never 0 */
	uint16_t op;
	uint16_t effect; /* TAINT_ANY: all */
	int32_t seconds; /* of NoExecute: how long; TOLERATION_EVER: without end */
};

enum { TOLERATION_EVER = -1 };

struct tolerations {
	struct intern_item item;
	uint32_t count;
	struct toleration row[];
};

/* Returns the value with a reference. An empty set is a value, too. */
const struct taints *taints_make(struct maker *maker, struct draft_taints draft);
/* NULL: no taint has a time. */
const struct taint_times *taint_times_make(struct maker *maker,
                                           struct draft_taints draft);
const struct tolerations *tolerations_make(struct maker *maker,
                                           struct draft_tolerations draft);

bool toleration_covers(const struct toleration *toleration, const struct taint *taint);
bool tolerations_cover(const struct tolerations *tolerations, const struct taint *taint);

/* The first taint with one of these effects (bits) that no toleration matches; NULL:
 * none. */
const struct taint *taints_first_untolerated(const struct taints *taints,
                                             const struct tolerations *tolerations,
                                             uint32_t effects);

/* How long a pod may stay on a node with that taint, in seconds, by the rule of kube's
 * taint eviction: the first matching toleration counts. TOLERATION_EVER: without end,
 * also for taints of other effects; 0: no toleration matches. */
int32_t tolerations_bear_s(const struct tolerations *tolerations,
                           const struct taint *taint);

#define TAINT_BIT(effect) (UINT32_C(1) << (effect))
/* Effects that keep a pod away. */
#define TAINT_HARD (TAINT_BIT(TAINT_NO_SCHEDULE) | TAINT_BIT(TAINT_NO_EXECUTE))

const char *taint_effect_word(enum taint_effect effect);

#endif
