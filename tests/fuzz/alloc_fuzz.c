/* The target of the alloc value: the pods on a node. */
#include "shardsched/records/alloc.h"
#include "tests/fuzz/value.h"

FUZZ_VALUE(struct alloc, alloc, ALLOC_BYTES_MAX + 1, false)
