/*
 * HTTP/1.1. Requests of a connection are handled one after the other: the next one is
 * read once the answer before is framed whole, so answers are in order. What a client
 * sends ahead waits in conn->in; beyond a bound the connection is not read.
 */
#include <stdio.h>

#include "store/base/clock.h"
#include "store/base/num.h"
#include "store/net/http_server_int.h"
#include "store/net/http_status.h"

enum { TURN_REQUESTS = 16 }; /* of one connection in one turn of the loop */

/* -- requests ------------------------------------------------------------------------- */

static void head_take(struct http_conn *conn, const struct http_head *head,
                      struct pl_span bytes, bool more)
{
	struct http_exchange *exchange = http_exchange_new(conn, head, bytes);
	bool body = head->chunked || head->length > 0;

	conn->began_ms = 0;
	if (exchange == NULL) {
		http_conn_fail(conn);
		return;
	}
	conn->current = exchange;
	/* A client that has sent some of the body does not wait for the answer. */
	if (head->expects_continue && body && !more) {
		if (!http_queue_add_copy(&conn->server->pool, &conn->out, NULL,
		                         PL_SPAN_LIT("HTTP/1.1 100 Continue\r\n\r\n")))
			http_conn_fail(conn);
		http_conn_touch(conn);
	}
}

static void refuse_bad(struct http_conn *conn)
{
	conn->began_ms = 0;
	conn->last = true;
	if (conn->current != NULL)
		http_exchange_refuse(conn->current, conn->reader.fault);
	else
		http_conn_refuse(conn, conn->reader.fault);
}

/* The connection may read on: no exchange is open that is whole already, and not too much
 * waits to be sent. */
static bool may_take(const struct http_conn *conn)
{
	const struct http_exchange *exchange = conn->current;

	return conn->state == HTTP_CONN_H1 && !conn->last &&
	       conn->out.len < HTTP_OUT_HIGH &&
	       (exchange == NULL || exchange->state == HTTP_EXCHANGE_RECEIVING);
}

/* True: more bytes are needed. False: the connection does not read on, for now. */
static bool requests_take(struct http_conn *conn, struct pl_span *data)
{
	struct http_head head = {.fields = conn->server->fields,
	                         .field_max = conn->server->limits.fields};
	unsigned taken = 0;

	while (may_take(conn)) {
		struct pl_span bytes;

		/* Others come first now: a client may send thousands ahead. */
		if (taken == TURN_REQUESTS) {
			http_conn_touch(conn);
			return false;
		}

		switch (http_reader_next(&conn->reader, data, &head, &bytes)) {
		case HTTP_EVENT_MORE:
			return true;
		case HTTP_EVENT_HEAD:
			head_take(conn, &head, bytes, data->len > 0);
			break;
		case HTTP_EVENT_BODY:
			if (!http_exchange_add_body(conn->current, bytes))
				conn->last = true;
			break;
		case HTTP_EVENT_END:
			http_exchange_hand(conn->current);
			taken++;
			break;
		case HTTP_EVENT_BAD:
			refuse_bad(conn);
			break;
		}
	}
	return false;
}

/* The time of a head runs from its first byte. */
static void head_time(struct http_conn *conn, bool more)
{
	if (!more || conn->current != NULL || !http_reader_is_inside(&conn->reader))
		conn->began_ms = 0;
	else if (conn->began_ms == 0)
		conn->began_ms = pl_clock_ms();
}

void http_h1_input(struct http_conn *conn, struct pl_span data)
{
	struct pl_buf *in = &conn->in;
	bool kept = in->len > 0, more;

	if (!kept && data.len == 0)
		return;
	if (kept && pl_buf_add(in, data) != PL_OK) {
		http_conn_fail(conn);
		return;
	}
	if (kept)
		data = pl_buf_span(in);
	more = requests_take(conn, &data);
	if (conn->state != HTTP_CONN_H1)
		return;
	if (kept)
		pl_buf_drop(in, in->len - data.len);
	else if (pl_buf_add(in, data) != PL_OK)
		http_conn_fail(conn);
	if (in->len == 0)
		pl_buf_clear(in, 0);
	head_time(conn, more);
	http_conn_read(conn,
	               in->len <= conn->server->limits.head_bytes + HTTP_INPUT_SIZE);
}

/* -- answers -------------------------------------------------------------------------- */

static bool text_add(struct pl_buf *text, struct pl_span bytes)
{
	return pl_buf_add(text, bytes) == PL_OK;
}

/* A value may hold text of a client: control bytes would split the head. */
static bool value_add(struct pl_buf *text, struct pl_span value)
{
	size_t from = text->len;

	if (!text_add(text, value))
		return false;
	for (size_t i = from; i < text->len; i++) {
		if ((text->at[i] < ' ' && text->at[i] != '\t') || text->at[i] == 0x7f)
			text->at[i] = '?';
	}
	return true;
}

static bool field_add(struct pl_buf *text, struct pl_span name, struct pl_span value)
{
	return text_add(text, name) && text_add(text, PL_SPAN_LIT(": ")) &&
	       value_add(text, value) && text_add(text, PL_SPAN_LIT("\r\n"));
}

static bool length_add(struct pl_buf *text, uint64_t length)
{
	char digits[PL_NUM_TEXT_SIZE];
	size_t len = pl_num_print_u64(digits, length);

	return field_add(text, PL_SPAN_LIT("content-length"), pl_span(digits, len));
}

static bool framing_add(struct http_exchange *exchange,
                        const struct http_answer_head *head)
{
	struct pl_buf *text = &exchange->conn->server->text;

	if (!http_status_has_body(head->status))
		return true;
	if (head->packed && !text_add(text, PL_SPAN_LIT("content-encoding: gzip\r\n"
	                                                "vary: accept-encoding\r\n")))
		return false;
	if (head->has_length)
		return length_add(text, head->length);
	exchange->chunked = !exchange->old && !exchange->is_head;
	if (exchange->old) {
		exchange->keep_alive = false; /* the body ends with the connection */
		return true;
	}
	return text_add(text, PL_SPAN_LIT("transfer-encoding: chunked\r\n"));
}

static bool persistence_add(struct http_exchange *exchange)
{
	struct pl_buf *text = &exchange->conn->server->text;

	if (!exchange->keep_alive || exchange->conn->last)
		return text_add(text, PL_SPAN_LIT("connection: close\r\n"));
	return !exchange->old ||
	       text_add(text, PL_SPAN_LIT("connection: keep-alive\r\n"));
}

static bool head_print(struct http_exchange *exchange,
                       const struct http_answer_head *head)
{
	struct http_server *server = exchange->conn->server;
	struct pl_buf *text = &server->text;
	char line[] = "HTTP/1.1 000 ";
	bool ok;

	for (int i = 11, status = head->status; i > 8; i--, status /= 10)
		line[i] = (char)('0' + status % 10);
	ok = text_add(text, pl_span(line, sizeof line - 1)) &&
	     text_add(text, pl_span_str(http_status_text(head->status))) &&
	     text_add(text, PL_SPAN_LIT("\r\n")) &&
	     field_add(text, PL_SPAN_LIT("date"), pl_span_str(http_server_date(server)));
	for (size_t i = 0; ok && i < head->count; i++)
		ok = field_add(text, head->fields[i].name, head->fields[i].value);
	return ok && framing_add(exchange, head) && persistence_add(exchange) &&
	       text_add(text, PL_SPAN_LIT("\r\n")) && text_add(text, head->tail);
}

bool http_h1_answer(struct http_exchange *exchange, const struct http_answer_head *head)
{
	struct pl_buf *text = &exchange->conn->server->text;
	bool ok;

	ok = head_print(exchange, head) && http_out_frame(exchange, pl_buf_span(text));
	if (!exchange->keep_alive)
		exchange->conn->last = true;
	pl_buf_clear(text, HTTP_INPUT_SIZE);
	return ok;
}

static bool chunk_frame(struct http_exchange *exchange)
{
	size_t len = exchange->queue.len;
	char size[HTTP_SEG_SMALL];
	int digits = snprintf(size, sizeof size, "%zx\r\n", len);

	return http_out_frame(exchange, pl_span(size, (size_t)digits)) &&
	       http_out_move(exchange, len) &&
	       http_out_frame(exchange, PL_SPAN_LIT("\r\n"));
}

/* All that was sent since the last time becomes one chunk. */
bool http_h1_pump(struct http_conn *conn)
{
	struct http_exchange *exchange = conn->current;
	bool ok = true;

	if (exchange == NULL || exchange->state < HTTP_EXCHANGE_STREAMING)
		return true;
	if (exchange->queue.len > 0)
		ok = exchange->chunked ? chunk_frame(exchange)
		                       : http_out_move(exchange, exchange->queue.len);
	if (exchange->state != HTTP_EXCHANGE_ENDED || exchange->pack != NULL)
		return ok;
	if (exchange->chunked)
		ok = ok && http_out_frame(exchange, PL_SPAN_LIT("0\r\n\r\n"));
	http_exchange_done(exchange);
	conn->current = NULL;
	if (conn->last)
		http_conn_end(conn);
	return ok;
}
