/*
 * Nodes that have the pod's images score by their size, and the more the more nodes have
 * them: an image on a single node is not to draw all pods there.
 *
 * What a node has is far away, so a class keeps the scores of the nodes that it looked
 * at, 64 at a time, until images move.
 */
#include <stdlib.h>

#include "shardsched/plugins/plugins.h"
#include "shardsched/plugins/words.h"
#include "store/base/alloc.h"

#define MIB (INT64_C(1) << 20)
#define LEAST (23 * MIB)  /* adds up to less: nothing */
#define MOST (1000 * MIB) /* of a container */

/* Of more slots nothing is kept: a thousand classes may be open, and where there are so
 * many nodes, results are kept by class anyway. */
enum { KEPT_MAX = 1 << 17 };

struct own {
	double *spread;   /* of each image: the share of nodes that have it */
	uint64_t epoch;   /* of all images */
	uint64_t version; /* grows when what is kept here changes */
	bool made;
	bool anywhere; /* some node has one of them */
	/* Kept scores, and by word of 64 slots whether they are: as long as the columns,
	 * or NULL. */
	uint8_t *score;
	uint64_t *kept;
	uint32_t capacity; /* slots */
};

static enum pl_code on_open(struct snapshot *snapshot, const struct plugin_call *call,
                            struct pl_err *err)
{
	struct own *own = call->own;

	(void)snapshot;
	own->spread = pl_calloc(call->spec->form->images.count + 1U, sizeof *own->spread);
	return own->spread == NULL ? pl_err_set(err, PL_NOMEM, "remember images") : PL_OK;
}

static void on_close(struct snapshot *snapshot, const struct plugin_call *call)
{
	struct own *own = call->own;

	(void)snapshot;
	free(own->spread);
	free(own->score);
	free(own->kept);
}

static size_t kept_words(uint32_t capacity)
{
	return pl_bitset_words(capacity / 64);
}

/* When there is no memory for it, nothing is kept either. */
static void grow(struct own *own, uint32_t capacity)
{
	bool keeps = capacity <= KEPT_MAX;

	free(own->score);
	free(own->kept);
	own->score = keeps ? pl_malloc(capacity) : NULL;
	own->kept = pl_calloc(kept_words(capacity), sizeof *own->kept);
	if (own->score == NULL || own->kept == NULL) {
		free(own->score);
		free(own->kept);
		own->score = NULL;
		own->kept = NULL;
	}
	own->capacity = capacity;
}

static void refresh(const struct plugin_call *call)
{
	const struct snapshot *snapshot = call->snapshot;
	struct own *own = call->own;
	bool changed = !own->made;

	if (own->made && own->epoch == snapshot->images_epoch)
		return;
	own->made = true;
	own->epoch = snapshot->images_epoch;
	own->anywhere = false;
	for (uint32_t i = 0; i < call->spec->form->images.count; i++) {
		uint32_t nodes =
			snapshot_image_nodes(snapshot, spec_images(call->spec)[i]);
		double spread = nodes == 0 ? 0 : (double)nodes / snapshot->nodes;

		changed = changed || spread != own->spread[i];
		own->spread[i] = spread;
		own->anywhere = own->anywhere || nodes > 0;
	}
	own->version += changed;
	if (own->anywhere && own->capacity != snapshot->capacity)
		grow(own, snapshot->capacity);
	else if (own->kept != NULL)
		memset(own->kept, 0, kept_words(own->capacity) * sizeof *own->kept);
}

/* Images of other pods, and nodes, come and go all the time. */
static uint64_t epoch(const struct plugin_call *call)
{
	const struct own *own = call->own;

	refresh(call);
	return own->version;
}

/* Not beyond what all of them together can count for. */
static int64_t scaled(int64_t bytes, double spread, int64_t most)
{
	double out = (double)bytes * spread;

	return out < (double)most ? (int64_t)out : most;
}

static int64_t score_of(const struct plugin_call *call, const struct images *images)
{
	const struct own *own = call->own;
	int64_t containers = call->spec->form->images.count, most = MOST * containers,
		sum = 0;

	for (uint32_t i = 0; i < call->spec->form->images.count; i++) {
		int64_t bytes = own->spread[i] <= 0
		                        ? -1
		                        : images_get(images, spec_images(call->spec)[i]);

		if (bytes > 0)
			sum += scaled(bytes, own->spread[i], most);
	}
	sum = sum < LEAST ? LEAST : sum > most ? most : sum;
	return PLUGIN_SCORE_MAX * (sum - LEAST) / (most - LEAST);
}

static int64_t score_slot(const struct plugin_call *call, size_t slot)
{
	return score_of(call, call->snapshot->row[slot].node.images);
}

/* The scores of a word's nodes, looked up when they were not before. */
static const uint8_t *keep(const struct plugin_call *call, uint32_t word)
{
	struct own *own = call->own;
	uint8_t *at = own->score + (size_t)word * 64;
	uint64_t bit = UINT64_C(1) << word % 64;

	if ((own->kept[word / 64] & bit) == 0) {
		memset(at, 0, 64);
		WORDS_EACH (i, call->snapshot->live.word[word])
			at[i] = (uint8_t)score_slot(call, (size_t)word * 64 + i);
		own->kept[word / 64] |= bit;
	}
	return at;
}

static void score_word(const struct plugin_call *call, uint32_t word, uint64_t bits,
                       int64_t *out)
{
	const struct own *own = call->own;
	const uint8_t *kept;

	if (own->kept == NULL || words_sparse(bits)) {
		WORDS_EACH (bit, bits)
			out[bit] = score_slot(call, (size_t)word * 64 + bit);
		return;
	}
	kept = keep(call, word);
	for (unsigned i = 0; i < 64; i++)
		out[i] = kept[i];
}

static bool score(const struct plugin_call *call, struct node_span span, int64_t *out)
{
	const struct own *own = call->own;

	refresh(call);
	if (!own->anywhere)
		return false;
	SPAN_EACH_WORD(i, span)
	score_word(call, span.word + i, span.bits[i], out + (size_t)i * 64);
	return true;
}

const struct plugin plugin_image_locality = {
	.name = "ImageLocality",
	.normal = PLUGIN_AS_IS,
	.weight = 1,
	.own_size = sizeof(struct own),
	.open = on_open,
	.close = on_close,
	.epoch = epoch,
	.score = score,
};
