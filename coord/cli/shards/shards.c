/* placet shards: who is there, and how they are. */
#include "coord/cli/out/live.h"
#include "coord/cli/out/say.h"
#include "coord/cli/reach/reach.h"
#include "coord/cli/shards/scene.h"
#include "coord/cli/shards/shard_row.h"
#include "store/base/clock.h"

static const struct options_spec spec = {
	.words = "shards",
	.usage = "[options]",
	.about =
		"Shows every shard: its state, how many partitions it says it owns, where\n"
		"it runs and since when. A shard that the configuration wants drained and\n"
		"that has not taken that up yet is active,drain-wanted. A record that\n"
		"makes no sense is shown as garbled, with the reason.\n",
	.example = "  placet shards -o wide\n"
		   "  placet shards -o json | jq '.items[] | select(.drain) | .name'\n",
	.common = OPTIONS_OUTPUT | OPTIONS_NAMES | OPTIONS_WATCH,
	.args_max = 0,
};

struct shards {
	struct scene scene;
	struct live live;
};

static bool wanted_drained(const struct shards *shards, struct pl_span id)
{
	return config_drains(
		&config_watch_value(shards->scene.config, CONFIG_SHARDS)->shards, id);
}

static void put(struct shards *shards, const struct roster_entry *entry)
{
	struct shard_row_about about = {.drain = wanted_drained(shards, entry->member.id),
	                                .now_ms = pl_clock_wall_ms()};
	struct output_row row;

	if (shard_row(entry, &about, &shards->live.arena, &row) == PL_OK)
		live_put(&shards->live, entry->member.id, &row);
	else
		live_fail(&shards->live, PL_NOMEM, "a shard's row");
}

static void put_all(struct shards *shards)
{
	live_begin(&shards->live);
	for (const struct roster_entry *entry = roster_first(shards->scene.roster);
	     entry != NULL; entry = roster_next(shards->scene.roster, entry))
		put(shards, entry);
	live_end(&shards->live);
}

static void on_note(void *ctx, const struct scene_note *note)
{
	struct shards *shards = ctx;
	const struct roster_entry *entry;

	switch (note->what) {
	case SCENE_ALL:
		put_all(shards);
		break;
	case SCENE_SHARD:
		entry = roster_get(shards->scene.roster, note->name);
		if (entry == NULL)
			live_gone(&shards->live, note->name);
		else
			put(shards, entry);
		break;
	case SCENE_OWNER:
		break;
	case SCENE_TROUBLE:
		say("placet shards: %s; going on", note->err->msg);
		break;
	}
}

/* Wishes that nobody hears are forgotten easily, until a shard of that name comes
 * back and drains at once. */
static void say_absent(const struct shards *shards)
{
	const struct config_shards *wishes =
		&config_watch_value(shards->scene.config, CONFIG_SHARDS)->shards;

	for (uint32_t i = 0; i < wishes->drain_count; i++)
		if (roster_get(shards->scene.roster, wishes->drain[i]) == NULL)
			say("note: " PL_SPAN_FMT " is not there, and is to be drained "
			    "when it comes (placet shard undrain " PL_SPAN_FMT ")",
			    PL_SPAN_ARG(wishes->drain[i]), PL_SPAN_ARG(wishes->drain[i]));
}

static enum pl_code show(struct shards *shards, const struct options *options,
                         struct pl_err *err)
{
	live_init(&shards->live, &shard_schema, options->format, options->watch);
	put_all(shards);
	if (roster_count(shards->scene.roster) == 0)
		say("no shards");
	say_absent(shards);
	scene_follow(&shards->scene, on_note, shards);
	while (options->watch && shards->live.err.code == PL_OK)
		(void)uv_run(&shards->scene.session->loop, UV_RUN_ONCE);
	if (shards->live.err.code != PL_OK)
		*err = shards->live.err;
	live_done(&shards->live);
	return err->code;
}

static enum pl_code look(void *ctx, const struct reach *reach, struct pl_err *err)
{
	struct shards shards;
	enum pl_code code = scene_open(&shards.scene, reach->session,
	                               SCENE_ROSTER | SCENE_CONFIG, err);

	(void)ctx;
	if (code != PL_OK)
		return code;
	code = show(&shards, reach->options, err);
	scene_close(&shards.scene);
	return code;
}

static enum exit_code run(int argc, char **argv)
{
	return reach_run(&spec, argc, argv, look, NULL);
}

const struct command shards_command = {
	.words = "shards", .summary = "show the shards and how they are", .run = run};
