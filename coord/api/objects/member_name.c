#include "coord/api/objects/member_name.h"

size_t member_name_join(struct pl_span cluster, struct pl_span name,
                        char out[MEMBER_NAME_SIZE])
{
	size_t len = 0;

	PL_ASSERT(cluster.len <= 63 && name.len <= 253);
	if (!pl_span_eq(cluster, PL_SPAN_LIT(MEMBER_NAME_HOME))) {
		memcpy(out, cluster.at, cluster.len);
		out[cluster.len] = ':';
		len = cluster.len + 1;
	}
	memcpy(out + len, name.at, name.len);
	len += name.len;
	out[len] = 0;
	return len;
}

void member_name_split(struct pl_span text, struct pl_span *cluster, struct pl_span *name)
{
	const uint8_t *colon = text.len == 0 ? NULL : memchr(text.at, ':', text.len);

	if (colon == NULL) {
		*cluster = PL_SPAN_LIT(MEMBER_NAME_HOME);
		*name = text;
		return;
	}
	*cluster = pl_span(text.at, (size_t)(colon - text.at));
	*name = pl_span(colon + 1, text.len - cluster->len - 1);
}
