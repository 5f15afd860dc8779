#include "coord/cli/shards/shards_api.h"

#include "coord/cli/output/message.h"
#include "coord/cli/output/row_list.h"
#include "coord/cli/session/api_object.h"
#include "coord/cli/session/api_rows.h"
#include "coord/cli/shards/shard_object.h"
#include "coord/cli/shards/shard_row.h"
#include "store/base/clock.h"

#define SHARDS "/apis/placet.io/v1/shards"
#define PARTITIONS "/apis/placet.io/v1/partitions"

enum { SHARES_MAX = 4096, LOOK_AGAIN_MS = 1000 };

struct asking_shards {
	const struct api_rows_opts *opts;
	struct row_list list;
	struct pl_arena arena; /* of one row */
};

/* -- shards and partitions -------------------------------------------------------------- */

static enum pl_code row_of_shard(const void *ctx, struct pl_json shard,
                                 struct pl_arena *arena, struct output_row *out,
                                 bool *shown)
{
	struct shard_row_about about = {.now_ms = pl_clock_wall_ms(), .of_api = true};
	struct shard_object object;
	enum pl_code code = shard_object_read(shard, arena, &object);

	(void)ctx;
	(void)shown;
	about.drain = object.drain;
	return code == PL_OK ? shard_row(&object.entry, &about, arena, out) : code;
}

static enum pl_code row_of_partition(const void *ctx, struct pl_json partition,
                                     struct pl_arena *arena, struct output_row *out,
                                     bool *shown)
{
	struct partition_told told;

	(void)ctx;
	(void)shown;
	partition_object_read(partition, &told);
	return partition_told_row(&told, arena, out);
}

static enum pl_code add_row(void *ctx, struct pl_json object, struct pl_err *err)
{
	struct asking_shards *asking = ctx;
	struct output_row row;
	bool shown;

	pl_arena_reset(&asking->arena);
	if (asking->opts->row(NULL, object, &asking->arena, &row, &shown) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "print the %s", asking->opts->words);
	return row_list_add(&asking->list, &row, err);
}

/* Once, or with --watch. */
static enum pl_code print_rows(struct api_session *api, const struct api_rows_opts *opts,
                               struct pl_err *err)
{
	struct asking_shards asking = {.opts = opts};
	enum pl_code code;

	if (api->options->watch)
		return api_rows_watch(api, opts, err);
	code = row_list_init(&asking.list, opts->schema, api->options->format, err);
	if (code != PL_OK)
		return code;
	pl_arena_init(&asking.arena, 0, 0);
	code = api_session_list(api, opts->path, opts->query, add_row, &asking, err);
	if (code == PL_OK)
		code = row_list_end(&asking.list, opts->none, err);
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

static enum pl_code count_shares(struct api_session *api, struct shares *shares,
                                 struct pl_err *err)
{
	enum pl_code code = api_session_list(api, SHARDS, (struct pl_span){0},
	                                     count_shard, shares, err);

	return code == PL_OK ? api_session_list(api, PARTITIONS, (struct pl_span){0},
	                                        count_partition, shares, err)
	                     : code;
}

static void put_share(struct row_watch *rows, const struct shares *shares,
                      const struct shard_share *share)
{
	struct output_row row;

	shard_share_row(share, shares->targets, &row);
	if (output_row_keep(&shard_share_schema, &row, &rows->arena) != PL_OK)
		row_watch_fail(rows, PL_NOMEM, "a shard's share");
	else
		row_watch_put(rows,
		              share->shard.len > 0 ? share->shard
		                                   : pl_span_str(share->state),
		              &row);
}

static void put_shares(struct row_watch *rows, const struct shares *shares)
{
	const struct shard_share others[] = {
		{.state = "free", .partitions = shares->free},
		{.state = "malformed", .partitions = shares->malformed}};

	row_watch_begin(rows);
	for (uint32_t i = 0; i < shares->count; i++)
		put_share(rows, shares, &shares->share[i]);
	for (unsigned i = 0; i < 2; i++)
		if (others[i].partitions > 0)
			put_share(rows, shares, &others[i]);
	row_watch_end(rows);
}

static void forget_shares(struct shares *shares)
{
	pl_arena_reset(&shares->arena);
	shares->count = shares->free = shares->malformed = 0;
	shares->targets = false;
}

/* Shares are of two resources, which are read again and again. */
static enum pl_code watch_shares(struct api_session *api, struct shares *shares,
                                 struct pl_err *err)
{
	struct row_watch rows;
	enum pl_code code;

	row_watch_init(&rows, &shard_share_schema, api->options->format, true);
	do {
		forget_shares(shares);
		code = count_shares(api, shares, err);
		if (code == PL_OK)
			put_shares(&rows, shares);
		if (rows.err.code != PL_OK)
			*err = rows.err;
		if (rows.whole && (code == PL_UNAVAIL || code == PL_TIMEOUT)) {
			print_message("placet partitions: %s; going on", err->msg);
			*err = (struct pl_err){0};
			code = PL_OK;
		}
		if (code == PL_OK && rows.err.code == PL_OK)
			api_session_pause(api, LOOK_AGAIN_MS);
	} while (code == PL_OK && rows.err.code == PL_OK);
	row_watch_done(&rows);
	return err->code;
}

static enum pl_code shares_api(struct api_session *api, struct pl_err *err)
{
	static struct shares shares;
	enum pl_code code;

	pl_arena_init(&shares.arena, 0, 0);
	if (api->options->watch) {
		code = watch_shares(api, &shares, err);
	} else {
		code = count_shares(api, &shares, err);
		if (code == PL_OK)
			code = print_shares(api, &shares, err);
	}
	pl_arena_done(&shares.arena);
	return code;
}

/* -- the commands ------------------------------------------------------------------------- */

enum pl_code shards_api(struct api_session *api, struct pl_err *err)
{
	const struct api_rows_opts opts = {.words = "shards",
	                                   .path = SHARDS,
	                                   .schema = &shard_schema,
	                                   .state_column = 1,
	                                   .none = "no shards",
	                                   .row = row_of_shard};

	return print_rows(api, &opts, err);
}

enum pl_code partitions_api(struct api_session *api, bool summary, struct pl_err *err)
{
	const struct api_rows_opts opts = {.words = "partitions",
	                                   .path = PARTITIONS,
	                                   .schema = &partition_schema,
	                                   .state_column = 1,
	                                   .none = "no partitions",
	                                   .row = row_of_partition};

	return summary ? shares_api(api, err) : print_rows(api, &opts, err);
}
