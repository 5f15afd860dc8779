#include "coord/cli/shards/shares.h"

#include <stdlib.h>

#include "store/base/alloc.h"

/* Every id that matters, as often as it is met: sorted, they are counted by runs. */
struct met {
	struct pl_span id;
	bool owns; /* met as an owner */
};

static int by_id(const void *a, const void *b)
{
	const struct met *left = a, *right = b;

	return pl_span_cmp(left->id, right->id);
}

static size_t meet(const struct scene *scene, struct met *out)
{
	size_t count = 0;

	for (const struct roster_entry *entry = roster_first(scene->roster);
	     entry != NULL; entry = roster_next(scene->roster, entry))
		out[count++] = (struct met){.id = entry->member.id};
	for (size_t i = 0; i < owners_count(scene->owners); i++) {
		const struct owners_entry *entry = owners_at(scene->owners, i);

		if (!entry->garbled)
			out[count++] = (struct met){.id = pl_span_str(entry->owner.shard),
			                            .owns = true};
	}
	return count;
}

static void tell_shards(const struct assign *assign, const struct met *met, size_t count,
                        shares_fn *fn, void *ctx)
{
	for (size_t i = 0; i < count;) {
		struct share share = {.shard = met[i].id,
		                      .state = "owned",
		                      .target = assign_count(assign, met[i].id)};

		for (; i < count && pl_span_eq(met[i].id, share.shard); i++)
			share.partitions += met[i].owns;
		fn(ctx, &share);
	}
}

static void tell_rest(const struct scene *scene, uint32_t partitions, shares_fn *fn,
                      void *ctx)
{
	struct share unowned = {.state = "free", .partitions = partitions};
	struct share garbled = {.state = "garbled"};

	for (size_t i = 0; i < owners_count(scene->owners); i++) {
		const struct owners_entry *entry = owners_at(scene->owners, i);

		garbled.partitions += entry->garbled;
		if (entry->is_partition && entry->partition < partitions)
			unowned.partitions--;
	}
	if (unowned.partitions > 0)
		fn(ctx, &unowned);
	if (garbled.partitions > 0)
		fn(ctx, &garbled);
}

enum pl_code shares_count(const struct scene *scene, const struct assign *assign,
                          uint32_t partitions, shares_fn *fn, void *ctx)
{
	size_t room = roster_count(scene->roster) + owners_count(scene->owners);
	struct met *met = pl_calloc(room + 1, sizeof *met);
	size_t count;

	if (met == NULL)
		return PL_NOMEM;
	count = meet(scene, met);
	PL_ASSERT(count <= room);
	qsort(met, count, sizeof *met, by_id);
	tell_shards(assign, met, count, fn, ctx);
	tell_rest(scene, partitions, fn, ctx);
	free(met);
	return PL_OK;
}
