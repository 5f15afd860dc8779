/*
 * placet store restored: after a snapshot was restored into etcd, gives the store a
 * new incarnation, so that every shard drops its epochs and caches and lists again.
 */
#include "coord/service/store/store_restore.h"

#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/output/message.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/cli/session/confirm.h"
#include "store/base/rng.h"

static void new_incarnation(char out[META_INCARNATION_SIZE])
{
	(void)snprintf(out, META_INCARNATION_SIZE, "%016" PRIx64 "%016" PRIx64,
	               pl_rng_seed_random(), pl_rng_seed_random());
}

static enum pl_code write_meta(const struct cli_session *cli, const struct meta *meta,
                               struct pl_err *err)
{
	struct cli_wait wait = {0};
	struct store_restore *restore;
	enum pl_code code =
		store_restore_start(&cli->service, meta, cli->meta_mod_revision,
	                            cli_wait_end, &wait, &restore, err);

	return code == PL_OK ? cli_wait_for(cli->session, &wait, err) : code;
}

static enum pl_code restored_run(void *ctx, const struct cli_session *cli,
                                 struct pl_err *err)
{
	struct meta meta = cli->meta;
	enum pl_code code;

	(void)ctx;
	new_incarnation(meta.incarnation);
	print_message("the store %s has %u partitions and incarnation %s",
	              cli->options->store.endpoints, meta.partitions,
	              cli->meta.incarnation);
	print_message(
		"With a new one every shard gives up its epochs and lists everything again:");
	print_message(
		"for a moment nothing is decided. Do it once, when all members of etcd run on");
	print_message("the restored data.");
	code = ask(cli->options, "Was it restored from a snapshot?", err);
	if (code == PL_OK)
		code = write_meta(cli, &meta, err);
	if (code != PL_OK)
		return code;
	(void)printf("incarnation %s\n", meta.incarnation);
	return PL_OK;
}

static const struct options_spec spec = {
	.words = "store restored",
	.of_store = "the identity is the store's own",
	.usage = "[options]",
	.about =
		"Tells all shards that etcd was restored from a snapshot, by a new incarnation\n"
		"in /placet/meta: revisions start again after a restore, so that shards must\n"
		"drop everything they know.\n",
	.example = "  placet store restored --yes\n",
	.common = OPTIONS_YES,
};

static enum exit_code run_command(int argc, char **argv)
{
	return cli_session_run(&spec, argc, argv, restored_run, NULL);
}

const struct command store_restored_command = {
	.words = "store restored",
	.summary = "tell all shards that etcd was restored from a snapshot",
	.run = run_command,
	.spec = &spec};
