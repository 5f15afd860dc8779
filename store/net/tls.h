/*
 * A client's TLS settings from PEM files: which CAs to trust, and its own certificate.
 *
 * Invariants: changed files are loaded before the next connection is made. A set that
 * does not load is reported and the last good one stays in use. A connection keeps the
 * context it was made with.
 */
#ifndef STORE_NET_TLS_H
#define STORE_NET_TLS_H

#include <stdbool.h>

#include "store/base/err.h"

struct tls;

/* NULL: none. ca_file NULL: the system's CA store. cert_file and key_file go together. */
struct tls_files {
	const char *ca_file;
	const char *cert_file;
	const char *key_file;
	const char *server_name; /* the name to check instead of the dialled host */
};

/* Copies the names. PL_TLS or PL_IO: the files are not usable. */
PL_NODISCARD enum pl_code tls_new(const struct tls_files *files, struct tls **out,
                                  struct pl_err *err);
void tls_free(struct tls *tls);

/* Loads changed files again. A failure keeps what was loaded. grpc_conn_open() calls it.
 */
PL_NODISCARD enum pl_code tls_refresh(struct tls *tls, struct pl_err *err);

/* NULL: the files as of the last refresh are in use. Otherwise why older ones are;
 * borrowed until the next refresh. */
const struct pl_err *tls_stale(const struct tls *tls);

#endif
