#include "coord/cli/shards/shards_api.h"

#include "coord/cli/output/row_list.h"
#include "coord/cli/session/api_object.h"
#include "coord/cli/shards/shard_object.h"
#include "coord/cli/shards/shard_row.h"
#include "store/base/clock.h"

#define SHARDS "/apis/placet.io/v1/shards"
#define PARTITIONS "/apis/placet.io/v1/partitions"

enum { SHARES_MAX = 4096 };

struct asking_shards {
	struct row_list list;
	struct pl_arena arena; /* of one row */
	int64_t now_ms;
};

static enum pl_code refuse_watch(const struct api_session *api, const char *resource,
                                 struct pl_err *err)
{
	if (!api->options->watch)
		return PL_OK;
	return pl_err_set(err, PL_UNSUPPORTED,
	                  "--watch: needs the store (--endpoints); of the API, kubectl "
	                  "get %s --watch",
	                  resource);
}

/* -- shards and partitions -------------------------------------------------------------- */

static enum pl_code add_shard(void *ctx, struct pl_json shard, struct pl_err *err)
{
	struct asking_shards *asking = ctx;
	struct shard_object object;
	struct shard_row_about about = {.now_ms = asking->now_ms, .of_api = true};
	struct output_row row;
	enum pl_code code;

	pl_arena_reset(&asking->arena);
	code = shard_object_read(shard, &asking->arena, &object);
	about.drain = object.drain;
	if (code == PL_OK)
		code = shard_row(&object.entry, &about, &asking->arena, &row);
	if (code != PL_OK)
		return pl_err_set(err, PL_NOMEM, "print the shards");
	return row_list_add(&asking->list, &row, err);
}

static enum pl_code add_partition(void *ctx, struct pl_json partition, struct pl_err *err)
{
	struct asking_shards *asking = ctx;
	struct partition_told told;
	struct output_row row;

	pl_arena_reset(&asking->arena);
	partition_object_read(partition, &told);
	if (partition_told_row(&told, &asking->arena, &row) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "print the partitions");
	return row_list_add(&asking->list, &row, err);
}

static enum pl_code print_list(struct api_session *api, const char *path,
                               const struct output_schema *schema, api_item_fn *add,
                               const char *none, struct pl_err *err)
{
	struct asking_shards asking = {.now_ms = pl_clock_wall_ms()};
	enum pl_code code =
		row_list_init(&asking.list, schema, api->options->format, err);

	if (code != PL_OK)
		return code;
	pl_arena_init(&asking.arena, 0, 0);
	code = api_session_list(api, path, (struct pl_span){0}, add, &asking, err);
	if (code == PL_OK)
		code = row_list_end(&asking.list, none, err);
	pl_arena_done(&asking.arena);
	row_list_done(&asking.list);
	return code;
}

/* -- shares ------------------------------------------------------------------------------- */

/* By shard, in the order of the list of shards; then those of shards that are gone. */
struct shares {
	struct pl_arena arena;
	struct shard_share share[SHARES_MAX];
	uint32_t count;
	uint32_t free, malformed;
	bool targets; /* some target is told */
};

static struct shard_share *share_of(struct shares *shares, struct pl_span shard)
{
	struct shard_share *share;

	for (uint32_t i = 0; i < shares->count; i++)
		if (pl_span_eq(shares->share[i].shard, shard))
			return &shares->share[i];
	if (shares->count == SHARES_MAX)
		return NULL;
	share = &shares->share[shares->count];
	*share = (struct shard_share){.shard = pl_arena_dup(&shares->arena, shard),
	                              .state = "owned"};
	if (share->shard.at == NULL)
		return NULL;
	shares->count++;
	return share;
}

static enum pl_code too_many(struct pl_err *err)
{
	return pl_err_set(err, PL_LIMIT, "too many shards to count");
}

static enum pl_code count_shard(void *ctx, struct pl_json shard, struct pl_err *err)
{
	return share_of(ctx, api_text(shard, "metadata.name")) == NULL ? too_many(err)
	                                                               : PL_OK;
}

static enum pl_code count_partition(void *ctx, struct pl_json partition,
                                    struct pl_err *err)
{
	struct shares *shares = ctx;
	struct shard_share *share;
	struct partition_told told;

	partition_object_read(partition, &told);
	if (told.target.len > 0) {
		share = share_of(shares, told.target);
		if (share == NULL)
			return too_many(err);
		share->target++;
		shares->targets = true;
	}
	if (told.malformed.len > 0 || told.owner.len == 0) {
		*(told.malformed.len > 0 ? &shares->malformed : &shares->free) += 1;
		return PL_OK;
	}
	share = share_of(shares, told.owner);
	if (share == NULL)
		return too_many(err);
	share->partitions++;
	return PL_OK;
}

static enum pl_code add_share(struct row_list *list, const struct shares *shares,
                              const struct shard_share *share, struct pl_err *err)
{
	struct output_row row;

	shard_share_row(share, shares->targets, &row);
	return row_list_add(list, &row, err);
}

static enum pl_code print_shares(struct api_session *api, const struct shares *shares,
                                 struct pl_err *err)
{
	const struct shard_share others[] = {
		{.state = "free", .partitions = shares->free},
		{.state = "malformed", .partitions = shares->malformed}};
	struct row_list list;
	enum pl_code code =
		row_list_init(&list, &shard_share_schema, api->options->format, err);

	if (code != PL_OK)
		return code;
	for (uint32_t i = 0; i < shares->count && code == PL_OK; i++)
		code = add_share(&list, shares, &shares->share[i], err);
	for (unsigned i = 0; i < 2 && code == PL_OK; i++)
		if (others[i].partitions > 0)
			code = add_share(&list, shares, &others[i], err);
	if (code == PL_OK)
		code = row_list_end(&list, "", err);
	row_list_done(&list);
	return code;
}

static enum pl_code shares_api(struct api_session *api, struct pl_err *err)
{
	static struct shares shares;
	enum pl_code code;

	pl_arena_init(&shares.arena, 0, 0);
	code = api_session_list(api, SHARDS, (struct pl_span){0}, count_shard, &shares,
	                        err);
	if (code == PL_OK)
		code = api_session_list(api, PARTITIONS, (struct pl_span){0},
		                        count_partition, &shares, err);
	if (code == PL_OK)
		code = print_shares(api, &shares, err);
	pl_arena_done(&shares.arena);
	return code;
}

/* -- the commands ------------------------------------------------------------------------- */

enum pl_code shards_api(struct api_session *api, struct pl_err *err)
{
	if (refuse_watch(api, "shards", err) != PL_OK)
		return err->code;
	return print_list(api, SHARDS, &shard_schema, add_shard, "no shards", err);
}

enum pl_code partitions_api(struct api_session *api, bool summary, struct pl_err *err)
{
	if (refuse_watch(api, "partitions", err) != PL_OK)
		return err->code;
	if (summary)
		return shares_api(api, err);
	return print_list(api, PARTITIONS, &partition_schema, add_partition,
	                  "no partitions", err);
}
