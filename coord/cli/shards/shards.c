/* placet shards: the shards that exist, and their state. */
#include "coord/cli/output/message.h"
#include "coord/cli/output/row_watch.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/shards_session.h"
#include "coord/cli/shards/shard_row.h"
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
	.common = OPTIONS_OUTPUT | OPTIONS_NAMES | OPTIONS_WATCH,
	.args_max = 0,
};

struct shards_cmd {
	struct shards_session session;
	struct row_watch row_watch;
};

static bool is_drained(const struct shards_cmd *shards, struct pl_span id)
{
	return config_drains(
		&config_watch_value(shards->session.view.config, CONFIG_SHARDS)->shards,
		id);
}

static void put_shard(struct shards_cmd *shards, const struct roster_entry *entry)
{
	struct shard_row_about about = {.drain = is_drained(shards, entry->member.id),
	                                .now_ms = pl_clock_wall_ms()};
	struct output_row row;

	if (shard_row(entry, &about, &shards->row_watch.arena, &row) == PL_OK)
		row_watch_put(&shards->row_watch, entry->member.id, &row);
	else
		row_watch_fail(&shards->row_watch, PL_NOMEM, "a shard's row");
}

static void put_shards(struct shards_cmd *shards)
{
	row_watch_begin(&shards->row_watch);
	for (const struct roster_entry *entry = roster_first(shards->session.view.roster);
	     entry != NULL; entry = roster_next(shards->session.view.roster, entry))
		put_shard(shards, entry);
	row_watch_end(&shards->row_watch);
}

static void on_note(void *ctx, const struct shards_view_note *note)
{
	struct shards_cmd *shards = ctx;
	const struct roster_entry *entry;

	switch (note->what) {
	case SHARDS_VIEW_ALL:
		put_shards(shards);
		break;
	case SHARDS_VIEW_SHARD:
		entry = roster_get(shards->session.view.roster, note->name);
		if (entry == NULL)
			row_watch_gone(&shards->row_watch, note->name);
		else
			put_shard(shards, entry);
		break;
	case SHARDS_VIEW_OWNER:
		break;
	case SHARDS_VIEW_TROUBLE:
		print_message("placet shards: %s; going on", note->err->msg);
		break;
	case SHARDS_VIEW_FAILED:
	case SHARDS_VIEW_STOPPED:
		break;
	}
}

/* A drain of a shard that does not exist is forgotten easily, until a shard of that
 * name comes back and drains at once. */
static void print_missing(const struct shards_cmd *shards)
{
	const struct config_shards *config =
		&config_watch_value(shards->session.view.config, CONFIG_SHARDS)->shards;

	for (uint32_t i = 0; i < config->drain_count; i++)
		if (roster_get(shards->session.view.roster, config->drain[i]) == NULL)
			print_message(
				"note: " PL_SPAN_FMT
				" does not exist, and is to be drained when it starts (placet shard undrain " PL_SPAN_FMT
				")",
				PL_SPAN_ARG(config->drain[i]),
				PL_SPAN_ARG(config->drain[i]));
}

static enum pl_code show_shards(struct shards_cmd *shards, const struct options *options,
                                struct pl_err *err)
{
	row_watch_init(&shards->row_watch, &shard_schema, options->format,
	               options->watch);
	put_shards(shards);
	if (roster_count(shards->session.view.roster) == 0)
		print_message("no shards");
	print_missing(shards);
	shards_session_follow(&shards->session, on_note, shards);
	while (options->watch && shards->row_watch.err.code == PL_OK)
		(void)uv_run(&shards->session.session->loop, UV_RUN_ONCE);
	if (shards->row_watch.err.code != PL_OK)
		*err = shards->row_watch.err;
	row_watch_done(&shards->row_watch);
	return err->code;
}

static enum pl_code shards_run(void *ctx, const struct cli_session *cli,
                               struct pl_err *err)
{
	struct shards_cmd shards;
	enum pl_code code =
		shards_session_open(&shards.session, cli->session,
	                            SHARDS_VIEW_ROSTER | SHARDS_VIEW_CONFIG, err);

	(void)ctx;
	if (code != PL_OK)
		return code;
	code = show_shards(&shards, cli->options, err);
	shards_session_close(&shards.session);
	return code;
}

static enum exit_code run_command(int argc, char **argv)
{
	return cli_session_run(&spec, argc, argv, shards_run, NULL);
}

const struct command shards_command = {.words = "shards",
                                       .summary = "show the shards and their state",
                                       .run = run_command};
