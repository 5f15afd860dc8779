/* Which terms there are. */
#include "shardsched/records/rule_registry.h"
#include "tests/fuzz/value.h"

FUZZ_VALUE(struct rule_registry, rule_registry, 2 * (size_t)RULE_REGISTRY_BYTES_MAX, true)
