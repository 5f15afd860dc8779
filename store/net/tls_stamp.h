/* The PEM files of a TLS context: whether they changed, and loading them. Internal to
 * store/net. */
#ifndef STORE_NET_TLS_STAMP_H
#define STORE_NET_TLS_STAMP_H

#include <openssl/ssl.h>
#include <stdint.h>

#include "store/base/err.h"

/* Identifies a state of a file; all zero: there is no file. */
struct tls_stamp {
	int64_t mtime_s, mtime_ns, size;
	uint64_t device, inode;
};

/* A file may be NULL. */
void tls_stamps_take(char *const *files, unsigned count, struct tls_stamp *stamps);
/* PL_IO: there is no such file. path may be NULL. OpenSSL's own error would not name
 * the file. */
PL_NODISCARD enum pl_code tls_file_check(const char *path, struct pl_err *err);
PL_NODISCARD enum pl_code tls_identity_load(SSL_CTX *ctx, const char *cert_file,
                                            const char *key_file, struct pl_err *err);

#endif
