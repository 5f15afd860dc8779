/*
 * A label selector, as the query parameter labelSelector spells it: requirements on
 * labels, all of which must hold.
 *
 *	app=web,tier!=db,zone in (a,b),gpu notin (none),spot,!canary,cores>8
 *
 * Grammar and refusals are those of Kubernetes, word for word. != and notin also hold of
 * an object without the label; > and < want both values to be whole numbers.
 *
 * A parsed selector is constant data in an arena, with its terms and the values of each
 * term in order, so that one event is matched against thousands of selectors quickly:
 * the event's labels are sorted once (label_pairs_of), and each selector walks along
 * them.
 */
#ifndef COORD_API_SELECT_LABEL_SELECTOR_H
#define COORD_API_SELECT_LABEL_SELECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/arena.h"
#include "store/base/err.h"
#include "store/base/json.h"
#include "store/base/span.h"

enum {
	LABEL_SELECTOR_BYTES_MAX = 64 * 1024,
	LABEL_SELECTOR_TERMS_MAX = 1024,
	LABEL_SELECTOR_VALUES_MAX = 8192, /* of all terms together */
};

enum label_test {
	LABEL_TEST_IN, /* also = and == */
	LABEL_TEST_NOT_IN,
	LABEL_TEST_EXISTS,
	LABEL_TEST_NOT_EXISTS,
	LABEL_TEST_GT,
	LABEL_TEST_LT,
};

struct label_term {
	struct pl_span key; /* a NUL follows */
	enum label_test test;
	uint32_t count;
	const struct pl_span *values; /* in order, each once */
	int64_t number;               /* of > and < */
};

/* A selector without terms matches everything. */
struct label_selector {
	uint32_t count;
	const struct label_term *terms; /* by key */
};

/* A label of an object. */
struct label_pair {
	struct pl_span key, value;
};

/* Labels by key. */
struct label_pairs {
	uint32_t count;
	const struct label_pair *at;
};

/* Copies what it keeps into the arena. PL_INVALID, PL_LIMIT: *why, in the arena, is the
 * message of the 400 that answers. PL_NOMEM. */
PL_NODISCARD enum pl_code label_selector_parse(struct pl_arena *arena,
                                               struct pl_span text,
                                               struct label_selector *out,
                                               struct pl_span *why);

/* Sorts the labels of an object (a JSON object of strings; anything else in it is
 * skipped). Borrows the texts. PL_NOMEM. */
PL_NODISCARD enum pl_code label_pairs_of(struct pl_arena *arena, struct pl_json labels,
                                         struct label_pairs *out);

bool label_selector_matches(const struct label_selector *selector,
                            const struct label_pairs *labels);
/* The same for one object; labels absent: there are none. */
bool label_selector_matches_json(const struct label_selector *selector,
                                 struct pl_json labels);

#endif
