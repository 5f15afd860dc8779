#include "store/keys/partition.h"

#include "store/base/hash.h"
#include "store/base/quote.h"
#include "store/keys/names.h"

/* Kinds and uids come from other programs and need not be names. */
enum { WORD_LEN_MAX = 128, JOINED_SIZE = 1024 };

static uint32_t partition_of(const struct pl_span *part, unsigned parts, uint32_t count)
{
	uint8_t joined[JOINED_SIZE];
	size_t len = 0;

	PL_ASSERT(count >= 1 && count <= KEYS_PARTITIONS_MAX);
	for (unsigned i = 0; i < parts; i++) {
		PL_ASSERT(part[i].len < sizeof joined - len); /* the parts were checked */
		if (i > 0)
			joined[len++] = '/';
		memcpy(joined + len, part[i].at, part[i].len);
		len += part[i].len;
	}
	return (uint32_t)(pl_hash(pl_span(joined, len)) % count);
}

enum pl_code partition_of_node(struct pl_span cluster, struct pl_span node,
                               uint32_t count, uint32_t *out, struct pl_err *err)
{
	struct pl_span part[] = {cluster, node};
	enum pl_code code = names_check(NAMES_CLUSTER, cluster, err);

	if (code == PL_OK)
		code = names_check(NAMES_NODE, node, err);
	if (code == PL_OK)
		*out = partition_of(part, 2, count);
	return code;
}

enum pl_code partition_of_pod(struct pl_span namespace, struct pl_span pod,
                              uint32_t count, uint32_t *out, struct pl_err *err)
{
	struct pl_span part[] = {namespace, pod};
	enum pl_code code = names_check(NAMES_NAMESPACE, namespace, err);

	if (code == PL_OK)
		code = names_check(NAMES_POD, pod, err);
	if (code == PL_OK)
		*out = partition_of(part, 2, count);
	return code;
}

/* Accepts printable ASCII without slashes, but not an empty word. */
static enum pl_code check_word(const char *what, struct pl_span word, struct pl_err *err)
{
	char quoted[PL_QUOTE_SIZE];
	bool good = word.len > 0 && word.len <= WORD_LEN_MAX;

	for (size_t i = 0; i < word.len && good; i++)
		good = word.at[i] > ' ' && word.at[i] < 0x7f && word.at[i] != '/';
	if (good)
		return PL_OK;
	return pl_err_set(err, PL_INVALID, "%s %s: want 1 to %d printable bytes, no /",
	                  what, pl_quote(word, quoted), WORD_LEN_MAX);
}

static enum pl_code check_controller(const struct partition_group *group,
                                     struct pl_err *err)
{
	enum pl_code code = check_word("controller kind", group->kind, err);

	if (code == PL_OK)
		code = names_check(NAMES_CONTROLLER, group->name, err);
	if (code == PL_OK)
		code = check_word("controller uid", group->uid, err);
	return code;
}

enum pl_code partition_of_group(const struct partition_group *group, uint32_t count,
                                uint32_t *out, struct pl_err *err)
{
	struct pl_span gang[] = {group->namespace, group->gang};
	struct pl_span controller[] = {group->namespace, group->kind, group->name,
	                               group->uid};
	enum pl_code code = names_check(NAMES_NAMESPACE, group->namespace, err);

	if (code != PL_OK)
		return code;
	if (group->gang.len > 0) {
		code = names_check(NAMES_GANG, group->gang, err);
		if (code == PL_OK)
			*out = partition_of(gang, 2, count);
		return code;
	}
	code = check_controller(group, err);
	if (code == PL_OK)
		*out = partition_of(controller, 4, count);
	return code;
}
