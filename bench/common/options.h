/*
 * The options of a bench are a table, which parsing, bounds and --help follow. Every
 * bench takes --json and --help (the output is always JSON).
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
	const char *value;        /* the name of the value in --help; NULL: N */
	const char *help;         /* lines for --help, without the default */
	double low, high;         /* bounds; high 0: no upper bound */
	const char *const *words; /* ends with NULL */
};

struct bench_usage {
	const char *name;  /* the bench: bench/run NAME */
	const char *about; /* lines for --help: what the bench does */
	const struct bench_option *options;
	unsigned count;
	const char *more; /* lines at the end of --help; or NULL */
};

/* Parses the options into the variables at `at`, which hold the defaults before. Sets
 * bench_name. --help and wrong usage end the program. */
void bench_options(const struct bench_usage *usage, int argc, char **argv);

/* Ends the program as wrong usage, for rules that the table cannot have. */
_Noreturn void bench_refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
