/*
 * TLS for clients: what to trust and who we are, from PEM files.
 *
 * The files are looked at again before a connection is made when they have
 * changed; a set that does not load leaves the last good one in use and is
 * reported. A connection keeps the context it was made with.
 */
#ifndef STORE_NET_TLS_H
#define STORE_NET_TLS_H

#include <stdbool.h>

#include "store/base/err.h"

struct tls;

/* NULL for none. ca_file NULL: the system's store. cert and key go together. */
struct tls_files {
	const char *ca_file;
	const char *cert_file;
	const char *key_file;
	const char *server_name; /* to check instead of the host that is dialled */
};

/* Copies the names. Fails with PL_TLS or PL_IO when the files are not usable. */
PL_NODISCARD enum pl_code tls_new(const struct tls_files *files, struct tls **out,
                                  struct pl_err *err);
void tls_free(struct tls *tls);

/* Loads again what has changed on disk. A failure keeps what was loaded.
 * grpc_conn_open() does it by itself. */
PL_NODISCARD enum pl_code tls_refresh(struct tls *tls, struct pl_err *err);

/* NULL: what is in use is what the files hold, as of the last refresh. Else why
 * it is older; borrowed until the next refresh. */
const struct pl_err *tls_stale(const struct tls *tls);

#endif
