#include "coord/cli/shards/idle_warning.h"

#include <inttypes.h>

#include "coord/cli/output/message.h"
#include "store/kv/calls.h"

enum { SHARDS, OWNERS, OPS };

static void print_no_shard(const struct cli_session *cli, const char *what)
{
	const char *prefix = cli->options->prefix;

	print_message("note: no shard is running: %s (start one: placetd --etcd %s%s%s)",
	              what, cli->options->store.endpoints,
	              *prefix == 0 ? "" : " --prefix ", prefix);
}

static struct kv_req shards_count(void)
{
	struct kv_req req = kv_op_get(kv_prefix(PL_SPAN_LIT("/shards/")));

	req.get.count_only = true;
	return req;
}

bool idle_owner_is_known(struct idle_owners *owners, uint32_t partition)
{
	if (!owners->has[partition])
		owners->without = partition;
	return owners->has[partition];
}

/* A partition without an owner that the command waits for; KEYS_PARTITIONS_MAX:
 * none. */
static uint32_t find_unowned(const struct idle_warning *idle_warning,
                             const struct kv_get_result *owners)
{
	struct idle_owners found = {.without = KEYS_PARTITIONS_MAX};

	for (size_t i = 0; i < owners->count; i++) {
		struct keys_id id;

		if (keys_parse(owners->records[i].key, &id, NULL) == PL_OK &&
		    id.kind == KEYS_OWNER)
			found.has[id.partition] = true;
	}
	idle_warning->opts.each(idle_warning->opts.ctx, &found);
	return found.without;
}

/* A failed read is repeated when nothing has moved for the same time again. */
static void on_read(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct idle_warning *idle_warning = ctx;
	uint32_t partition;

	idle_warning->asks = false;
	if (err != NULL)
		return;
	if (result->txn.results[SHARDS].get.total == 0) {
		idle_warning->said = true;
		progress_end(idle_warning->opts.progress);
		print_no_shard(idle_warning->opts.cli, idle_warning->opts.what);
		return;
	}
	partition = find_unowned(idle_warning, &result->txn.results[OWNERS].get);
	if (partition == KEYS_PARTITIONS_MAX)
		return;
	idle_warning->said = true;
	progress_end(idle_warning->opts.progress);
	print_message("note: partition %" PRIu32 " has no owner: %s there (placet "
	              "partitions -o wide shows its target)",
	              partition, idle_warning->opts.what);
}

static void start_read(struct idle_warning *idle_warning)
{
	struct store_session *session = idle_warning->opts.cli->session;
	struct kv_req op[OPS] = {
		[SHARDS] = shards_count(),
		[OWNERS] = kv_op_get(kv_prefix(PL_SPAN_LIT("/partitions/")))};
	struct kv_req req = {.op = KV_TXN, .txn = {.then = op, .then_count = OPS}};

	op[OWNERS].get.keys_only = true;
	idle_warning->asks = kv_start(session->kv, &req, session->timeout_ms, on_read,
	                              idle_warning, &idle_warning->call, NULL) == PL_OK;
}

void idle_warning_init(struct idle_warning *idle_warning,
                       const struct idle_warning_opts *opts, uint64_t now_ms)
{
	*idle_warning = (struct idle_warning){.opts = *opts, .since_ms = now_ms};
}

void idle_warning_look(struct idle_warning *idle_warning, uint64_t now_ms, uint64_t moved)
{
	if (moved != idle_warning->moved)
		idle_warning->since_ms = now_ms;
	idle_warning->moved = moved;
	if (idle_warning->said || idle_warning->asks ||
	    now_ms - idle_warning->since_ms < IDLE_WARNING_AFTER_MS)
		return;
	idle_warning->since_ms = now_ms;
	start_read(idle_warning);
}

void idle_warning_stop(struct idle_warning *idle_warning)
{
	struct store_session *session = idle_warning->opts.cli->session;

	if (idle_warning->asks)
		kv_cancel(session->kv, idle_warning->call);
	while (idle_warning->asks)
		(void)uv_run(&session->loop, UV_RUN_ONCE);
}

void idle_warning_note(const struct cli_session *cli, const char *what)
{
	struct kv_req req = shards_count();
	struct kv_result result;
	struct pl_err err;

	pl_arena_reset(&cli->session->arena);
	if (store_session_call(cli->session, &req, &result, &err) == PL_OK &&
	    result.get.total == 0)
		print_no_shard(cli, what);
}
