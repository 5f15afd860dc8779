#include "store/base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/log_line.h"
#include "store/base/quote.h"

static const char *const level_names[] = {
	[PL_LOG_DEBUG] = "debug", [PL_LOG_INFO] = "info", [PL_LOG_WARN] = "warn",
	[PL_LOG_ERROR] = "error", [PL_LOG_OFF] = "off",
};

enum {
	LEVELS = sizeof level_names / sizeof level_names[0],
	FLOWS = 64, /* events whose lines are counted apart; a new one replaces the one
	             * whose window is the oldest */
};

/* The lines of one event in the present window. */
struct flow {
	const char *event; /* NULL: the slot is free */
	int64_t since_ms;
	uint32_t lines;
	uint64_t suppressed;
};

static struct {
	pthread_mutex_t lock;
	_Atomic int level; /* read without the lock */
	int fd;
	enum pl_log_format format;
	bool colour;
	int64_t (*wall_ms)(void);
	/* under the lock: */
	uint8_t line[PL_LOG_LINE_MAX];
	struct flow flow[FLOWS];
} sink = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .level = PL_LOG_INFO,
          .fd = STDERR_FILENO,
          .wall_ms = pl_clock_wall_ms};

void pl_log_setup(const struct pl_log_options *options)
{
	bool tty = options->colour == PL_LOG_COLOUR_AUTO && isatty(options->fd) != 0 &&
	           getenv("NO_COLOR") == NULL;
	int rc = pthread_mutex_lock(&sink.lock);

	PL_ASSERT(rc == 0 && (unsigned)options->level < LEVELS);
	sink.fd = options->fd;
	sink.format = options->format;
	sink.colour = tty || options->colour == PL_LOG_COLOUR_ALWAYS;
	sink.wall_ms = options->wall_ms == NULL ? pl_clock_wall_ms : options->wall_ms;
	memset(sink.flow, 0, sizeof sink.flow);
	pl_log_set_level(options->level);
	(void)pthread_mutex_unlock(&sink.lock);
}

void pl_log_set_level(enum pl_log_level level)
{
	PL_ASSERT((unsigned)level < LEVELS);
	atomic_store_explicit(&sink.level, (int)level, memory_order_relaxed);
}

enum pl_log_level pl_log_level_now(void)
{
	return (enum pl_log_level)atomic_load_explicit(&sink.level, memory_order_relaxed);
}

const char *pl_log_level_name(enum pl_log_level level)
{
	PL_ASSERT((unsigned)level < LEVELS);
	return level_names[level];
}

enum pl_code pl_log_level_parse(struct pl_span text, enum pl_log_level *out,
                                struct pl_err *err)
{
	char quoted[PL_QUOTE_SIZE];

	for (unsigned i = 0; i < LEVELS; i++)
		if (pl_span_eq(text, pl_span_str(level_names[i]))) {
			*out = (enum pl_log_level)i;
			return PL_OK;
		}
	return pl_err_set(err, PL_INVALID, "want debug, info, warn, error or off, got %s",
	                  pl_quote(text, quoted));
}

bool pl_log_on(enum pl_log_level level)
{
	return (int)level >= atomic_load_explicit(&sink.level, memory_order_relaxed);
}

static bool is_name(const char *text)
{
	const char *at = text;

	while ((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') || *at == '_' ||
	       *at == '.')
		at++;
	return *at == 0 && at != text;
}

/* A line is dropped if its reader is gone or the disk is full: there is no place to
 * report it. */
static void write_all(const uint8_t *at, size_t len)
{
	while (len > 0) {
		ssize_t put = write(sink.fd, at, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return;
		at += put;
		len -= (size_t)put;
	}
}

static enum pl_code format(struct pl_buf *buf, const struct pl_log_event *event)
{
	if (sink.format == PL_LOG_JSON)
		return pl_log_line_json(buf, event);
	return pl_log_line_text(buf, event, sink.colour);
}

static void write_line(struct pl_log_event event)
{
	static const struct pl_log_field too_long = {
		"log_cut", PL_LOG_KIND_BOOL, {.truth = true}};
	/* The buffer has all of its memory from the start, so logging never asks the
	 * heap. Its last byte is for the line end. */
	struct pl_buf buf = {
		.at = sink.line, .cap = PL_LOG_LINE_MAX - 1, .max = PL_LOG_LINE_MAX - 1};

	if (format(&buf, &event) != PL_OK) {
		event.fields = &too_long;
		event.count = 1;
		buf.len = 0;
		if (format(&buf, &event) != PL_OK)
			return;
	}
	sink.line[buf.len] = '\n';
	write_all(sink.line, buf.len + 1);
}

static struct flow *flow_of(const char *event)
{
	struct flow *place = &sink.flow[0];

	for (unsigned i = 0; i < FLOWS; i++) {
		struct flow *here = &sink.flow[i];

		if (here->event != NULL && strcmp(here->event, event) == 0)
			return here;
		if (here->event == NULL ||
		    (place->event != NULL && here->since_ms < place->since_ms))
			place = here;
	}
	*place = (struct flow){.event = event};
	return place;
}

/* Whether one more line of the event fits the window; suppressed: how many did not since
 * the last line. A clock that was set back begins a window, too. */
static bool flow_admits(struct pl_log_event *event)
{
	struct flow *flow = flow_of(event->name);
	int64_t age_ms = event->wall_ms - flow->since_ms;

	if (flow->lines == 0 || age_ms < 0 || age_ms >= PL_LOG_WINDOW_MS) {
		flow->since_ms = event->wall_ms;
		flow->lines = 0;
	}
	if (flow->lines == PL_LOG_BURST) {
		flow->suppressed++;
		return false;
	}
	flow->lines++;
	event->suppressed = flow->suppressed;
	flow->suppressed = 0;
	return true;
}

enum volume { BOUNDED, UNBOUNDED };

static void write_event(struct pl_log_event line, enum volume volume)
{
	int saved = errno, rc;

	PL_ASSERT(is_name(line.name) && line.level < PL_LOG_OFF);
	for (unsigned i = 0; i < line.count; i++)
		PL_ASSERT(is_name(line.fields[i].key));
	rc = pthread_mutex_lock(&sink.lock);
	PL_ASSERT(rc == 0);
	line.wall_ms = sink.wall_ms();
	if (volume == UNBOUNDED || flow_admits(&line))
		write_line(line);
	(void)pthread_mutex_unlock(&sink.lock);
	errno = saved;
}

void pl_log_write(enum pl_log_level level, const char *event,
                  const struct pl_log_field *fields, unsigned count)
{
	write_event(
		(struct pl_log_event){
			.level = level, .name = event, .fields = fields, .count = count},
		level == PL_LOG_DEBUG ? UNBOUNDED : BOUNDED);
}

void pl_log_always(const char *event, const struct pl_log_field *fields, unsigned count)
{
	write_event((struct pl_log_event){.level = PL_LOG_INFO,
	                                  .name = event,
	                                  .fields = fields,
	                                  .count = count},
	            UNBOUNDED);
}
