/*
 * Bytes that wait to be sent: references to shared blobs, and a few bytes of framing
 * between them. Moving from queue to queue copies nothing.
 *
 * Segments come from a pool, which belongs to one thread. owner is the exchange whose
 * bytes a segment holds (NULL: none), as the pool's user counts them.
 */
#ifndef STORE_NET_HTTP_QUEUE_H
#define STORE_NET_HTTP_QUEUE_H

#include "store/net/http_server.h"

enum { HTTP_SEG_SMALL = 24 };

struct http_seg {
	struct http_seg *next;
	struct http_blob *blob; /* NULL: the bytes are in small */
	struct http_exchange *owner;
	size_t from, len;
	uint8_t small[HTTP_SEG_SMALL];
};

struct http_pool {
	struct http_seg *spare;
	unsigned spare_count;
};

/* All zero: empty. */
struct http_queue {
	struct http_seg *first, *last;
	size_t len; /* bytes */
};

void http_pool_done(struct http_pool *pool);

/* False: no memory, and nothing has changed. Takes a reference of its own. */
PL_NODISCARD bool http_queue_add(struct http_pool *pool, struct http_queue *queue,
                                 struct http_exchange *owner, struct http_blob *blob,
                                 size_t from);
/* At most HTTP_SEG_SMALL bytes. */
PL_NODISCARD bool http_queue_add_small(struct http_pool *pool, struct http_queue *queue,
                                       struct http_exchange *owner, struct pl_span bytes);
/* Any number of bytes. */
PL_NODISCARD bool http_queue_add_copy(struct http_pool *pool, struct http_queue *queue,
                                      struct http_exchange *owner, struct pl_span bytes);
/* Moves the first len bytes, which there must be. */
PL_NODISCARD bool http_queue_move(struct http_pool *pool, struct http_queue *to,
                                  struct http_queue *from, size_t len);
/* The bytes that the first segment begins with. The queue must not be empty. */
struct pl_span http_queue_front(const struct http_queue *queue);
/* Drops the first len bytes, which must be of the first segment. Returns its owner. */
struct http_exchange *http_queue_drop(struct http_pool *pool, struct http_queue *queue,
                                      size_t len);
/* Fills bufs with at most limit bytes; returns how many bufs. */
unsigned http_queue_bufs(const struct http_queue *queue, uv_buf_t *bufs, unsigned max,
                         size_t limit);
void http_queue_clear(struct http_pool *pool, struct http_queue *queue);

#endif
