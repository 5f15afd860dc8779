/* placet partitions: which shard owns which partition, and which should. */
#include "coord/cli/output/message.h"
#include "coord/cli/output/row_watch.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/shards_session.h"
#include "coord/cli/shards/partition_row.h"
#include "coord/service/shards/partition_targets.h"
#include "coord/service/shards/shard_shares.h"
#include "store/keys/keys.h"

enum { OPT_SUMMARY = OPTIONS_OWN_FIRST };

struct partitions_cmd {
	bool summary;
	uint32_t count;
	struct shards_session session;
	struct row_watch row_watch;
	struct partition_targets targets;
	bool with_targets; /* the columns need the partition targets */
};

static const struct option own[] = {
	{"summary", no_argument, NULL, OPT_SUMMARY},
	{NULL, 0, NULL, 0},
};

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct partitions_cmd *partitions = ctx;

	(void)arg, (void)err;
	PL_ASSERT(opt == OPT_SUMMARY);
	partitions->summary = true;
	return PL_OK;
}

static const struct options_spec spec = {
	.words = "partitions",
	.usage = "[options]",
	.about =
		"Shows every partition: whether a shard owns it, which shard, and under which\n"
		"epoch. TARGET (-o wide) is the shard that the current members and weights\n"
		"assign it to; where that differs from the owner, the partition is about to\n"
		"move.\n",
	.help = "  --summary              how many each shard owns, and how many it should own\n",
	.example = "  placet partitions -o wide\n"
		   "  placet partitions --summary --watch\n",
	.common = OPTIONS_OUTPUT | OPTIONS_NAMES | OPTIONS_WATCH,
	.own = own,
	.take = set_option,
};

/* -- one by one ------------------------------------------------------------------ */

static void put_partition(struct partitions_cmd *ps, uint32_t partition)
{
	const struct owners_watch_entry *entry =
		owners_watch_of(ps->session.view.owners, partition);
	struct keys_id id = {.kind = KEYS_OWNER, .partition = partition};
	struct keys_text key;
	struct output_row row;

	if (keys_build(&id, &key, &ps->row_watch.err) != PL_OK)
		return;
	if (partition_row(partition, entry, assign_of(ps->targets.assign, partition),
	                  &ps->row_watch.arena, &row) == PL_OK)
		row_watch_put(&ps->row_watch, keys_span(&key), &row);
	else
		row_watch_fail(&ps->row_watch, PL_NOMEM, "a partition's row");
}

static void put_stray(struct partitions_cmd *ps, const struct owners_watch_entry *entry)
{
	struct output_row row;

	if (partition_stray_row(entry, &ps->row_watch.arena, &row) == PL_OK)
		row_watch_put(&ps->row_watch, entry->key, &row);
	else
		row_watch_fail(&ps->row_watch, PL_NOMEM, "a partition's row");
}

static bool is_stray(const struct partitions_cmd *ps,
                     const struct owners_watch_entry *entry)
{
	return !entry->is_partition || entry->partition >= ps->count;
}

static void put_partitions(struct partitions_cmd *ps)
{
	const struct owners_watch_entry *entry;
	struct owners_walk walk;

	for (uint32_t p = 0; p < ps->count; p++)
		put_partition(ps, p);
	owners_walk_begin(ps->session.view.owners, &walk);
	while ((entry = owners_walk_next(&walk)) != NULL)
		if (is_stray(ps, entry))
			put_stray(ps, entry);
}

static void on_owner(struct partitions_cmd *ps, struct pl_span key)
{
	const struct owners_watch_entry *entry =
		owners_watch_get(ps->session.view.owners, key);
	struct keys_id id;

	if (entry != NULL && is_stray(ps, entry))
		put_stray(ps, entry);
	else if (keys_parse(key, &id, NULL) == PL_OK && id.partition < ps->count)
		put_partition(ps, id.partition);
	else
		row_watch_gone(&ps->row_watch, key);
}

/* -- by shard --------------------------------------------------------------------- */

static void on_share(void *ctx, const struct shard_share *share)
{
	struct partitions_cmd *ps = ctx;
	struct output_row row;

	shard_share_row(share, &row);
	row_watch_put(&ps->row_watch,
	              share->shard.len > 0 ? share->shard : pl_span_str(share->state),
	              &row);
}

static void put_shares(struct partitions_cmd *ps)
{
	if (shard_shares_count(&ps->session.view, ps->targets.assign, ps->count, on_share,
	                       ps) != PL_OK)
		row_watch_fail(&ps->row_watch, PL_NOMEM, "count by shard");
}

/* -- all ---------------------------------------------------------------------------- */

static void put_all(struct partitions_cmd *ps)
{
	row_watch_begin(&ps->row_watch);
	if (ps->summary)
		put_shares(ps);
	else
		put_partitions(ps);
	row_watch_end(&ps->row_watch);
}

static bool refresh(struct partitions_cmd *ps)
{
	bool changed = false;

	if (ps->with_targets && ps->row_watch.err.code == PL_OK)
		(void)!partition_targets_refresh(&ps->targets, &ps->session.view,
		                                 &changed, &ps->row_watch.err);
	return changed;
}

static void on_note(void *ctx, const struct shards_view_note *note)
{
	struct partitions_cmd *ps = ctx;

	switch (note->what) {
	case SHARDS_VIEW_ALL:
		(void)refresh(ps);
		put_all(ps);
		break;
	case SHARDS_VIEW_SHARD:
		if (refresh(ps))
			put_all(ps);
		break;
	case SHARDS_VIEW_OWNER:
		if (ps->summary)
			put_all(ps);
		else
			on_owner(ps, note->name);
		break;
	case SHARDS_VIEW_TROUBLE:
		print_message("placet partitions: %s; going on", note->err->msg);
		break;
	case SHARDS_VIEW_FAILED:
	case SHARDS_VIEW_STOPPED:
		break;
	}
}

static enum pl_code show_partitions(struct partitions_cmd *ps,
                                    const struct options *options, struct pl_err *err)
{
	row_watch_init(&ps->row_watch,
	               ps->summary ? &shard_share_schema : &partition_schema,
	               options->format, options->watch);
	(void)refresh(ps);
	put_all(ps);
	shards_session_follow(&ps->session, on_note, ps);
	while (options->watch && ps->row_watch.err.code == PL_OK)
		(void)uv_run(&ps->session.session->loop, UV_RUN_ONCE);
	if (ps->row_watch.err.code != PL_OK)
		*err = ps->row_watch.err;
	row_watch_done(&ps->row_watch);
	return err->code;
}

static enum pl_code partitions_run(void *ctx, const struct cli_session *cli,
                                   struct pl_err *err)
{
	struct partitions_cmd *ps = ctx;
	enum pl_code code;

	ps->count = cli->meta.partitions;
	ps->with_targets = ps->summary || cli->options->format != OUTPUT_TABLE;
	code = partition_targets_init(&ps->targets, ps->count, err);
	if (code != PL_OK)
		return code;
	code = shards_session_open(&ps->session, cli->session,
	                           ps->with_targets
	                                   ? SHARDS_VIEW_ROSTER | SHARDS_VIEW_OWNERS |
	                                             SHARDS_VIEW_CONFIG
	                                   : SHARDS_VIEW_OWNERS,
	                           err);
	if (code == PL_OK) {
		code = show_partitions(ps, cli->options, err);
		shards_session_close(&ps->session);
	}
	partition_targets_done(&ps->targets);
	return code;
}

static enum exit_code run_command(int argc, char **argv)
{
	struct partitions_cmd partitions = {0};

	return cli_session_run(&spec, argc, argv, partitions_run, &partitions);
}

const struct command partitions_command = {
	.words = "partitions",
	.summary = "show the partitions and who owns them",
	.run = run_command};
