#include "tests/shardlab/cutter.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/base/list.h"

enum { BACKLOG = 64, CHUNK = 65536, QUEUE_MAX = 1 << 20 };

struct pair;

struct side {
	uv_tcp_t tcp;
	struct pair *pair;
	bool reading;
};

struct pair {
	struct pl_list link;
	struct cutter *cutter;
	struct side client, store;
	uv_connect_t connect;
	bool connected, closing;
	unsigned open; /* handles */
};

struct cutter {
	uv_tcp_t listener;
	uv_loop_t *loop;
	struct sockaddr_in to;
	const char *scheme; /* of the store's URL, and so of ours */
	struct pl_list pairs;
	unsigned how;
	unsigned open; /* pairs, and the listener */
	char url[CUTTER_URL_SIZE];
	char chunk[CHUNK]; /* what is read is written before anything else is read */
};

struct piece {
	uv_write_t req;
	struct pair *pair;
	char at[];
};

static void follow(struct pair *pair);

static void let_go(struct cutter *cutter)
{
	if (--cutter->open == 0)
		free(cutter);
}

static void on_side_closed(uv_handle_t *handle)
{
	struct side *side = handle->data;
	struct pair *pair = side->pair;
	struct cutter *cutter = pair->cutter;

	if (--pair->open > 0)
		return;
	free(pair);
	let_go(cutter);
}

static void end(struct pair *pair, bool reset)
{
	if (pair->closing)
		return;
	pair->closing = true;
	pl_list_del(&pair->link);
	if (!reset || uv_tcp_close_reset(&pair->client.tcp, on_side_closed) != 0)
		uv_close((uv_handle_t *)&pair->client.tcp, on_side_closed);
	uv_close((uv_handle_t *)&pair->store.tcp, on_side_closed);
}

static struct side *other(struct side *side)
{
	return side == &side->pair->client ? &side->pair->store : &side->pair->client;
}

static void on_room(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct side *side = handle->data;

	(void)size;
	*buf = uv_buf_init(side->pair->cutter->chunk, CHUNK);
}

static void on_written(uv_write_t *req, int status)
{
	struct piece *piece = req->data;
	struct pair *pair = piece->pair;

	free(piece);
	if (status < 0)
		end(pair, false);
	else
		follow(pair);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
	struct side *side = stream->data;
	struct piece *piece;
	uv_buf_t out;

	if (got < 0) {
		end(side->pair, got != UV_EOF);
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
	if (uv_write(&piece->req, (uv_stream_t *)&other(side)->tcp, &out, 1,
	             on_written) != 0) {
		free(piece);
		end(side->pair, true);
		return;
	}
	follow(side->pair);
}

static void read_if(struct side *side, bool wanted)
{
	wanted = wanted && uv_stream_get_write_queue_size(
				   (uv_stream_t *)&other(side)->tcp) < QUEUE_MAX;
	if (wanted && !side->reading)
		(void)uv_read_start((uv_stream_t *)&side->tcp, on_room, on_read);
	if (!wanted && side->reading)
		(void)uv_read_stop((uv_stream_t *)&side->tcp);
	side->reading = wanted;
}

static void follow(struct pair *pair)
{
	unsigned how = pair->cutter->how;

	if (pair->closing || !pair->connected)
		return;
	read_if(&pair->client, (how & CUTTER_NO_REQUESTS) == 0);
	read_if(&pair->store, (how & CUTTER_NO_ANSWERS) == 0);
}

static void on_connected(uv_connect_t *req, int status)
{
	struct pair *pair = req->data;

	if (status < 0) {
		end(pair, true);
		return;
	}
	pair->connected = true;
	follow(pair);
}

static void side_init(struct pair *pair, struct side *side)
{
	int rc = uv_tcp_init(pair->cutter->loop, &side->tcp);

	PL_ASSERT(rc == 0);
	side->tcp.data = side;
	side->pair = pair;
	pair->open++;
}

static void on_client(uv_stream_t *listener, int status)
{
	struct cutter *cutter = listener->data;
	struct pair *pair;

	if (status < 0)
		return;
	pair = pl_calloc(1, sizeof *pair);
	PL_ASSERT(pair != NULL);
	pair->cutter = cutter;
	cutter->open++;
	side_init(pair, &pair->client);
	side_init(pair, &pair->store);
	pl_list_add_tail(&cutter->pairs, &pair->link);
	pair->connect.data = pair;
	if (uv_accept(listener, (uv_stream_t *)&pair->client.tcp) != 0 ||
	    uv_tcp_nodelay(&pair->client.tcp, 1) != 0 ||
	    uv_tcp_connect(&pair->connect, &pair->store.tcp,
	                   (const struct sockaddr *)&cutter->to, on_connected) != 0)
		end(pair, true);
	else
		(void)uv_tcp_nodelay(&pair->store.tcp, 1);
}

static int listen_at(struct cutter *cutter)
{
	struct sockaddr_in at;
	int len = sizeof at, rc;

	rc = uv_ip4_addr("127.0.0.1", 0, &at);
	if (rc == 0)
		rc = uv_tcp_bind(&cutter->listener, (const struct sockaddr *)&at, 0);
	if (rc == 0)
		rc = uv_listen((uv_stream_t *)&cutter->listener, BACKLOG, on_client);
	if (rc == 0)
		rc = uv_tcp_getsockname(&cutter->listener, (struct sockaddr *)&at, &len);
	(void)snprintf(cutter->url, sizeof cutter->url, "%s://127.0.0.1:%u",
	               cutter->scheme, (unsigned)ntohs(at.sin_port));
	return rc;
}

static void on_listener_closed(uv_handle_t *handle)
{
	let_go(handle->data);
}

enum pl_code cutter_open(uv_loop_t *loop, const char *store_url, struct cutter **out,
                         struct pl_err *err)
{
	struct cutter *cutter = pl_calloc(1, sizeof *cutter);
	const char *port = strrchr(store_url, ':') + 1;
	int rc;

	if (cutter == NULL)
		return pl_err_set(err, PL_NOMEM, "a wire");
	cutter->loop = loop;
	pl_list_init(&cutter->pairs);
	cutter->scheme = strncmp(store_url, "https:", 6) == 0 ? "https" : "http";
	rc = uv_ip4_addr("127.0.0.1", (int)strtoul(port, NULL, 10), &cutter->to);
	PL_ASSERT(rc == 0);
	rc = uv_tcp_init(loop, &cutter->listener);
	PL_ASSERT(rc == 0);
	cutter->listener.data = cutter;
	cutter->open = 1;
	rc = listen_at(cutter);
	if (rc != 0) {
		uv_close((uv_handle_t *)&cutter->listener, on_listener_closed);
		return pl_err_set(err, PL_IO, "a wire: %s", uv_strerror(rc));
	}
	*out = cutter;
	return PL_OK;
}

const char *cutter_url(const struct cutter *cutter)
{
	return cutter->url;
}

void cutter_set(struct cutter *cutter, unsigned how)
{
	cutter->how = how;
	for (struct pl_list *at = cutter->pairs.next; at != &cutter->pairs; at = at->next)
		follow(PL_LIST_ITEM(at, struct pair, link));
}

void cutter_break(struct cutter *cutter)
{
	while (!pl_list_empty(&cutter->pairs))
		end(PL_LIST_ITEM(cutter->pairs.next, struct pair, link), true);
}

void cutter_close(struct cutter *cutter)
{
	cutter_break(cutter);
	uv_close((uv_handle_t *)&cutter->listener, on_listener_closed);
}
