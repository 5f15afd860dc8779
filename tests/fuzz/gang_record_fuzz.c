/* How far a large gang has come. */
#include "shardsched/records/gang_record.h"
#include "tests/fuzz/value.h"

FUZZ_VALUE(struct gang_record, gang_record, 2 * (size_t)GANG_RECORD_BYTES_MAX, true)
