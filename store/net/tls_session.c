#include "store/net/tls_session.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/base/fault.h"
#include "store/net/tls_bio.h"
#include "store/net/tls_ctx.h"
#include "store/net/unconst.h"

enum { OUT_MAX = 64 * 1024 * 1024 };

struct tls_session {
	SSL *ssl;
	struct tls_bio bytes;
	struct pl_buf out;
	char host[256]; /* for error texts */
};

/* --- errors -------------------------------------------------------------- */

static const char *verify_words(long result)
{
	switch (result) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return "server's certificate has expired";
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return "server's certificate is not valid yet";
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return "server's certificate is for another name";
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_CERT_SIGNATURE_FAILURE:
		return "server's certificate is from an unknown authority";
	default:
		return NULL;
	}
}

static const char *reason_words(int reason)
{
	switch (reason) {
	case SSL_R_WRONG_VERSION_NUMBER:
	case SSL_R_UNEXPECTED_MESSAGE:
	case SSL_R_HTTP_REQUEST:
	case SSL_R_PACKET_LENGTH_TOO_LONG:
		return "server does not speak TLS";
	case SSL_R_UNSUPPORTED_PROTOCOL:
	case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
		return "server does not speak TLS 1.2 or newer";
	case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
		return "server wants a client certificate";
	case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
	case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
	case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
	case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
		return "server does not accept our client certificate";
	case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
		return "server says that our client certificate has expired";
	case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
		return "server says that our client certificate is revoked";
	case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
		return "server does not offer HTTP/2";
	default:
		return NULL;
	}
}

/* A server that wants a certificate and got none only says "bad certificate". */
static const char *alert_words(const struct tls_session *session, int reason)
{
	bool anonymous = SSL_get_certificate(session->ssl) == NULL;

	if (anonymous && reason == SSL_R_SSLV3_ALERT_BAD_CERTIFICATE)
		return "server wants a client certificate";
	if (anonymous && reason == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE)
		return "server refused the handshake: does it want a client certificate?";
	return reason_words(reason);
}

static enum pl_code ssl_failed(struct tls_session *session, struct pl_err *err)
{
	unsigned long last = ERR_peek_error();
	long verify = SSL_get_verify_result(session->ssl);
	const char *words = NULL;

	if (session->bytes.no_memory) {
		ERR_clear_error();
		return pl_err_set(err, PL_NOMEM, "TLS");
	}
	if (verify != X509_V_OK) {
		words = verify_words(verify);
		if (words == NULL)
			words = X509_verify_cert_error_string(verify);
		ERR_clear_error();
		return pl_err_set(err, PL_TLS, "%s ('%s' was asked for)", words,
		                  session->host);
	}
	words = alert_words(session, ERR_GET_REASON(last));
	if (words == NULL)
		return tls_lib_error(err, "TLS");
	ERR_clear_error();
	return pl_err_set(err, PL_TLS, "%s", words);
}

/* --- opening and closing -------------------------------------------------- */

static bool name_set(SSL *ssl, const char *host)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
	uint8_t address[16];

	if (inet_pton(AF_INET, host, address) == 1)
		return X509_VERIFY_PARAM_set1_ip(param, address, 4) == 1;
	if (inet_pton(AF_INET6, host, address) == 1)
		return X509_VERIFY_PARAM_set1_ip(param, address, 16) == 1;
	X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	/* SSL_set_tlsext_host_name() without its cast of const */
	return X509_VERIFY_PARAM_set1_host(param, host, 0) == 1 &&
	       SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
	                unconst(host)) == 1;
}

static bool ssl_make(struct tls_session *session, struct tls *tls)
{
	BIO *bio;

	if (pl_fault_hit(PL_FAULT_TLS_INIT))
		return false;
	session->ssl = SSL_new(tls_ctx(tls));
	if (session->ssl == NULL || !name_set(session->ssl, session->host))
		return false;
	bio = tls_bio_new(&session->bytes);
	if (bio == NULL)
		return false;
	SSL_set_bio(session->ssl, bio, bio);
	SSL_set_connect_state(session->ssl);
	return true;
}

enum pl_code tls_session_new(struct tls *tls, const char *host, struct tls_session **out,
                             struct pl_err *err)
{
	const char *name = tls_server_name(tls) != NULL ? tls_server_name(tls) : host;
	struct tls_session *session;
	enum pl_code code;

	if (strlen(name) >= sizeof session->host)
		return pl_err_set(err, PL_INVALID, "server name too long");
	session = pl_calloc(1, sizeof *session);
	if (session == NULL)
		return pl_err_set(err, PL_NOMEM, "TLS");
	pl_buf_init(&session->out, OUT_MAX);
	session->bytes.out = &session->out;
	memcpy(session->host, name, strlen(name) + 1);
	ERR_clear_error();
	if (!ssl_make(session, tls)) {
		code = tls_lib_error(err, "TLS");
		tls_session_free(session);
		return code;
	}
	*out = session;
	return PL_OK;
}

void tls_session_free(struct tls_session *session)
{
	if (session == NULL)
		return;
	SSL_free(session->ssl);
	pl_buf_done(&session->out);
	free(session);
}

/* --- bytes --------------------------------------------------------------- */

void tls_session_feed(struct tls_session *session, struct pl_span data)
{
	PL_ASSERT(session->bytes.in.len == 0);
	session->bytes.in = data;
}

struct pl_buf *tls_session_out(struct tls_session *session)
{
	return &session->out;
}

static enum pl_code alpn_check(struct tls_session *session, struct pl_err *err)
{
	const unsigned char *name = NULL;
	unsigned len = 0;

	SSL_get0_alpn_selected(session->ssl, &name, &len);
	if (len == 2 && memcmp(name, "h2", 2) == 0)
		return PL_OK;
	return pl_err_set(err, PL_TLS, "server does not offer HTTP/2");
}

enum pl_code tls_session_handshake(struct tls_session *session, bool *done,
                                   struct pl_err *err)
{
	int rc;

	ERR_clear_error();
	rc = SSL_do_handshake(session->ssl);
	if (rc == 1) {
		enum pl_code code = alpn_check(session, err);

		*done = code == PL_OK;
		return code;
	}
	if (SSL_get_error(session->ssl, rc) != SSL_ERROR_WANT_READ)
		return ssl_failed(session, err);
	return PL_OK;
}

enum pl_code tls_session_read(struct tls_session *session, uint8_t *to, size_t size,
                              size_t *got, struct pl_err *err)
{
	int rc;

	*got = 0;
	ERR_clear_error();
	rc = SSL_read_ex(session->ssl, to, size, got);
	if (rc == 1)
		return PL_OK;
	switch (SSL_get_error(session->ssl, rc)) {
	case SSL_ERROR_WANT_READ:
		return PL_OK;
	case SSL_ERROR_ZERO_RETURN:
		return pl_err_set(err, PL_UNAVAIL, "connection closed by the server");
	default:
		return ssl_failed(session, err);
	}
}

enum pl_code tls_session_write(struct tls_session *session, struct pl_span data,
                               struct pl_err *err)
{
	while (data.len > 0) {
		size_t count = 0;

		ERR_clear_error();
		if (SSL_write_ex(session->ssl, data.at, data.len, &count) != 1)
			return ssl_failed(session, err);
		data.at += count;
		data.len -= count;
	}
	return PL_OK;
}
