/* The report prints the judge's findings for people, with the history around each. */
#ifndef TESTS_FAULTLAB_REPORT_H
#define TESTS_FAULTLAB_REPORT_H

#include <stdio.h>

#include "tests/faultlab/check.h"

/* Times are printed as seconds since start_ms. */
void report_findings(FILE *out, const struct hist *hist,
                     const struct check_report *report, uint64_t start_ms);

void report_numbers(FILE *out, const struct check_report *report);

/* Prints the whole history, a line for each operation, note and event: for grep. */
void report_history(FILE *out, const struct hist *hist, uint64_t start_ms);

#endif
