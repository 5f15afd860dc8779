/*
 * Torture: a scenario is run again and again, and each time a later one of
 * its allocations fails, until a run has no allocation left to fail.
 */
#ifndef TESTS_HARNESS_TORTURE_H
#define TESTS_HARNESS_TORTURE_H

#include "store/base/fault.h"
#include "tests/harness/t.h"

/* run cleans up after itself. It must give PL_NOMEM when an allocation failed,
 * unless it says that it can do without (may_pass). At least one has to fail. */
static inline void t_torture(enum pl_code (*run)(void), bool may_pass)
{
	for (uint64_t nth = 1;; nth++) {
		enum pl_code code;

		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = run();
		if (!pl_fault_fired(PL_FAULT_ALLOC)) {
			T_CODE(code, PL_OK, NULL);
			T_TRUE(nth > 1);
			break;
		}
		if (code != PL_OK || !may_pass)
			T_CODE(code, PL_NOMEM, NULL);
	}
	pl_fault_reset();
}

#endif
