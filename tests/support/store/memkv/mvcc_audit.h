/* A check of all invariants of the memory store's state. */
#ifndef TESTS_SUPPORT_STORE_MEMKV_MVCC_AUDIT_H
#define TESTS_SUPPORT_STORE_MEMKV_MVCC_AUDIT_H

#include "store/memkv/mvcc.h"

/* Aborts when an invariant does not hold. */
void mvcc_audit(const struct mvcc *mvcc);

#endif
