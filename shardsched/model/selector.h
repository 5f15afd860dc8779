/*
 * A selector: requirements on labels, as in metav1.LabelSelector, in a Service's map and
 * in the expressions of a node selector term. Interned in canonical order, so selectors
 * that differ only in their wording are mostly one value.
 *
 * A selector without rows matches everything; a null selector matches nothing.
 *
 *	In          the key is there and its value is one of these
 *	NotIn       the key is not there, or its value is none of these
 *	Exists, DoesNotExist
 *	Gt, Lt      the key is there and both values are numbers
 */
#ifndef SHARDSCHED_MODEL_SELECTOR_H
#define SHARDSCHED_MODEL_SELECTOR_H

#include "shardsched/model/labels.h"

enum selector_op {
	SELECTOR_IN,
	SELECTOR_NOT_IN,
	SELECTOR_EXISTS,
	SELECTOR_NOT_EXISTS,
	SELECTOR_GT,
	SELECTOR_LT,
	SELECTOR_BAD, /* cannot be parsed: matches nothing */
};

struct selector_row {
	uint32_t key;
	uint32_t op;    /* enum selector_op */
	uint32_t first; /* value: words behind the rows */
	uint32_t count;
	int64_t number; /* Gt and Lt */
};

enum {
	SELECTOR_NOTHING = 1 << 0, /* the selector was null: it has no rows */
	SELECTOR_INVALID = 1 << 1, /* the selector can not be parsed: it matches
				    * nothing */
};

struct selector {
	struct intern_item item;
	uint32_t flags;
	uint32_t count;
	uint32_t words;
	struct selector_row row[]; /* the values follow, each row's in order */
};

static inline const uint32_t *selector_values(const struct selector *selector,
                                              const struct selector_row *row)
{
	const uint32_t *words =
		(const uint32_t *)(const void *)&selector->row[selector->count];

	return words + row->first;
}

/* Returns the value with a reference. draft.set false: the null selector. */
const struct selector *selector_make(struct maker *maker, struct draft_selector draft);
/* Makes a selector of expressions alone, as in a node selector term, with Gt and Lt. */
const struct selector *selector_of_rows(struct maker *maker,
                                        struct draft_requirements rows);
/* Makes a selector of matchFields: In and NotIn, invalid unless each has one value.
 * number is 1 in a row about metadata.name. To be matched with
 * selector_row_matches_name. */
const struct selector *selector_of_fields(struct maker *maker,
                                          struct draft_requirements rows);

bool selector_matches(const struct strings *strings, const struct selector *selector,
                      const struct labels *labels);
bool selector_row_matches(const struct strings *strings, const struct selector *selector,
                          const struct selector_row *row, const struct labels *labels);

/* Whether a row of matchFields accepts a node of that name. */
bool selector_row_matches_name(const struct selector *selector,
                               const struct selector_row *row, uint32_t name);

/* Whether the selector matches no labels at all: it was null, can not be parsed, or its
 * rows contradict each other. False also where a contradiction is not found: Gt and Lt
 * are compared with the values of In, but NotIn rules out no number. */
bool selector_is_impossible(const struct strings *strings,
                            const struct selector *selector);
/* The same for matchFields: no node's name is accepted by all rows. */
bool selector_fields_are_impossible(const struct selector *selector);

/* The operator for a word; SELECTOR_BAD for any other word. */
enum selector_op selector_op_of(struct pl_span word);

static inline bool selector_is_everything(const struct selector *selector)
{
	return selector->flags == 0 && selector->count == 0;
}

#endif
