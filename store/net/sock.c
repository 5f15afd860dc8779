/*
 * A socket: connecting, reading, closing. sock_write.c writes.
 *
 * Happy path: connect, (TLS handshake,) on_open. Bytes that are read go to on_data as
 * they come; bytes that are sent go to the kernel at once, or into one uv_write that
 * keeps the socket busy.
 *
 * Failures: when an address refuses, the next one is tried; every later failure ends in
 * on_fail. One uv_tcp_t is open at a time; its close callback leads either to the next
 * address or to the end.
 */
#include <signal.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/fault.h"
#include "store/net/sock_int.h"

static void connect_next(struct sock *sock);

void sock_sigpipe_ignore(void)
{
	struct sigaction now;

	if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
		(void)signal(SIGPIPE, SIG_IGN);
}

uint16_t sock_port(const uv_tcp_t *tcp)
{
	struct sockaddr_storage addr = {0};
	int len = sizeof addr;

	if (uv_tcp_getsockname(tcp, (struct sockaddr *)&addr, &len) != 0)
		return 0;
	return ntohs(addr.ss_family == AF_INET6
	                     ? ((const struct sockaddr_in6 *)&addr)->sin6_port
	                     : ((const struct sockaddr_in *)&addr)->sin_port);
}

static void sock_free(struct sock *sock)
{
	tls_session_free(sock->tls);
	pl_buf_done(&sock->inflight);
	free(sock->plain);
	free(sock);
}

void sock_fail(struct sock *sock, const struct pl_err *err)
{
	if (!sock_live(sock))
		return;
	sock->state = SOCK_FAILED;
	sock->err = *err;
	if (sock->tcp_open && !uv_is_closing((uv_handle_t *)&sock->tcp))
		(void)uv_read_stop((uv_stream_t *)&sock->tcp);
	sock->fns.on_fail(sock->ctx, &sock->err);
}

static void on_tcp_closed(uv_handle_t *handle)
{
	struct sock *sock = PL_CONTAINER_OF((uv_tcp_t *)handle, struct sock, tcp);
	void (*closed)(void *ctx) = sock->closed;
	void *ctx = sock->closed_ctx;

	sock->tcp_open = false;
	if (closed == NULL) {
		connect_next(sock);
		return;
	}
	sock_free(sock);
	closed(ctx);
}

void sock_close(struct sock *sock, void (*closed)(void *ctx), void *ctx)
{
	PL_ASSERT(sock->closed == NULL);
	sock->closed = closed;
	sock->closed_ctx = ctx;
	if (!sock->tcp_open) { /* between two addresses, or after the last one */
		int rc = uv_tcp_init(sock->loop, &sock->tcp);

		PL_ASSERT(rc == 0);
		sock->tcp_open = true;
	}
	if (!uv_is_closing((uv_handle_t *)&sock->tcp))
		uv_close((uv_handle_t *)&sock->tcp, on_tcp_closed);
}

/* --- reading ------------------------------------------------------------- */

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct sock *sock = PL_CONTAINER_OF((uv_tcp_t *)handle, struct sock, tcp);

	(void)size;
	*buf = uv_buf_init((char *)sock->bytes, READ_SIZE);
}

/* Fills plain before on_data is called: records are small and calls cost time. */
static enum pl_code plain_read(struct sock *sock, size_t *len, struct pl_err *err)
{
	enum pl_code code = PL_OK;
	size_t got = 1;

	*len = 0;
	while (got > 0 && *len < PLAIN_SIZE) {
		code = tls_session_read(sock->tls, sock->plain + *len, PLAIN_SIZE - *len,
		                        &got, err);
		if (code != PL_OK)
			return code;
		*len += got;
	}
	return code;
}

static enum pl_code plain_deliver(struct sock *sock, struct pl_err *err)
{
	enum pl_code code;
	size_t len;

	do {
		code = plain_read(sock, &len, err);
		if (len > 0)
			sock->fns.on_data(sock->ctx, pl_span(sock->plain, len));
	} while (code == PL_OK && len > 0 && sock_live(sock));
	return code;
}

static void tls_data(struct sock *sock, struct pl_span data)
{
	struct pl_err err;
	enum pl_code code;
	bool done = sock->state == SOCK_OPEN, opened;

	tls_session_feed(sock->tls, data);
	code = done ? PL_OK : tls_session_handshake(sock->tls, &done, &err);
	if (sock_tls_flush(sock, code == PL_OK ? &err : NULL) != PL_OK && code == PL_OK)
		code = err.code; /* else: only an alert could not be sent */
	opened = done && sock->state == SOCK_HANDSHAKING;
	if (code == PL_OK && opened) {
		sock->state = SOCK_OPEN;
		sock->fns.on_open(sock->ctx);
	}
	if (code == PL_OK && done && sock_live(sock)) {
		code = plain_deliver(sock, &err);
		/* Reading may have produced bytes to send: a key update, an alert. */
		if (sock_live(sock) &&
		    sock_tls_flush(sock, code == PL_OK ? &err : NULL) != PL_OK &&
		    code == PL_OK)
			code = err.code;
	}
	if (code != PL_OK)
		sock_fail(sock, &err);
}

static void read_failed(struct sock *sock, ssize_t rc)
{
	struct pl_err err;

	if (rc == UV_EOF)
		pl_err_set(&err, PL_UNAVAIL, "connection closed by the server");
	else
		pl_err_set(&err, PL_UNAVAIL, "read: %s", uv_strerror((int)rc));
	if (sock->tls != NULL && sock->state != SOCK_OPEN)
		(void)pl_err_set(&err, PL_TLS,
		                 "server closed the connection during the TLS handshake:"
		                 " does it speak TLS, and accept our certificate?");
	sock_fail(sock, &err);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
	struct sock *sock = PL_CONTAINER_OF((uv_tcp_t *)stream, struct sock, tcp);
	struct pl_span data;

	if (count == 0 || !sock_live(sock))
		return;
	if (count > 0 && pl_fault_hit(PL_FAULT_NET_READ))
		count = UV_ECONNRESET;
	if (count < 0) {
		read_failed(sock, count);
		return;
	}
	data = pl_span(buf->base, (size_t)count);
	if (sock->tls != NULL)
		tls_data(sock, data);
	else
		sock->fns.on_data(sock->ctx, data);
}

/* --- connecting ---------------------------------------------------------- */

const char *sock_phase(const struct sock *sock)
{
	if (sock->state == SOCK_CONNECTING)
		return "no connection";
	return sock->state == SOCK_OPEN ? "connected, but no answer"
	                                : "the TLS handshake did not complete";
}

static void addr_failed(struct sock *sock, int rc)
{
	pl_err_set(&sock->err, PL_UNAVAIL, "connect: %s", uv_strerror(rc));
	/* on_tcp_closed() tries the next one */
	uv_close((uv_handle_t *)&sock->tcp, on_tcp_closed);
}

static void on_connected(struct sock *sock)
{
	int rc = uv_read_start((uv_stream_t *)&sock->tcp, on_alloc, on_read);

	PL_ASSERT(rc == 0 && sock->state == SOCK_CONNECTING);
	sock->state = sock->tls != NULL ? SOCK_HANDSHAKING : SOCK_OPEN;
	(void)uv_tcp_nodelay(&sock->tcp, 1);
	if (sock->tls != NULL) {
		tls_data(sock, pl_span(NULL, 0)); /* sends the ClientHello */
		return;
	}
	sock->fns.on_open(sock->ctx);
}

static void on_connect(uv_connect_t *connect, int status)
{
	struct sock *sock = PL_CONTAINER_OF(connect, struct sock, connect);

	if (sock->closed != NULL)
		return;
	if (status == 0 && pl_fault_hit(PL_FAULT_NET_CONNECT))
		status = UV_ECONNREFUSED;
	if (status != 0)
		addr_failed(sock, status);
	else
		on_connected(sock);
}

static void connect_next(struct sock *sock)
{
	struct sockaddr *addr;
	int rc;

	if (sock->addr_at == sock->addr_count) {
		struct pl_err err = sock->err;

		sock_fail(sock, &err);
		return;
	}
	addr = (struct sockaddr *)&sock->addrs[sock->addr_at++];
	rc = uv_tcp_init(sock->loop, &sock->tcp);
	PL_ASSERT(rc == 0);
	sock->tcp_open = true;
	rc = uv_tcp_connect(&sock->connect, &sock->tcp, addr, on_connect);
	if (rc != 0)
		addr_failed(sock, rc);
}

static void addrs_copy(struct sock *sock, const struct addrinfo *addr)
{
	for (; addr != NULL && sock->addr_count < ADDRS_MAX; addr = addr->ai_next) {
		if (addr->ai_addrlen <= sizeof sock->addrs[0])
			memcpy(&sock->addrs[sock->addr_count++], addr->ai_addr,
			       addr->ai_addrlen);
	}
}

enum pl_code sock_open(uv_loop_t *loop, const struct sock_opts *opts,
                       const struct sock_fns *fns, void *ctx, struct sock **out,
                       struct pl_err *err)
{
	struct sock *sock = pl_malloc(sizeof *sock);
	enum pl_code code = PL_OK;

	if (sock == NULL)
		return pl_err_set(err, PL_NOMEM, "socket");
	memset(sock, 0, offsetof(struct sock, bytes));
	sock->loop = loop;
	sock->fns = *fns;
	sock->ctx = ctx;
	addrs_copy(sock, opts->addrs);
	if (opts->tls != NULL) {
		sock->plain = pl_malloc(PLAIN_SIZE);
		if (sock->plain == NULL)
			code = pl_err_set(err, PL_NOMEM, "socket");
		else
			code = tls_session_new(opts->tls, opts->host, &sock->tls, err);
	}
	if (code == PL_OK && sock->addr_count == 0)
		code = pl_err_set(err, PL_INVALID, "no address to connect to");
	if (code != PL_OK) {
		sock_free(sock);
		return code;
	}
	sock_sigpipe_ignore();
	connect_next(sock);
	*out = sock;
	return PL_OK;
}
