/*
 * A server's TLS settings from PEM files: its certificate and key, the CAs whose client
 * certificates are trusted, and the lists of those that are revoked.
 *
 * Invariants: TLS 1.2 or newer. Changed files are loaded before the next connection or
 * request is accepted; a set that does not load is reported and the last good one stays in
 * use. A connection keeps the context it was made with, but its client's certificate is
 * verified again when another set was loaded. Every client is let in, whether it has a
 * certificate and whether that is trusted or not: who it is (tls_client.h) and what it may
 * do is not decided here. With lists of revoked certificates each authority of a chain must
 * have one that is up to date, or the chain is not trusted.
 */
#ifndef STORE_NET_TLS_SERVER_H
#define STORE_NET_TLS_SERVER_H

#include <stdint.h>

#include "store/base/err.h"
#include "store/net/tls_client.h"

struct tls_server;

struct tls_server_files {
	const char *cert_file, *key_file;
	const char *client_ca_file;  /* NULL: client certificates are not asked for */
	const char *client_crl_file; /* NULL: none is revoked */
};

/* Copies the names. PL_TLS or PL_IO: the files are not usable. */
PL_NODISCARD enum pl_code tls_server_new(const struct tls_server_files *files,
                                         struct tls_server **out, struct pl_err *err);
void tls_server_free(struct tls_server *tls);
/* Loads changed files again, at most once a second of the monotonic clock of now_ms
 * (pl_clock_ms()). A failure keeps what was loaded. */
PL_NODISCARD enum pl_code tls_server_refresh(struct tls_server *tls, uint64_t now_ms,
                                             struct pl_err *err);

#endif
