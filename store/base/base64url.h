/* Base64 with the alphabet of URLs and without padding (RFC 4648, section 5). One text has
 * one meaning only: padding, other characters, and bits behind the last byte that are not
 * zero are refused. */
#ifndef STORE_BASE_BASE64URL_H
#define STORE_BASE_BASE64URL_H

#include "store/base/compiler.h"
#include "store/base/span.h"

/* The lengths of what comes out, for len bytes that go in. */
static inline size_t pl_base64url_encoded(size_t len)
{
	return len / 3 * 4 + (len % 3 == 0 ? 0 : len % 3 + 1);
}

static inline size_t pl_base64url_decoded(size_t len)
{
	return len / 4 * 3 + (len % 4 == 0 ? 0 : len % 4 - 1);
}

/* out has room for pl_base64url_encoded() bytes; no NUL is added. */
void pl_base64url_encode(struct pl_span bytes, char *out);
/* out has room for pl_base64url_decoded() bytes. False: it is no such text. */
PL_NODISCARD bool pl_base64url_decode(struct pl_span text, uint8_t *out);

#endif
