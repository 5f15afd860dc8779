/* Which terms there are. */
#include "shardsched/ledger/registry.h"
#include "tests/fuzz/value.h"

FUZZ_VALUE(struct registry, registry, 2 * (size_t)REGISTRY_BYTES_MAX, true)
