/* A BIO between two spans of memory: OpenSSL reads from the fed bytes and writes into a
 * buffer, so nothing is copied twice. Internal to store/net. */
#ifndef STORE_NET_TLS_BIO_H
#define STORE_NET_TLS_BIO_H

#include <openssl/bio.h>

#include "store/base/buf.h"
#include "store/base/span.h"

/* Lies in the BIO's user and outlives the BIO. */
struct tls_bio {
	struct pl_span in;  /* fed and not read yet */
	struct pl_buf *out; /* borrowed */
	bool no_memory;     /* out could not take bytes */
};

/* NULL: no memory. */
BIO *tls_bio_new(struct tls_bio *bytes);

#endif
