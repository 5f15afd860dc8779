/* The target of the state value of a pod. */
#include "shardsched/records/pod_state.h"
#include "tests/fuzz/value.h"

FUZZ_VALUE(struct pod_state, state, STATE_BYTES_MAX, false)
