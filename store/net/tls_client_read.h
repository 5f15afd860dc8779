/* Reads a certificate's names. Internal to store/net. */
#ifndef STORE_NET_TLS_CLIENT_READ_H
#define STORE_NET_TLS_CLIENT_READ_H

#include <openssl/x509.h>

#include "store/net/tls_client.h"

/* verified: X509_V_OK, or why the certificate is not trusted. For free(). NULL: no
 * memory. */
struct tls_client *tls_client_new(X509 *cert, long verified);
/* The certificate was verified again. */
void tls_client_verified(struct tls_client *client, long verified);

#endif
