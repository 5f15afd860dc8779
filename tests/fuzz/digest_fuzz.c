/* The target of the digest value: a summary of a partition's nodes. */
#include "shardsched/records/digest.h"
#include "tests/fuzz/value.h"

FUZZ_VALUE(struct digest, digest, DIGEST_BYTES_MAX, true)
