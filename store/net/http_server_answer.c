/* Answers, as the user gives them. */
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/net/http_server_int.h"
#include "store/net/http_status.h"

enum { TAIL_MAX = 16 * 1024, FIELDS_MAX = 32 };

void http_exchange_set_user(struct http_exchange *exchange, void *user)
{
	exchange->user = user;
}

void *http_exchange_user(const struct http_exchange *exchange)
{
	return exchange->user;
}

const struct http_request *http_exchange_request(const struct http_exchange *exchange)
{
	return &exchange->request;
}

void http_exchange_set_field(struct http_exchange *exchange, struct http_field field)
{
	exchange->field = field;
}

int http_exchange_status(const struct http_exchange *exchange)
{
	return exchange->status;
}

struct pl_span http_request_field(const struct http_request *request, const char *name)
{
	struct pl_span wanted = pl_span_str(name);

	for (size_t i = 0; i < request->field_count; i++) {
		if (pl_span_eq(request->fields[i].name, wanted))
			return request->fields[i].value;
	}
	return pl_span(NULL, 0);
}

size_t http_exchange_pending(const struct http_exchange *exchange)
{
	size_t packing = exchange->pack == NULL
	                         ? 0
	                         : exchange->pack->body->len - exchange->pack->at;

	return exchange->queue.len + exchange->wired + packing;
}

static bool answers(const struct http_exchange *exchange, enum http_exchange_state state)
{
	return exchange->state == state && !exchange->gone && !exchange->cut &&
	       exchange->conn->state < HTTP_CONN_ENDING;
}

/* -- packing ---------------------------------------------------------------------------- */

void http_pack_free(struct http_exchange *exchange)
{
	struct http_pack *pack = exchange->pack;

	pl_list_del(&exchange->packing);
	exchange->pack = NULL;
	if (pack == NULL)
		return;
	http_gzip_free(pack->gzip);
	http_blob_unref(pack->body);
	free(pack);
}

static bool pack_new(struct http_exchange *exchange, struct http_blob *body)
{
	struct http_pack *pack = pl_calloc(1, sizeof *pack);

	if (pack == NULL)
		return false;
	pack->body = http_blob_ref(body);
	pack->gzip = http_gzip_new();
	exchange->pack = pack;
	pl_list_add_tail(&exchange->conn->packing, &exchange->packing);
	if (pack->gzip != NULL)
		return true;
	http_pack_free(exchange);
	return false;
}

static bool is_worth_packing(const struct http_exchange *exchange,
                             const struct http_answer_head *head, size_t len)
{
	const struct http_server *server = exchange->conn->server;

	if (!exchange->accepts_gzip || exchange->old || exchange->is_head ||
	    len < server->limits.gzip_bytes || !http_status_has_body(head->status) ||
	    (exchange->conn->is_local && !server->gzip_local))
		return false;
	for (size_t i = 0; i < head->count; i++) {
		if (pl_span_eq(head->fields[i].name, PL_SPAN_LIT("content-encoding")))
			return false;
	}
	return true;
}

static bool slice_pack(struct http_exchange *exchange)
{
	struct http_server *server = exchange->conn->server;
	struct http_pack *pack = exchange->pack;
	size_t len = pack->body->len - pack->at;
	bool last = len <= HTTP_PACK_SLICE;

	len = last ? len : HTTP_PACK_SLICE;
	pl_buf_clear(&server->packed, HTTP_PACK_SLICE);
	if (http_gzip_add(pack->gzip, pl_span(pack->body->at + pack->at, len), last,
	                  &server->packed) != PL_OK ||
	    !http_queue_add_copy(&server->pool, &exchange->queue, exchange,
	                         pl_buf_span(&server->packed)))
		return false;
	server->pending += server->packed.len;
	pack->at += len;
	if (last)
		http_pack_free(exchange);
	return true;
}

/* One slice a turn, so that other connections are served in between; the exchanges of
 * HTTP/2 take turns. */
void http_conn_pack(struct http_conn *conn)
{
	struct http_exchange *exchange;

	if (pl_list_empty(&conn->packing))
		return;
	exchange = PL_LIST_ITEM(conn->packing.next, struct http_exchange, packing);
	pl_list_del(&exchange->packing);
	pl_list_add_tail(&conn->packing, &exchange->packing);
	if (exchange->queue.len >= HTTP_OUT_HIGH || conn->out.len >= HTTP_OUT_HIGH)
		return;
	if (!slice_pack(exchange))
		http_exchange_drop(exchange);
	else if (conn->h2 != NULL)
		http_h2_resume(exchange);
	http_conn_touch(conn);
}

/* -- whole answers ------------------------------------------------------------------------ */

static bool head_send(struct http_exchange *exchange, const struct http_answer_head *head)
{
	struct http_field fields[FIELDS_MAX];
	struct http_answer_head whole = *head;

	exchange->status = head->status;
	if (exchange->field.name.len > 0 && head->count < FIELDS_MAX) {
		for (size_t i = 0; i < head->count; i++)
			fields[i] = head->fields[i];
		fields[whole.count++] = exchange->field;
		whole.fields = fields;
	}
	return exchange->conn->h2 == NULL ? http_h1_answer(exchange, &whole)
	                                  : http_h2_answer(exchange, &whole);
}

static bool body_queue(struct http_exchange *exchange, struct http_blob *body)
{
	struct http_server *server = exchange->conn->server;

	if (!http_queue_add(&server->pool, &exchange->queue, exchange, body, 0))
		return false;
	server->pending += body->len;
	return true;
}

/* The exchange may go on in its connection: HTTP/1 frames at once what is there, so the
 * next request's answer can stand behind it. */
static void answer_go(struct http_exchange *exchange, bool ok)
{
	struct http_conn *conn = exchange->conn;

	if (!ok || (conn->h2 == NULL && !http_h1_pump(conn)))
		http_exchange_drop(exchange);
	else if (conn->h2 != NULL)
		http_h2_resume(exchange);
	http_conn_touch(conn);
}

/* body NULL: the tail has it, or there is none. */
static void answer_whole(struct http_exchange *exchange, struct http_answer_head *head,
                         struct http_blob *body)
{
	bool silent = exchange->is_head || !http_status_has_body(head->status), ok;

	head->packed = body != NULL && is_worth_packing(exchange, head, body->len);
	head->has_length = !head->packed;
	if (silent)
		head->tail = pl_span(NULL, 0);
	ok = !head->packed || pack_new(exchange, body);
	ok = ok && head_send(exchange, head);
	if (ok && body != NULL && !head->packed && !silent)
		ok = body_queue(exchange, body);
	exchange->state = HTTP_EXCHANGE_ENDED;
	answer_go(exchange, ok);
}

void http_respond_blob(struct http_exchange *exchange, int status,
                       const struct http_field *fields, size_t count,
                       struct http_blob *body)
{
	struct http_answer_head head = {
		.status = status, .fields = fields, .count = count, .length = body->len};

	if (answers(exchange, HTTP_EXCHANGE_WAITING))
		answer_whole(exchange, &head, body);
}

void http_respond(struct http_exchange *exchange, int status,
                  const struct http_field *fields, size_t count, struct pl_span body)
{
	struct http_answer_head head = {
		.status = status, .fields = fields, .count = count, .length = body.len};
	struct http_blob *blob = NULL;

	if (!answers(exchange, HTTP_EXCHANGE_WAITING))
		return;
	if (exchange->conn->h2 == NULL && body.len <= TAIL_MAX &&
	    !is_worth_packing(exchange, &head, body.len)) {
		head.tail = body;
		answer_whole(exchange, &head, NULL);
		return;
	}
	if (body.len > 0) {
		blob = http_blob_new(body.len);
		if (blob == NULL) {
			http_exchange_drop(exchange);
			return;
		}
		memcpy(blob->at, body.at, body.len);
	}
	answer_whole(exchange, &head, blob);
	http_blob_unref(blob);
}

/* -- streams ------------------------------------------------------------------------------ */

void http_stream_begin(struct http_exchange *exchange, int status,
                       const struct http_field *fields, size_t count)
{
	struct http_answer_head head = {
		.status = status, .fields = fields, .count = count};

	if (!answers(exchange, HTTP_EXCHANGE_WAITING))
		return;
	exchange->state = HTTP_EXCHANGE_STREAMING;
	if (!http_status_has_body(status))
		exchange->is_head = true;
	/* A client that has sent its end does not follow a stream. */
	if (!head_send(exchange, &head) || exchange->conn->eof)
		http_exchange_drop(exchange);
	http_conn_touch(exchange->conn);
}

/* False: the exchange takes no more, or has just been cut. */
static bool stream_room(struct http_exchange *exchange, size_t len)
{
	struct http_server *server = exchange->conn->server;
	size_t pending = http_exchange_pending(exchange);

	if (!answers(exchange, HTTP_EXCHANGE_STREAMING) || exchange->is_head || len == 0)
		return false;
	if (pending > 0 && pending + len > server->limits.unread_bytes) {
		server->counts.cut++;
		http_exchange_drop(exchange);
		return false;
	}
	if (pending + len >= server->limits.unread_bytes / 2)
		exchange->full = true;
	return true;
}

static void stream_sent(struct http_exchange *exchange, bool ok, size_t len)
{
	if (!ok) {
		http_exchange_drop(exchange);
		return;
	}
	exchange->conn->server->pending += len;
	if (exchange->conn->h2 != NULL)
		http_h2_resume(exchange);
	http_conn_touch(exchange->conn);
}

void http_stream_send(struct http_exchange *exchange, struct http_blob *blob)
{
	if (stream_room(exchange, blob->len))
		stream_sent(exchange,
		            http_queue_add(&exchange->conn->server->pool,
		                           &exchange->queue, exchange, blob, 0),
		            blob->len);
}

void http_stream_send_copy(struct http_exchange *exchange, struct pl_span bytes)
{
	if (stream_room(exchange, bytes.len))
		stream_sent(exchange,
		            http_queue_add_copy(&exchange->conn->server->pool,
		                                &exchange->queue, exchange, bytes),
		            bytes.len);
}

void http_stream_end(struct http_exchange *exchange)
{
	if (!answers(exchange, HTTP_EXCHANGE_STREAMING))
		return;
	exchange->state = HTTP_EXCHANGE_ENDED;
	answer_go(exchange, true);
}

void http_exchange_watch_client(struct http_exchange *exchange)
{
	exchange->watched = true;
}

void http_exchange_cut(struct http_exchange *exchange)
{
	http_exchange_drop(exchange);
}
