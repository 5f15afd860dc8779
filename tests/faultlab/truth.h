/* The truth: the full history of the store, with indexes by key and operation. */
#ifndef TESTS_FAULTLAB_TRUTH_H
#define TESTS_FAULTLAB_TRUTH_H

#include "tests/faultlab/check.h"

struct truth {
	const struct hist *hist;
	struct hist_event *event; /* by revision, up to the final one */
	size_t count;
	uint32_t *by_key;  /* event numbers by key, then revision */
	uint64_t *seen_ms; /* when a client first saw event i; UINT64_MAX: never */
	bool *explained;   /* an operation explains event i */
	int64_t *applied;  /* by operation id: the revision of its puts, 0: none */
};

/* Builds the truth, and reports holes and broken chains in it; the rest is kept. */
PL_NODISCARD enum pl_code truth_init(struct truth *truth, const struct hist *hist,
                                     struct check_report *report);
void truth_done(struct truth *truth);

/* The first event with that revision or a later one. */
size_t truth_find(const struct truth *truth, int64_t revision);

/* The last event of the key at or before the revision. NULL: none. */
const struct hist_event *truth_last(const struct truth *truth, hist_key key,
                                    int64_t revision);

/* mod_revision of the key at that revision, 0 when it is not there. */
int64_t truth_mod(const struct truth *truth, hist_key key, int64_t revision);

/* The event before this one on the same key. NULL: none, or a deletion. */
const struct hist_event *truth_before(const struct truth *truth,
                                      const struct hist_event *event);

bool hist_event_eq(const struct hist_event *a, const struct hist_event *b);

/* The parts of the judgement, each in a file of its own. */
void check_ops(struct truth *truth, struct check_report *report);
void check_time(struct truth *truth, struct check_report *report);
void check_streams(struct truth *truth, struct check_report *report);
void check_records(struct truth *truth, const struct hist_event *records, size_t count,
                   int64_t revision, enum hist_class class, enum check_rule rule,
                   const char *state_name, struct check_report *report);
void check_leases(struct truth *truth, struct check_report *report);

#endif
