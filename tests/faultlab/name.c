#include "tests/faultlab/name.h"

#include <stdio.h>

#include "store/base/rng.h"

bool hist_value_eq(struct hist_value a, struct hist_value b)
{
	return a.writer == b.writer && a.count == b.count && a.hash == b.hash;
}

struct pl_span hist_key_text(hist_key key, char at[static HIST_KEY_SIZE])
{
	int len = snprintf(at, HIST_KEY_SIZE, HIST_PREFIX "%c/%08u",
	                   (char)hist_class_of(key), (unsigned)(key & UINT32_MAX));

	return pl_span(at, (size_t)len);
}

struct pl_span hist_class_prefix(enum hist_class class, char at[static HIST_KEY_SIZE])
{
	int len = class == HIST_ALL
	                  ? snprintf(at, HIST_KEY_SIZE, HIST_PREFIX)
	                  : snprintf(at, HIST_KEY_SIZE, HIST_PREFIX "%c/", (char)class);

	return pl_span(at, (size_t)len);
}

static bool parse_number(struct pl_span *text, uint32_t *out)
{
	uint64_t number = 0;
	size_t len = 0;

	for (; len < text->len && text->at[len] >= '0' && text->at[len] <= '9'; len++) {
		number = 10 * number + (uint64_t)(text->at[len] - '0');
		if (number > UINT32_MAX)
			return false;
	}
	*out = (uint32_t)number;
	text->at += len;
	text->len -= len;
	return len > 0;
}

bool hist_key_parse(struct pl_span text, hist_key *out)
{
	struct pl_span prefix = PL_SPAN_LIT(HIST_PREFIX), rest;
	uint32_t number;

	if (!pl_span_starts(text, prefix) || text.len < prefix.len + 3 ||
	    text.at[prefix.len + 1] != '/')
		return false;
	rest = pl_span(text.at + prefix.len + 2, text.len - prefix.len - 2);
	if (!parse_number(&rest, &number) || rest.len != 0)
		return false;
	*out = hist_key_of(text.at[prefix.len], number);
	return true;
}

struct hist_value hist_value_add(struct hist_value before, uint32_t writer)
{
	uint64_t mixed = (before.hash ^ writer) + UINT64_C(0x9e3779b97f4a7c15);

	return (struct hist_value){
		.writer = writer, .count = before.count + 1, .hash = pl_rng_mix(mixed)};
}

bool hist_value_parse(struct pl_span text, struct hist_value *out)
{
	struct hist_value value = {0};
	uint32_t writer;

	for (;;) {
		if (!parse_number(&text, &writer))
			return false;
		value = hist_value_add(value, writer);
		if (text.len == 0)
			break;
		if (text.at[0] != ',')
			return false;
		text.at++;
		text.len--;
	}
	*out = value;
	return true;
}
