#include "store/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"

enum { CAP_MIN = 64 };

void pl_buf_init(struct pl_buf *buf, size_t max)
{
	PL_ASSERT(max > 0 && max < SIZE_MAX);
	*buf = (struct pl_buf){.max = max};
}

void pl_buf_done(struct pl_buf *buf)
{
	free(buf->at);
	buf->at = NULL;
	buf->len = 0;
	buf->cap = 0;
}

enum pl_code pl_buf_reserve(struct pl_buf *buf, size_t more)
{
	size_t cap = buf->cap < CAP_MIN ? CAP_MIN : buf->cap;
	uint8_t *at;

	PL_ASSERT(buf->len <= buf->cap);
	if (buf->cap - buf->len >= more)
		return PL_OK;
	if (buf->len > buf->max || more > buf->max - buf->len)
		return PL_LIMIT;
	while (cap - buf->len < more)
		cap = cap > buf->max / 2 ? buf->max : cap * 2;
	if (cap > buf->max)
		cap = buf->max;
	at = pl_realloc(buf->at, cap + 1); /* one byte more, see pl_buf_printf */
	if (at == NULL)
		return PL_NOMEM;
	buf->at = at;
	buf->cap = cap;
	return PL_OK;
}

enum pl_code pl_buf_add(struct pl_buf *buf, struct pl_span span)
{
	enum pl_code code = pl_buf_reserve(buf, span.len);

	if (code != PL_OK)
		return code;
	if (span.len != 0)
		memcpy(buf->at + buf->len, span.at, span.len);
	buf->len += span.len;
	return PL_OK;
}

enum pl_code pl_buf_add_str(struct pl_buf *buf, const char *text)
{
	return pl_buf_add(buf, pl_span_str(text));
}

enum pl_code pl_buf_printf(struct pl_buf *buf, const char *fmt, ...)
{
	va_list args;
	enum pl_code code;
	int len;

	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0)
		return PL_INVALID;
	/* vsnprintf ends its output with a NUL, which may go to the byte behind cap. */
	code = pl_buf_reserve(buf, (size_t)len);
	if (code != PL_OK || len == 0)
		return code;
	va_start(args, fmt);
	(void)vsnprintf((char *)buf->at + buf->len, (size_t)len + 1, fmt, args);
	va_end(args);
	buf->len += (size_t)len;
	return PL_OK;
}

void pl_buf_drop(struct pl_buf *buf, size_t count)
{
	PL_ASSERT(count <= buf->len);
	buf->len -= count;
	if (buf->len != 0 && count != 0)
		memmove(buf->at, buf->at + count, buf->len);
}

void pl_buf_clear(struct pl_buf *buf, size_t keep)
{
	buf->len = 0;
	if (buf->cap > keep)
		pl_buf_done(buf);
}
