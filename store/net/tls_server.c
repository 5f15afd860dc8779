#include "store/net/tls_server.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/base/fault.h"
#include "store/net/tls_ctx.h"
#include "store/net/tls_peer.h"
#include "store/net/tls_stamp.h"

enum {
	CERT,
	KEY,
	CLIENT_CA,
	CLIENT_CRL,
	FILES,
	REFRESH_MS = 1000,
	CRLS_MAX = 1024,
};

struct tls_server {
	char *file[FILES]; /* CLIENT_CA and CLIENT_CRL may be NULL */
	struct tls_stamp stamp[FILES];
	SSL_CTX *ctx;      /* the last one that loaded */
	uint64_t asked_ms; /* when the files were looked at */
	uint64_t loads;    /* that changed ctx */
};

/* HTTP/2 if the client has it, else HTTP/1.1. A client with neither gets no protocol, and
 * HTTP/1.1. */
static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                   const unsigned char *in, unsigned in_len, void *ctx)
{
	static const unsigned char ours[] = "\x02h2\x08http/1.1";
	unsigned char *chosen = NULL;

	(void)ssl;
	(void)ctx;
	if (SSL_select_next_proto(&chosen, out_len, ours, sizeof ours - 1, in, in_len) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_NOACK;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/* Lets the handshake go on whatever the result is, which stays in the connection. The
 * first fault ends the verification, so no later success hides it. */
static int on_verify(X509_STORE_CTX *chain, void *ctx)
{
	(void)ctx;
	if (X509_verify_cert(chain) <= 0 && X509_STORE_CTX_get_error(chain) == X509_V_OK)
		X509_STORE_CTX_set_error(chain, X509_V_ERR_UNSPECIFIED);
	return 1;
}

static enum pl_code crls_add(X509_STORE *store, BIO *file, const char *name,
                             struct pl_err *err)
{
	for (unsigned count = 0; count <= CRLS_MAX; count++) {
		X509_CRL *crl = PEM_read_bio_X509_CRL(file, NULL, NULL, NULL);
		int added;

		if (crl == NULL && count > 0 &&
		    ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE) {
			ERR_clear_error();
			return PL_OK;
		}
		if (crl == NULL)
			return tls_lib_error(err, name);
		added = X509_STORE_add_crl(store, crl);
		X509_CRL_free(crl);
		if (added != 1)
			return tls_lib_error(err, name);
	}
	return pl_err_set(err, PL_TLS, "%s: more than %d lists", name, CRLS_MAX);
}

static enum pl_code revoked_load(SSL_CTX *ctx, const char *name, struct pl_err *err)
{
	X509_STORE *store = SSL_CTX_get_cert_store(ctx);
	enum pl_code code;
	BIO *file;

	if (name == NULL)
		return PL_OK;
	file = BIO_new_file(name, "r");
	if (file == NULL)
		return tls_lib_error(err, name);
	code = crls_add(store, file, name, err);
	BIO_free(file);
	if (code == PL_OK &&
	    X509_STORE_set_flags(store,
	                         X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL) != 1)
		return tls_lib_error(err, name);
	return code;
}

static enum pl_code clients_trust(SSL_CTX *ctx, const char *file, struct pl_err *err)
{
	STACK_OF(X509_NAME) * names;

	if (file == NULL)
		return PL_OK;
	if (SSL_CTX_load_verify_file(ctx, file) != 1)
		return tls_lib_error(err, file);
	names = SSL_load_client_CA_file(file);
	if (names == NULL)
		return tls_lib_error(err, file);
	SSL_CTX_set_client_CA_list(ctx, names);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_cert_verify_callback(ctx, on_verify, NULL);
	return PL_OK;
}

/* Sessions are not resumed: a client that resumes one would keep the trust of the files
 * of that time, and each connection would hold tickets. */
static enum pl_code server_ctx_set_up(SSL_CTX *ctx, const struct tls_server *tls,
                                      struct pl_err *err)
{
	enum pl_code code;

	/* The cheapest of the three ciphers of TLS 1.3 comes first. */
	if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
	                                  "TLS_CHACHA20_POLY1305_SHA256") != 1 ||
	    SSL_CTX_set_num_tickets(ctx, 0) != 1)
		return tls_lib_error(err, "TLS");
	(void)SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
	                                       SSL_OP_CIPHER_SERVER_PREFERENCE);
	(void)SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
	                                    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
	                                    SSL_MODE_RELEASE_BUFFERS);
	(void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_alpn_select_cb(ctx, on_alpn, NULL);
	code = tls_identity_load(ctx, tls->file[CERT], tls->file[KEY], err);
	if (code == PL_OK)
		code = clients_trust(ctx, tls->file[CLIENT_CA], err);
	return code != PL_OK ? code : revoked_load(ctx, tls->file[CLIENT_CRL], err);
}

static enum pl_code server_ctx_load(const struct tls_server *tls, SSL_CTX **out,
                                    struct pl_err *err)
{
	enum pl_code code = PL_OK;
	SSL_CTX *ctx;

	for (unsigned i = 0; i < FILES && code == PL_OK; i++)
		code = tls_file_check(tls->file[i], err);
	if (code != PL_OK)
		return code;
	ERR_clear_error();
	ctx = pl_fault_hit(PL_FAULT_TLS_INIT) ? NULL : SSL_CTX_new(TLS_server_method());
	if (ctx == NULL)
		return tls_lib_error(err, "TLS");
	code = server_ctx_set_up(ctx, tls, err);
	if (code == PL_OK)
		*out = ctx;
	else
		SSL_CTX_free(ctx);
	return code;
}

static bool files_copy(struct tls_server *tls, const struct tls_server_files *files)
{
	const char *const from[FILES] = {
		[CERT] = files->cert_file,
		[KEY] = files->key_file,
		[CLIENT_CA] = files->client_ca_file,
		[CLIENT_CRL] = files->client_crl_file,
	};

	for (unsigned i = 0; i < FILES; i++) {
		if (from[i] == NULL)
			continue;
		tls->file[i] = pl_strdup(from[i]);
		if (tls->file[i] == NULL)
			return false;
	}
	return true;
}

enum pl_code tls_server_new(const struct tls_server_files *files, struct tls_server **out,
                            struct pl_err *err)
{
	struct tls_server *tls;
	enum pl_code code;

	if (files->cert_file == NULL || files->key_file == NULL)
		return pl_err_set(err, PL_INVALID,
		                  "a server needs a certificate and its key");
	if (files->client_crl_file != NULL && files->client_ca_file == NULL)
		return pl_err_set(err, PL_INVALID,
		                  "revoked client certificates need their authorities");
	tls = pl_calloc(1, sizeof *tls);
	if (tls == NULL)
		return pl_err_set(err, PL_NOMEM, "TLS");
	if (files_copy(tls, files)) {
		tls_stamps_take(tls->file, FILES, tls->stamp);
		tls->asked_ms = pl_clock_ms();
		code = server_ctx_load(tls, &tls->ctx, err);
	} else {
		code = pl_err_set(err, PL_NOMEM, "TLS");
	}
	if (code == PL_OK)
		*out = tls;
	else
		tls_server_free(tls);
	return code;
}

void tls_server_free(struct tls_server *tls)
{
	if (tls == NULL)
		return;
	for (unsigned i = 0; i < FILES; i++)
		free(tls->file[i]);
	SSL_CTX_free(tls->ctx);
	free(tls);
}

enum pl_code tls_server_refresh(struct tls_server *tls, uint64_t now_ms,
                                struct pl_err *err)
{
	struct tls_stamp stamp[FILES];
	SSL_CTX *ctx = NULL;
	enum pl_code code;

	if (now_ms - tls->asked_ms < REFRESH_MS)
		return PL_OK;
	tls->asked_ms = now_ms;
	tls_stamps_take(tls->file, FILES, stamp);
	if (memcmp(stamp, tls->stamp, sizeof stamp) == 0)
		return PL_OK;
	code = server_ctx_load(tls, &ctx, err);
	if (code != PL_OK)
		return code; /* tried again a second later */
	memcpy(tls->stamp, stamp, sizeof stamp);
	SSL_CTX_free(tls->ctx); /* connections have their own references */
	tls->ctx = ctx;
	tls->loads++;
	return PL_OK;
}

SSL_CTX *tls_server_ctx(const struct tls_server *tls)
{
	return tls->ctx;
}

uint64_t tls_server_loads(const struct tls_server *tls)
{
	return tls->loads;
}
