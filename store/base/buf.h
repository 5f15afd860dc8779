/* A buffer: bytes that grow up to a maximum that is set when the buffer is made. */
#ifndef STORE_BASE_BUF_H
#define STORE_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/compiler.h"
#include "store/base/err.h"
#include "store/base/span.h"

/* The buffer owns at, which has one byte more than cap. A buffer with all fields 0 but
 * max is empty. */
struct pl_buf {
	uint8_t *at;
	size_t len;
	size_t cap;
	size_t max;
};

void pl_buf_init(struct pl_buf *buf, size_t max);
void pl_buf_done(struct pl_buf *buf);

/* Makes room for so many more bytes behind len. PL_LIMIT: max would be passed.
 * PL_NOMEM. */
PL_NODISCARD enum pl_code pl_buf_reserve(struct pl_buf *buf, size_t more);

PL_NODISCARD enum pl_code pl_buf_add(struct pl_buf *buf, struct pl_span span);
PL_NODISCARD enum pl_code pl_buf_add_str(struct pl_buf *buf, const char *text);
PL_NODISCARD PL_PRINTF(2, 3) enum pl_code
	pl_buf_printf(struct pl_buf *buf, const char *fmt, ...);

/* Removes the first count bytes and moves the rest to the front. */
void pl_buf_drop(struct pl_buf *buf, size_t count);

/* Empties the buffer and gives memory beyond keep bytes back to the heap. */
void pl_buf_clear(struct pl_buf *buf, size_t keep);

static inline struct pl_span pl_buf_span(const struct pl_buf *buf)
{
	return pl_span(buf->at, buf->len);
}

#endif
