/* A span: borrowed bytes with their length, because keys, values and messages are not C
 * strings. */
#ifndef STORE_BASE_SPAN_H
#define STORE_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* at may be NULL only when len is 0. */
struct pl_span {
	const uint8_t *at;
	size_t len;
};

/* For printf: PL_SPAN_FMT with PL_SPAN_ARG(span). */
#define PL_SPAN_FMT "%.*s"
#define PL_SPAN_ARG(span) (int)(span).len, (const char *)(span).at

/* A string literal as a span, usable in static initialisers. */
#define PL_SPAN_LIT(text) ((struct pl_span){(const uint8_t *)("" text), sizeof(text) - 1})

static inline struct pl_span pl_span(const void *at, size_t len)
{
	return (struct pl_span){at, len};
}

static inline struct pl_span pl_span_str(const char *text)
{
	return (struct pl_span){(const uint8_t *)text, text == NULL ? 0 : strlen(text)};
}

static inline bool pl_span_eq(struct pl_span a, struct pl_span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

/* Compares bytewise, a prefix before its continuations, which is the order of keys in
 * etcd. */
static inline int pl_span_cmp(struct pl_span a, struct pl_span b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len == 0 ? 0 : memcmp(a.at, b.at, len);

	if (order != 0)
		return order;
	return a.len < b.len ? -1 : a.len > b.len;
}

static inline bool pl_span_starts(struct pl_span span, struct pl_span prefix)
{
	return span.len >= prefix.len &&
	       (prefix.len == 0 || memcmp(span.at, prefix.at, prefix.len) == 0);
}

#endif
