/* A request and its answer, from the first head to on_gone. */
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/net/http_guard.h"
#include "store/net/http_server_int.h"
#include "store/net/http_status.h"

/* -- the request ------------------------------------------------------------------------ */

/* A span of the head, where its copy has it. */
static struct pl_span span_rebase(struct pl_span span, struct pl_span from, uint8_t *to)
{
	if (span.len == 0)
		return pl_span(to, 0);
	if (span.at < from.at || span.at >= from.at + from.len)
		return span; /* a literal */
	return pl_span(to + (span.at - from.at), span.len);
}

static void lower_case(uint8_t *at, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (at[i] >= 'A' && at[i] <= 'Z')
			at[i] |= 0x20;
	}
}

static void request_fill(struct http_exchange *exchange, const struct http_head *head,
                         struct pl_span bytes)
{
	struct http_request *request = &exchange->request;
	uint8_t *copy = (uint8_t *)(exchange->fields + head->field_count);

	if (bytes.len > 0)
		memcpy(copy, bytes.at, bytes.len);
	for (size_t i = 0; i < head->field_count; i++) {
		struct http_field *field = &exchange->fields[i];
		const struct http_field *from = &head->fields[i];

		field->name = span_rebase(from->name, bytes, copy);
		field->value = span_rebase(from->value, bytes, copy);
		if (field->name.at != from->name.at && from->name.len > 0)
			lower_case(copy + (from->name.at - bytes.at), from->name.len);
	}
	request->method = span_rebase(head->method, bytes, copy);
	request->path = span_rebase(head->path, bytes, copy);
	request->query = span_rebase(head->query, bytes, copy);
	request->fields = exchange->fields;
	request->field_count = head->field_count;
	request->version = head->version;
}

static void links_init(struct http_exchange *exchange)
{
	pl_list_init(&exchange->timed);
	pl_list_init(&exchange->leaving);
	pl_list_init(&exchange->room);
	pl_list_init(&exchange->packing);
}

struct http_exchange *http_exchange_new(struct http_conn *conn,
                                        const struct http_head *head,
                                        struct pl_span bytes)
{
	struct http_exchange *exchange =
		pl_malloc(sizeof *exchange +
	                  head->field_count * sizeof exchange->fields[0] + bytes.len);

	if (exchange == NULL)
		return NULL;
	memset(exchange, 0, sizeof *exchange);
	request_fill(exchange, head, bytes);
	exchange->request.peer = conn->peer;
	http_conn_verify(conn);
	exchange->request.client = conn->client;
	exchange->request.peer_is_local = conn->is_local;
	exchange->conn = conn;
	exchange->is_head = http_guard_same(exchange->request.method, "head");
	exchange->accepts_gzip = head->accepts_gzip;
	exchange->old = head->version == 1 && head->minor == 0;
	exchange->keep_alive = head->keep_alive;
	pl_buf_init(&exchange->body, conn->server->limits.body_bytes);
	links_init(exchange);
	if (head->body_gzip) {
		exchange->gunzip = http_gunzip_new();
		if (exchange->gunzip == NULL) {
			free(exchange);
			return NULL;
		}
	}
	pl_list_add_tail(&conn->exchanges, &exchange->link);
	http_exchange_time(exchange, &conn->receiving);
	return exchange;
}

void http_exchange_verify(struct http_exchange *exchange)
{
	if (!exchange->gone)
		http_conn_verify(exchange->conn);
}

void http_exchange_time(struct http_exchange *exchange, struct pl_list *list)
{
	pl_list_del(&exchange->timed);
	pl_list_add_tail(list, &exchange->timed);
	exchange->since_ms = pl_clock_ms();
}

void http_exchange_untime(struct http_exchange *exchange)
{
	pl_list_del(&exchange->timed);
}

static enum pl_code body_add(struct http_exchange *exchange, struct pl_span bytes)
{
	struct http_server *server = exchange->conn->server;
	size_t before = exchange->body.len;
	enum pl_code code =
		exchange->gunzip == NULL
			? pl_buf_add(&exchange->body, bytes)
			: http_gunzip_add(exchange->gunzip, bytes, &exchange->body);

	server->bodies += exchange->body.len - before;
	if (code == PL_OK && server->bodies > server->limits.bodies_bytes)
		return PL_BUSY;
	return code;
}

static bool body_wanted(struct http_exchange *exchange)
{
	struct http_server *server = exchange->conn->server;

	if (exchange->body_asked || server->fns.wants_body == NULL)
		return !exchange->request.body_unread;
	exchange->body_asked = true;
	if (server->fns.wants_body(server->ctx, &exchange->request))
		return true;
	exchange->request.body_unread = true;
	http_gzip_free(exchange->gunzip);
	exchange->gunzip = NULL;
	return false;
}

bool http_exchange_add_body(struct http_exchange *exchange, struct pl_span bytes)
{
	struct http_fault fault = {503, "there is no memory for the request's body"};
	enum pl_code code;

	if (exchange->state != HTTP_EXCHANGE_RECEIVING)
		return false;
	if (!body_wanted(exchange))
		return true;
	code = body_add(exchange, bytes);
	if (code == PL_OK)
		return true;
	if (code == PL_LIMIT)
		fault = (struct http_fault){413, "the request's body is too large"};
	else if (code == PL_PROTO)
		fault = (struct http_fault){400, "the request's body is not gzip"};
	else if (code == PL_BUSY)
		fault.text = "too many bodies of requests are held";
	http_exchange_refuse(exchange, fault);
	return false;
}

void http_exchange_hand(struct http_exchange *exchange)
{
	struct http_server *server = exchange->conn->server;

	if (exchange->state != HTTP_EXCHANGE_RECEIVING ||
	    exchange->conn->state >= HTTP_CONN_FAILED)
		return;
	if (exchange->gunzip != NULL && !http_gunzip_is_whole(exchange->gunzip)) {
		http_exchange_refuse(
			exchange, (struct http_fault){400, "the request's body is cut"});
		return;
	}
	http_gzip_free(exchange->gunzip);
	exchange->gunzip = NULL;
	http_exchange_untime(exchange);
	exchange->state = HTTP_EXCHANGE_WAITING;
	exchange->handed = true;
	exchange->request.body = pl_buf_span(&exchange->body);
	server->counts.requests++;
	server->counts.open_exchanges++;
	server->fns.on_request(server->ctx, exchange, &exchange->request);
}

/* -- refusals --------------------------------------------------------------------------- */

static void body_free(struct http_exchange *exchange)
{
	exchange->conn->server->bodies -= exchange->body.len;
	pl_buf_done(&exchange->body);
	http_gzip_free(exchange->gunzip);
	exchange->gunzip = NULL;
}

void http_exchange_refuse(struct http_exchange *exchange, struct http_fault fault)
{
	struct http_field fields[] = {
		{PL_SPAN_LIT("content-type"), PL_SPAN_LIT("application/json")},
		{PL_SPAN_LIT("retry-after"), PL_SPAN_LIT("1")},
	};
	struct http_conn *conn = exchange->conn;
	struct pl_buf text;

	PL_ASSERT(!exchange->handed);
	conn->server->counts.bad_requests++;
	http_exchange_untime(exchange);
	body_free(exchange);
	exchange->state = HTTP_EXCHANGE_WAITING;
	exchange->keep_alive = false;
	exchange->accepts_gzip = false;
	pl_buf_init(&text, 4096);
	if (http_status_object(&text, fault.status, fault.text) == PL_OK)
		http_respond(exchange, fault.status, fields, fault.status == 503 ? 2 : 1,
		             pl_buf_span(&text));
	else
		http_exchange_drop(exchange);
	pl_buf_done(&text);
}

void http_conn_refuse(struct http_conn *conn, struct http_fault fault)
{
	const struct http_head head = {.version = 1, .minor = 1};
	struct http_exchange *exchange = http_exchange_new(conn, &head, pl_span(NULL, 0));

	conn->last = true;
	if (exchange == NULL) {
		http_conn_fail(conn);
		return;
	}
	conn->current = exchange;
	http_exchange_refuse(exchange, fault);
}

/* -- the end ---------------------------------------------------------------------------- */

static void queue_drop(struct http_exchange *exchange)
{
	struct http_server *server = exchange->conn->server;

	server->pending -= exchange->queue.len;
	http_queue_clear(&server->pool, &exchange->queue);
	http_pack_free(exchange);
}

static void leave(struct http_exchange *exchange)
{
	if (pl_list_empty(&exchange->leaving) && !exchange->gone)
		pl_list_add_tail(&exchange->conn->leaving, &exchange->leaving);
	http_conn_touch(exchange->conn);
}

void http_exchange_done(struct http_exchange *exchange)
{
	exchange->state = HTTP_EXCHANGE_DONE;
	http_exchange_untime(exchange);
	if (exchange->wired == 0)
		leave(exchange);
}

void http_exchange_drop(struct http_exchange *exchange)
{
	if (exchange->gone || exchange->cut)
		return;
	exchange->cut = true;
	queue_drop(exchange);
	http_exchange_untime(exchange);
	if (exchange->conn->h2 == NULL)
		http_conn_fail(exchange->conn);
	else
		leave(exchange);
}

void http_exchange_free(struct http_exchange *exchange)
{
	struct http_conn *conn = exchange->conn;

	pl_list_del(&exchange->link);
	if (pl_list_empty(&conn->exchanges))
		conn->idle_ms = pl_clock_ms();
	free(exchange);
}

void http_exchange_gone(struct http_exchange *exchange)
{
	struct http_conn *conn = exchange->conn;
	struct http_server *server = conn->server;

	PL_ASSERT(!exchange->gone);
	exchange->gone = true;
	exchange->state = HTTP_EXCHANGE_DONE;
	queue_drop(exchange);
	pl_list_del(&exchange->timed);
	pl_list_del(&exchange->leaving);
	pl_list_del(&exchange->room);
	if (conn->current == exchange)
		conn->current = NULL;
	if (conn->h2 != NULL)
		http_h2_detach(exchange, NGHTTP2_CANCEL);
	if (exchange->handed) {
		server->counts.open_exchanges--;
		server->fns.on_gone(exchange->user, exchange);
	}
	body_free(exchange);
	if (exchange->wired == 0)
		http_exchange_free(exchange);
}

static void room_check(struct http_exchange *exchange)
{
	if (!exchange->full || exchange->gone ||
	    http_exchange_pending(exchange) >=
	            exchange->conn->server->limits.unread_bytes / 2)
		return;
	exchange->full = false;
	pl_list_del(&exchange->room);
	pl_list_add_tail(&exchange->conn->rooms, &exchange->room);
}

void http_exchange_left(struct http_exchange *exchange, size_t len)
{
	PL_ASSERT(len <= exchange->wired);
	exchange->wired -= len;
	exchange->conn->server->pending -= len;
	room_check(exchange);
	if (exchange->wired > 0)
		return;
	if (exchange->gone)
		http_exchange_free(exchange);
	else if (exchange->state == HTTP_EXCHANGE_DONE)
		leave(exchange);
}
