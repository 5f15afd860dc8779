#include "shardsched/model/text.h"

#include "store/base/err.h"

enum { LABEL_MAX = 63, SUBDOMAIN_MAX = 253, PORT_MAX = 15 };

#define BIT(fault) (UINT32_C(1) << TEXT_##fault)

#define FAULT_TEXT(name, sentence) sentence,
/* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): some go over two lines */
static const char *const sentences[TEXT_FAULT_COUNT] = {TEXT_FAULT_MAP(FAULT_TEXT)};

const char *text_fault_sentence(enum text_fault fault)
{
	PL_ASSERT((unsigned)fault < TEXT_FAULT_COUNT);
	return sentences[fault];
}

static bool is_lower(uint8_t byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
}

static bool is_alnum(uint8_t byte)
{
	return is_lower(byte) || (byte >= 'A' && byte <= 'Z');
}

static bool label_chars(struct pl_span text)
{
	if (text.len == 0 || !is_lower(text.at[0]) || !is_lower(text.at[text.len - 1]))
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (!is_lower(text.at[i]) && text.at[i] != '-')
			return false;
	return true;
}

static bool subdomain_chars(struct pl_span text)
{
	size_t from = 0;

	for (size_t i = 0; i <= text.len; i++)
		if (i == text.len || text.at[i] == '.') {
			if (!label_chars(pl_span(text.at + from, i - from)))
				return false;
			from = i + 1;
		}
	return true;
}

uint32_t text_label(struct pl_span text)
{
	uint32_t faults = text.len > LABEL_MAX ? BIT(LABEL_LONG) : 0;

	if (!label_chars(text))
		faults |= subdomain_chars(text) ? BIT(LABEL_DOTS) : BIT(LABEL_CHARS);
	return faults;
}

uint32_t text_subdomain(struct pl_span text)
{
	return (text.len > SUBDOMAIN_MAX ? BIT(SUBDOMAIN_LONG) : 0) |
	       (subdomain_chars(text) ? 0 : BIT(SUBDOMAIN_CHARS));
}

/* Not empty, of letters, digits and - _ . with a letter or digit at both ends. */
static bool name_chars(struct pl_span text)
{
	if (text.len == 0 || !is_alnum(text.at[0]) || !is_alnum(text.at[text.len - 1]))
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (!is_alnum(text.at[i]) && text.at[i] != '-' && text.at[i] != '_' &&
		    text.at[i] != '.')
			return false;
	return true;
}

static uint32_t key_prefix(struct pl_span prefix)
{
	uint32_t faults;

	if (prefix.len == 0)
		return BIT(KEY_PREFIX_EMPTY);
	faults = prefix.len > SUBDOMAIN_MAX ? BIT(KEY_PREFIX_LONG) : 0;
	return faults | (subdomain_chars(prefix) ? 0 : BIT(KEY_PREFIX_CHARS));
}

uint32_t text_key(struct pl_span text)
{
	const uint8_t *slash = text.len == 0 ? NULL : memchr(text.at, '/', text.len);
	struct pl_span name = text;
	uint32_t faults = 0;

	if (slash != NULL) {
		size_t at = (size_t)(slash - text.at);

		name = pl_span(slash + 1, text.len - at - 1);
		if (name.len > 0 && memchr(name.at, '/', name.len) != NULL)
			return BIT(KEY_PARTS);
		faults |= key_prefix(pl_span(text.at, at));
	}
	if (name.len == 0)
		faults |= BIT(KEY_EMPTY);
	if (name.len > LABEL_MAX)
		faults |= BIT(KEY_LONG);
	return faults | (name_chars(name) ? 0 : BIT(KEY_CHARS));
}

uint32_t text_value(struct pl_span text)
{
	return (text.len > LABEL_MAX ? BIT(VALUE_LONG) : 0) |
	       (text.len == 0 || name_chars(text) ? 0 : BIT(VALUE_CHARS));
}

uint32_t text_port(struct pl_span text)
{
	uint32_t faults = text.len > PORT_MAX ? BIT(PORT_LONG) : 0;
	bool letter = false, chars = text.len > 0;

	for (size_t i = 0; i < text.len; i++) {
		letter = letter || (text.at[i] >= 'a' && text.at[i] <= 'z');
		chars = chars && (is_lower(text.at[i]) || text.at[i] == '-');
	}
	faults |= (letter ? 0 : BIT(PORT_LETTER)) | (chars ? 0 : BIT(PORT_CHARS));
	if (text_has(text, PL_SPAN_LIT("--")))
		faults |= BIT(PORT_HYPHENS);
	if (text.len > 0 && (text.at[0] == '-' || text.at[text.len - 1] == '-'))
		faults |= BIT(PORT_ENDS);
	return faults;
}

bool text_int(struct pl_span text, int64_t *out)
{
	bool negative = text.len > 0 && text.at[0] == '-';
	size_t at = text.len > 0 && (negative || text.at[0] == '+') ? 1 : 0;
	uint64_t most = (uint64_t)INT64_MAX + (negative ? 1 : 0), value = 0;

	if (at == text.len)
		return false;
	for (; at < text.len; at++) {
		uint8_t digit = (uint8_t)(text.at[at] - '0');

		if (digit > 9 || value > (most - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*out = negative && value > 0 ? -(int64_t)(value - 1) - 1 : (int64_t)value;
	return true;
}

bool text_has(struct pl_span text, struct pl_span part)
{
	return part.len == 0 ||
	       (text.len > 0 && memmem(text.at, text.len, part.at, part.len) != NULL);
}
