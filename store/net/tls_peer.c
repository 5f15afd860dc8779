#include "store/net/tls_peer.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/fault.h"
#include "store/net/tls_bio.h"
#include "store/net/tls_client_read.h"

struct tls_peer {
	SSL *ssl;
	struct tls_bio bytes;
};

static bool peer_ssl_make(struct tls_peer *peer, struct tls_server *tls)
{
	BIO *bio;

	if (pl_fault_hit(PL_FAULT_TLS_INIT))
		return false;
	peer->ssl = SSL_new(tls_server_ctx(tls));
	if (peer->ssl == NULL)
		return false;
	bio = tls_bio_new(&peer->bytes);
	if (bio == NULL)
		return false;
	SSL_set_bio(peer->ssl, bio, bio);
	SSL_set_accept_state(peer->ssl);
	return true;
}

struct tls_peer *tls_peer_new(struct tls_server *tls, struct pl_buf *out)
{
	struct tls_peer *peer = pl_calloc(1, sizeof *peer);

	if (peer == NULL)
		return NULL;
	peer->bytes.out = out;
	if (peer_ssl_make(peer, tls))
		return peer;
	ERR_clear_error();
	tls_peer_free(peer);
	return NULL;
}

void tls_peer_free(struct tls_peer *peer)
{
	if (peer == NULL)
		return;
	SSL_free(peer->ssl);
	free(peer);
}

void tls_peer_feed(struct tls_peer *peer, struct pl_span data)
{
	PL_ASSERT(peer->bytes.in.len == 0);
	peer->bytes.in = data;
}

static enum tls_peer_state state_after(struct tls_peer *peer, int rc,
                                       enum tls_peer_state waiting)
{
	int error = SSL_get_error(peer->ssl, rc);
	int reason = ERR_GET_REASON(ERR_peek_error());

	ERR_clear_error();
	if (peer->bytes.no_memory)
		return TLS_PEER_FAILED;
	if (error == SSL_ERROR_WANT_READ)
		return waiting;
	if (error == SSL_ERROR_ZERO_RETURN)
		return TLS_PEER_CLOSED;
	return reason == SSL_R_HTTP_REQUEST ? TLS_PEER_PLAIN : TLS_PEER_FAILED;
}

enum tls_peer_state tls_peer_handshake(struct tls_peer *peer)
{
	int rc;

	ERR_clear_error();
	rc = SSL_do_handshake(peer->ssl);
	return rc == 1 ? TLS_PEER_OPEN : state_after(peer, rc, TLS_PEER_SHAKING);
}

enum tls_peer_state tls_peer_read(struct tls_peer *peer, uint8_t *to, size_t size,
                                  size_t *got)
{
	int rc;

	*got = 0;
	ERR_clear_error();
	rc = SSL_read_ex(peer->ssl, to, size, got);
	return rc == 1 ? TLS_PEER_OPEN : state_after(peer, rc, TLS_PEER_OPEN);
}

bool tls_peer_write(struct tls_peer *peer, struct pl_span data)
{
	while (data.len > 0) {
		size_t count = 0;

		ERR_clear_error();
		if (SSL_write_ex(peer->ssl, data.at, data.len, &count) != 1) {
			ERR_clear_error();
			return false;
		}
		data.at += count;
		data.len -= count;
	}
	return true;
}

void tls_peer_end(struct tls_peer *peer)
{
	ERR_clear_error();
	(void)SSL_shutdown(peer->ssl);
	ERR_clear_error();
}

bool tls_peer_is_h2(const struct tls_peer *peer)
{
	const unsigned char *name = NULL;
	unsigned len = 0;

	SSL_get0_alpn_selected(peer->ssl, &name, &len);
	return len == 2 && memcmp(name, "h2", 2) == 0;
}

bool tls_peer_client(const struct tls_peer *peer, struct tls_client **client)
{
	X509 *cert = SSL_get0_peer_certificate(peer->ssl);

	*client = NULL;
	if (cert == NULL)
		return true;
	*client = tls_client_new(cert, SSL_get_verify_result(peer->ssl));
	return *client != NULL;
}

static long chain_verify(const struct tls_peer *peer, SSL_CTX *ctx)
{
	X509 *cert = SSL_get0_peer_certificate(peer->ssl);
	X509_STORE_CTX *chain = X509_STORE_CTX_new();
	long result = X509_V_ERR_OUT_OF_MEM;

	if (chain != NULL && cert != NULL &&
	    X509_STORE_CTX_init(chain, SSL_CTX_get_cert_store(ctx), cert,
	                        SSL_get_peer_cert_chain(peer->ssl)) == 1 &&
	    X509_STORE_CTX_set_default(chain, "ssl_client") == 1) {
		int rc = X509_verify_cert(chain);

		result = X509_STORE_CTX_get_error(chain);
		if (rc <= 0 && result == X509_V_OK)
			result = X509_V_ERR_UNSPECIFIED;
	}
	X509_STORE_CTX_free(chain);
	ERR_clear_error();
	return result;
}

void tls_peer_verify(const struct tls_peer *peer, const struct tls_server *tls,
                     struct tls_client *client)
{
	if (client->state == TLS_CLIENT_TRUSTED)
		tls_client_verified(client, chain_verify(peer, tls_server_ctx(tls)));
}
