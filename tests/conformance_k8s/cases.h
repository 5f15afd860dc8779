/*
 * The cases in tests/conformance/<category>.jsonl.gz: answers of the scheduler of
 * Kubernetes v1.28.7, a JSON object a line.
 */
#ifndef TESTS_CONFORMANCE_K8S_CASES_H
#define TESTS_CONFORMANCE_K8S_CASES_H

#include <stdbool.h>

#include "store/base/buf.h"

struct cases;

/* The categories, ending with NULL. */
extern const char *const cases_categories[];

/* Opens the cases of a file below T_ROOT; the test case fails when it cannot be read. */
struct cases *cases_open(const char *category);
void cases_close(struct cases *cases);

/* The next line, valid until the next call; false at the end. */
bool cases_next(struct cases *cases, struct pl_span *line);

#endif
