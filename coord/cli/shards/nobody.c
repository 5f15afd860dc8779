#include "coord/cli/shards/nobody.h"

#include <inttypes.h>

#include "coord/cli/out/say.h"
#include "store/kv/calls.h"

enum { SHARDS, OWNERS, OPS };

static void say_no_shard(const struct reach *reach, const char *what)
{
	const char *prefix = reach->options->prefix;

	say("note: no shard is running: nobody %s (start one: placetd --etcd %s%s%s)",
	    what, reach->options->store.endpoints, *prefix == 0 ? "" : " --prefix ",
	    prefix);
}

static struct kv_req shards_count(void)
{
	struct kv_req req = kv_op_get(kv_prefix(PL_SPAN_LIT("/shards/")));

	req.get.count_only = true;
	return req;
}

bool nobody_is_owned(struct nobody_owners *owners, uint32_t partition)
{
	if (!owners->has[partition])
		owners->without = partition;
	return owners->has[partition];
}

/* One without an owner, that is waited for. */
static uint32_t find_free(const struct nobody *nobody, const struct kv_get_result *owners)
{
	struct nobody_owners found = {.without = KEYS_PARTITIONS_MAX};

	for (size_t i = 0; i < owners->count; i++) {
		struct keys_id id;

		if (keys_parse(owners->records[i].key, &id, NULL) == PL_OK &&
		    id.kind == KEYS_OWNER)
			found.has[id.partition] = true;
	}
	nobody->opts.each(nobody->opts.ctx, &found);
	return found.without;
}

/* What can not be read now is asked again when nothing has moved for as long again. */
static void on_read(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct nobody *nobody = ctx;
	uint32_t partition;

	nobody->asks = false;
	if (err != NULL)
		return;
	if (result->txn.results[SHARDS].get.total == 0) {
		nobody->said = true;
		progress_end(nobody->opts.progress);
		say_no_shard(nobody->opts.reach, nobody->opts.what);
		return;
	}
	partition = find_free(nobody, &result->txn.results[OWNERS].get);
	if (partition == KEYS_PARTITIONS_MAX)
		return;
	nobody->said = true;
	progress_end(nobody->opts.progress);
	say("note: partition %" PRIu32 " has no owner: nobody %s there (placet "
	    "partitions -o wide tells who should have it)",
	    partition, nobody->opts.what);
}

static void start(struct nobody *nobody)
{
	struct store_session *session = nobody->opts.reach->session;
	struct kv_req op[OPS] = {
		[SHARDS] = shards_count(),
		[OWNERS] = kv_op_get(kv_prefix(PL_SPAN_LIT("/partitions/")))};
	struct kv_req req = {.op = KV_TXN, .txn = {.then = op, .then_count = OPS}};

	op[OWNERS].get.keys_only = true;
	nobody->asks = kv_start(session->kv, &req, session->timeout_ms, on_read, nobody,
	                        &nobody->call, NULL) == PL_OK;
}

void nobody_init(struct nobody *nobody, const struct nobody_opts *opts, uint64_t now_ms)
{
	*nobody = (struct nobody){.opts = *opts, .since_ms = now_ms};
}

void nobody_look(struct nobody *nobody, uint64_t now_ms, uint64_t moved)
{
	if (moved != nobody->moved)
		nobody->since_ms = now_ms;
	nobody->moved = moved;
	if (nobody->said || nobody->asks || now_ms - nobody->since_ms < NOBODY_AFTER_MS)
		return;
	nobody->since_ms = now_ms;
	start(nobody);
}

void nobody_cancel(struct nobody *nobody)
{
	if (nobody->asks)
		kv_cancel(nobody->opts.reach->session->kv, nobody->call);
}

void nobody_note(const struct reach *reach, const char *what)
{
	struct kv_req req = shards_count();
	struct kv_result result;
	struct pl_err err;

	pl_arena_reset(&reach->session->arena);
	if (store_session_call(reach->session, &req, &result, &err) == PL_OK &&
	    result.get.total == 0)
		say_no_shard(reach, what);
}
