#include "tests/support/store/net/fake_net.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/net/unconst.h"

enum { CONNS_MAX = 64, PIECE = 64 * 1024 };

struct fake_net_conn {
	uv_tcp_t tcp;
	struct fake_net *fake;
	struct fake_h2 *h2;
	SSL *ssl; /* NULL: clear text */
	uint64_t sent;
	bool open;
	bool said; /* opts.bytes were sent */
};

struct fake_net {
	uv_loop_t *loop;
	uv_tcp_t listener;
	struct fake_net_opts opts;
	SSL_CTX *ctx;
	struct fake_net_conn *conns[CONNS_MAX];
	unsigned count;
	uint16_t port;
};

struct fake_net_write {
	uv_write_t req;
	struct fake_net_conn *conn;
	bool last;
	char bytes[];
};

static void on_closed(uv_handle_t *handle)
{
	((struct fake_net_conn *)handle->data)->open = false;
}

static void conn_cut(struct fake_net_conn *conn)
{
	if (conn->open && !uv_is_closing((uv_handle_t *)&conn->tcp))
		uv_close((uv_handle_t *)&conn->tcp, on_closed);
}

static void on_written(uv_write_t *req, int status)
{
	struct fake_net_write *write = PL_CONTAINER_OF(req, struct fake_net_write, req);

	if (status == 0 && write->last)
		conn_cut(write->conn);
	free(write);
}

/* Sends bytes; past cut_after no more leaves and the connection ends. */
static void wire_send(struct fake_net_conn *conn, const void *at, size_t len)
{
	uint64_t cut = conn->fake->opts.cut_after;
	struct fake_net_write *write;
	uv_buf_t buf;
	int rc;

	if (cut != 0 && len > cut - conn->sent)
		len = (size_t)(cut - conn->sent);
	if (len == 0 || uv_is_closing((uv_handle_t *)&conn->tcp))
		return;
	conn->sent += len;
	write = malloc(sizeof *write + len);
	PL_ASSERT(write != NULL);
	write->conn = conn;
	write->last = conn->sent == cut;
	memcpy(write->bytes, at, len);
	buf = uv_buf_init(write->bytes, (unsigned)len);
	rc = uv_write(&write->req, (uv_stream_t *)&conn->tcp, &buf, 1, on_written);
	if (rc != 0)
		free(write);
}

static void tls_flush(struct fake_net_conn *conn)
{
	static char piece[PIECE];
	int len;

	for (;;) {
		len = BIO_read(SSL_get_wbio(conn->ssl), piece, sizeof piece);
		if (len <= 0)
			return;
		wire_send(conn, piece, (size_t)len);
	}
}

static void plain_send(struct fake_net_conn *conn, const void *at, size_t len)
{
	if (len == 0)
		return;
	if (conn->ssl == NULL) {
		wire_send(conn, at, len);
		return;
	}
	(void)SSL_write(conn->ssl, at, (int)len);
	tls_flush(conn);
}

static void h2_flush(struct fake_net_conn *conn)
{
	static uint8_t piece[PIECE];
	size_t len;

	do {
		len = fake_h2_take(conn->h2, piece, sizeof piece);
		plain_send(conn, piece, len);
	} while (len > 0);
}

static void conn_data(struct fake_net_conn *conn, const void *at, size_t len)
{
	const struct fake_net_opts *opts = &conn->fake->opts;

	switch (opts->mode) {
	case FAKE_NET_H2:
		if (!fake_h2_feed(conn->h2, pl_span(at, len)))
			conn_cut(conn);
		else
			h2_flush(conn);
		break;
	case FAKE_NET_BYTES:
		if (!conn->said)
			plain_send(conn, opts->bytes, strlen(opts->bytes));
		conn->said = true;
		break;
	case FAKE_NET_SILENT:
	case FAKE_NET_CLOSE:
		break;
	}
}

static void tls_data(struct fake_net_conn *conn, const void *at, size_t len)
{
	static char piece[PIECE];
	int got;

	(void)BIO_write(SSL_get_rbio(conn->ssl), at, (int)len);
	for (;;) {
		ERR_clear_error();
		/* completes the handshake, too */
		got = SSL_read(conn->ssl, piece, sizeof piece);
		tls_flush(conn);
		if (got <= 0)
			break;
		conn_data(conn, piece, (size_t)got);
	}
	got = SSL_get_error(conn->ssl, got);
	if (got != SSL_ERROR_WANT_READ)
		conn_cut(conn);
	ERR_clear_error();
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	static char piece[PIECE];

	(void)handle;
	(void)size;
	*buf = uv_buf_init(piece, sizeof piece);
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
	struct fake_net_conn *conn = stream->data;

	if (len < 0)
		conn_cut(conn);
	else if (len > 0 && conn->ssl != NULL && conn->fake->opts.mode != FAKE_NET_SILENT)
		tls_data(conn, buf->base, (size_t)len);
	else if (len > 0)
		conn_data(conn, buf->base, (size_t)len);
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct fake_net *fake = listener->data;
	struct fake_net_conn *conn = calloc(1, sizeof *conn);
	int rc = uv_tcp_init(fake->loop, &conn->tcp);

	PL_ASSERT(status == 0 && rc == 0 && fake->count < CONNS_MAX);
	conn->tcp.data = conn;
	conn->fake = fake;
	conn->open = true;
	fake->conns[fake->count++] = conn;
	rc = uv_accept(listener, (uv_stream_t *)&conn->tcp);
	PL_ASSERT(rc == 0);
	if (fake->opts.mode == FAKE_NET_CLOSE) {
		conn_cut(conn);
		return;
	}
	conn->h2 = fake_h2_new(&fake->opts.h2);
	if (fake->ctx != NULL) {
		conn->ssl = SSL_new(fake->ctx);
		SSL_set_bio(conn->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
		SSL_set_accept_state(conn->ssl);
	} else if (fake->opts.mode == FAKE_NET_H2) {
		h2_flush(conn);
	}
	rc = uv_read_start((uv_stream_t *)&conn->tcp, on_alloc, on_read);
	PL_ASSERT(rc == 0);
}

/* --- TLS ----------------------------------------------------------------- */

static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                   const unsigned char *in, unsigned in_len, void *ctx)
{
	static const unsigned char want[] = {2, 'h', '2'};

	(void)ssl;
	(void)ctx;
	return SSL_select_next_proto(unconst(out), out_len, want, sizeof want, in,
	                             in_len) == OPENSSL_NPN_NEGOTIATED
	               ? SSL_TLSEXT_ERR_OK
	               : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static const char *path_in(const char *dir, const char *name)
{
	static char path[512];

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static SSL_CTX *ctx_make(const struct fake_net_opts *opts)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	const char *dir = opts->cert_dir;
	int ok = ctx != NULL;

	ok &= SSL_CTX_use_certificate_chain_file(ctx, path_in(dir, "server.pem"));
	ok &= SSL_CTX_use_PrivateKey_file(ctx, path_in(dir, "server-key.pem"),
	                                  SSL_FILETYPE_PEM);
	if (!opts->no_alpn)
		SSL_CTX_set_alpn_select_cb(ctx, on_alpn, NULL);
	if (opts->want_client) {
		ok &= SSL_CTX_load_verify_file(ctx, path_in(dir, "ca.pem"));
		SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
		                   NULL);
	}
	if (opts->tls_version_max != 0) {
		SSL_CTX_set_security_level(ctx, 0);
		ok &= SSL_CTX_set_min_proto_version(ctx, 0) == 1 &&
		      SSL_CTX_set_max_proto_version(ctx, opts->tls_version_max) == 1;
	}
	PL_ASSERT(ok == 1);
	return ctx;
}

/* --- opening and closing -------------------------------------------------- */

struct fake_net *fake_net_open(uv_loop_t *loop, const struct fake_net_opts *opts)
{
	struct fake_net *fake = calloc(1, sizeof *fake);
	struct sockaddr_in addr;
	int len = sizeof addr, rc;

	PL_ASSERT(fake != NULL);
	fake->loop = loop;
	fake->opts = *opts;
	if (opts->cert_dir != NULL)
		fake->ctx = ctx_make(opts);
	(void)uv_ip4_addr("127.0.0.1", 0, &addr);
	rc = uv_tcp_init(loop, &fake->listener);
	PL_ASSERT(rc == 0);
	fake->listener.data = fake;
	rc = uv_tcp_bind(&fake->listener, (struct sockaddr *)&addr, 0);
	PL_ASSERT(rc == 0);
	rc = uv_listen((uv_stream_t *)&fake->listener, 64, on_connection);
	PL_ASSERT(rc == 0);
	rc = uv_tcp_getsockname(&fake->listener, (struct sockaddr *)&addr, &len);
	PL_ASSERT(rc == 0);
	fake->port = ntohs(addr.sin_port);
	return fake;
}

void fake_net_close(struct fake_net *fake)
{
	uv_close((uv_handle_t *)&fake->listener, NULL);
	fake_net_cut(fake);
}

void fake_net_free(struct fake_net *fake)
{
	for (unsigned i = 0; i < fake->count; i++) {
		PL_ASSERT(!fake->conns[i]->open);
		SSL_free(fake->conns[i]->ssl);
		fake_h2_free(fake->conns[i]->h2);
		free(fake->conns[i]);
	}
	SSL_CTX_free(fake->ctx);
	free(fake);
}

uint16_t fake_net_port(const struct fake_net *fake)
{
	return fake->port;
}

unsigned fake_net_connections(const struct fake_net *fake)
{
	return fake->count;
}

struct fake_h2 *fake_net_h2(struct fake_net *fake, unsigned connection)
{
	PL_ASSERT(connection < fake->count);
	return fake->conns[connection]->h2;
}

void fake_net_reading(struct fake_net *fake, bool on)
{
	for (unsigned i = 0; i < fake->count; i++) {
		uv_stream_t *stream = (uv_stream_t *)&fake->conns[i]->tcp;
		int rc = 0;

		if (on && !uv_is_closing((uv_handle_t *)stream))
			rc = uv_read_start(stream, on_alloc, on_read);
		else
			(void)uv_read_stop(stream);
		PL_ASSERT(rc == 0);
	}
}

void fake_net_cut(struct fake_net *fake)
{
	for (unsigned i = 0; i < fake->count; i++)
		conn_cut(fake->conns[i]);
}

void fake_net_flush(struct fake_net *fake)
{
	for (unsigned i = 0; i < fake->count; i++)
		h2_flush(fake->conns[i]);
}
