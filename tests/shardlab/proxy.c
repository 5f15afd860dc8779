#include "tests/shardlab/proxy.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/base/list.h"

enum { BACKLOG = 64, CHUNK = 65536, QUEUE_MAX = 1 << 20 };

struct proxy_pair;

struct proxy_side {
	uv_tcp_t tcp;
	struct proxy_pair *pair;
	bool reading;
};

struct proxy_pair {
	struct pl_list link;
	struct proxy *proxy;
	struct proxy_side client, store;
	uv_connect_t connect;
	bool connected, closing;
	unsigned open; /* open handles */
};

struct proxy {
	uv_tcp_t listener;
	uv_loop_t *loop;
	struct sockaddr_in to;
	const char *scheme; /* scheme of the store's URL, and of the proxy's */
	struct pl_list pairs;
	unsigned how;
	unsigned open; /* open pairs, and the listener */
	char url[PROXY_URL_SIZE];
	char chunk[CHUNK]; /* bytes that were read; they are written before more is
			    * read */
};

struct proxy_piece {
	uv_write_t req;
	struct proxy_pair *pair;
	char at[];
};

static void start_read(struct proxy_pair *pair);

static void release_pair(struct proxy *proxy)
{
	if (--proxy->open == 0)
		free(proxy);
}

static void on_side_closed(uv_handle_t *handle)
{
	struct proxy_side *side = handle->data;
	struct proxy_pair *pair = side->pair;
	struct proxy *proxy = pair->proxy;

	if (--pair->open > 0)
		return;
	free(pair);
	release_pair(proxy);
}

static void end_side(struct proxy_pair *pair, bool reset)
{
	if (pair->closing)
		return;
	pair->closing = true;
	pl_list_del(&pair->link);
	if (!reset || uv_tcp_close_reset(&pair->client.tcp, on_side_closed) != 0)
		uv_close((uv_handle_t *)&pair->client.tcp, on_side_closed);
	uv_close((uv_handle_t *)&pair->store.tcp, on_side_closed);
}

static struct proxy_side *other_side(struct proxy_side *side)
{
	return side == &side->pair->client ? &side->pair->store : &side->pair->client;
}

static void on_room(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct proxy_side *side = handle->data;

	(void)size;
	*buf = uv_buf_init(side->pair->proxy->chunk, CHUNK);
}

static void on_written(uv_write_t *req, int status)
{
	struct proxy_piece *piece = req->data;
	struct proxy_pair *pair = piece->pair;

	free(piece);
	if (status < 0)
		end_side(pair, false);
	else
		start_read(pair);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
	struct proxy_side *side = stream->data;
	struct proxy_piece *piece;
	uv_buf_t out;

	if (got < 0) {
		end_side(side->pair, got != UV_EOF);
		return;
	}
	if (got == 0 || side->pair->closing)
		return;
	piece = pl_malloc(sizeof *piece + (size_t)got);
	PL_ASSERT(piece != NULL);
	piece->req.data = piece;
	piece->pair = side->pair;
	memcpy(piece->at, buf->base, (size_t)got);
	out = uv_buf_init(piece->at, (unsigned)got);
	if (uv_write(&piece->req, (uv_stream_t *)&other_side(side)->tcp, &out, 1,
	             on_written) != 0) {
		free(piece);
		end_side(side->pair, true);
		return;
	}
	start_read(side->pair);
}

static void read_if(struct proxy_side *side, bool wanted)
{
	wanted = wanted && uv_stream_get_write_queue_size(
				   (uv_stream_t *)&other_side(side)->tcp) < QUEUE_MAX;
	if (wanted && !side->reading)
		(void)uv_read_start((uv_stream_t *)&side->tcp, on_room, on_read);
	if (!wanted && side->reading)
		(void)uv_read_stop((uv_stream_t *)&side->tcp);
	side->reading = wanted;
}

static void start_read(struct proxy_pair *pair)
{
	unsigned how = pair->proxy->how;

	if (pair->closing || !pair->connected)
		return;
	read_if(&pair->client, (how & PROXY_NO_REQUESTS) == 0);
	read_if(&pair->store, (how & PROXY_NO_ANSWERS) == 0);
}

static void on_connected(uv_connect_t *req, int status)
{
	struct proxy_pair *pair = req->data;

	if (status < 0) {
		end_side(pair, true);
		return;
	}
	pair->connected = true;
	start_read(pair);
}

static void side_init(struct proxy_pair *pair, struct proxy_side *side)
{
	int rc = uv_tcp_init(pair->proxy->loop, &side->tcp);

	PL_ASSERT(rc == 0);
	side->tcp.data = side;
	side->pair = pair;
	pair->open++;
}

static void on_client(uv_stream_t *listener, int status)
{
	struct proxy *proxy = listener->data;
	struct proxy_pair *pair;

	if (status < 0)
		return;
	pair = pl_calloc(1, sizeof *pair);
	PL_ASSERT(pair != NULL);
	pair->proxy = proxy;
	proxy->open++;
	side_init(pair, &pair->client);
	side_init(pair, &pair->store);
	pl_list_add_tail(&proxy->pairs, &pair->link);
	pair->connect.data = pair;
	if (uv_accept(listener, (uv_stream_t *)&pair->client.tcp) != 0 ||
	    uv_tcp_nodelay(&pair->client.tcp, 1) != 0 ||
	    uv_tcp_connect(&pair->connect, &pair->store.tcp,
	                   (const struct sockaddr *)&proxy->to, on_connected) != 0)
		end_side(pair, true);
	else
		(void)uv_tcp_nodelay(&pair->store.tcp, 1);
}

static int listen_at(struct proxy *proxy)
{
	struct sockaddr_in at;
	int len = sizeof at, rc;

	rc = uv_ip4_addr("127.0.0.1", 0, &at);
	if (rc == 0)
		rc = uv_tcp_bind(&proxy->listener, (const struct sockaddr *)&at, 0);
	if (rc == 0)
		rc = uv_listen((uv_stream_t *)&proxy->listener, BACKLOG, on_client);
	if (rc == 0)
		rc = uv_tcp_getsockname(&proxy->listener, (struct sockaddr *)&at, &len);
	(void)snprintf(proxy->url, sizeof proxy->url, "%s://127.0.0.1:%u", proxy->scheme,
	               (unsigned)ntohs(at.sin_port));
	return rc;
}

static void on_listener_closed(uv_handle_t *handle)
{
	release_pair(handle->data);
}

enum pl_code proxy_open(uv_loop_t *loop, const char *store_url, struct proxy **out,
                        struct pl_err *err)
{
	struct proxy *proxy = pl_calloc(1, sizeof *proxy);
	const char *port = strrchr(store_url, ':') + 1;
	int rc;

	if (proxy == NULL)
		return pl_err_set(err, PL_NOMEM, "a wire");
	proxy->loop = loop;
	pl_list_init(&proxy->pairs);
	proxy->scheme = strncmp(store_url, "https:", 6) == 0 ? "https" : "http";
	rc = uv_ip4_addr("127.0.0.1", (int)strtoul(port, NULL, 10), &proxy->to);
	PL_ASSERT(rc == 0);
	rc = uv_tcp_init(loop, &proxy->listener);
	PL_ASSERT(rc == 0);
	proxy->listener.data = proxy;
	proxy->open = 1;
	rc = listen_at(proxy);
	if (rc != 0) {
		uv_close((uv_handle_t *)&proxy->listener, on_listener_closed);
		return pl_err_set(err, PL_IO, "a wire: %s", uv_strerror(rc));
	}
	*out = proxy;
	return PL_OK;
}

const char *proxy_url(const struct proxy *proxy)
{
	return proxy->url;
}

void proxy_set(struct proxy *proxy, unsigned how)
{
	proxy->how = how;
	for (struct pl_list *at = proxy->pairs.next; at != &proxy->pairs; at = at->next)
		start_read(PL_LIST_ITEM(at, struct proxy_pair, link));
}

void proxy_break(struct proxy *proxy)
{
	while (!pl_list_empty(&proxy->pairs))
		end_side(PL_LIST_ITEM(proxy->pairs.next, struct proxy_pair, link), true);
}

void proxy_close(struct proxy *proxy)
{
	proxy_break(proxy);
	uv_close((uv_handle_t *)&proxy->listener, on_listener_closed);
}
