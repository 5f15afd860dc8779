/* Writing: to the kernel at once; what it does not accept goes through libuv. */
#include "store/base/fault.h"
#include "store/net/sock_int.h"

bool sock_busy(const struct sock *sock)
{
	return sock->writing;
}

uint64_t sock_written(const struct sock *sock)
{
	size_t queued;

	/* Under TLS everything may have left: encrypted records are not counted apart. */
	if (sock->tls != NULL || !sock->writing)
		return sock->sent;
	queued = uv_stream_get_write_queue_size((const uv_stream_t *)&sock->tcp);
	return sock->sent - queued;
}

static void on_written(uv_write_t *write, int status)
{
	struct sock *sock = PL_CONTAINER_OF(write, struct sock, write);
	struct pl_err err;

	sock->writing = false;
	pl_buf_clear(&sock->inflight, WRITE_KEEP);
	if (!sock_live(sock))
		return;
	if (status == 0 && sock->tls != NULL && sock_tls_flush(sock, &err) != PL_OK) {
		sock_fail(sock, &err);
		return;
	}
	if (status == 0) {
		if (!sock->writing && sock->state == SOCK_OPEN)
			sock->fns.on_room(sock->ctx);
		return;
	}
	pl_err_set(&err, PL_UNAVAIL, "write: %s", uv_strerror(status));
	sock_fail(sock, &err);
}

static enum pl_code write_rest(struct sock *sock, struct pl_buf *data, size_t from,
                               struct pl_err *err)
{
	struct pl_buf spare = sock->inflight;
	uv_buf_t buf;
	int rc;

	PL_ASSERT(spare.len == 0);
	sock->inflight = *data;
	*data = (struct pl_buf){.at = spare.at, .cap = spare.cap, .max = data->max};
	buf = uv_buf_init((char *)sock->inflight.at + from,
	                  (unsigned)(sock->inflight.len - from));
	rc = uv_write(&sock->write, (uv_stream_t *)&sock->tcp, &buf, 1, on_written);
	if (rc != 0)
		return pl_err_set(err, PL_UNAVAIL, "write: %s", uv_strerror(rc));
	sock->writing = true;
	return PL_OK;
}

/* Gives the bytes to the kernel and the rest to libuv. *data is empty afterwards. */
static enum pl_code wire_send(struct sock *sock, struct pl_buf *data, size_t *accepted,
                              struct pl_err *err)
{
	uv_buf_t buf = uv_buf_init((char *)data->at, (unsigned)data->len);
	int rc = UV_EPIPE;

	PL_ASSERT(!sock->writing && data->len <= INT32_MAX);
	*accepted = 0;
	if (!pl_fault_hit(PL_FAULT_NET_WRITE))
		rc = uv_try_write((uv_stream_t *)&sock->tcp, &buf, 1);
	if (rc < 0 && rc != UV_EAGAIN)
		return pl_err_set(err, PL_UNAVAIL, "write: %s", uv_strerror(rc));
	*accepted = rc < 0 ? 0 : (size_t)rc;
	if (*accepted < data->len)
		return write_rest(sock, data, *accepted, err);
	pl_buf_clear(data, WRITE_KEEP);
	return PL_OK;
}

enum pl_code sock_tls_flush(struct sock *sock, struct pl_err *err)
{
	struct pl_buf *out = tls_session_out(sock->tls);
	size_t accepted;

	if (sock->writing || out->len == 0)
		return PL_OK; /* on_written() flushes again */
	return wire_send(sock, out, &accepted, err);
}

static enum pl_code tls_send(struct sock *sock, struct pl_buf *data, struct pl_err *err)
{
	enum pl_code code = tls_session_write(sock->tls, pl_buf_span(data), err);

	if (code != PL_OK)
		return code;
	sock->sent += data->len;
	pl_buf_clear(data, WRITE_KEEP);
	return sock_tls_flush(sock, err);
}

enum pl_code sock_send(struct sock *sock, struct pl_buf *data, struct pl_err *err)
{
	size_t len = data->len, accepted;
	enum pl_code code;

	PL_ASSERT(sock->state == SOCK_OPEN && !sock->writing);
	if (len == 0)
		return PL_OK;
	if (sock->tls != NULL)
		return tls_send(sock, data, err);
	code = wire_send(sock, data, &accepted, err);
	if (code == PL_OK)
		sock->sent += len;
	else
		sock->sent += accepted;
	return code;
}
