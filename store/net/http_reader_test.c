/* Requests read from bytes: what is taken, and every ambiguous form refused. */
#include <stdio.h>

#include "store/net/http_guard.h"
#include "store/net/http_reader.h"
#include "tests/harness/t.h"

enum { FIELDS = 16, TEXT = 4096 };

static const struct http_server_limits limits = {
	.head_bytes = 1024, .fields = FIELDS, .body_bytes = 100};

/* How requests were read, as text: "GET /x[body]" each; a refusal is "!400". */
struct outcome {
	char text[TEXT];
	size_t len;
	struct http_fault fault;
};

static void outcome_add(struct outcome *outcome, struct pl_span text)
{
	T_TRUE(outcome->len + text.len < TEXT);
	if (text.len > 0)
		memcpy(outcome->text + outcome->len, text.at, text.len);
	outcome->len += text.len;
	outcome->text[outcome->len] = 0;
}

static void event_add(struct outcome *outcome, enum http_event event,
                      const struct http_head *head, struct pl_span bytes)
{
	char status[16];

	switch (event) {
	case HTTP_EVENT_HEAD:
		outcome_add(outcome, head->method);
		outcome_add(outcome, PL_SPAN_LIT(" "));
		outcome_add(outcome, head->path);
		outcome_add(outcome, PL_SPAN_LIT("["));
		break;
	case HTTP_EVENT_BODY:
		outcome_add(outcome, bytes);
		break;
	case HTTP_EVENT_END:
		outcome_add(outcome, PL_SPAN_LIT("]"));
		break;
	case HTTP_EVENT_BAD:
		(void)snprintf(status, sizeof status, "!%d", outcome->fault.status);
		outcome_add(outcome, pl_span_str(status));
		break;
	case HTTP_EVENT_MORE:
		break;
	}
}

/* Gives the bytes in pieces of that size, as a connection does. */
static void read_all(struct pl_span text, size_t piece, struct outcome *outcome)
{
	struct http_field fields[FIELDS];
	struct http_head head = {.fields = fields, .field_max = FIELDS};
	struct http_reader reader;
	enum http_event event = HTTP_EVENT_MORE;
	size_t given = 0, taken = 0;

	*outcome = (struct outcome){0};
	http_reader_init(&reader, &limits);
	while (given < text.len && event != HTTP_EVENT_BAD) {
		struct pl_span in, bytes;

		given = given + piece < text.len ? given + piece : text.len;
		in = pl_span(text.at + taken, given - taken);
		do {
			event = http_reader_next(&reader, &in, &head, &bytes);
			outcome->fault = reader.fault;
			event_add(outcome, event, &head, bytes);
		} while (event != HTTP_EVENT_MORE && event != HTTP_EVENT_BAD);
		taken = given - in.len;
	}
}

static void expect(const char *text, size_t len, const char *want)
{
	struct outcome outcome;

	for (size_t piece = 1; piece <= len; piece += piece < 8 ? 1 : len / 3) {
		read_all(pl_span(text, len), piece, &outcome);
		if (strcmp(outcome.text, want) != 0)
			t_fail(__FILE__, __LINE__,
			       "%s\nin pieces of %zu: %s, not %s (%s)", text, piece,
			       outcome.text, want,
			       outcome.fault.text == NULL ? "" : outcome.fault.text);
	}
}

#define EXPECT(text, want) expect(text, sizeof(text) - 1, want)
#define HEAD(fields) "GET /x HTTP/1.1\r\nHost: x\r\n" fields "\r\n"
#define REFUSED(fields) EXPECT(HEAD(fields) "abcde", "!400")
#define CHUNKED(body) HEAD("Transfer-Encoding: chunked\r\n") body
#define BAD_CHUNKS(body, before) EXPECT(CHUNKED(body), "GET /x[" before "!400")

T_CASE(requests_are_read)
{
	EXPECT(HEAD(""), "GET /x[]");
	EXPECT(HEAD("") HEAD(""), "GET /x[]GET /x[]");
	EXPECT("\r\n\r\n" HEAD("") "\r\n" HEAD(""), "GET /x[]GET /x[]");
	EXPECT(HEAD("Content-Length: 5\r\n") "abcde" HEAD(""), "GET /x[abcde]GET /x[]");
	EXPECT(HEAD("content-length:\t0 \r\n") HEAD(""), "GET /x[]GET /x[]");
	EXPECT("POST /a?b=c HTTP/1.0\r\n\r\n", "POST /a[]");
	EXPECT("GET http://x/y?z HTTP/1.1\r\nHost: x\r\n\r\n", "GET /y[]");
	EXPECT("GET http://x HTTP/1.1\r\nHost: x\r\n\r\n", "GET /[]");
	EXPECT("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", "GET /[]");
	EXPECT(HEAD("X: \xc3\xa4\r\nEmpty:\r\n"), "GET /x[]");
}

T_CASE(chunks_are_read)
{
	EXPECT(CHUNKED("3\r\nabc\r\n0\r\n\r\n") HEAD(""), "GET /x[abc]GET /x[]");
	EXPECT(CHUNKED("a\r\n0123456789\r\n00B;x=y\r\n0123456789a\r\n0\r\n\r\n"),
	       "GET /x[01234567890123456789a]");
	EXPECT(CHUNKED("1\r\na\r\n0;last\r\nTrailer: 1\r\nOther:\r\n\r\n"), "GET /x[a]");
	EXPECT(CHUNKED("0\r\n\r\n") HEAD(""), "GET /x[]GET /x[]");
}

T_CASE(two_lengths_are_refused)
{
	REFUSED("Content-Length: 5\r\nContent-Length: 5\r\n");
	REFUSED("Content-Length: 5\r\ncontent-length: 6\r\n");
	REFUSED("Content-Length: 5, 5\r\n");
	REFUSED("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n");
	REFUSED("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n");
	REFUSED("Content-Length: +5\r\n");
	REFUSED("Content-Length: -5\r\n");
	REFUSED("Content-Length: 0x5\r\n");
	REFUSED("Content-Length: 5 5\r\n");
	REFUSED("Content-Length: \r\n");
	REFUSED("Content-Length: 99999999999999999999999\r\n");
	EXPECT(HEAD("Content-Length: 101\r\n"), "!413");
}

T_CASE(other_codings_are_refused)
{
	REFUSED("Transfer-Encoding: gzip\r\n");
	REFUSED("Transfer-Encoding: gzip, chunked\r\n");
	REFUSED("Transfer-Encoding: chunked, identity\r\n");
	REFUSED("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n");
	REFUSED("Transfer-Encoding: xchunked\r\n");
	REFUSED("Transfer-Encoding: \"chunked\"\r\n");
	REFUSED("Transfer-Encoding:\r\n");
	REFUSED("Transfer-Encoding\x0b: chunked\r\n");
	REFUSED("Transfer-Encoding:\x0b"
	        "chunked\r\n");
	EXPECT("GET /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "!400");
}

T_CASE(lines_that_parsers_read_differently_are_refused)
{
	REFUSED("X: a\rb\r\n");
	REFUSED("X: a\r\r\n");
	REFUSED("X:\rTransfer-Encoding: chunked\r\n");
	REFUSED("\rTransfer-Encoding: chunked\r\n");
	REFUSED("X: a\nTransfer-Encoding: chunked\r\n");
	REFUSED("X: a\n");
	REFUSED("X : a\r\n");
	REFUSED("X\t: a\r\n");
	REFUSED(" X: a\r\n");
	REFUSED("X: a\r\n b\r\n");
	REFUSED("X: a\r\n\tb\r\n");
	REFUSED("X: a\0b\r\n");
	REFUSED("X\0: a\r\n");
	REFUSED("X: a\x7f\r\n");
	REFUSED("X: \x01\r\n");
	REFUSED("no colon\r\n");
	REFUSED(": no name\r\n");
	REFUSED("X Y: a\r\n");
	REFUSED("X\xff: a\r\n");
	REFUSED("(X): a\r\n");
}

T_CASE(request_lines_are_checked)
{
	EXPECT("GET  /x HTTP/1.1\r\nHost: x\r\n\r\n", "!400");
	EXPECT("GET /x  HTTP/1.1\r\nHost: x\r\n\r\n", "!400");
	EXPECT("GET /x HTTP/1.1 \r\nHost: x\r\n\r\n", "!400");
	EXPECT("GET\t/x HTTP/1.1\r\nHost: x\r\n\r\n", "!400");
	EXPECT(" GET /x HTTP/1.1\r\nHost: x\r\n\r\n", "!400");
	EXPECT("GET /x\r\n\r\n", "!400");
	EXPECT("GET\r\n\r\n", "!400");
	EXPECT("GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", "!400");
	EXPECT("GET /\xc3\xa4 HTTP/1.1\r\nHost: x\r\n\r\n", "!400");
	EXPECT("GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n", "!400");
	EXPECT("GET /\r HTTP/1.1\r\nHost: x\r\n\r\n", "!400");
	EXPECT("GET /x#y HTTP/1.1\r\nHost: x\r\n\r\n", "!400");
	EXPECT("GET x HTTP/1.1\r\nHost: x\r\n\r\n", "!400");
	EXPECT("GET * HTTP/1.1\r\nHost: x\r\n\r\n", "!400");
	EXPECT("GET /x HTTP/1.1\nHost: x\n\n", "!400");
	EXPECT("GET /x HTTPS/1.1\r\nHost: x\r\n\r\n", "!400");
	EXPECT("GET /x HTTP/2.0\r\nHost: x\r\n\r\n", "!505");
	EXPECT("GET /x HTTP/1.2\r\nHost: x\r\n\r\n", "!505");
	EXPECT("GET /x HTTP/0.9\r\nHost: x\r\n\r\n", "!505");
	EXPECT("GET /x HTTP/01.1\r\nHost: x\r\n\r\n", "!400");
	EXPECT("BREW /x HTTP/1.1\r\nHost: x\r\n\r\n", "!501");
	EXPECT("get /x HTTP/1.1\r\nHost: x\r\n\r\n", "!501");
	EXPECT("\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", "!400");
}

T_CASE(hosts_are_checked)
{
	EXPECT("GET /x HTTP/1.1\r\n\r\n", "!400");
	REFUSED("Host: x\r\n");
	REFUSED("host: y\r\n");
	EXPECT("GET /x HTTP/1.1\r\nHost: a b\r\n\r\n", "!400");
	EXPECT("GET /x HTTP/1.1\r\nHost: a/b\r\n\r\n", "!400");
	EXPECT("GET /x HTTP/1.1\r\nHost: u@h\r\n\r\n", "!400");
	EXPECT("GET /x HTTP/1.1\r\nHost: a, b\r\n\r\n", "!400");
	EXPECT("GET /x HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", "!400");
	EXPECT("GET http://y/ HTTP/1.1\r\nHost: x\r\n\r\n", "!400");
	EXPECT("GET http:///x HTTP/1.1\r\nHost: x\r\n\r\n", "!400");
	EXPECT("GET http://u@x/ HTTP/1.1\r\nHost: x\r\n\r\n", "!400");
	EXPECT("GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n", "!400");
	EXPECT("CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n", "!405");
}

T_CASE(chunks_are_checked)
{
	BAD_CHUNKS("\r\n", "");
	BAD_CHUNKS("x\r\n", "");
	BAD_CHUNKS(" 3\r\nabc\r\n", "");
	BAD_CHUNKS("3 \r\nabc\r\n", "");
	BAD_CHUNKS("+3\r\nabc\r\n", "");
	BAD_CHUNKS("0x3\r\nabc\r\n", "");
	BAD_CHUNKS("3\nabc\r\n", "");
	BAD_CHUNKS("3\rabc\r\n", "");
	BAD_CHUNKS("3\r\nabcd\r\n", "abc");
	BAD_CHUNKS("3\r\nabc\n", "abc");
	BAD_CHUNKS("3\r\nabc\rx", "abc");
	BAD_CHUNKS(";x\r\n", "");
	BAD_CHUNKS("3;\x01\r\nabc\r\n", "");
	BAD_CHUNKS("3;a\rb\r\nabc\r\n", "");
	BAD_CHUNKS("3;a\nb\r\nabc\r\n", "");
	BAD_CHUNKS("0000000000000003\r\nabc\r\n", "");
	BAD_CHUNKS("0\r\nno colon\r\n\r\n", "");
	BAD_CHUNKS("0\r\nX : y\r\n\r\n", "");
	BAD_CHUNKS("0\r\n: y\r\n\r\n", "");
	BAD_CHUNKS("0\r\nX: y\n\r\n", "");
	BAD_CHUNKS("0\r\n X: y\r\n\r\n", "");
	EXPECT(CHUNKED("65\r\n"), "GET /x[!413");
	EXPECT(CHUNKED("fffffffffffffff\r\n"), "GET /x[!413");
}

T_CASE(chunks_add_up_and_what_is_between_them_is_bounded)
{
	char text[TEXT] = CHUNKED("");
	struct outcome outcome;

	for (unsigned i = 0; i < 3; i++)
		strcat(text, "28\r\n0123456789012345678901234567890123456789\r\n");
	read_all(pl_span_str(text), 1, &outcome);
	T_EQ(outcome.fault.status, 413);
	(void)snprintf(text, sizeof text, "%s1;%0300d\r\n", CHUNKED(""), 0);
	read_all(pl_span_str(text), 1, &outcome);
	T_EQ(outcome.fault.status, 400);
	T_STR(outcome.fault.text, "a chunk's extension is too long");
}

T_CASE(heads_are_bounded)
{
	char text[TEXT], fields[TEXT] = "";
	struct outcome outcome;

	(void)snprintf(text, sizeof text, "GET /%01100d HTTP/1.1\r\n", 0);
	read_all(pl_span_str(text), 100, &outcome);
	T_EQ(outcome.fault.status, 414);
	(void)snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: x\r\nX: %01100d\r\n",
	               0);
	read_all(pl_span_str(text), 100, &outcome);
	T_EQ(outcome.fault.status, 431);
	for (unsigned i = 0; i < FIELDS - 1; i++)
		strcat(fields, "A: b\r\n");
	(void)snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: x\r\n%s\r\n", fields);
	read_all(pl_span_str(text), 7, &outcome);
	T_STR(outcome.text, "GET /[]");
	(void)snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: x\r\n%sA: b\r\n\r\n",
	               fields);
	read_all(pl_span_str(text), 7, &outcome);
	T_EQ(outcome.fault.status, 431);
}

static struct http_head head_of(const char *text, struct http_field *fields)
{
	struct http_head head = {.fields = fields, .field_max = FIELDS};

	T_EQ(http_head_parse(&head, pl_span_str(text)).status, 0);
	return head;
}

T_CASE(fields_mean_what_they_say)
{
	struct http_field fields[FIELDS];
	struct http_head head;

	head = head_of(HEAD("Accept-Encoding: br;q=1, GZIP ; q=0.5\r\n"), fields);
	T_TRUE(head.accepts_gzip && head.keep_alive && !head.body_gzip);
	head = head_of(HEAD("Accept-Encoding: gzip;q=0.0, br\r\n"), fields);
	T_TRUE(!head.accepts_gzip);
	head = head_of(HEAD("Connection: x, Close\r\nContent-Encoding: gzip\r\n"),
	               fields);
	T_TRUE(!head.keep_alive && head.body_gzip);
	head = head_of("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", fields);
	T_TRUE(head.keep_alive && head.minor == 0);
	head = head_of(HEAD("Expect: 100-Continue\r\nX:  a b \t\r\n"), fields);
	T_TRUE(head.expects_continue);
	T_EQ(head.field_count, 3);
	T_SPAN(head.fields[2].value, PL_SPAN_LIT("a b"));
	EXPECT(HEAD("Content-Encoding: br\r\n"), "!415");
	EXPECT(HEAD("Content-Encoding: gzip, gzip\r\n"), "!415");
	EXPECT(HEAD("Expect: 200\r\n"), "!417");
}
