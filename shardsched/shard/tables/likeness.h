/*
 * Specs that are alike: replicas differ in their name, uid and time of creation, and in
 * no other byte. So the last specs that were read are kept as texts with gaps, and one
 * that differs in the gaps alone is what the kept one is, with these three put in: two
 * thirds of what a placement costs is reading specs otherwise.
 *
 * Nothing is guessed: gaps are where the three members were found in the text that was
 * read, what is put in are plain characters, all else is equal byte for byte.
 */
#ifndef SHARDSCHED_SHARD_LIKENESS_H
#define SHARDSCHED_SHARD_LIKENESS_H

#include "shardsched/model/pod.h"

enum { LIKENESS_KEPT = 8, LIKENESS_GAPS = 3, LIKENESS_BYTES_MAX = 16384 };

struct likeness_gap {
	uint32_t at, len;
};

struct likeness_text {
	uint8_t *text;
	uint32_t len;
	struct likeness_gap gap[LIKENESS_GAPS]; /* in the order of the text */
	uint8_t is[LIKENESS_GAPS];              /* name, uid, time */
	unsigned gaps;
	struct pod pod; /* held */
};

struct likeness {
	struct likeness_text kept[LIKENESS_KEPT];
	unsigned next; /* to be replaced */
	unsigned last; /* that fitted */
};

/* Gives back what it keeps. */
void likeness_done(struct likeness *likeness, struct model *model);
/* Keeps what was read from json; or not, if there is no memory. */
void likeness_keep(struct likeness *likeness, struct model *model, struct pl_span json,
                   const struct pod *pod);
/* False: like none of those that are kept, or no memory. */
bool likeness_find(struct likeness *likeness, struct model *model, struct pl_span json,
                   struct pod *out);

#endif
