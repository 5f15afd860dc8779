/* What a shard tells the others of its nodes. */
#include "shardsched/records/digest.h"
#include "tests/fuzz/value.h"

FUZZ_VALUE(struct digest, digest, DIGEST_BYTES_MAX, true)
