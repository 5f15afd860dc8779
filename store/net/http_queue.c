#include "store/net/http_queue.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/net/unconst.h"

enum { SPARE_MAX = 4096 };

/* -- blobs ------------------------------------------------------------------- */

struct http_blob *http_blob_new(size_t len)
{
	struct http_blob *blob =
		len > SIZE_MAX / 2 ? NULL : pl_malloc(sizeof *blob + len);

	if (blob == NULL)
		return NULL;
	blob->refs = 1;
	blob->len = len;
	return blob;
}

struct http_blob *http_blob_ref(struct http_blob *blob)
{
	blob->refs++;
	PL_ASSERT(blob->refs > 1);
	return blob;
}

void http_blob_unref(struct http_blob *blob)
{
	if (blob != NULL && --blob->refs == 0)
		free(blob);
}

/* -- segments ---------------------------------------------------------------- */

static struct http_seg *seg_new(struct http_pool *pool, struct http_exchange *owner)
{
	struct http_seg *seg = pool->spare;

	if (seg != NULL) {
		pool->spare = seg->next;
		pool->spare_count--;
	} else {
		seg = pl_malloc(sizeof *seg);
	}
	if (seg == NULL)
		return NULL;
	seg->next = NULL;
	seg->blob = NULL;
	seg->owner = owner;
	seg->from = seg->len = 0;
	return seg;
}

static void seg_free(struct http_pool *pool, struct http_seg *seg)
{
	http_blob_unref(seg->blob);
	if (pool->spare_count >= SPARE_MAX) {
		free(seg);
		return;
	}
	seg->next = pool->spare;
	pool->spare = seg;
	pool->spare_count++;
}

void http_pool_done(struct http_pool *pool)
{
	while (pool->spare != NULL) {
		struct http_seg *seg = pool->spare;

		pool->spare = seg->next;
		free(seg);
	}
	pool->spare_count = 0;
}

/* -- queues ------------------------------------------------------------------ */

static void seg_append(struct http_queue *queue, struct http_seg *seg)
{
	if (queue->last == NULL)
		queue->first = seg;
	else
		queue->last->next = seg;
	queue->last = seg;
	seg->next = NULL;
	queue->len += seg->len;
}

static struct http_seg *seg_shift(struct http_queue *queue)
{
	struct http_seg *seg = queue->first;

	queue->first = seg->next;
	if (queue->first == NULL)
		queue->last = NULL;
	queue->len -= seg->len;
	return seg;
}

bool http_queue_add(struct http_pool *pool, struct http_queue *queue,
                    struct http_exchange *owner, struct http_blob *blob, size_t from)
{
	struct http_seg *seg;

	PL_ASSERT(from <= blob->len);
	if (from == blob->len)
		return true;
	seg = seg_new(pool, owner);
	if (seg == NULL)
		return false;
	seg->blob = http_blob_ref(blob);
	seg->from = from;
	seg->len = blob->len - from;
	seg_append(queue, seg);
	return true;
}

bool http_queue_add_small(struct http_pool *pool, struct http_queue *queue,
                          struct http_exchange *owner, struct pl_span bytes)
{
	struct http_seg *seg = queue->last;

	PL_ASSERT(bytes.len > 0 && bytes.len <= HTTP_SEG_SMALL);
	if (seg != NULL && seg->blob == NULL && seg->owner == owner &&
	    seg->from + seg->len + bytes.len <= HTTP_SEG_SMALL) {
		memcpy(seg->small + seg->from + seg->len, bytes.at, bytes.len);
		seg->len += bytes.len;
		queue->len += bytes.len;
		return true;
	}
	seg = seg_new(pool, owner);
	if (seg == NULL)
		return false;
	memcpy(seg->small, bytes.at, bytes.len);
	seg->len = bytes.len;
	seg_append(queue, seg);
	return true;
}

bool http_queue_add_copy(struct http_pool *pool, struct http_queue *queue,
                         struct http_exchange *owner, struct pl_span bytes)
{
	struct http_blob *blob;
	bool ok;

	if (bytes.len == 0)
		return true;
	if (bytes.len <= HTTP_SEG_SMALL)
		return http_queue_add_small(pool, queue, owner, bytes);
	blob = http_blob_new(bytes.len);
	if (blob == NULL)
		return false;
	memcpy(blob->at, bytes.at, bytes.len);
	ok = http_queue_add(pool, queue, owner, blob, 0);
	http_blob_unref(blob);
	return ok;
}

/* Moves the first len bytes of the first segment, which has more. */
static bool seg_split(struct http_pool *pool, struct http_queue *to,
                      struct http_queue *from, size_t len)
{
	struct http_seg *first = from->first, *part;

	part = seg_new(pool, first->owner);
	if (part == NULL)
		return false;
	part->from = first->from;
	part->len = len;
	if (first->blob != NULL)
		part->blob = http_blob_ref(first->blob);
	else
		memcpy(part->small, first->small, sizeof part->small);
	seg_append(to, part);
	first->from += len;
	first->len -= len;
	from->len -= len;
	return true;
}

bool http_queue_move(struct http_pool *pool, struct http_queue *to,
                     struct http_queue *from, size_t len)
{
	PL_ASSERT(len <= from->len);
	while (len > 0) {
		struct http_seg *first = from->first;

		if (first->len > len)
			return seg_split(pool, to, from, len);
		len -= first->len;
		seg_append(to, seg_shift(from));
	}
	return true;
}

static struct pl_span seg_bytes(const struct http_seg *seg)
{
	const uint8_t *at = seg->blob == NULL ? seg->small : seg->blob->at;

	return pl_span(at + seg->from, seg->len);
}

struct pl_span http_queue_front(const struct http_queue *queue)
{
	return seg_bytes(queue->first);
}

struct http_exchange *http_queue_drop(struct http_pool *pool, struct http_queue *queue,
                                      size_t len)
{
	struct http_seg *first = queue->first;
	struct http_exchange *owner = first->owner;

	PL_ASSERT(len <= first->len);
	if (len == first->len) {
		seg_free(pool, seg_shift(queue));
		return owner;
	}
	first->from += len;
	first->len -= len;
	queue->len -= len;
	return owner;
}

unsigned http_queue_bufs(const struct http_queue *queue, uv_buf_t *bufs, unsigned max,
                         size_t limit)
{
	unsigned count = 0;

	for (const struct http_seg *seg = queue->first;
	     seg != NULL && count < max && limit > 0; seg = seg->next) {
		struct pl_span bytes = seg_bytes(seg);

		if (bytes.len > limit)
			bytes.len = limit;
		limit -= bytes.len;
		bufs[count++] = uv_buf_init(unconst(bytes.at), (unsigned)bytes.len);
	}
	return count;
}

void http_queue_clear(struct http_pool *pool, struct http_queue *queue)
{
	while (queue->first != NULL)
		seg_free(pool, seg_shift(queue));
}
