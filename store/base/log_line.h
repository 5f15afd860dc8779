/* A log event as one line of text or JSON. Only the log includes this header. */
#ifndef STORE_BASE_LOG_LINE_H
#define STORE_BASE_LOG_LINE_H

#include "store/base/buf.h"
#include "store/base/log.h"

struct pl_log_event {
	int64_t wall_ms;
	enum pl_log_level level;
	const char *name;
	const struct pl_log_field *fields;
	unsigned count;
	uint64_t suppressed; /* lines of this event that were left out before it */
};

/* Appends the line without its end. PL_LIMIT: buf holds a part of the line. */
enum pl_code pl_log_line_json(struct pl_buf *buf, const struct pl_log_event *event);
enum pl_code pl_log_line_text(struct pl_buf *buf, const struct pl_log_event *event,
                              bool colour);

#endif
