/* Base64 of certificates and keys, as a kubeconfig has them inline. */
#include <openssl/evp.h>

#include "coord/kubeconfig/kubeconfig_int.h"

static bool is_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c >= '0' && c <= '9') || c == '+' || c == '/';
}

/* Whole groups of four, and "=" only as the last one or two. *pad: how many. */
static bool has_form(const char *text, size_t len, size_t *pad)
{
	*pad = 0;
	if (len % 4 != 0)
		return false;
	while (*pad < 2 && len > 0 && text[len - 1] == '=') {
		++*pad;
		len--;
	}
	for (size_t i = 0; i < len; i++)
		if (!is_letter(text[i]))
			return false;
	return true;
}

enum pl_code kubeconfig_base64(struct pl_arena *arena, const char *text,
                               struct pl_span *out)
{
	size_t len = strlen(text), pad;
	uint8_t *bytes;
	int got;

	if (len > (size_t)KUBECONFIG_PEM_MAX / 3 * 4)
		return PL_LIMIT;
	if (!has_form(text, len, &pad))
		return PL_INVALID;
	bytes = pl_arena_alloc(arena, len / 4 * 3 + 1);
	if (bytes == NULL)
		return PL_NOMEM;
	got = EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)len);
	if (got < 0 || (size_t)got < pad)
		return PL_INVALID;
	*out = pl_span(bytes, (size_t)got - pad);
	return PL_OK;
}

char *kubeconfig_base64_print(struct pl_arena *arena, struct pl_span bytes)
{
	char *text;

	if (bytes.len > KUBECONFIG_PEM_MAX)
		return NULL;
	text = pl_arena_alloc(arena, (bytes.len + 2) / 3 * 4 + 1);
	if (text == NULL)
		return NULL;
	text[0] = 0;
	(void)EVP_EncodeBlock((unsigned char *)text, bytes.at, (int)bytes.len);
	return text;
}
