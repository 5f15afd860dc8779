/*
 * The audit log: lines to a file, written by a thread of its own.
 *
 *	audit_log_add --> queue (bytes) --thread--> FILE --full--> FILE.1 --> ... --> FILE.keep
 *
 * Invariants:
 *  - Adding never waits for the disk. What finds no room in the queue is dropped and counted,
 *    and the next line that finds room is preceded by one that says how many there were;
 *    the same holds for lines that could not be written.
 *  - A line is whole in one file. A file is at most file_bytes and one line large.
 *  - Closing writes all that was added.
 */
#ifndef COORD_ACCESS_AUDIT_AUDIT_LOG_H
#define COORD_ACCESS_AUDIT_AUDIT_LOG_H

#include "coord/access/audit/audit_line.h"

struct audit_log;

struct audit_log_opts {
	const char *path;    /* copied */
	uint64_t file_bytes; /* 0: 100 MiB */
	uint32_t keep;       /* older files; 0: 10 */
	size_t queue_bytes;  /* 0: 16 MiB */
	int64_t (*wall_ms)(void);
};

/* The file is made, or gone on with. PL_IO: it can not be opened; PL_NOMEM. */
PL_NODISCARD enum pl_code audit_log_open(const struct audit_log_opts *opts,
                                         struct audit_log **out, struct pl_err *err);
/* Takes NULL. Waits until what was added is written. */
void audit_log_close(struct audit_log *log);

/* Called by one thread. log NULL: nothing. */
void audit_log_add(struct audit_log *log, const struct audit_event *event);

/* Counts a line as dropped that was not to be written. log NULL: nothing. */
void audit_log_skip(struct audit_log *log);

struct audit_log_counts {
	uint64_t lines, dropped, failed; /* failed: writes */
	uint64_t rotations;
	size_t queued_bytes;
};
void audit_log_counts(struct audit_log *log, struct audit_log_counts *out);

#endif
