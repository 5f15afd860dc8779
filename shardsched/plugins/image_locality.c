/*
 * Nodes that have the pod's images score by their size, and the more the more nodes have
 * them: an image on a single node is not to draw all pods there.
 */
#include <stdlib.h>

#include "shardsched/plugins/plugins.h"
#include "shardsched/plugins/words.h"
#include "store/base/alloc.h"

#define MIB (INT64_C(1) << 20)
#define LEAST (23 * MIB)  /* adds up to less: nothing */
#define MOST (1000 * MIB) /* of a container */

struct own {
	double *spread; /* of each image: the share of nodes that have it */
	uint64_t epoch;
	bool made;
	bool anywhere; /* some node has one of them */
};

static enum pl_code on_open(struct snapshot *snapshot, const struct plugin_call *call,
                            struct pl_err *err)
{
	struct own *own = call->own;

	(void)snapshot;
	own->spread = pl_calloc(call->spec->images.count + 1U, sizeof *own->spread);
	return own->spread == NULL ? pl_err_set(err, PL_NOMEM, "remember images") : PL_OK;
}

static void on_close(struct snapshot *snapshot, const struct plugin_call *call)
{
	struct own *own = call->own;

	(void)snapshot;
	free(own->spread);
}

static uint64_t epoch(const struct plugin_call *call)
{
	return call->snapshot->images_epoch;
}

static void refresh(const struct plugin_call *call)
{
	const struct snapshot *snapshot = call->snapshot;
	struct own *own = call->own;

	if (own->made && own->epoch == snapshot->images_epoch)
		return;
	own->made = true;
	own->epoch = snapshot->images_epoch;
	own->anywhere = false;
	for (uint32_t i = 0; i < call->spec->images.count; i++) {
		uint32_t nodes =
			snapshot_image_nodes(snapshot, spec_images(call->spec)[i]);

		own->spread[i] = nodes == 0 ? 0 : (double)nodes / snapshot->nodes;
		own->anywhere = own->anywhere || nodes > 0;
	}
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
	int64_t containers = call->spec->images.count, most = MOST * containers, sum = 0;

	for (uint32_t i = 0; i < call->spec->images.count; i++) {
		int64_t bytes = own->spread[i] <= 0
		                        ? -1
		                        : images_get(images, spec_images(call->spec)[i]);

		if (bytes > 0)
			sum += scaled(bytes, own->spread[i], most);
	}
	sum = sum < LEAST ? LEAST : sum > most ? most : sum;
	return PLUGIN_SCORE_MAX * (sum - LEAST) / (most - LEAST);
}

static void score(const struct plugin_call *call, struct node_span span, int64_t *out)
{
	const struct own *own = call->own;

	refresh(call);
	memset(out, 0, (size_t)span.words * 64 * sizeof *out);
	if (!own->anywhere)
		return;
	SPAN_EACH_WORD(i, span)
	WORDS_EACH (bit, span.bits[i]) {
		size_t slot = (size_t)(span.word + i) * 64 + bit;

		out[i * 64 + bit] = score_of(call, call->snapshot->row[slot].node.images);
	}
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
