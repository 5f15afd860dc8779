/*
 * A server's TLS settings from PEM files: its certificate and key, and the CAs whose
 * client certificates are trusted.
 *
 * Invariants: TLS 1.2 or newer. Changed files are loaded before the next connection is
 * accepted; a set that does not load is reported and the last good one stays in use. A
 * connection keeps the context it was made with. A client without a certificate is let
 * in (who it is, is not decided here); one with a certificate that is not trusted is not.
 */
#ifndef STORE_NET_TLS_SERVER_H
#define STORE_NET_TLS_SERVER_H

#include <stdint.h>

#include "store/base/err.h"

struct tls_server;

struct tls_server_files {
	const char *cert_file, *key_file;
	const char *client_ca_file; /* NULL: client certificates are not asked for */
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
