/* placet partitions: which shard owns which partition, and which should. */
#include "coord/cli/output/message.h"
#include "coord/cli/output/row_watch.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/cli/shards/partition_row.h"
#include "coord/cli/shards/shards_api.h"
#include "coord/service/shards/partition_list.h"

enum { OPT_SUMMARY = OPTIONS_OWN_FIRST };

struct partitions_cmd {
	bool summary;
	struct cli_wait wait;
	struct partition_list *list;
	struct row_watch row_watch;
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
	.common = OPTIONS_OUTPUT | OPTIONS_NAMES | OPTIONS_WATCH | OPTIONS_API,
	.own = own,
	.take = set_option,
};

static void put_partition(struct partitions_cmd *ps,
                          const struct partition_list_note *note)
{
	struct output_row row;
	enum pl_code code =
		note->stray ? partition_stray_row(note->entry, &ps->row_watch.arena, &row)
			    : partition_row(note->partition, note->entry, note->target,
	                                    &ps->row_watch.arena, &row);

	if (code == PL_OK)
		row_watch_put(&ps->row_watch, note->key, &row);
	else
		row_watch_fail(&ps->row_watch, PL_NOMEM, "a partition's row");
}

static void put_share(struct partitions_cmd *ps, const struct shard_share *share)
{
	struct output_row row;

	shard_share_row(share, true, &row);
	row_watch_put(&ps->row_watch,
	              share->shard.len > 0 ? share->shard : pl_span_str(share->state),
	              &row);
}

static void on_note(void *ctx, const struct partition_list_note *note)
{
	struct partitions_cmd *ps = ctx;

	switch (note->what) {
	case PARTITION_LIST_BEGIN:
		row_watch_begin(&ps->row_watch);
		break;
	case PARTITION_LIST_PARTITION:
		put_partition(ps, note);
		break;
	case PARTITION_LIST_SHARE:
		put_share(ps, note->share);
		break;
	case PARTITION_LIST_END:
		row_watch_end(&ps->row_watch);
		break;
	case PARTITION_LIST_GONE:
		row_watch_gone(&ps->row_watch, note->key);
		break;
	case PARTITION_LIST_TROUBLE:
		print_message("placet partitions: %s; going on", note->err->msg);
		break;
	}
	if (ps->row_watch.err.code != PL_OK)
		partition_list_cancel(ps->list);
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct partitions_cmd *ps = ctx;

	cli_wait_end(&ps->wait, err);
}

static enum pl_code partitions_run(void *ctx, const struct cli_session *cli,
                                   struct pl_err *err)
{
	struct partitions_cmd *ps = ctx;
	const struct partition_list_opts opts = {.follow = cli->options->watch,
	                                         .targets = cli->options->format !=
	                                                    OUTPUT_TABLE,
	                                         .shares = ps->summary,
	                                         .note = on_note,
	                                         .done = on_done,
	                                         .ctx = ps};
	enum pl_code code;

	row_watch_init(&ps->row_watch,
	               ps->summary ? &shard_share_schema : &partition_schema,
	               cli->options->format, cli->options->watch);
	code = partition_list_start(&cli->service, &opts, &ps->list, err);
	if (code == PL_OK)
		code = cli_wait_for(cli->session, &ps->wait, err);
	if (ps->row_watch.err.code != PL_OK) {
		*err = ps->row_watch.err;
		code = err->code;
	}
	row_watch_done(&ps->row_watch);
	return code;
}

static enum pl_code partitions_ask(void *ctx, struct api_session *api, struct pl_err *err)
{
	return partitions_api(api, ((struct partitions_cmd *)ctx)->summary, err);
}

static enum exit_code run_command(int argc, char **argv)
{
	struct partitions_cmd partitions = {0};

	return cli_session_run_either(&spec, argc, argv, partitions_run, partitions_ask,
	                              &partitions);
}

const struct command partitions_command = {
	.words = "partitions",
	.summary = "show the partitions and who owns them",
	.run = run_command,
	.spec = &spec};
