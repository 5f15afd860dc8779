/*
 * Checks that several kinds of objects share, and the path at which one stands.
 *
 *	mark = validate_index(v, "taints", 2);    spec.taints[2]
 *	validate_text(v, "key", text_key(key));   spec.taints[2].key
 *	validate_back(v, mark);                   spec
 */
#ifndef SHARDSCHED_MODEL_VALIDATE_H
#define SHARDSCHED_MODEL_VALIDATE_H

#include "shardsched/model/draft.h"
#include "shardsched/model/field_errors.h"
#include "shardsched/model/text.h"

enum { VALIDATE_PATH_SIZE = 512 };

/* Which of the API server's checks are made. */
enum validate_scope {
	/* Every check: for an object that is about to be written to the store. */
	VALIDATE_SUBMITTED,
	/* Only the checks of fields that decisions read: for an object that stands in the
	 * store already, whatever wrote it. A missing image harms no decision; a misspelt
	 * effect of a taint would silently be no taint. */
	VALIDATE_STORED,
};

struct validate {
	struct field_errors *errors;
	enum validate_scope scope;
	size_t len;
	char path[VALIDATE_PATH_SIZE];
};

void validate_init(struct validate *v, enum validate_scope scope,
                   struct field_errors *errors);

/* Each returns the mark that validate_back needs. */
size_t validate_into(struct validate *v, const char *name);
size_t validate_into_span(struct validate *v, struct pl_span name);
size_t validate_index(struct validate *v, const char *name, size_t index);
size_t validate_key(struct validate *v, struct pl_span key);
void validate_back(struct validate *v, size_t mark);

/* Adds a fault of the member, or with NULL of what the path names. */
void validate_add(struct validate *v, const char *name, enum field_fault fault,
                  const char *detail);

/* INVALID once for each bit of faults (text.h). */
void validate_text(struct validate *v, const char *name, uint32_t faults);
/* As validate_text, with one error for the first fault. */
void validate_text_once(struct validate *v, const char *name, uint32_t faults);

/* Adds NOT_SUPPORTED unless word is one of words, whose end is NULL. */
void validate_word(struct validate *v, const char *name, struct pl_span word,
                   const char *const *words);

enum validate_name { VALIDATE_SUBDOMAIN, VALIDATE_LABEL };

/* Validates the metadata; in the scope VALIDATE_STORED its labels alone, since the key
 * has the name and the namespace. */
void validate_meta(struct validate *v, const struct draft_meta *meta,
                   enum validate_name name, bool namespaced);
void validate_labels(struct validate *v, const char *name, struct draft_pairs labels);
/* any: an absent effect is valid, too. */
void validate_taint_effect(struct validate *v, const char *name, struct pl_span effect,
                           bool any);
/* Checks that an amount is not negative, and whole where its resource is; the path is the
 * amount's. */
void validate_amount(struct validate *v, const struct draft_amount *amount);
void validate_not_negative(struct validate *v, const char *name,
                           struct pl_quantity quantity);

/* Validates the label selector in that member. */
void validate_selector(struct validate *v, const char *name,
                       const struct draft_selector *selector);
/* {"nodeSelectorTerms": [...]} */
void validate_node_selector(struct validate *v, const char *name,
                            const struct draft_node_terms *terms);
void validate_node_term(struct validate *v, const struct draft_node_term *term);

#endif
