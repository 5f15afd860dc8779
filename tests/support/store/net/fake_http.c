#include "tests/support/store/net/fake_http.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/buf.h"
#include "tests/harness/t.h"

enum { REQUEST_MAX = 64 * 1024 * 1024, REQUEST_ROOM = 4096, READ_SIZE = 65536 };

struct fake_http {
	uv_tcp_t listener;
	uv_loop_t *loop;
	SSL_CTX *ssl;
	fake_http_fn *fn;
	void (*left)(void *ctx, struct fake_conn *);
	void *ctx;
	char url[64];
	unsigned accepted;
	unsigned handles;
	struct fake_conn *conns;
};

struct fake_conn {
	uv_tcp_t tcp;
	struct fake_http *fake;
	struct fake_conn *next, *prev;
	SSL *ssl;
	struct pl_buf request;
	bool closing, cut_later;
	unsigned writes;
};

struct fake_http_write {
	uv_write_t req;
	struct fake_conn *conn;
	char bytes[];
};

static void fake_handle_closed(struct fake_http *fake)
{
	if (--fake->handles > 0)
		return;
	SSL_CTX_free(fake->ssl);
	free(fake);
}

static void on_conn_closed(uv_handle_t *handle)
{
	struct fake_conn *conn =
		PL_CONTAINER_OF((uv_tcp_t *)handle, struct fake_conn, tcp);
	struct fake_http *fake = conn->fake;

	SSL_free(conn->ssl);
	pl_buf_done(&conn->request);
	free(conn);
	fake_handle_closed(fake);
}

static void conn_close(struct fake_conn *conn)
{
	struct fake_http *fake = conn->fake;

	if (conn->closing)
		return;
	conn->closing = true;
	if (conn->prev != NULL)
		conn->prev->next = conn->next;
	else
		fake->conns = conn->next;
	if (conn->next != NULL)
		conn->next->prev = conn->prev;
	uv_close((uv_handle_t *)&conn->tcp, on_conn_closed);
	if (fake->left != NULL)
		fake->left(fake->ctx, conn);
}

static void on_written(uv_write_t *req, int status)
{
	struct fake_http_write *write = PL_CONTAINER_OF(req, struct fake_http_write, req);
	struct fake_conn *conn = write->conn;

	(void)status;
	free(write);
	if (--conn->writes == 0 && conn->cut_later)
		conn_close(conn);
}

static void raw_send(struct fake_conn *conn, const void *bytes, size_t len)
{
	struct fake_http_write *write = malloc(sizeof *write + len);
	uv_buf_t buf;

	T_TRUE(write != NULL);
	write->conn = conn;
	memcpy(write->bytes, bytes, len);
	buf = uv_buf_init(write->bytes, (unsigned)len);
	T_EQ(uv_write(&write->req, (uv_stream_t *)&conn->tcp, &buf, 1, on_written), 0);
	conn->writes++;
}

/* Sends what OpenSSL has to send. */
static void ssl_flush(struct fake_conn *conn)
{
	char bytes[READ_SIZE];
	int len;

	while ((len = BIO_read(SSL_get_wbio(conn->ssl), bytes, sizeof bytes)) > 0)
		raw_send(conn, bytes, (size_t)len);
}

void fake_conn_send(struct fake_conn *conn, const void *bytes, size_t len)
{
	if (conn->closing)
		return;
	if (conn->ssl == NULL) {
		raw_send(conn, bytes, len);
		return;
	}
	T_EQ(SSL_write(conn->ssl, bytes, (int)len), len);
	ssl_flush(conn);
}

void fake_conn_text(struct fake_conn *conn, const char *text)
{
	fake_conn_send(conn, text, strlen(text));
}

void fake_conn_cut(struct fake_conn *conn)
{
	conn->cut_later = true;
	if (conn->writes == 0)
		conn_close(conn);
}

size_t fake_conn_unsent(const struct fake_conn *conn)
{
	return uv_stream_get_write_queue_size((const uv_stream_t *)&conn->tcp);
}

static size_t body_length(const char *head)
{
	const char *at = strcasestr(head, "\r\ncontent-length:");

	return at == NULL ? 0 : strtoul(at + 17, NULL, 10);
}

/* Hands on the first complete request. */
static bool parse_request(struct fake_conn *conn)
{
	struct pl_buf *in = &conn->request;
	uint8_t *end = in->len == 0 ? NULL : memmem(in->at, in->len, "\r\n\r\n", 4);
	size_t head_len, body_len;
	char *head;

	if (end == NULL)
		return false;
	head_len = (size_t)(end - in->at) + 4;
	head = strndup((char *)in->at, head_len);
	T_TRUE(head != NULL);
	body_len = body_length(head);
	if (strcasestr(head, "\r\ntransfer-encoding: chunked") != NULL) {
		uint8_t *last =
			memmem(in->at + head_len, in->len - head_len, "0\r\n\r\n", 5);

		body_len =
			last == NULL ? SIZE_MAX : (size_t)(last - in->at) + 5 - head_len;
	}
	if (body_len > in->len - head_len) {
		free(head);
		return false;
	}
	conn->fake->fn(conn->fake->ctx, conn, head, pl_span(in->at + head_len, body_len));
	free(head);
	pl_buf_drop(in, head_len + body_len);
	return !conn->closing;
}

static void on_plain(struct fake_conn *conn, const char *bytes, size_t len)
{
	T_EQ(pl_buf_add(&conn->request, pl_span(bytes, len)), PL_OK);
	while (parse_request(conn)) {
	}
}

static void on_cipher(struct fake_conn *conn, const char *bytes, size_t len)
{
	char plain[READ_SIZE];
	int got, why;

	T_EQ(BIO_write(SSL_get_rbio(conn->ssl), bytes, (int)len), len);
	while (!conn->closing && (got = SSL_read(conn->ssl, plain, sizeof plain)) > 0)
		on_plain(conn, plain, (size_t)got);
	if (conn->closing)
		return;
	why = SSL_get_error(conn->ssl, -1);
	ssl_flush(conn);
	ERR_clear_error();
	if (why == SSL_ERROR_SSL || why == SSL_ERROR_ZERO_RETURN)
		fake_conn_cut(conn);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	static char room[READ_SIZE];

	(void)handle;
	(void)size;
	*buf = uv_buf_init(room, sizeof room);
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
	struct fake_conn *conn =
		PL_CONTAINER_OF((uv_tcp_t *)stream, struct fake_conn, tcp);

	if (len < 0)
		conn_close(conn);
	else if (conn->ssl != NULL)
		on_cipher(conn, buf->base, (size_t)len);
	else
		on_plain(conn, buf->base, (size_t)len);
}

void fake_conn_read(struct fake_conn *conn, bool on)
{
	if (on)
		T_EQ(uv_read_start((uv_stream_t *)&conn->tcp, on_alloc, on_read), 0);
	else
		T_EQ(uv_read_stop((uv_stream_t *)&conn->tcp), 0);
}

static void on_connection(uv_stream_t *stream, int status)
{
	struct fake_http *fake =
		PL_CONTAINER_OF((uv_tcp_t *)stream, struct fake_http, listener);
	struct fake_conn *conn = calloc(1, sizeof *conn);

	T_EQ(status, 0);
	T_TRUE(conn != NULL);
	conn->fake = fake;
	conn->next = fake->conns;
	if (conn->next != NULL)
		conn->next->prev = conn;
	fake->conns = conn;
	fake->handles++;
	fake->accepted++;
	pl_buf_init(&conn->request, REQUEST_MAX);
	/* Small requests fit without pl_malloc(), whose faults are for the client. */
	conn->request.at = malloc(REQUEST_ROOM);
	conn->request.cap = REQUEST_ROOM;
	T_TRUE(conn->request.at != NULL);
	T_EQ(uv_tcp_init(fake->loop, &conn->tcp), 0);
	T_EQ(uv_accept(stream, (uv_stream_t *)&conn->tcp), 0);
	if (fake->ssl != NULL) {
		conn->ssl = SSL_new(fake->ssl);
		T_TRUE(conn->ssl != NULL);
		SSL_set_bio(conn->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
		SSL_set_accept_state(conn->ssl);
	}
	fake_conn_read(conn, true);
}

static SSL_CTX *ssl_setup(const char *dir, bool want_client)
{
	SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());
	char path[1024];

	T_TRUE(ssl != NULL);
	(void)snprintf(path, sizeof path, "%s/server.pem", dir);
	T_EQ(SSL_CTX_use_certificate_file(ssl, path, SSL_FILETYPE_PEM), 1);
	(void)snprintf(path, sizeof path, "%s/server-key.pem", dir);
	T_EQ(SSL_CTX_use_PrivateKey_file(ssl, path, SSL_FILETYPE_PEM), 1);
	(void)snprintf(path, sizeof path, "%s/ca.pem", dir);
	T_EQ(SSL_CTX_load_verify_file(ssl, path), 1);
	if (want_client)
		SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
		                   NULL);
	return ssl;
}

struct fake_http *fake_http_open(uv_loop_t *loop, const char *cert_dir, bool want_client,
                                 fake_http_fn *fn, void *ctx)
{
	struct fake_http *fake = calloc(1, sizeof *fake);
	struct sockaddr_in addr;
	int len = sizeof addr;

	T_TRUE(fake != NULL);
	fake->loop = loop;
	fake->fn = fn;
	fake->ctx = ctx;
	if (cert_dir != NULL)
		fake->ssl = ssl_setup(cert_dir, want_client);
	T_EQ(uv_tcp_init(loop, &fake->listener), 0);
	fake->handles = 1;
	T_EQ(uv_ip4_addr("127.0.0.1", 0, &addr), 0);
	T_EQ(uv_tcp_bind(&fake->listener, (struct sockaddr *)&addr, 0), 0);
	T_EQ(uv_listen((uv_stream_t *)&fake->listener, 512, on_connection), 0);
	T_EQ(uv_tcp_getsockname(&fake->listener, (struct sockaddr *)&addr, &len), 0);
	(void)snprintf(fake->url, sizeof fake->url, "%s://127.0.0.1:%u",
	               cert_dir == NULL ? "http" : "https", ntohs(addr.sin_port));
	return fake;
}

static void on_listener_closed(uv_handle_t *handle)
{
	fake_handle_closed(
		PL_CONTAINER_OF((uv_tcp_t *)handle, struct fake_http, listener));
}

void fake_http_close(struct fake_http *fake)
{
	fake->left = NULL;
	while (fake->conns != NULL)
		conn_close(fake->conns);
	uv_close((uv_handle_t *)&fake->listener, on_listener_closed);
}

const char *fake_http_url(const struct fake_http *fake)
{
	return fake->url;
}

unsigned fake_http_connections(const struct fake_http *fake)
{
	return fake->accepted;
}

void fake_http_on_left(struct fake_http *fake, void (*fn)(void *ctx, struct fake_conn *))
{
	fake->left = fn;
}
