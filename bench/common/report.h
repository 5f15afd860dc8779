/*
 * Reports of a bench, shared by all of them: figures, times, the machine, and the ends
 * of a bench after an error. One JSON object a line on stdout, all else on stderr.
 */
#ifndef BENCH_COMMON_REPORT_H
#define BENCH_COMMON_REPORT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/base/err.h"

enum { BENCH_FIELDS_SIZE = 512 };

/* Statuses, besides 0 and those of getopt's: */
enum bench_exit {
	BENCH_OK = 0,
	BENCH_FAILED = 1,
	BENCH_USAGE = 2,
	BENCH_INCOMPLETE = 3, /* the bench ran, but not everything was placed */
};

/* The value of "bench" in every line; set once, by main. */
extern const char *bench_name;

/* Ends the program with a message when code is an error: a bench that failed has no
 * figures. */
void bench_check(enum pl_code code, const struct pl_err *err, const char *what);
_Noreturn void bench_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Prints a line of progress on stderr. */
PL_PRINTF(1, 2) void bench_say(const char *fmt, ...);

/* Zeroed memory; never NULL. The caller calls free(). */
__attribute__((returns_nonnull)) void *bench_alloc(size_t count, size_t size);

/* The members of "case", as "\"op\":\"put\",\"inflight\":4", added one by one. */
struct bench_fields {
	char at[BENCH_FIELDS_SIZE];
	size_t len;
};
PL_PRINTF(2, 3) void bench_field(struct bench_fields *fields, const char *fmt, ...);

void bench_emit(const char *fields, const char *metric, double value, const char *unit);
/* "metric":"environment": cores, kernel, libraries, build; more: further fields. */
void bench_environment(const char *more);

double bench_now_s(void);
/* CPU time of a process, user and system; pid 0: this one, with all threads. 0 when the
 * process is gone. */
double bench_cpu_s(pid_t pid);
/* The peak of a process's resident memory, in bytes; 0: not known. */
double bench_rss_max(pid_t pid);

#endif
