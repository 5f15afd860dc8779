/* The parts of struct tls that a TLS connection uses. Internal to store/net. */
#ifndef STORE_NET_TLS_CTX_H
#define STORE_NET_TLS_CTX_H

#include <openssl/ssl.h>

#include "store/net/tls.h"

/* Borrowed; SSL_new() takes its own reference. */
SSL_CTX *tls_ctx(const struct tls *tls);
const char *tls_server_name(const struct tls *tls); /* NULL: the dialled host */

/* Sets PL_TLS with OpenSSL's reason and clears OpenSSL's error queue. */
enum pl_code tls_lib_error(struct pl_err *err, const char *what);

#endif
