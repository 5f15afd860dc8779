/*
 * Whether a name comes twice in an input, with another content, and where it came first.
 *
 * A million pods are in a file now and then: a name takes 24 bytes, at most three
 * quarters of them in use, and is told by 96 bits of two keyed hashes. A content that is
 * taken for the same by mistake (32 bits) is found when it is written.
 */
#ifndef COORD_CLI_TWICE_H
#define COORD_CLI_TWICE_H

#include "coord/cli/input/manifest.h"
#include "store/base/err.h"
#include "store/base/hash.h"

struct twice_row;

struct twice {
	struct pl_hash_key key;
	struct twice_row *row;
	size_t cap, count;
	const char **file; /* their names, for people; borrowed */
	uint32_t files;
};

struct twice_name {
	struct pl_span name; /* with its namespace, and kind */
	uint64_t content;    /* a hash of it */
};

struct twice_place {
	const char *file;
	unsigned long number;
};

void twice_init(struct twice *twice);
void twice_done(struct twice *twice);
void twice_clear(struct twice *twice);

/* PL_EXISTS: it came with another content, *first is where; err is not touched. */
PL_NODISCARD enum pl_code twice_look(const struct twice *twice,
                                     const struct twice_name *name,
                                     struct twice_place *first);
/* One that twice_look let pass; if it came before, it stays there. PL_NOMEM. */
PL_NODISCARD enum pl_code twice_add(struct twice *twice, const struct twice_name *name,
                                    const struct manifest_object *at, struct pl_err *err);

#endif
