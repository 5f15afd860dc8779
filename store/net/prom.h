/*
 * Prometheus' text format (0.0.4), read sample by sample without memory of its own.
 *
 * Strict: a line that is neither a comment nor a whole sample is an error with its
 * number. Types and help texts are comments here; who reads a sample knows what
 * it is. Bounded by the text, which is bounded by who fetched it.
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
	struct pl_span value; /* as written: with its escapes */
};

/* Borrows from the text. */
struct prom_sample {
	struct pl_span name;
	struct prom_label labels[PROM_LABELS_MAX];
	size_t label_count;
	double value; /* may be an infinity or not a number */
	bool has_time;
	int64_t time_ms;
};

struct prom_reader {
	struct pl_span rest;
	unsigned line;
};

void prom_init(struct prom_reader *reader, struct pl_span text);

/* PL_OK: one more sample. PL_NOTFOUND: that was all. PL_INVALID: this line is wrong. */
PL_NODISCARD enum pl_code prom_next(struct prom_reader *reader,
                                    struct prom_sample *sample, struct pl_err *err);

/* The label's value as written; false when there is no such label. */
bool prom_label(const struct prom_sample *sample, const char *name,
                struct pl_span *value);

/* "0.5", "1e-9", "+Inf", "NaN": what the format has for values and bounds. */
PL_NODISCARD enum pl_code prom_number(struct pl_span text, double *out);

#endif
