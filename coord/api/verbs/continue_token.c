#include "coord/api/verbs/continue_token.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>

enum { TOKEN_MAX = 2048 };

struct pl_span continue_token_print(struct pl_arena *arena, int64_t revision,
                                    struct pl_span order)
{
	char *text = pl_arena_printf(arena, "v1 %" PRId64 " " PL_SPAN_FMT, revision,
	                             PL_SPAN_ARG(order));
	size_t len = text == NULL ? 0 : strlen(text);
	uint8_t *out = text == NULL ? NULL : pl_arena_alloc(arena, len / 3 * 4 + 8);
	int written;

	if (out == NULL)
		return (struct pl_span){0};
	written = EVP_EncodeBlock(out, (const uint8_t *)text, (int)len);
	/* The alphabet of URLs, without padding, so that no client has to escape it. */
	while (written > 0 && out[written - 1] == '=')
		written--;
	for (int i = 0; i < written; i++)
		out[i] = (uint8_t)(out[i] == '+' ? '-' : out[i] == '/' ? '_' : out[i]);
	return pl_span(out, (size_t)written);
}

bool continue_token_parse(struct pl_arena *arena, struct pl_span token, int64_t *revision,
                          struct pl_span *order)
{
	uint8_t padded[TOKEN_MAX + 4];
	char *text, *end;
	int len;

	if (token.len == 0 || token.len > TOKEN_MAX)
		return false;
	for (size_t i = 0; i < token.len; i++)
		padded[i] = (uint8_t)(token.at[i] == '-'   ? '+'
		                      : token.at[i] == '_' ? '/'
		                                           : token.at[i]);
	len = (int)token.len;
	while (len % 4 != 0)
		padded[len++] = '=';
	text = pl_arena_alloc(arena, (size_t)len + 1);
	if (text == NULL)
		return false;
	len = EVP_DecodeBlock((uint8_t *)text, padded, len);
	if (len < 0)
		return false;
	text[len] = 0;
	if (strncmp(text, "v1 ", 3) != 0)
		return false;
	*revision = strtoll(text + 3, &end, 10);
	if (*revision <= 0 || *end != ' ')
		return false;
	*order = pl_span_str(end + 1);
	return order->len > 0 && order->at[order->len - 1] == '/';
}
