#include "store/net/http_guard.h"

enum {
	METHOD_MAX = 32,
	VISIBLE = 1,   /* 0x21 to 0x7e */
	TOKEN = 2,     /* tchar of RFC 9110 */
	VALUE = 4,     /* inside a field's value */
	AUTHORITY = 8, /* host, port, and the brackets of IPv6 */
};

static unsigned kind_of(unsigned char byte)
{
	bool alnum = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
	             (byte >= 'A' && byte <= 'Z');

	if (alnum)
		return VISIBLE | TOKEN | VALUE | AUTHORITY;
	if (byte == ' ' || byte == '\t' || byte >= 0x80)
		return VALUE;
	if (byte <= ' ' || byte == 0x7f)
		return 0;
	/* strchr finds the NUL, which is not here any more */
	return VISIBLE | VALUE | (strchr("!#$%&'*+-.^_`|~", byte) != NULL ? TOKEN : 0U) |
	       (strchr("-._~!$&'()*+,;=:[]%", byte) != NULL ? AUTHORITY : 0U);
}

static bool all_are(struct pl_span text, unsigned kind)
{
	for (size_t i = 0; i < text.len; i++) {
		if ((kind_of(text.at[i]) & kind) == 0)
			return false;
	}
	return true;
}

bool http_guard_is_token(struct pl_span text)
{
	return text.len > 0 && all_are(text, TOKEN);
}

bool http_guard_is_target(struct pl_span text)
{
	return text.len > 0 && all_are(text, VISIBLE) &&
	       memchr(text.at, '#', text.len) == NULL;
}

bool http_guard_is_authority(struct pl_span text)
{
	return all_are(text, AUTHORITY);
}

bool http_guard_is_value(struct pl_span text)
{
	return all_are(text, VALUE);
}

static char lower_of(uint8_t byte)
{
	return (char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
}

bool http_guard_same(struct pl_span text, const char *lower)
{
	if (text.len != strlen(lower))
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (lower_of(text.at[i]) != lower[i])
			return false;
	}
	return true;
}

static bool is_blank(uint8_t byte)
{
	return byte == ' ' || byte == '\t';
}

struct pl_span http_guard_trim(struct pl_span text)
{
	while (text.len > 0 && is_blank(text.at[0]))
		text = pl_span(text.at + 1, text.len - 1);
	while (text.len > 0 && is_blank(text.at[text.len - 1]))
		text.len--;
	return text;
}

bool http_guard_next(struct pl_span *list, struct pl_span *element)
{
	const uint8_t *comma;
	size_t len;

	if (list->len == 0)
		return false;
	comma = memchr(list->at, ',', list->len);
	len = comma == NULL ? list->len : (size_t)(comma - list->at);
	*element = http_guard_trim(pl_span(list->at, len));
	len += comma != NULL;
	*list = pl_span(list->at + len, list->len - len);
	return true;
}

/* The word up to the next blank; line becomes what is behind the blank. */
static struct pl_span word_take(struct pl_span *line)
{
	const uint8_t *blank = line->len == 0 ? NULL : memchr(line->at, ' ', line->len);
	size_t len = blank == NULL ? line->len : (size_t)(blank - line->at);
	struct pl_span word = pl_span(line->at, len);

	len += blank != NULL;
	*line = pl_span(line->at + len, line->len - len);
	return word;
}

const char *http_guard_request_line(struct pl_span line, bool *version_ok)
{
	struct pl_span method = word_take(&line), target = word_take(&line);

	*version_ok = true;
	if (!http_guard_is_token(method) || method.len > METHOD_MAX)
		return "the request line has no method";
	if (!http_guard_is_target(target))
		return "the request's target has a byte that must be encoded";
	if (line.len != 8 || memcmp(line.at, "HTTP/", 5) != 0 || line.at[5] < '0' ||
	    line.at[5] > '9' || line.at[6] != '.' || line.at[7] < '0' || line.at[7] > '9')
		return "the request line has no version";
	*version_ok = line.at[5] == '1' && line.at[7] <= '1';
	return NULL;
}

const char *http_guard_field_line(struct pl_span line)
{
	const uint8_t *colon;
	struct pl_span name, value;

	if (line.len > 0 && is_blank(line.at[0]))
		return "a header field is folded";
	colon = line.len == 0 ? NULL : memchr(line.at, ':', line.len);
	if (colon == NULL)
		return "a header line has no colon";
	name = pl_span(line.at, (size_t)(colon - line.at));
	value = pl_span(colon + 1, line.len - name.len - 1);
	if (name.len > 0 && is_blank(name.at[name.len - 1]))
		return "a header field has a blank before its colon";
	if (!http_guard_is_token(name))
		return "a header field has a bad name";
	if (!http_guard_is_value(value))
		return "a header field has a control character";
	return NULL;
}
