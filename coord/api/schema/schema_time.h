/*
 * Times as Kubernetes writes them (RFC 3339): "2026-11-21T05:00:00Z", or with
 * microseconds. Any offset and fraction is read; UTC is written.
 */
#ifndef COORD_API_SCHEMA_SCHEMA_TIME_H
#define COORD_API_SCHEMA_SCHEMA_TIME_H

#include <stdbool.h>

#include "store/base/span.h"

enum { SCHEMA_TIME_SIZE = 32 };

struct schema_time {
	int64_t seconds; /* since 1970; years 0 to 9999 */
	int32_t nanos;   /* 0 to 999,999,999 */
};

/* False: text is no time. */
bool schema_time_parse(struct pl_span text, struct schema_time *out);
/* False: the year does not have four digits. */
bool schema_time_print(struct schema_time time, bool micro, char out[SCHEMA_TIME_SIZE]);

#endif
