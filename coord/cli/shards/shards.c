/* placet shards: the shards that exist, and their state. */
#include "coord/cli/output/message.h"
#include "coord/cli/output/row_watch.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/cli/shards/shard_row.h"
#include "coord/cli/shards/shards_api.h"
#include "coord/service/shards/shard_list.h"
#include "store/base/clock.h"

static const struct options_spec spec = {
	.words = "shards",
	.usage = "[options]",
	.about =
		"Shows every shard: its state, how many partitions it reports to own, where\n"
		"it runs and since when. A shard that the configuration wants drained and that\n"
		"has not begun to drain is active,drain-wanted. A malformed record is shown\n"
		"with the reason.\n",
	.example = "  placet shards -o wide\n"
		   "  placet shards -o json | jq '.items[] | select(.drain) | .name'\n",
	.common = OPTIONS_OUTPUT | OPTIONS_NAMES | OPTIONS_WATCH | OPTIONS_API,
	.args_max = 0,
};

struct shards_cmd {
	struct cli_wait wait;
	struct shard_list *list;
	struct row_watch row_watch;
	bool told; /* that there is none */
};

static void put_shard(struct shards_cmd *shards, const struct shard_list_note *note)
{
	const struct shard_row_about about = {.drain = note->drain,
	                                      .now_ms = pl_clock_wall_ms()};
	struct output_row row;

	if (shard_row(note->entry, &about, &shards->row_watch.arena, &row) == PL_OK)
		row_watch_put(&shards->row_watch, note->id, &row);
	else
		row_watch_fail(&shards->row_watch, PL_NOMEM, "a shard's row");
}

static void end_picture(struct shards_cmd *shards, uint32_t count)
{
	row_watch_end(&shards->row_watch);
	if (count == 0 && !shards->told)
		print_message("no shards");
	shards->told = true;
}

static void on_note(void *ctx, const struct shard_list_note *note)
{
	struct shards_cmd *shards = ctx;

	switch (note->what) {
	case SHARD_LIST_BEGIN:
		row_watch_begin(&shards->row_watch);
		break;
	case SHARD_LIST_SHARD:
		put_shard(shards, note);
		break;
	case SHARD_LIST_END:
		end_picture(shards, note->count);
		break;
	case SHARD_LIST_MISSING:
		print_message(
			"note: " PL_SPAN_FMT
			" does not exist, and is to be drained when it starts (placet shard undrain " PL_SPAN_FMT
			")",
			PL_SPAN_ARG(note->id), PL_SPAN_ARG(note->id));
		break;
	case SHARD_LIST_GONE:
		row_watch_gone(&shards->row_watch, note->id);
		break;
	case SHARD_LIST_TROUBLE:
		print_message("placet shards: %s; going on", note->err->msg);
		break;
	}
	if (shards->row_watch.err.code != PL_OK)
		shard_list_cancel(shards->list);
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct shards_cmd *shards = ctx;

	cli_wait_end(&shards->wait, err);
}

static enum pl_code shards_run(void *ctx, const struct cli_session *cli,
                               struct pl_err *err)
{
	struct shards_cmd shards = {.told = false};
	const struct shard_list_opts opts = {.follow = cli->options->watch,
	                                     .note = on_note,
	                                     .done = on_done,
	                                     .ctx = &shards};
	enum pl_code code;

	(void)ctx;
	row_watch_init(&shards.row_watch, &shard_schema, cli->options->format,
	               cli->options->watch);
	code = shard_list_start(&cli->service, &opts, &shards.list, err);
	if (code == PL_OK)
		code = cli_wait_for(cli->session, &shards.wait, err);
	if (shards.row_watch.err.code != PL_OK) {
		*err = shards.row_watch.err;
		code = err->code;
	}
	row_watch_done(&shards.row_watch);
	return code;
}

static enum pl_code shards_ask(void *ctx, struct api_session *api, struct pl_err *err)
{
	(void)ctx;
	return shards_api(api, err);
}

static enum exit_code run_command(int argc, char **argv)
{
	return cli_session_run_either(&spec, argc, argv, shards_run, shards_ask, NULL);
}

const struct command shards_command = {.words = "shards",
                                       .summary = "show the shards and their state",
                                       .run = run_command,
                                       .spec = &spec};
