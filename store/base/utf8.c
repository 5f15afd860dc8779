#include "store/base/utf8.h"

/* The second byte of some characters has a narrower range than 80..BF, which excludes
 * overlong forms, surrogates and code points above U+10FFFF. */
struct utf8_lead {
	uint8_t len;
	uint8_t low;
	uint8_t high;
};

static struct utf8_lead lead_of(uint8_t byte)
{
	if (byte < 0x80)
		return (struct utf8_lead){1, 0, 0};
	if (byte < 0xc2)
		return (struct utf8_lead){0, 0, 0};
	if (byte < 0xe0)
		return (struct utf8_lead){2, 0x80, 0xbf};
	if (byte < 0xf0)
		return (struct utf8_lead){3, byte == 0xe0 ? 0xa0 : 0x80,
		                          byte == 0xed ? 0x9f : 0xbf};
	if (byte < 0xf5)
		return (struct utf8_lead){4, byte == 0xf0 ? 0x90 : 0x80,
		                          byte == 0xf4 ? 0x8f : 0xbf};
	return (struct utf8_lead){0, 0, 0};
}

size_t pl_utf8_char(const uint8_t *at, size_t len)
{
	struct utf8_lead lead;

	if (len == 0)
		return 0;
	lead = lead_of(at[0]);
	if (lead.len <= 1)
		return lead.len;
	if (lead.len > len || at[1] < lead.low || at[1] > lead.high)
		return 0;
	for (size_t i = 2; i < lead.len; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return lead.len;
}
