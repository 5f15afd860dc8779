#include "store/net/tls_stamp.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "store/net/tls_ctx.h"

void tls_stamps_take(char *const *files, unsigned count, struct tls_stamp *stamps)
{
	memset(stamps, 0, sizeof *stamps * count);
	for (unsigned i = 0; i < count; i++) {
		struct stat st;

		if (files[i] == NULL || stat(files[i], &st) != 0)
			continue;
		stamps[i] = (struct tls_stamp){
			.mtime_s = st.st_mtim.tv_sec,
			.mtime_ns = st.st_mtim.tv_nsec,
			.size = st.st_size,
			.device = st.st_dev,
			.inode = st.st_ino,
		};
	}
}

enum pl_code tls_file_check(const char *path, struct pl_err *err)
{
	struct stat st;

	if (path == NULL)
		return PL_OK;
	if (stat(path, &st) != 0)
		return pl_err_set(err, PL_IO, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return pl_err_set(err, PL_IO, "%s: not a file", path);
	return PL_OK;
}

/* A key with a passphrase must fail; OpenSSL would ask on the terminal. */
static int on_passphrase(char *buf, int size, int rwflag, void *ctx)
{
	(void)buf;
	(void)size;
	(void)rwflag;
	(void)ctx;
	return -1;
}

enum pl_code tls_identity_load(SSL_CTX *ctx, const char *cert_file, const char *key_file,
                               struct pl_err *err)
{
	SSL_CTX_set_default_passwd_cb(ctx, on_passphrase);
	if (SSL_CTX_use_certificate_chain_file(ctx, cert_file) != 1)
		return tls_lib_error(err, cert_file);
	if (SSL_CTX_use_PrivateKey_file(ctx, key_file, SSL_FILETYPE_PEM) != 1)
		return tls_lib_error(err, key_file);
	if (SSL_CTX_check_private_key(ctx) != 1)
		return tls_lib_error(err, "certificate and key do not belong together");
	return PL_OK;
}
