#include "shardsched/model/claim_pattern.h"

#include <string.h>

static bool is_edge(struct pl_span text, size_t at)
{
	return at == text.len || text.at[at] == '-';
}

static bool occurs_at(struct pl_span claim, struct pl_span pod, size_t at)
{
	return (at == 0 || claim.at[at - 1] == '-') &&
	       memcmp(claim.at + at, pod.at, pod.len) == 0 &&
	       is_edge(claim, at + pod.len);
}

size_t claim_pattern_make(struct pl_span claim, struct pl_span pod, uint8_t *out)
{
	if (pod.len == 0 || claim.len < pod.len || claim.len > CLAIM_NAME_MAX ||
	    memchr(claim.at, '*', claim.len) != NULL)
		return 0;
	for (size_t at = 0; at + pod.len <= claim.len; at++) {
		if (!occurs_at(claim, pod, at))
			continue;
		memcpy(out, claim.at, at);
		out[at] = '*';
		memcpy(out + at + 1, claim.at + at + pod.len, claim.len - at - pod.len);
		return claim.len - pod.len + 1;
	}
	return 0;
}

size_t claim_pattern_expand(struct pl_span pattern, struct pl_span pod,
                            uint8_t out[CLAIM_NAME_MAX])
{
	const uint8_t *star =
		pattern.len == 0 ? NULL : memchr(pattern.at, '*', pattern.len);
	size_t before, after;

	if (star == NULL || pod.len == 0 || pattern.len - 1 + pod.len > CLAIM_NAME_MAX)
		return 0;
	before = (size_t)(star - pattern.at);
	after = pattern.len - before - 1;
	memcpy(out, pattern.at, before);
	memcpy(out + before, pod.at, pod.len);
	memcpy(out + before + pod.len, star + 1, after);
	return before + pod.len + after;
}

uint32_t volume_claim_name(const struct strings *strings,
                           const struct spec_volume *volume, uint32_t pod)
{
	uint8_t name[CLAIM_NAME_MAX];
	size_t len;

	if (volume->own == 0)
		return volume->id;
	len = claim_pattern_expand(strings_get(strings, volume->id),
	                           strings_get(strings, pod), name);
	return len == 0 ? 0 : strings_find(strings, pl_span(name, len));
}
