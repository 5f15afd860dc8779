/*
 * Certificates for a server of our own and its clients: a CA, one certificate
 * for each side. For etcds that we start and for tests; not a public key
 * infrastructure. Keys are P-256, made in a millisecond.
 *
 * Valid from two days ago, for clocks in other machines and containers that lag.
 * The server's certificate serves both ways: etcd's members dial each other.
 */
#ifndef STORE_NET_CERTS_H
#define STORE_NET_CERTS_H

#include "store/base/err.h"

/* Writes ca.pem, server.pem, server-key.pem, client.pem and client-key.pem into
 * dir, readable for us alone. names: "DNS:localhost,IP:127.0.0.1", the server's.
 * A second call makes a second CA and replaces all of them. */
PL_NODISCARD enum pl_code certs_make(const char *dir, const char *names,
                                     struct pl_err *err);

/* For tests: the same, but their time was over a day ago. */
PL_NODISCARD enum pl_code certs_make_expired(const char *dir, const char *names,
                                             struct pl_err *err);

#endif
