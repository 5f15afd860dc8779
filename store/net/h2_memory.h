/* Memory for nghttp2 from the functions of store/base, for nghttp2_mem; ctx is not used. */
#ifndef STORE_NET_H2_MEMORY_H
#define STORE_NET_H2_MEMORY_H

#include <stddef.h>

void *h2_malloc(size_t size, void *ctx);
void h2_free(void *at, void *ctx);
void *h2_calloc(size_t count, size_t size, void *ctx);
void *h2_realloc(void *at, size_t size, void *ctx);

#endif
