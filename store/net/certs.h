/*
 * Test-grade certificates: a CA, a certificate for a server and one for its clients. They
 * are meant for the etcds that we start and for tests; this is not a public key
 * infrastructure. The keys are P-256 and take a millisecond each.
 *
 * Invariants: a certificate is valid from two days ago, because clocks of other machines
 * and containers lag. The server's certificate is valid for clients too, because etcd's
 * members dial each other.
 */
#ifndef STORE_NET_CERTS_H
#define STORE_NET_CERTS_H

#include "store/base/err.h"

/* Writes ca.pem, server.pem, server-key.pem, client.pem and client-key.pem into dir with
 * mode 0600. names holds the server's subject alternative names:
 * "DNS:localhost,IP:127.0.0.1". A second call makes a second CA and replaces all five
 * files. PL_TLS on any failure; files may have been written by then. */
PL_NODISCARD enum pl_code certs_make(const char *dir, const char *names,
                                     struct pl_err *err);

/* For tests: the same files, but the certificates expired a day ago. */
PL_NODISCARD enum pl_code certs_make_expired(const char *dir, const char *names,
                                             struct pl_err *err);

#endif
