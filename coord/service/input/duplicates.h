/*
 * Duplicates: finds names that come twice in an input with different contents, and
 * where each came first.
 *
 * A million pods are in a file now and then: a name takes 24 bytes, at most three
 * quarters of them in use, and is told by 96 bits of two keyed hashes. A content that is
 * taken for the same by mistake (32 bits) is found when it is written.
 */
#ifndef COORD_SERVICE_INPUT_DUPLICATES_H
#define COORD_SERVICE_INPUT_DUPLICATES_H

#include "coord/service/input/object_source.h"
#include "store/base/err.h"
#include "store/base/hash.h"

struct duplicates_row;

struct duplicates {
	struct pl_hash_key key;
	struct duplicates_row *row;
	size_t cap, count;
	const char **file; /* names of the files, for people; borrowed */
	uint32_t files;
};

struct duplicates_name {
	struct pl_span name; /* with its namespace, and kind */
	uint64_t content;    /* a hash of it */
};

struct duplicates_place {
	const char *file;
	unsigned long number;
};

void duplicates_init(struct duplicates *duplicates);
void duplicates_done(struct duplicates *duplicates);
void duplicates_clear(struct duplicates *duplicates);

/* PL_EXISTS: the name came with another content, *first is where; err is not touched. */
PL_NODISCARD enum pl_code duplicates_look(const struct duplicates *duplicates,
                                          const struct duplicates_name *name,
                                          struct duplicates_place *first);
/* Adds a name that duplicates_look let pass; a name that came before keeps its
 * place. PL_NOMEM. */
PL_NODISCARD enum pl_code duplicates_add(struct duplicates *duplicates,
                                         const struct duplicates_name *name,
                                         const struct input_object *at,
                                         struct pl_err *err);

#endif
