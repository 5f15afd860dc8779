#include "coord/access/audit/audit_log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/base/log.h"

enum {
	FILE_MIB = 100,
	KEEP = 10,
	QUEUE_BYTES = 16 << 20,
	PATH_SIZE = 4096,
	/* Lines are written together, so that a flood of them costs few wake-ups. */
	GATHER_BYTES = 64 << 10,
	GATHER_MS = 20,
};

struct audit_log {
	char path[PATH_SIZE];
	uint64_t file_bytes;
	uint32_t keep;
	int64_t (*wall_ms)(void);
	struct pl_buf line; /* of the adding thread */
	pthread_t thread;
	pthread_mutex_t lock; /* of the fields below, up to counts */
	pthread_cond_t some;
	struct pl_buf queue;
	uint64_t unreported; /* dropped lines that no line has told of */
	bool stop;
	struct audit_log_counts counts;
	/* Only the thread uses these. */
	struct pl_buf work;
	int fd;
	uint64_t size;
	bool failing; /* the last write failed, and that was logged */
	bool grows;   /* the full file could not be renamed, and gets these lines, too */
	bool stuck;   /* the same, and that was logged */
};

/* -- the file ----------------------------------------------------------------------------- */

static bool file_open(struct audit_log *log)
{
	struct stat about;

	log->fd = open(log->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY,
	               0600);
	if (log->fd < 0)
		return false;
	log->size = fstat(log->fd, &about) == 0 ? (uint64_t)about.st_size : 0;
	return true;
}

/* FILE.1 becomes FILE.2 and so on; the oldest goes. */
static void file_rotate(struct audit_log *log)
{
	char from[PATH_SIZE + 16], to[PATH_SIZE + 16];
	int rc = 0;

	for (uint32_t i = log->keep; i > 0; i--) {
		(void)snprintf(to, sizeof to, "%s.%u", log->path, (unsigned)i);
		if (i > 1)
			(void)snprintf(from, sizeof from, "%s.%u", log->path,
			               (unsigned)(i - 1));
		else
			(void)snprintf(from, sizeof from, "%s", log->path);
		rc = rename(from, to); /* the last one counts: the older may be missing */
	}
	/* A file that was taken away is made anew. */
	log->grows = rc != 0 && errno != ENOENT;
	if (log->grows && !log->stuck)
		PL_LOG(PL_LOG_ERROR, "audit.failed", pl_log_str("file", log->path),
		       pl_log_str("why", strerror(errno)));
	log->stuck = log->grows;
	if (log->grows)
		return;
	(void)close(log->fd);
	log->fd = -1;
	(void)pthread_mutex_lock(&log->lock);
	log->counts.rotations++;
	(void)pthread_mutex_unlock(&log->lock);
}

static bool write_whole(struct audit_log *log, struct pl_span bytes)
{
	while (bytes.len > 0) {
		ssize_t count = write(log->fd, bytes.at, bytes.len);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return false;
		log->size += (uint64_t)count;
		bytes = pl_span(bytes.at + count, bytes.len - (size_t)count);
	}
	return true;
}

/* Whole lines that fit into the file; one at least. */
static struct pl_span lines_that_fit(const struct audit_log *log, struct pl_span bytes)
{
	uint64_t room = log->size < log->file_bytes ? log->file_bytes - log->size : 0;
	size_t fit = 0;

	if (log->grows)
		return bytes;
	for (size_t i = 0; i < bytes.len; i++) {
		if (bytes.at[i] != '\n')
			continue;
		if (fit > 0 && i + 1 > room)
			break;
		fit = i + 1;
	}
	return pl_span(bytes.at, fit);
}

static uint64_t count_lines(struct pl_span bytes)
{
	uint64_t count = 0;

	for (size_t i = 0; i < bytes.len; i++)
		count += bytes.at[i] == '\n';
	return count;
}

static void lines_lost(struct audit_log *log, struct pl_span bytes)
{
	uint64_t lines = count_lines(bytes);
	int why = errno;

	(void)pthread_mutex_lock(&log->lock);
	log->counts.failed++;
	log->counts.dropped += lines;
	log->unreported += lines;
	(void)pthread_mutex_unlock(&log->lock);
	if (!log->failing)
		PL_LOG(PL_LOG_ERROR, "audit.failed", pl_log_str("file", log->path),
		       pl_log_str("why", strerror(why)));
	log->failing = true;
}

static void write_lines(struct audit_log *log, struct pl_span bytes)
{
	log->grows = false;
	while (bytes.len > 0) {
		struct pl_span part;

		if (log->fd >= 0 && log->size >= log->file_bytes && !log->grows)
			file_rotate(log);
		if (log->fd < 0 && !file_open(log)) {
			lines_lost(log, bytes);
			return;
		}
		part = lines_that_fit(log, bytes);
		/* A file that is nearly full is full for a line that would pass its end. */
		if (log->size > 0 && log->size + part.len > log->file_bytes &&
		    !log->grows) {
			log->size = log->file_bytes;
			continue;
		}
		if (!write_whole(log, part)) {
			lines_lost(log, bytes);
			return;
		}
		log->failing = false;
		bytes = pl_span(bytes.at + part.len, bytes.len - part.len);
	}
}

/* -- the thread ------------------------------------------------------------------------------- */

/* Waits a moment for lines that follow the first one. The lock is held. */
static void gather_lines(struct audit_log *log)
{
	struct timespec until;
	int rc = 0;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += GATHER_MS * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	while (log->queue.len < GATHER_BYTES && !log->stop && rc == 0)
		rc = pthread_cond_timedwait(&log->some, &log->lock, &until);
}

/* False: there is nothing left, and the log closes. */
static bool take_lines(struct audit_log *log)
{
	struct pl_buf empty = log->work;
	bool some;

	(void)pthread_mutex_lock(&log->lock);
	while (log->queue.len == 0 && !log->stop)
		(void)pthread_cond_wait(&log->some, &log->lock);
	gather_lines(log);
	some = log->queue.len > 0;
	log->work = log->queue;
	log->queue = empty;
	(void)pthread_mutex_unlock(&log->lock);
	return some;
}

static void *thread_main(void *ctx)
{
	struct audit_log *log = ctx;

	while (take_lines(log)) {
		write_lines(log, pl_buf_span(&log->work));
		pl_buf_clear(&log->work, 1 << 20);
	}
	return NULL;
}

/* -- adding ------------------------------------------------------------------------------------ */

/* A line that tells of those that were dropped comes first. */
static enum pl_code queue_line(struct audit_log *log, int64_t at_ms)
{
	size_t before = log->queue.len;
	enum pl_code code = PL_OK;

	if (log->unreported > 0)
		code = audit_dropped_line(at_ms, log->unreported, &log->queue);
	if (code == PL_OK)
		code = pl_buf_add(&log->queue, pl_buf_span(&log->line));
	if (code == PL_OK)
		log->unreported = 0;
	else
		log->queue.len = before;
	return code;
}

void audit_log_add(struct audit_log *log, const struct audit_event *event)
{
	enum pl_code code;
	size_t before;

	if (log == NULL)
		return;
	pl_buf_clear(&log->line, 4096);
	code = audit_line(event, &log->line);
	(void)pthread_mutex_lock(&log->lock);
	before = log->queue.len;
	if (code == PL_OK)
		code = queue_line(log, event->at_ms);
	if (code == PL_OK) {
		log->counts.lines++;
		if (before == 0 ||
		    (before < GATHER_BYTES && log->queue.len >= GATHER_BYTES))
			(void)pthread_cond_signal(&log->some);
	} else {
		log->counts.dropped++;
		log->unreported++;
	}
	(void)pthread_mutex_unlock(&log->lock);
}

void audit_log_skip(struct audit_log *log)
{
	if (log == NULL)
		return;
	(void)pthread_mutex_lock(&log->lock);
	log->counts.dropped++;
	log->unreported++;
	(void)pthread_mutex_unlock(&log->lock);
}

void audit_log_counts(struct audit_log *log, struct audit_log_counts *out)
{
	(void)pthread_mutex_lock(&log->lock);
	*out = log->counts;
	out->queued_bytes = log->queue.len;
	(void)pthread_mutex_unlock(&log->lock);
}

/* -- life -------------------------------------------------------------------------------------- */

static void log_free(struct audit_log *log)
{
	if (log->fd >= 0)
		(void)close(log->fd);
	pl_buf_done(&log->line);
	pl_buf_done(&log->queue);
	pl_buf_done(&log->work);
	(void)pthread_cond_destroy(&log->some);
	(void)pthread_mutex_destroy(&log->lock);
	free(log);
}

static void cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t monotonic;

	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(cond, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
}

enum pl_code audit_log_open(const struct audit_log_opts *opts, struct audit_log **out,
                            struct pl_err *err)
{
	size_t queue_bytes = opts->queue_bytes == 0 ? QUEUE_BYTES : opts->queue_bytes;
	struct audit_log *log = pl_calloc(1, sizeof *log);
	int rc;

	if (log == NULL)
		return pl_err_set(err, PL_NOMEM, "an audit log");
	log->fd = -1;
	log->file_bytes =
		opts->file_bytes == 0 ? (uint64_t)FILE_MIB << 20 : opts->file_bytes;
	log->keep = opts->keep == 0 ? KEEP : opts->keep;
	log->wall_ms = opts->wall_ms == NULL ? pl_clock_wall_ms : opts->wall_ms;
	pl_buf_init(&log->line, AUDIT_LINE_MAX);
	pl_buf_init(&log->queue, queue_bytes);
	pl_buf_init(&log->work, queue_bytes);
	(void)pthread_mutex_init(&log->lock, NULL);
	cond_init(&log->some);
	if ((size_t)snprintf(log->path, sizeof log->path, "%s", opts->path) >=
	    sizeof log->path) {
		log_free(log);
		return pl_err_set(err, PL_INVALID, "%.100s...: too long", opts->path);
	}
	if (!file_open(log)) {
		log_free(log);
		return pl_err_set(err, PL_IO, "%s: %s", opts->path, strerror(errno));
	}
	rc = pthread_create(&log->thread, NULL, thread_main, log);
	if (rc != 0) {
		log_free(log);
		return pl_err_set(err, PL_IO, "audit log: thread: %s", strerror(rc));
	}
	*out = log;
	return PL_OK;
}

/* Lines that were lost last, and that no line has followed. */
static void tell_rest(struct audit_log *log)
{
	if (log->unreported == 0)
		return;
	pl_buf_clear(&log->work, 1 << 20);
	if (audit_dropped_line(log->wall_ms(), log->unreported, &log->work) == PL_OK)
		write_lines(log, pl_buf_span(&log->work));
}

void audit_log_close(struct audit_log *log)
{
	int rc;

	if (log == NULL)
		return;
	(void)pthread_mutex_lock(&log->lock);
	log->stop = true;
	(void)pthread_cond_signal(&log->some);
	(void)pthread_mutex_unlock(&log->lock);
	rc = pthread_join(log->thread, NULL);
	PL_ASSERT(rc == 0);
	tell_rest(log);
	log_free(log);
}
