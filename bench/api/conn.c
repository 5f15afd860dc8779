#include "bench/api/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/common/report.h"

enum { READ_BYTES = 64 << 10, REQUEST_MAX = 16 << 20, WAIT_S = 60 };

SSL_CTX *conn_tls(const char *ca_file)
{
	SSL_CTX *tls = SSL_CTX_new(TLS_client_method());

	if (tls == NULL || SSL_CTX_load_verify_locations(tls, ca_file, NULL) != 1)
		bench_fail("TLS: %s", ca_file);
	SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
	(void)SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE |
	                                    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
	                                    SSL_MODE_RELEASE_BUFFERS);
	/* Several records are read with one call. */
	SSL_CTX_set_read_ahead(tls, 1);
	SSL_CTX_set_default_read_buffer_len(tls, READ_BYTES);
	return tls;
}

static void conn_lose(struct conn *conn, const char *why)
{
	if (conn->over)
		return;
	conn->over = true;
	(void)uv_poll_stop(&conn->poll);
	conn->fns->lost(conn, why);
}

/* -- answers ------------------------------------------------------------------------ */

/* The value of a field of the head, or NULL. */
static const char *head_field(const struct conn *conn, const char *name)
{
	size_t len = strlen(name);
	const char *line = conn->line;

	while ((line = strstr(line, "\r\n")) != NULL) {
		line += 2;
		if (strncasecmp(line, name, len) == 0 && line[len] == ':')
			return line + len + 1 + strspn(line + len + 1, " ");
	}
	return NULL;
}

static void answer_done(struct conn *conn)
{
	conn->reads = CONN_HEAD;
	conn->line_len = 0;
	conn->busy = false;
	conn->fns->done(conn, conn->status);
}

static void head_done(struct conn *conn)
{
	const char *length, *coding;

	conn->line[conn->line_len] = 0;
	if (strncmp(conn->line, "HTTP/1.1 ", 9) != 0) {
		conn_lose(conn, "no HTTP answer");
		return;
	}
	conn->status = (int)strtol(conn->line + 9, NULL, 10);
	coding = head_field(conn, "transfer-encoding");
	length = head_field(conn, "content-length");
	conn->line_len = 0;
	if (coding != NULL) {
		conn->reads = CONN_CHUNK_SIZE;
	} else if (length != NULL) {
		conn->left = strtoull(length, NULL, 10);
		conn->reads = CONN_LENGTH;
		if (conn->left == 0)
			answer_done(conn);
	} else {
		conn_lose(conn, "an answer of unknown length");
	}
}

/* Takes bytes up to the end of a line. Returns how many were taken. */
static size_t take_line(struct conn *conn, const char *at, size_t len, bool *whole)
{
	const char *end = memchr(at, '\n', len);
	size_t take = end == NULL ? len : (size_t)(end - at) + 1;

	*whole = end != NULL;
	if (conn->line_len + take >= CONN_HEAD_MAX) {
		conn_lose(conn, "a long head");
		return len;
	}
	memcpy(conn->line + conn->line_len, at, take);
	conn->line_len += take;
	return take;
}

static bool head_is_whole(const struct conn *conn)
{
	return conn->line_len >= 4 &&
	       memcmp(conn->line + conn->line_len - 4, "\r\n\r\n", 4) == 0;
}

static void line_done(struct conn *conn)
{
	size_t len = conn->line_len;

	if (conn->reads == CONN_HEAD) {
		if (head_is_whole(conn))
			head_done(conn);
		return;
	}
	conn->line[len] = 0;
	conn->line_len = 0;
	switch (conn->reads) {
	case CONN_CHUNK_SIZE:
		conn->left = strtoull(conn->line, NULL, 16);
		conn->reads = conn->left == 0 ? CONN_TRAILER : CONN_CHUNK;
		return;
	case CONN_CHUNK_END:
		conn->reads = CONN_CHUNK_SIZE;
		return;
	case CONN_TRAILER:
		if (len <= 2)
			answer_done(conn);
		return;
	case CONN_HEAD:
	case CONN_LENGTH:
	case CONN_CHUNK:
		return;
	}
}

static size_t take_body(struct conn *conn, const char *at, size_t len)
{
	size_t take = len < conn->left ? len : (size_t)conn->left;

	if (conn->fns->body != NULL)
		conn->fns->body(conn, pl_span(at, take));
	conn->left -= take;
	if (conn->left == 0 && conn->reads == CONN_CHUNK)
		conn->reads = CONN_CHUNK_END;
	else if (conn->left == 0)
		answer_done(conn);
	return take;
}

static void take_bytes(struct conn *conn, const char *at, size_t len)
{
	while (len > 0 && !conn->over) {
		bool whole;
		size_t took;

		if (conn->reads == CONN_LENGTH || conn->reads == CONN_CHUNK) {
			took = take_body(conn, at, len);
		} else {
			took = take_line(conn, at, len, &whole);
			if (whole && !conn->over)
				line_done(conn);
		}
		at += took;
		len -= took;
	}
}

/* -- the socket --------------------------------------------------------------------- */

static void on_poll(uv_poll_t *poll, int status, int events);

static void poll_again(struct conn *conn)
{
	int events = UV_READABLE | (conn->wants_room ? UV_WRITABLE : 0);

	if (!conn->over)
		(void)uv_poll_start(&conn->poll, events, on_poll);
}

static void send_rest(struct conn *conn)
{
	bool wanted_room = conn->wants_room;

	conn->wants_room = false;
	while (conn->sent < conn->out.len) {
		size_t took = 0;

		ERR_clear_error();
		if (SSL_write_ex(conn->ssl, conn->out.at + conn->sent,
		                 conn->out.len - conn->sent, &took) != 1) {
			conn->wants_room = true;
			break;
		}
		conn->sent += took;
	}
	if (conn->wants_room != wanted_room)
		poll_again(conn);
}

static void read_all(struct conn *conn)
{
	char bytes[READ_BYTES];
	size_t got = 0;

	while (!conn->over) {
		ERR_clear_error();
		if (SSL_read_ex(conn->ssl, bytes, sizeof bytes, &got) == 1) {
			take_bytes(conn, bytes, got);
			continue;
		}
		if (SSL_get_error(conn->ssl, 0) != SSL_ERROR_WANT_READ)
			conn_lose(conn, "closed by the server");
		return;
	}
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct conn *conn = poll->data;

	if (status != 0) {
		conn_lose(conn, uv_strerror(status));
		return;
	}
	if ((events & UV_WRITABLE) != 0)
		send_rest(conn);
	if ((events & UV_READABLE) != 0)
		read_all(conn);
}

static int dial(uint16_t port)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
	                               .sin_port = htons(port),
	                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct timeval wait = {.tv_sec = WAIT_S};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) != 0 ||
	    connect(fd, (const struct sockaddr *)&to, sizeof to) != 0)
		bench_fail("connect to port %u: %s", port, strerror(errno));
	return fd;
}

void conn_open(struct conn *conn, uv_loop_t *loop, SSL_CTX *tls, uint16_t port,
               const struct conn_fns *fns, void *ctx)
{
	conn->fns = fns;
	conn->ctx = ctx;
	conn->reads = CONN_HEAD;
	pl_buf_init(&conn->out, REQUEST_MAX);
	conn->fd = dial(port);
	conn->ssl = SSL_new(tls);
	if (conn->ssl == NULL || SSL_set_fd(conn->ssl, conn->fd) != 1 ||
	    SSL_set1_host(conn->ssl, "localhost") != 1 || SSL_connect(conn->ssl) != 1)
		bench_fail("TLS to port %u: %s", port,
		           ERR_reason_error_string(ERR_peek_error()));
	if (fcntl(conn->fd, F_SETFL, O_NONBLOCK) != 0 ||
	    uv_poll_init(loop, &conn->poll, conn->fd) != 0)
		bench_fail("watch a connection");
	conn->poll.data = conn;
	poll_again(conn);
}

void conn_send(struct conn *conn)
{
	PL_ASSERT(!conn->busy && !conn->over);
	conn->busy = true;
	conn->sent = 0;
	send_rest(conn);
}

void conn_close(struct conn *conn)
{
	conn->over = true;
	(void)uv_poll_stop(&conn->poll);
	SSL_free(conn->ssl);
	(void)close(conn->fd);
	pl_buf_done(&conn->out);
}
