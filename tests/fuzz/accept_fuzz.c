/* Any Accept or Content-Type is read in bounds. The first byte chooses the offers. */
#include "coord/api/reply/accept.h"
#include "store/base/err.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct accept_offers offers;
	enum body_format format;
	struct accept got;
	struct pl_span text;

	if (size == 0)
		return 0;
	offers = (struct accept_offers){.table = (data[0] & 1) != 0,
	                                .metadata = (data[0] & 2) != 0,
	                                .metadata_list = (data[0] & 4) != 0,
	                                .discovery = (data[0] & 8) != 0,
	                                .stream = (data[0] & 16) != 0};
	text = pl_span(data + 1, size - 1);
	if (accept_negotiate(text, offers, &got)) {
		PL_ASSERT(got.as != ACCEPT_AS_TABLE || offers.table);
		PL_ASSERT(got.as != ACCEPT_AS_METADATA || offers.metadata);
		PL_ASSERT(got.as != ACCEPT_AS_METADATA_LIST || offers.metadata_list);
		PL_ASSERT(got.as != ACCEPT_AS_DISCOVERY || offers.discovery);
		PL_ASSERT(got.format == ACCEPT_JSON || !offers.stream);
		PL_ASSERT(accept_content_type(&got) != NULL);
		(void)accept_is_pretty(&got, text, text);
	}
	(void)accept_body(text, (data[0] & 32) != 0, &format);
	return 0;
}
