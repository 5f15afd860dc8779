/* placet partitions: who owns what, and who should. */
#include "coord/cli/out/live.h"
#include "coord/cli/out/say.h"
#include "coord/cli/reach/reach.h"
#include "coord/cli/shards/partition_row.h"
#include "coord/cli/shards/shares.h"
#include "coord/cli/shards/targets.h"
#include "store/keys/keys.h"

enum { OPT_SUMMARY = OPTIONS_OWN_FIRST };

struct partitions {
	bool summary;
	uint32_t count;
	struct scene scene;
	struct live live;
	struct targets targets;
	bool with_targets; /* what is shown tells them */
};

static const struct option own[] = {
	{"summary", no_argument, NULL, OPT_SUMMARY},
	{NULL, 0, NULL, 0},
};

static enum pl_code take(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct partitions *partitions = ctx;

	(void)arg, (void)err;
	PL_ASSERT(opt == OPT_SUMMARY);
	partitions->summary = true;
	return PL_OK;
}

static const struct options_spec spec = {
	.words = "partitions",
	.usage = "[options]",
	.about =
		"Shows every partition: whether a shard owns it, which one, and under which\n"
		"epoch. TARGET (-o wide) is the shard that the members and weights of this\n"
		"moment assign it to: where it differs, the partition is about to move.\n",
	.help = "  --summary              how many each shard has, and how many it should\n",
	.example = "  placet partitions -o wide\n"
		   "  placet partitions --summary --watch\n",
	.common = OPTIONS_OUTPUT | OPTIONS_NAMES | OPTIONS_WATCH,
	.own = own,
	.take = take,
};

/* -- one by one ------------------------------------------------------------------ */

static void put(struct partitions *ps, uint32_t partition)
{
	const struct owners_entry *entry = owners_of(ps->scene.owners, partition);
	struct keys_id id = {.kind = KEYS_OWNER, .partition = partition};
	struct keys_text key;
	struct output_row row;

	if (keys_build(&id, &key, &ps->live.err) != PL_OK)
		return;
	if (partition_row(partition, entry, assign_of(ps->targets.assign, partition),
	                  &ps->live.arena, &row) == PL_OK)
		live_put(&ps->live, keys_span(&key), &row);
	else
		live_fail(&ps->live, PL_NOMEM, "a partition's row");
}

static void put_stray(struct partitions *ps, const struct owners_entry *entry)
{
	struct output_row row;

	if (partition_stray_row(entry, &ps->live.arena, &row) == PL_OK)
		live_put(&ps->live, entry->key, &row);
	else
		live_fail(&ps->live, PL_NOMEM, "a partition's row");
}

static bool is_stray(const struct partitions *ps, const struct owners_entry *entry)
{
	return !entry->is_partition || entry->partition >= ps->count;
}

static void put_each(struct partitions *ps)
{
	for (uint32_t p = 0; p < ps->count; p++)
		put(ps, p);
	for (size_t i = 0; i < owners_count(ps->scene.owners); i++) {
		const struct owners_entry *entry = owners_at(ps->scene.owners, i);

		if (is_stray(ps, entry))
			put_stray(ps, entry);
	}
}

static void on_owner(struct partitions *ps, struct pl_span key)
{
	const struct owners_entry *entry = owners_get(ps->scene.owners, key);
	struct keys_id id;

	if (entry != NULL && is_stray(ps, entry))
		put_stray(ps, entry);
	else if (keys_parse(key, &id, NULL) == PL_OK && id.partition < ps->count)
		put(ps, id.partition);
	else
		live_gone(&ps->live, key);
}

/* -- by shard --------------------------------------------------------------------- */

static void on_share(void *ctx, const struct share *share)
{
	struct partitions *ps = ctx;
	struct output_row row;

	share_row(share, &row);
	live_put(&ps->live,
	         share->shard.len > 0 ? share->shard : pl_span_str(share->state), &row);
}

static void put_shares(struct partitions *ps)
{
	if (shares_count(&ps->scene, ps->targets.assign, ps->count, on_share, ps) !=
	    PL_OK)
		live_fail(&ps->live, PL_NOMEM, "count by shard");
}

/* -- all ---------------------------------------------------------------------------- */

static void put_all(struct partitions *ps)
{
	live_begin(&ps->live);
	if (ps->summary)
		put_shares(ps);
	else
		put_each(ps);
	live_end(&ps->live);
}

static bool refresh(struct partitions *ps)
{
	bool changed = false;

	if (ps->with_targets && ps->live.err.code == PL_OK)
		(void)!targets_refresh(&ps->targets, &ps->scene, &changed, &ps->live.err);
	return changed;
}

static void on_note(void *ctx, const struct scene_note *note)
{
	struct partitions *ps = ctx;

	switch (note->what) {
	case SCENE_ALL:
		(void)refresh(ps);
		put_all(ps);
		break;
	case SCENE_SHARD:
		if (refresh(ps))
			put_all(ps);
		break;
	case SCENE_OWNER:
		if (ps->summary)
			put_all(ps);
		else
			on_owner(ps, note->name);
		break;
	case SCENE_TROUBLE:
		say("placet partitions: %s; going on", note->err->msg);
		break;
	}
}

static enum pl_code show(struct partitions *ps, const struct options *options,
                         struct pl_err *err)
{
	live_init(&ps->live, ps->summary ? &share_schema : &partition_schema,
	          options->format, options->watch);
	(void)refresh(ps);
	put_all(ps);
	scene_follow(&ps->scene, on_note, ps);
	while (options->watch && ps->live.err.code == PL_OK)
		(void)uv_run(&ps->scene.session->loop, UV_RUN_ONCE);
	if (ps->live.err.code != PL_OK)
		*err = ps->live.err;
	live_done(&ps->live);
	return err->code;
}

static enum pl_code look(void *ctx, const struct reach *reach, struct pl_err *err)
{
	struct partitions *ps = ctx;
	enum pl_code code;

	ps->count = reach->meta.partitions;
	ps->with_targets = ps->summary || reach->options->format != OUTPUT_TABLE;
	code = targets_init(&ps->targets, ps->count, err);
	if (code != PL_OK)
		return code;
	code = scene_open(&ps->scene, reach->session,
	                  ps->with_targets ? SCENE_ROSTER | SCENE_OWNERS | SCENE_CONFIG
	                                   : SCENE_OWNERS,
	                  err);
	if (code == PL_OK) {
		code = show(ps, reach->options, err);
		scene_close(&ps->scene);
	}
	targets_done(&ps->targets);
	return code;
}

static enum exit_code run(int argc, char **argv)
{
	struct partitions partitions = {0};

	return reach_run(&spec, argc, argv, look, &partitions);
}

const struct command partitions_command = {
	.words = "partitions",
	.summary = "show the partitions and who owns them",
	.run = run};
