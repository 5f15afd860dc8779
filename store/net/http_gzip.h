/*
 * gzip of bodies: unpacking with a bound, and packing in slices, so that a large answer
 * does not hold up its loop. Pure; memory comes from pl_malloc().
 */
#ifndef STORE_NET_HTTP_GZIP_H
#define STORE_NET_HTTP_GZIP_H

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/span.h"

struct http_gzip;

/* NULL: no memory. */
struct http_gzip *http_gunzip_new(void);
struct http_gzip *http_gzip_new(void);
void http_gzip_free(struct http_gzip *gzip); /* takes NULL */

/* Unpacks the next piece onto out, whose maximum bounds the whole. PL_LIMIT: it is too
 * large. PL_PROTO: it is no gzip, or has bytes behind its end. PL_NOMEM. */
PL_NODISCARD enum pl_code http_gunzip_add(struct http_gzip *gzip, struct pl_span packed,
                                          struct pl_buf *out);
/* The packed bytes were whole, or there were none. */
bool http_gunzip_is_whole(const struct http_gzip *gzip);

/* Packs the next piece onto out; last: it is the end. PL_NOMEM, PL_LIMIT. */
PL_NODISCARD enum pl_code http_gzip_add(struct http_gzip *gzip, struct pl_span plain,
                                        bool last, struct pl_buf *out);

#endif
