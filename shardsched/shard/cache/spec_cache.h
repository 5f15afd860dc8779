/*
 * A cache of parsed specs. Replicas of a workload differ in name, uid and creation time,
 * and in no other byte. The last specs that were read are kept as templates, texts with
 * three gaps; a text that differs from a template in the gaps alone is that template's
 * pod with the three values put in. Parsing is two thirds of the cost of a placement
 * otherwise.
 *
 * Nothing is guessed: the gaps are where the three members were found in the text that
 * was parsed, the values are plain characters, and all other bytes are compared.
 */
#ifndef SHARDSCHED_SHARD_CACHE_SPEC_CACHE_H
#define SHARDSCHED_SHARD_CACHE_SPEC_CACHE_H

#include "shardsched/model/pod.h"

enum { SPEC_CACHE_SIZE = 8, SPEC_CACHE_GAPS = 3, SPEC_CACHE_BYTES_MAX = 16384 };

struct spec_gap {
	uint32_t at, len;
};

struct spec_template {
	uint8_t *text;
	uint32_t len;
	struct spec_gap gap[SPEC_CACHE_GAPS]; /* in the order of the text */
	uint8_t is[SPEC_CACHE_GAPS]; /* which member each gap is: name, uid, time */
	unsigned gaps;
	struct pod pod; /* references into the model are held */
};

struct spec_cache {
	struct spec_template entry[SPEC_CACHE_SIZE];
	unsigned next; /* index of the template to be replaced next */
	unsigned last; /* index of the template that fitted last */
};

/* Gives back the references that the templates hold. */
void spec_cache_done(struct spec_cache *spec_cache, struct model *model);
/* Keeps the pod that was parsed from json as a template, if there is memory for it. */
void spec_cache_add(struct spec_cache *spec_cache, struct model *model,
                    struct pl_span json, const struct pod *pod);
/* False: no template fits, or no memory. */
bool spec_cache_find(struct spec_cache *spec_cache, struct model *model,
                     struct pl_span json, struct pod *out);

#endif
