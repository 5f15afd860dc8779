/*
 * ImageLocality: nodes that have the pod's images score by their size, and more the more
 * nodes have them, so that an image on a single node does not draw all pods there.
 *
 * A node's images are not in columns, so the class state caches the scores of nodes, 64
 * at a time, until images change.
 */
#include <stdlib.h>

#include "shardsched/plugins/plugins.h"
#include "shardsched/plugins/slot_words.h"
#include "store/base/alloc.h"

#define MIB (INT64_C(1) << 20)
#define LEAST (23 * MIB)  /* a smaller sum scores 0 */
#define MOST (1000 * MIB) /* counted for one container */

/* With more slots nothing is cached: a thousand classes may be open, and with so many
 * nodes the results are cached by class anyway. */
enum { CACHED_MAX = 1 << 17 };

struct image_locality_class {
	double *spread;   /* by image: the share of nodes that have it */
	uint64_t epoch;   /* of the snapshot's images */
	uint64_t version; /* grows when the scores may have changed */
	bool made;
	bool anywhere; /* some node has one of the images */
	/* Cached scores by slot, and a bit for each word of 64 slots that is cached;
	 * NULL: nothing is. */
	uint8_t *score;
	uint64_t *cached;
	uint32_t capacity; /* number of slots */
};

static enum pl_code on_open(struct snapshot *snapshot, const struct plugin_call *call,
                            struct pl_err *err)
{
	struct image_locality_class *class_state = call->class_state;

	(void)snapshot;
	class_state->spread = pl_calloc(call->spec->template->images.count + 1U,
	                                sizeof *class_state->spread);
	return class_state->spread == NULL
	               ? pl_err_set(err, PL_NOMEM, "images: out of memory")
	               : PL_OK;
}

static void on_close(struct snapshot *snapshot, const struct plugin_call *call)
{
	struct image_locality_class *class_state = call->class_state;

	(void)snapshot;
	free(class_state->spread);
	free(class_state->score);
	free(class_state->cached);
}

static size_t cached_words(uint32_t capacity)
{
	return pl_bitset_words(capacity / 64);
}

/* Without memory nothing is cached. */
static void grow_scores(struct image_locality_class *class_state, uint32_t capacity)
{
	bool cacheable = capacity <= CACHED_MAX;

	free(class_state->score);
	free(class_state->cached);
	class_state->score = cacheable ? pl_malloc(capacity) : NULL;
	class_state->cached =
		pl_calloc(cached_words(capacity), sizeof *class_state->cached);
	if (class_state->score == NULL || class_state->cached == NULL) {
		free(class_state->score);
		free(class_state->cached);
		class_state->score = NULL;
		class_state->cached = NULL;
	}
	class_state->capacity = capacity;
}

static void refresh_spread(const struct plugin_call *call)
{
	const struct snapshot *snapshot = call->snapshot;
	struct image_locality_class *class_state = call->class_state;
	bool changed = !class_state->made;

	if (class_state->made && class_state->epoch == snapshot->images_epoch)
		return;
	class_state->made = true;
	class_state->epoch = snapshot->images_epoch;
	class_state->anywhere = false;
	for (uint32_t i = 0; i < call->spec->template->images.count; i++) {
		uint32_t nodes =
			snapshot_image_nodes(snapshot, spec_images(call->spec)[i]);
		double spread = nodes == 0 ? 0 : (double)nodes / snapshot->nodes;

		changed = changed || spread != class_state->spread[i];
		class_state->spread[i] = spread;
		class_state->anywhere = class_state->anywhere || nodes > 0;
	}
	class_state->version += changed;
	if (class_state->anywhere && class_state->capacity != snapshot->capacity)
		grow_scores(class_state, snapshot->capacity);
	else if (class_state->cached != NULL)
		memset(class_state->cached, 0,
		       cached_words(class_state->capacity) * sizeof *class_state->cached);
}

/* Grows only when the pod's images moved: images of other pods come and go all the
 * time. */
static uint64_t results_epoch(const struct plugin_call *call)
{
	const struct image_locality_class *class_state = call->class_state;

	refresh_spread(call);
	return class_state->version;
}

/* Bounded by what all images together may count for. */
static int64_t scale_bytes(int64_t bytes, double spread, int64_t most)
{
	double out = (double)bytes * spread;

	return out < (double)most ? (int64_t)out : most;
}

static int64_t score_of(const struct plugin_call *call, const struct images *images)
{
	const struct image_locality_class *class_state = call->class_state;
	int64_t containers = call->spec->template->images.count, most = MOST * containers,
		sum = 0;

	for (uint32_t i = 0; i < call->spec->template->images.count; i++) {
		int64_t bytes = class_state->spread[i] <= 0
		                        ? -1
		                        : images_get(images, spec_images(call->spec)[i]);

		if (bytes > 0)
			sum += scale_bytes(bytes, class_state->spread[i], most);
	}
	sum = sum < LEAST ? LEAST : sum > most ? most : sum;
	return PLUGIN_SCORE_MAX * (sum - LEAST) / (most - LEAST);
}

static int64_t score_slot(const struct plugin_call *call, size_t slot)
{
	return score_of(call, call->snapshot->row[slot].node.images);
}

/* The scores of a word's nodes, computed when they are not cached. */
static const uint8_t *cached_scores(const struct plugin_call *call, uint32_t word)
{
	struct image_locality_class *class_state = call->class_state;
	uint8_t *at = class_state->score + (size_t)word * 64;
	uint64_t bit = UINT64_C(1) << word % 64;

	if ((class_state->cached[word / 64] & bit) == 0) {
		memset(at, 0, 64);
		SLOT_WORDS_EACH(i, call->snapshot->live.word[word])
		at[i] = (uint8_t)score_slot(call, (size_t)word * 64 + i);
		class_state->cached[word / 64] |= bit;
	}
	return at;
}

static void score_word(const struct plugin_call *call, uint32_t word, uint64_t bits,
                       int64_t *out)
{
	const struct image_locality_class *class_state = call->class_state;
	const uint8_t *cached;

	if (class_state->cached == NULL || slot_words_sparse(bits)) {
		SLOT_WORDS_EACH(bit, bits)
		out[bit] = score_slot(call, (size_t)word * 64 + bit);
		return;
	}
	cached = cached_scores(call, word);
	for (unsigned i = 0; i < 64; i++)
		out[i] = cached[i];
}

static bool score_nodes(const struct plugin_call *call, struct node_span span,
                        int64_t *out)
{
	const struct image_locality_class *class_state = call->class_state;

	refresh_spread(call);
	if (!class_state->anywhere)
		return false;
	SPAN_EACH_WORD(i, span)
	score_word(call, span.word + i, span.bits[i], out + (size_t)i * 64);
	return true;
}

const struct plugin plugin_image_locality = {
	.name = "ImageLocality",
	.normal = PLUGIN_AS_IS,
	.weight = 1,
	.class_state_size = sizeof(struct image_locality_class),
	.open = on_open,
	.close = on_close,
	.epoch = results_epoch,
	.score = score_nodes,
};
