#include "coord/service/shards/shard_shares.h"

#include <stdlib.h>

#include "store/base/alloc.h"

/* Every id that matters, as often as it is met: sorted, they are counted by runs. */
struct shard_count {
	struct pl_span id;
	bool owns; /* met as an owner */
};

static int compare_ids(const void *a, const void *b)
{
	const struct shard_count *left = a, *right = b;

	return pl_span_cmp(left->id, right->id);
}

static size_t collect_shards(const struct shards_view *view, struct shard_count *out)
{
	const struct owners_watch_entry *owner;
	struct owners_walk walk;
	size_t count = 0;

	for (const struct roster_entry *entry = roster_first(view->roster); entry != NULL;
	     entry = roster_next(view->roster, entry))
		out[count++] = (struct shard_count){.id = entry->member.id};
	owners_walk_begin(view->owners, &walk);
	while ((owner = owners_walk_next(&walk)) != NULL) {
		if (!owner->malformed)
			out[count++] = (struct shard_count){
				.id = pl_span_str(owner->owner.shard), .owns = true};
	}
	return count;
}

static void report_shards(const struct assign *assign, const struct shard_count *met,
                          size_t count, shard_shares_fn *fn, void *ctx)
{
	for (size_t i = 0; i < count;) {
		struct shard_share share = {.shard = met[i].id,
		                            .state = "owned",
		                            .target = assign_count(assign, met[i].id)};

		for (; i < count && pl_span_eq(met[i].id, share.shard); i++)
			share.partitions += met[i].owns;
		fn(ctx, &share);
	}
}

static void report_unassigned(const struct shards_view *view, uint32_t partitions,
                              shard_shares_fn *fn, void *ctx)
{
	struct shard_share unowned = {.state = "free", .partitions = partitions};
	struct shard_share malformed = {.state = "malformed"};
	const struct owners_watch_entry *owner;
	struct owners_walk walk;

	owners_walk_begin(view->owners, &walk);
	while ((owner = owners_walk_next(&walk)) != NULL) {
		malformed.partitions += owner->malformed;
		if (owner->is_partition && owner->partition < partitions)
			unowned.partitions--;
	}
	if (unowned.partitions > 0)
		fn(ctx, &unowned);
	if (malformed.partitions > 0)
		fn(ctx, &malformed);
}

enum pl_code shard_shares_count(const struct shards_view *view,
                                const struct assign *assign, uint32_t partitions,
                                shard_shares_fn *fn, void *ctx)
{
	size_t room = roster_count(view->roster) + owners_watch_count(view->owners);
	struct shard_count *met = pl_calloc(room + 1, sizeof *met);
	size_t count;

	if (met == NULL)
		return PL_NOMEM;
	count = collect_shards(view, met);
	PL_ASSERT(count <= room);
	qsort(met, count, sizeof *met, compare_ids);
	report_shards(assign, met, count, fn, ctx);
	report_unassigned(view, partitions, fn, ctx);
	free(met);
	return PL_OK;
}
