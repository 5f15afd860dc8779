/*
 * Reader of Prometheus' text format (0.0.4), sample by sample, without allocations.
 *
 * Strict: a line that is neither a comment nor a complete sample is an error with its
 * line number. TYPE and HELP lines count as comments. Everything borrows from the text,
 * which its owner bounds.
 */
#ifndef STORE_NET_PROM_H
#define STORE_NET_PROM_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"

enum { PROM_LABELS_MAX = 32, PROM_LINE_MAX = 16 * 1024 };

struct prom_label {
	struct pl_span name;
	struct pl_span value; /* as written, escapes included */
};

/* One sample; borrows from the text. */
struct prom_sample {
	struct pl_span name;
	struct prom_label labels[PROM_LABELS_MAX];
	size_t label_count;
	double value; /* may be infinite or NaN */
	bool has_time;
	int64_t time_ms;
};

struct prom_reader {
	struct pl_span rest;
	unsigned line;
};

void prom_init(struct prom_reader *reader, struct pl_span text);

/* PL_OK: *sample is the next sample. PL_NOTFOUND: the text has no more. PL_INVALID: the
 * line is malformed. */
PL_NODISCARD enum pl_code prom_next(struct prom_reader *reader,
                                    struct prom_sample *sample, struct pl_err *err);

/* The label's value as written; false: no such label, *value is untouched. */
bool prom_label(const struct prom_sample *sample, const char *name,
                struct pl_span *value);

/* Parses a value or a bucket's bound: "0.5", "1e-9", "+Inf", "NaN". */
PL_NODISCARD enum pl_code prom_number(struct pl_span text, double *out);

#endif
