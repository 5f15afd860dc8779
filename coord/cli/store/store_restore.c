/*
 * placet store restored: after a snapshot was restored into etcd, gives the store a
 * new incarnation, so that every shard drops its epochs and caches and lists again.
 */
#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/output/message.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/confirm.h"
#include "store/base/rng.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"

enum { META_BYTES_MAX = 4096 };

static void new_incarnation(char out[META_INCARNATION_SIZE])
{
	(void)snprintf(out, META_INCARNATION_SIZE, "%016" PRIx64 "%016" PRIx64,
	               pl_rng_seed_random(), pl_rng_seed_random());
}

static enum pl_code put_meta(const struct cli_session *cli, struct pl_span key,
                             struct pl_span text, struct pl_err *err)
{
	struct kv_compare fresh = kv_if_mod_rev(key, KV_EQ, cli->meta_mod_revision);
	struct kv_req put = kv_op_put(key, text);
	struct kv_req req = {.op = KV_TXN,
	                     .txn = {.compares = &fresh,
	                             .compare_count = 1,
	                             .then = &put,
	                             .then_count = 1}};
	struct kv_result result;
	enum pl_code code = store_session_call(cli->session, &req, &result, err);

	if (code == PL_OK && !result.txn.succeeded)
		return pl_err_set(err, PL_CONFLICT,
		                  "/placet/meta changed meanwhile; look again before you "
		                  "repeat this");
	return code;
}

/* Ours stands there: it was applied. */
static enum pl_code settle_unknown(const struct cli_session *cli, struct pl_span key,
                                   struct pl_span text, struct pl_err *err)
{
	struct kv_req req = kv_op_get(kv_key(key));
	struct kv_result result;
	struct pl_err seen = {0};
	enum pl_code code = store_session_call(cli->session, &req, &result, &seen);

	if (code == PL_OK && result.get.count == 1 &&
	    pl_span_eq(result.get.records[0].value, text))
		return PL_OK;
	return pl_err_wrap(err, "whether /placet/meta was written is not known");
}

static enum pl_code write_meta(const struct cli_session *cli, const struct meta *meta,
                               struct pl_err *err)
{
	struct keys_id id = {.kind = KEYS_META};
	struct keys_text key;
	struct pl_buf text;
	enum pl_code code = keys_build(&id, &key, err);

	pl_buf_init(&text, META_BYTES_MAX);
	if (code == PL_OK)
		code = meta_print(meta, &text, err);
	if (code == PL_OK)
		code = put_meta(cli, keys_span(&key), pl_buf_span(&text), err);
	if (code == PL_UNKNOWN)
		code = settle_unknown(cli, keys_span(&key), pl_buf_span(&text), err);
	pl_buf_done(&text);
	return code;
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
	.usage = "[options]",
	.about =
		"Tells all shards that etcd was restored from a snapshot, by a new\n"
		"incarnation in /placet/meta: revisions count anew then, and what was known\n"
		"before means nothing any more.\n",
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
	.run = run_command};
