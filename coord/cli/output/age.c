#include "coord/cli/output/age.h"

const char *age_text(int64_t ms, char out[AGE_SIZE])
{
	return pl_human_duration(ms < 0 ? 0 : ms, out);
}
