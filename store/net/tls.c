#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/base/fault.h"
#include "store/net/tls_ctx.h"
#include "store/net/tls_stamp.h"

enum { FILE_COUNT = 3 };

struct tls {
	char *file[FILE_COUNT]; /* CA, certificate, key; each may be NULL */
	char *server_name;
	struct tls_stamp stamp[FILE_COUNT]; /* state of the files at the last refresh */
	SSL_CTX *ctx;                       /* the last one that loaded */
	struct pl_err stale;                /* failure of the last refresh; PL_OK: none */
};

enum pl_code tls_lib_error(struct pl_err *err, const char *what)
{
	unsigned long last = ERR_peek_last_error();
	const char *reason = last == 0 ? NULL : ERR_reason_error_string(last);
	enum pl_code code;

	/* OpenSSL reports a missing file as a system error. */
	if (last != 0 && ERR_SYSTEM_ERROR(last))
		reason = strerror(ERR_GET_REASON(last));
	code = pl_err_set(err, PL_TLS, "%s: %s", what,
	                  reason == NULL ? "failed" : reason);
	ERR_clear_error();
	return code;
}

static enum pl_code ctx_trust(SSL_CTX *ctx, const struct tls *tls, struct pl_err *err)
{
	if (tls->file[0] == NULL)
		return SSL_CTX_set_default_verify_paths(ctx) == 1
		               ? PL_OK
		               : tls_lib_error(err, "system's certificates");
	if (SSL_CTX_load_verify_file(ctx, tls->file[0]) != 1)
		return tls_lib_error(err, tls->file[0]);
	return PL_OK;
}

static enum pl_code ctx_identity(SSL_CTX *ctx, const struct tls *tls, struct pl_err *err)
{
	if (tls->file[1] == NULL)
		return PL_OK;
	return tls_identity_load(ctx, tls->file[1], tls->file[2], err);
}

static enum pl_code ctx_set_up(SSL_CTX *ctx, const struct tls *tls, struct pl_err *err)
{
	static const unsigned char alpn[] = {2, 'h', '2'};
	enum pl_code code;

	if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set_alpn_protos(ctx, alpn, sizeof alpn) != 0)
		return tls_lib_error(err, "TLS");
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
	                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	(void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	code = ctx_trust(ctx, tls, err);
	return code != PL_OK ? code : ctx_identity(ctx, tls, err);
}

static enum pl_code ctx_load(const struct tls *tls, SSL_CTX **out, struct pl_err *err)
{
	enum pl_code code = PL_OK;
	SSL_CTX *ctx;

	for (unsigned i = 0; i < FILE_COUNT && code == PL_OK; i++)
		code = tls_file_check(tls->file[i], err);
	if (code != PL_OK)
		return code;
	ERR_clear_error();
	ctx = pl_fault_hit(PL_FAULT_TLS_INIT) ? NULL : SSL_CTX_new(TLS_client_method());
	if (ctx == NULL)
		return tls_lib_error(err, "TLS");
	code = ctx_set_up(ctx, tls, err);
	if (code == PL_OK)
		*out = ctx;
	else
		SSL_CTX_free(ctx);
	return code;
}

static bool name_copy(char **to, const char *from)
{
	if (from == NULL)
		return true;
	*to = pl_strdup(from);
	return *to != NULL;
}

enum pl_code tls_new(const struct tls_files *files, struct tls **out, struct pl_err *err)
{
	struct tls *tls;
	enum pl_code code;

	if ((files->cert_file == NULL) != (files->key_file == NULL))
		return pl_err_set(err, PL_INVALID,
		                  "a client certificate and its key go together");
	tls = pl_calloc(1, sizeof *tls);
	if (tls == NULL)
		return pl_err_set(err, PL_NOMEM, "TLS");
	if (name_copy(&tls->file[0], files->ca_file) &&
	    name_copy(&tls->file[1], files->cert_file) &&
	    name_copy(&tls->file[2], files->key_file) &&
	    name_copy(&tls->server_name, files->server_name)) {
		tls_stamps_take(tls->file, FILE_COUNT, tls->stamp);
		code = ctx_load(tls, &tls->ctx, err);
	} else {
		code = pl_err_set(err, PL_NOMEM, "TLS");
	}
	if (code != PL_OK) {
		tls_free(tls);
		return code;
	}
	*out = tls;
	return PL_OK;
}

void tls_free(struct tls *tls)
{
	if (tls == NULL)
		return;
	for (unsigned i = 0; i < FILE_COUNT; i++)
		free(tls->file[i]);
	free(tls->server_name);
	SSL_CTX_free(tls->ctx);
	free(tls);
}

enum pl_code tls_refresh(struct tls *tls, struct pl_err *err)
{
	struct tls_stamp stamp[FILE_COUNT];
	SSL_CTX *ctx = NULL;
	enum pl_code code;

	tls_stamps_take(tls->file, FILE_COUNT, stamp);
	if (memcmp(stamp, tls->stamp, sizeof stamp) == 0) {
		tls->stale.code = PL_OK; /* the files are as they were loaded */
		return PL_OK;
	}
	code = ctx_load(tls, &ctx, &tls->stale);
	if (code != PL_OK) { /* reported at each refresh until the files load */
		if (err != NULL)
			*err = tls->stale;
		return code;
	}
	tls->stale.code = PL_OK;
	memcpy(tls->stamp, stamp, sizeof stamp);
	SSL_CTX_free(tls->ctx); /* connections have their own references */
	tls->ctx = ctx;
	return PL_OK;
}

const struct pl_err *tls_stale(const struct tls *tls)
{
	return tls->stale.code == PL_OK ? NULL : &tls->stale;
}

SSL_CTX *tls_ctx(const struct tls *tls)
{
	return tls->ctx;
}

const char *tls_server_name(const struct tls *tls)
{
	return tls->server_name;
}
