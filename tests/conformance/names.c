#include "tests/conformance/names.h"

#include "tests/conformance/renumber.h"

int64_t names_revision_out(const struct names *names, int64_t revision)
{
	return revision == 0 ? 0 : revision + names->base;
}

int64_t names_revision_in(const struct names *names, int64_t revision)
{
	return revision == 0 ? 0 : revision - names->base;
}

int64_t names_lease_out(const struct names *names, int64_t lease)
{
	if (lease == 0)
		return 0;
	if (lease >= NAMES_CHOSEN && (size_t)(lease - NAMES_CHOSEN) < names->chosen_count)
		return names->chosen[lease - NAMES_CHOSEN];
	return names->lease_base + lease;
}

int64_t names_lease_in(const struct names *names, int64_t lease)
{
	if (lease == 0)
		return 0;
	for (size_t i = 0; i < names->chosen_count; i++)
		if (names->chosen[i] == lease)
			return NAMES_CHOSEN + (int64_t)i;
	return lease - names->lease_base;
}

void names_lease_chosen(struct names *names, int64_t lease)
{
	PL_ASSERT(names->chosen_count < NAMES_CHOSEN_MAX);
	names->chosen[names->chosen_count++] = lease;
}

static int64_t out_revision(const void *ctx, int64_t revision)
{
	return names_revision_out(ctx, revision);
}

static int64_t out_compact(const void *ctx, int64_t revision)
{
	return revision + ((const struct names *)ctx)->base;
}

static int64_t out_lease(const void *ctx, int64_t lease)
{
	return names_lease_out(ctx, lease);
}

static int64_t out_compare(const void *ctx, const struct kv_compare *compare)
{
	if (compare->number <= 0)
		return compare->number; /* 0, as of a missing key, or less */
	switch (compare->target) {
	case KV_CREATE_REV:
	case KV_MOD_REV:
		return names_revision_out(ctx, compare->number);
	case KV_LEASE:
		return names_lease_out(ctx, compare->number);
	case KV_VERSION:
	case KV_VALUE:
		break;
	}
	return compare->number;
}

struct kv_req names_req_out(const struct names *names, struct pl_arena *arena,
                            const struct kv_req *req)
{
	struct renumber renumber = {.arena = arena,
	                            .revision = out_revision,
	                            .compact = out_compact,
	                            .compare = out_compare,
	                            .lease = out_lease,
	                            .ctx = names};

	return renumber_req(&renumber, req);
}

struct kv_watch_req names_watch_out(const struct names *names,
                                    const struct kv_watch_req *req)
{
	struct kv_watch_req out = *req;

	out.from_revision = names_revision_out(names, req->from_revision);
	return out;
}
