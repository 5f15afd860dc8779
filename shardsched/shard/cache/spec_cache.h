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

enum { SPEC_CACHE_SIZE = 8, SPEC_CACHE_GAPS = 3, SPEC_CACHE_BYTES_MAX = 16384 };

struct spec_gap {
	uint32_t at, len;
};

struct spec_template {
	uint8_t *text;
	uint32_t len;
	struct spec_gap gap[SPEC_CACHE_GAPS]; /* in the order of the text */
	uint8_t is[SPEC_CACHE_GAPS];          /* name, uid, time */
	unsigned gaps;
	struct pod pod; /* held */
};

struct spec_cache {
	struct spec_template entry[SPEC_CACHE_SIZE];
	unsigned next; /* to be replaced */
	unsigned last; /* that fitted */
};

/* Gives back what it keeps. */
void spec_cache_done(struct spec_cache *spec_cache, struct model *model);
/* Keeps what was read from json; or not, if there is no memory. */
void spec_cache_add(struct spec_cache *spec_cache, struct model *model,
                    struct pl_span json, const struct pod *pod);
/* False: like none of those that are kept, or no memory. */
bool spec_cache_find(struct spec_cache *spec_cache, struct model *model,
                     struct pl_span json, struct pod *out);

#endif
