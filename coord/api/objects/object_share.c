#include "coord/api/objects/object_share.h"

#include <stdlib.h>

#include "store/base/alloc.h"

struct object_shares {
	struct pl_map texts;
	bool closed;
};

struct object_shares *object_shares_new(void)
{
	struct object_shares *shares = pl_calloc(1, sizeof *shares);

	if (shares != NULL)
		pl_map_init(&shares->texts);
	return shares;
}

static void free_if_over(struct object_shares *shares)
{
	if (!shares->closed || shares->texts.count > 0)
		return;
	pl_map_done(&shares->texts);
	free(shares);
}

void object_shares_close(struct object_shares *shares)
{
	if (shares == NULL)
		return;
	shares->closed = true;
	free_if_over(shares);
}

struct object_share *object_share_get(struct object_shares *shares, struct pl_span text,
                                      size_t *bytes)
{
	struct pl_map_node *node = pl_map_get(&shares->texts, text);
	struct object_share *share;

	if (node != NULL) {
		share = PL_CONTAINER_OF(node, struct object_share, node);
		share->refs++;
		return share;
	}
	PL_ASSERT(text.len <= UINT32_MAX);
	share = pl_malloc(sizeof *share + text.len);
	if (share == NULL)
		return NULL;
	*share = (struct object_share){
		.shares = shares, .refs = 1, .len = (uint32_t)text.len};
	memcpy(share->at, text.at, text.len);
	node = pl_map_add(&shares->texts, &share->node, pl_span(share->at, share->len));
	PL_ASSERT(node == NULL);
	*bytes += sizeof *share + text.len;
	return share;
}

void object_share_unref(struct object_share *share)
{
	struct object_shares *shares;

	if (share == NULL || --share->refs > 0)
		return;
	shares = share->shares;
	pl_map_del(&shares->texts, &share->node);
	free(share);
	free_if_over(shares);
}
