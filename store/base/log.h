/*
 * Structured log events: a level, a stable name, and keys with values.
 *
 *	PL_LOG(PL_LOG_WARN, "etcd.reconnect", pl_log_str("endpoint", text),
 *	       pl_log_int("delay_ms", delay), pl_log_err("err", &err));
 *
 * The output is text for people, or one JSON object a line for machines. Names of events
 * and keys are literals of Placet's own (a-z, 0-9, _ and .). Input from outside is only
 * ever a value, escaped and cut at PL_LOG_VALUE_MAX bytes. A secret goes through
 * pl_log_secret, which only says whether there is one.
 *
 * Any thread may log: one write() under a lock writes a line, and takes no memory from
 * the heap. pl_log_setup must run before there are other threads.
 *
 * Of one event at most PL_LOG_BURST lines are written in PL_LOG_WINDOW_MS (of a level above
 * debug); the first line after that tells how many were left out, as "suppressed".
 */
#ifndef STORE_BASE_LOG_H
#define STORE_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"

enum {
	PL_LOG_VALUE_MAX = 1024,
	PL_LOG_LINE_MAX = 16384,
	PL_LOG_BURST = 300,
	PL_LOG_WINDOW_MS = 10000,
};

enum pl_log_level { PL_LOG_DEBUG, PL_LOG_INFO, PL_LOG_WARN, PL_LOG_ERROR, PL_LOG_OFF };
enum pl_log_format { PL_LOG_TEXT, PL_LOG_JSON };
enum pl_log_colour { PL_LOG_COLOUR_AUTO, PL_LOG_COLOUR_NEVER, PL_LOG_COLOUR_ALWAYS };

struct pl_log_options {
	int fd;
	enum pl_log_format format;
	enum pl_log_level level; /* lower levels are not written */
	enum pl_log_colour
		colour; /* AUTO: colours if fd is a terminal and NO_COLOR is not set */
	int64_t (*wall_ms)(void); /* NULL: pl_clock_wall_ms */
};

/* Without a setup, text goes to stderr, from PL_LOG_INFO on. */
void pl_log_setup(const struct pl_log_options *options);

/* The level of all threads; it counts at once. */
void pl_log_set_level(enum pl_log_level level);
enum pl_log_level pl_log_level_now(void);

/* "debug", "info", "warn", "error", "off". */
const char *pl_log_level_name(enum pl_log_level level);
PL_NODISCARD enum pl_code pl_log_level_parse(struct pl_span text, enum pl_log_level *out,
                                             struct pl_err *err);

enum pl_log_kind {
	PL_LOG_KIND_NONE,
	PL_LOG_KIND_INT,
	PL_LOG_KIND_UINT,
	PL_LOG_KIND_DOUBLE,
	PL_LOG_KIND_BOOL,
	PL_LOG_KIND_TEXT,
	PL_LOG_KIND_SECRET,
	PL_LOG_KIND_ERR,
};

struct pl_log_field {
	const char *key;
	enum pl_log_kind kind;
	union {
		int64_t number;
		uint64_t count;
		double real;
		bool truth;
		struct pl_span text;
		const struct pl_err *err;
	};
};

static inline struct pl_log_field pl_log_int(const char *key, int64_t value)
{
	return (struct pl_log_field){key, PL_LOG_KIND_INT, {.number = value}};
}

static inline struct pl_log_field pl_log_uint(const char *key, uint64_t value)
{
	return (struct pl_log_field){key, PL_LOG_KIND_UINT, {.count = value}};
}

static inline struct pl_log_field pl_log_double(const char *key, double value)
{
	return (struct pl_log_field){key, PL_LOG_KIND_DOUBLE, {.real = value}};
}

static inline struct pl_log_field pl_log_bool(const char *key, bool value)
{
	return (struct pl_log_field){key, PL_LOG_KIND_BOOL, {.truth = value}};
}

static inline struct pl_log_field pl_log_span(const char *key, struct pl_span value)
{
	return (struct pl_log_field){key, PL_LOG_KIND_TEXT, {.text = value}};
}

/* NULL prints like "". */
static inline struct pl_log_field pl_log_str(const char *key, const char *value)
{
	return pl_log_span(key, pl_span_str(value));
}

/* "(secret)", or "(none)" when it is empty. */
static inline struct pl_log_field pl_log_secret(const char *key, struct pl_span value)
{
	return (struct pl_log_field){key, PL_LOG_KIND_SECRET, {.text = value}};
}

/* Prints "name of the code: message". In JSON the name stands alone under <key>_code. */
static inline struct pl_log_field pl_log_err(const char *key, const struct pl_err *err)
{
	return (struct pl_log_field){key, PL_LOG_KIND_ERR, {.err = err}};
}

bool pl_log_on(enum pl_log_level level);
/* Writes whatever the level is and however often the event comes: for what a person has
 * switched on, such as an access log. */
void pl_log_always(const char *event, const struct pl_log_field *fields, unsigned count);
void pl_log_write(enum pl_log_level level, const char *event,
                  const struct pl_log_field *fields, unsigned count);

/* The fields are evaluated only if the level is on. */
#define PL_LOG(level, event, ...)                                               \
	do {                                                                    \
		if (pl_log_on(level)) {                                         \
			const struct pl_log_field pl_fields_[] = {__VA_ARGS__}; \
			pl_log_write(level, event, pl_fields_,                  \
			             sizeof pl_fields_ / sizeof pl_fields_[0]); \
		}                                                               \
	} while (0)

/* An event without fields. */
#define PL_LOG_EVENT(level, event)                           \
	do {                                                 \
		if (pl_log_on(level))                        \
			pl_log_write(level, event, NULL, 0); \
	} while (0)

#endif
