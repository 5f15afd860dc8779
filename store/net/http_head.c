#include "store/net/http_head.h"

#include <llhttp.h>

#include "store/base/num.h"
#include "store/net/http_guard.h"

static const struct http_fault no_fault = {0, NULL};

static struct http_fault bad(const char *text)
{
	return (struct http_fault){400, text};
}

/* -- what fields mean ------------------------------------------------------- */

static struct http_fault take_length(struct http_head *head, struct pl_span value)
{
	if (head->has_length)
		return bad("the request has two Content-Length fields");
	if (value.len == 0 || value.len > 19)
		return bad("Content-Length is no number");
	for (size_t i = 0; i < value.len; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return bad("Content-Length is no number");
		head->length = head->length * 10 + (uint64_t)(value.at[i] - '0');
	}
	head->has_length = true;
	return no_fault;
}

static struct http_fault take_coding(struct http_head *head, struct pl_span value)
{
	if (head->version != 1 || head->minor == 0)
		return bad("Transfer-Encoding is not of this version");
	if (head->chunked)
		return bad("the request has two Transfer-Encoding fields");
	if (!http_guard_same(value, "chunked"))
		return bad("Transfer-Encoding is not just chunked");
	head->chunked = true;
	return no_fault;
}

static struct http_fault take_host(struct http_head *head, struct pl_span value,
                                   unsigned *hosts)
{
	if (++*hosts > 1)
		return bad("the request has two Host fields");
	if (!http_guard_is_authority(value))
		return bad("Host is no host");
	if (head->authority.at == NULL)
		return no_fault;
	if (!pl_span_eq(head->authority, value))
		return bad("Host differs from the request's target");
	return no_fault;
}

static struct http_fault take_encoding(struct http_head *head, struct pl_span value)
{
	if (value.len == 0 || http_guard_same(value, "identity"))
		return no_fault;
	if (head->body_gzip ||
	    (!http_guard_same(value, "gzip") && !http_guard_same(value, "x-gzip")))
		return (struct http_fault){415, "the body's encoding is not supported"};
	head->body_gzip = true;
	return no_fault;
}

static struct http_fault take_expect(struct http_head *head, struct pl_span value)
{
	if (!http_guard_same(value, "100-continue"))
		return (struct http_fault){417, "the expectation is not supported"};
	head->expects_continue = head->version == 1 && head->minor >= 1;
	return no_fault;
}

static void take_connection(struct http_head *head, struct pl_span value)
{
	struct pl_span option;

	while (http_guard_next(&value, &option)) {
		if (http_guard_same(option, "close"))
			head->keep_alive = false;
		else if (head->minor == 0 && http_guard_same(option, "keep-alive"))
			head->keep_alive = true;
	}
}

/* "q=0", "q=0.000" */
static bool is_refused(struct pl_span parameters)
{
	struct pl_span value = http_guard_trim(parameters);

	if (value.len < 3 || (value.at[0] | 0x20) != 'q' || value.at[1] != '=')
		return false;
	for (size_t i = 2; i < value.len; i++) {
		if (value.at[i] != '0' && value.at[i] != '.')
			return false;
	}
	return true;
}

static void take_accept(struct http_head *head, struct pl_span value)
{
	struct pl_span coding;

	while (http_guard_next(&value, &coding)) {
		const uint8_t *semi =
			coding.len == 0 ? NULL : memchr(coding.at, ';', coding.len);
		size_t len = semi == NULL ? coding.len : (size_t)(semi - coding.at);

		if (!http_guard_same(http_guard_trim(pl_span(coding.at, len)), "gzip"))
			continue;
		head->accepts_gzip = semi == NULL ||
		                     !is_refused(pl_span(semi + 1, coding.len - len - 1));
	}
}

static struct http_fault field_judge(struct http_head *head,
                                     const struct http_field *field, unsigned *hosts)
{
	struct pl_span name = field->name, value = field->value;

	switch (name.len) {
	case 4:
		if (http_guard_same(name, "host"))
			return take_host(head, value, hosts);
		break;
	case 6:
		if (http_guard_same(name, "expect"))
			return take_expect(head, value);
		break;
	case 10:
		if (http_guard_same(name, "connection") && head->version == 1)
			take_connection(head, value);
		break;
	case 14:
		if (http_guard_same(name, "content-length"))
			return take_length(head, value);
		break;
	case 15:
		if (http_guard_same(name, "accept-encoding"))
			take_accept(head, value);
		break;
	case 16:
		if (http_guard_same(name, "content-encoding"))
			return take_encoding(head, value);
		break;
	case 17:
		if (http_guard_same(name, "transfer-encoding"))
			return take_coding(head, value);
		break;
	default:
		break;
	}
	return no_fault;
}

/* -- the target ------------------------------------------------------------- */

/* "http://authority/path": the authority moves out of path. */
static struct http_fault absolute_split(struct http_head *head)
{
	struct pl_span target = head->target;
	size_t from, to;

	if (target.len > 7 && http_guard_same(pl_span(target.at, 7), "http://"))
		from = 7;
	else if (target.len > 8 && http_guard_same(pl_span(target.at, 8), "https://"))
		from = 8;
	else
		return bad("the request's target is no path");
	for (to = from; to < target.len && target.at[to] != '/' && target.at[to] != '?';)
		to++;
	head->authority = pl_span(target.at + from, to - from);
	if (head->authority.len == 0 || !http_guard_is_authority(head->authority))
		return bad("the request's target has a bad host");
	head->path = pl_span(target.at + to, target.len - to);
	return no_fault;
}

static struct http_fault target_split(struct http_head *head)
{
	struct http_fault fault = no_fault;
	const uint8_t *mark;

	if (http_guard_same(head->method, "connect"))
		return (struct http_fault){405, "CONNECT is not supported"};
	if (!http_guard_is_target(head->target))
		return bad("the request's target has a byte that must be encoded");
	head->path = head->target;
	if (head->target.at[0] != '/' && head->version == 1)
		fault = absolute_split(head);
	else if (head->target.at[0] != '/')
		fault = bad("the request's target is no path");
	if (fault.status != 0)
		return fault;
	mark = head->path.len == 0 ? NULL : memchr(head->path.at, '?', head->path.len);
	if (mark != NULL) {
		size_t len = (size_t)(mark - head->path.at);

		head->query = pl_span(mark + 1, head->path.len - len - 1);
		head->path.len = len;
	}
	if (head->path.len == 0)
		head->path = PL_SPAN_LIT("/");
	return no_fault;
}

struct http_fault http_head_judge(struct http_head *head)
{
	struct http_fault fault = target_split(head);
	unsigned hosts = 0;

	head->keep_alive = head->version == 2 || head->minor >= 1;
	for (size_t i = 0; i < head->field_count && fault.status == 0; i++)
		fault = field_judge(head, &head->fields[i], &hosts);
	if (fault.status != 0)
		return fault;
	if (head->chunked && head->has_length)
		return bad("the request has Content-Length and Transfer-Encoding");
	if (hosts == 0 && head->version == 1 && head->minor >= 1)
		return bad("the request has no Host field");
	return no_fault;
}

/* -- HTTP/1: llhttp --------------------------------------------------------- */

struct parse {
	struct http_head *head;
	bool crowded; /* there are more fields than the array has room for */
	bool whole;
};

static int on_method(llhttp_t *parser, const char *at, size_t len)
{
	struct parse *parse = parser->data;

	parse->head->method = pl_span(at, len);
	return 0;
}

static int on_url(llhttp_t *parser, const char *at, size_t len)
{
	struct parse *parse = parser->data;

	parse->head->target = pl_span(at, len);
	return 0;
}

static int on_field(llhttp_t *parser, const char *at, size_t len)
{
	struct parse *parse = parser->data;
	struct http_head *head = parse->head;

	if (head->field_count == head->field_max) {
		parse->crowded = true;
		return -1;
	}
	head->fields[head->field_count++] = (struct http_field){.name = pl_span(at, len)};
	return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t len)
{
	struct parse *parse = parser->data;
	struct http_head *head = parse->head;

	/* No field before its name, and no second piece: the guard refuses folds. */
	if (head->field_count == 0 || head->fields[head->field_count - 1].value.len > 0)
		return -1;
	head->fields[head->field_count - 1].value = http_guard_trim(pl_span(at, len));
	return 0;
}

static int on_whole(llhttp_t *parser)
{
	struct parse *parse = parser->data;

	parse->whole = true;
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
	.on_method = on_method,
	.on_url = on_url,
	.on_header_field = on_field,
	.on_header_value = on_value,
	.on_headers_complete = on_whole,
};

static struct http_fault parser_fault(const struct parse *parse, llhttp_errno_t code)
{
	if (parse->crowded)
		return (struct http_fault){431, "the request has too many header fields"};
	switch (code) {
	case HPE_INVALID_METHOD:
		return (struct http_fault){501, "the method is not known"};
	case HPE_INVALID_VERSION:
		return (struct http_fault){505, "the version is not supported"};
	case HPE_UNEXPECTED_CONTENT_LENGTH:
	case HPE_INVALID_CONTENT_LENGTH:
		return bad("Content-Length is not clear");
	case HPE_INVALID_TRANSFER_ENCODING:
		return bad("Transfer-Encoding is not clear");
	default:
		return bad("the request's head is malformed");
	}
}

struct http_fault http_head_parse(struct http_head *head, struct pl_span bytes)
{
	struct parse parse = {.head = head};
	llhttp_errno_t code;
	llhttp_t parser;

	*head = (struct http_head){.fields = head->fields, .field_max = head->field_max};
	llhttp_init(&parser, HTTP_REQUEST, &settings);
	parser.data = &parse;
	code = llhttp_execute(&parser, (const char *)bytes.at, bytes.len);
	if (code != HPE_PAUSED || !parse.whole)
		return parser_fault(&parse, code);
	head->version = parser.http_major;
	head->minor = parser.http_minor;
	if (head->version != 1 || head->minor > 1)
		return (struct http_fault){505, "the version is not supported"};
	return http_head_judge(head);
}
