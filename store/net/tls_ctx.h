/* What a TLS connection takes from the set of files: internal to store/net. */
#ifndef STORE_NET_TLS_CTX_H
#define STORE_NET_TLS_CTX_H

#include <openssl/ssl.h>

#include "store/net/tls.h"

/* Borrowed; SSL_new() takes a reference of its own. */
SSL_CTX *tls_ctx(const struct tls *tls);
const char *tls_server_name(const struct tls *tls); /* NULL: what is dialled */

/* PL_TLS with OpenSSL's reason; clears its queue of errors. */
enum pl_code tls_lib_error(struct pl_err *err, const char *what);

#endif
