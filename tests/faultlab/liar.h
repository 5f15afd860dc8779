/*
 * A client with one fault of its own, to see the judge find it: wraps any kv and
 * breaks one promise of kv.h now and then.
 */
#ifndef TESTS_FAULTLAB_LIAR_H
#define TESTS_FAULTLAB_LIAR_H

#include "store/kv/kv.h"

enum liar_lie {
	LIAR_NONE,
	LIAR_UNKNOWN_IS_FAILED, /* says that a write did not happen when it may have */
	LIAR_RETRIES_UNKNOWN,   /* sends a write again that may have been applied */
	LIAR_FORGES_WRITES,     /* says OK to a write that it never sent */
	LIAR_IGNORES_COMPARES,
	LIAR_OLD_VALUE,  /* reads the past, and says it is the present */
	LIAR_OLD_ANSWER, /* reads the past, under its own revision */
	LIAR_DROPS_EVENTS,
	LIAR_REPEATS_EVENTS,
	LIAR_PROMISES, /* progress that is not so */
	LIAR_BREAKS_OFF,
	LIAR_KEEPS_NO_LEASE, /* says that a lease was kept alive */
	LIAR_COUNT,
};

PL_NODISCARD enum pl_code liar_open(struct kv *kv, enum liar_lie lie, uint64_t seed,
                                    struct kv **out, struct pl_err *err);

/* How often it has lied. */
uint64_t liar_lies(const struct kv *kv);

#endif
