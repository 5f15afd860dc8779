/*
 * A faulty client wraps any kv and breaks one promise of kv.h now and then, so that
 * tests see the judge find it.
 */
#ifndef TESTS_FAULTLAB_FAULTY_CLIENT_H
#define TESTS_FAULTLAB_FAULTY_CLIENT_H

#include "store/kv/kv.h"

enum client_fault {
	CLIENT_FAULT_NONE,
	CLIENT_FAULT_UNKNOWN_IS_FAILED, /* says that a write did not happen when it may have */
	CLIENT_FAULT_RETRIES_UNKNOWN, /* sends a write again that may have been applied */
	CLIENT_FAULT_FORGES_WRITES,   /* says OK to a write that it never sent */
	CLIENT_FAULT_IGNORES_COMPARES,
	CLIENT_FAULT_OLD_VALUE,  /* reads the past, and says it is the present */
	CLIENT_FAULT_OLD_ANSWER, /* reads the past, under its own revision */
	CLIENT_FAULT_DROPS_EVENTS,
	CLIENT_FAULT_REPEATS_EVENTS,
	CLIENT_FAULT_FALSE_PROGRESS, /* reports progress past missing events */
	CLIENT_FAULT_ENDS_WATCHES,
	CLIENT_FAULT_KEEPS_NO_LEASE, /* says that a lease was kept alive */
	CLIENT_FAULT_COUNT,
};

PL_NODISCARD enum pl_code faulty_client_open(struct kv *kv, enum client_fault fault,
                                             uint64_t seed, struct kv **out,
                                             struct pl_err *err);

/* How many times the client has broken its promise. */
uint64_t faulty_client_faults(const struct kv *kv);

#endif
