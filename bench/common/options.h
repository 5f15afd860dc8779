/*
 * The options of a bench, as a table: read, bounded, and told by --help. --json and
 * --help are understood by all of them (JSON is what comes anyway).
 */
#ifndef BENCH_COMMON_OPTIONS_H
#define BENCH_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { BENCH_OPTIONS_MAX = 32 };

enum bench_option_kind {
	BENCH_COUNT, /* uint32_t, low to high */
	BENCH_SEED,  /* uint64_t */
	BENCH_REAL,  /* double, low to high */
	BENCH_TEXT,  /* const char * */
	BENCH_WORD,  /* unsigned: which of words */
	BENCH_ON,    /* bool: true; takes no value */
	BENCH_OFF,   /* bool: false; takes no value */
};

struct bench_option {
	const char *name;
	enum bench_option_kind kind;
	void *at;
	const char *value;        /* how the help calls it; NULL: N */
	const char *help;         /* lines; the default is told by the table */
	double low, high;         /* high 0: any */
	const char *const *words; /* ends with NULL */
};

struct bench_usage {
	const char *name;  /* the bench: bench/run NAME */
	const char *about; /* lines for --help: what the bench does */
	const struct bench_option *options;
	unsigned count;
	const char *more; /* at the end of the help; or NULL */
};

/* --help and wrong usage end the program. Sets bench_name. What at points to are the
 * defaults before. */
void bench_options(const struct bench_usage *usage, int argc, char **argv);

/* Wrong usage that only the bench knows of. */
_Noreturn void bench_refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
