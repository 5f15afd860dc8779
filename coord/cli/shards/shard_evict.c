/*
 * placet shard evict: puts out a shard whose lease lives on although it does nothing
 * good any more, by revoking that lease. Everything that hangs on it goes at once;
 * whatever the shard still sends under its old epochs is refused by the store.
 */
#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/output/message.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/confirm.h"
#include "coord/cli/shards/shard_find.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"

enum { LINE_SIZE = 600 };

struct shard_evict {
	struct pl_span id;
	struct store_session *session;
	struct shard_found shard;
	unsigned partitions;
	unsigned roles;
	bool owned[KEYS_PARTITIONS_MAX];
};

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	struct shard_evict *evict = ctx;

	evict->id = pl_span_str(options->args[0]);
	return shard_id_check(evict->id, err);
}

/* Partitions are counted, what else there is is named. */
static void keep_key(struct shard_evict *evict, struct pl_span key)
{
	struct keys_id id = {0};

	if (keys_parse(key, &id, NULL) == PL_OK && id.kind == KEYS_OWNER) {
		evict->owned[id.partition] = true;
		evict->partitions++;
		return;
	}
	evict->roles += id.kind == KEYS_LEADER;
	print_message("  " PL_SPAN_FMT, PL_SPAN_ARG(key));
}

static uint32_t run_end(const struct shard_evict *evict, uint32_t at)
{
	while (at + 1 < KEYS_PARTITIONS_MAX && evict->owned[at + 1])
		at++;
	return at;
}

/* "  7 partitions: 0-3 9 12 40": as many as go into a line. */
static void print_partitions(const struct shard_evict *evict)
{
	char text[LINE_SIZE] = "";
	size_t len = 0;

	for (uint32_t p = 0; p < KEYS_PARTITIONS_MAX && len < LINE_SIZE - 40; p++) {
		uint32_t end = run_end(evict, p);

		if (!evict->owned[p])
			continue;
		len += (size_t)snprintf(text + len, sizeof text - len, " %" PRIu32, p);
		if (end > p)
			len += (size_t)snprintf(text + len, sizeof text - len,
			                        "-%" PRIu32, end);
		p = end;
	}
	if (evict->partitions > 0)
		print_message("  %u partition%s:%s%s", evict->partitions,
		              evict->partitions == 1 ? "" : "s", text,
		              len < LINE_SIZE - 40 ? "" : " ...");
}

static enum pl_code read_lease(struct shard_evict *evict, struct pl_err *err)
{
	struct kv_req req = {.op = KV_LEASE_TTL,
	                     .lease = {.id = evict->shard.lease, .want_keys = true}};
	struct kv_result result;
	enum pl_code code = store_session_call(evict->session, &req, &result, err);

	if (code != PL_OK)
		return code;
	print_message("its lease %016" PRIx64 " runs for %" PRId64
	              " s more unless it is renewed; "
	              "with it go:",
	              (uint64_t)evict->shard.lease, result.lease.ttl_s);
	for (size_t i = 0; i < result.lease.key_count; i++)
		keep_key(evict, result.lease.keys[i]);
	print_partitions(evict);
	return PL_OK;
}

static void print_shard(const struct shard_evict *evict)
{
	const struct membership *member = &evict->shard.member;

	if (evict->shard.malformed)
		print_message(PL_SPAN_FMT ": its record makes no sense: %s",
		              PL_SPAN_ARG(evict->id), evict->shard.why.msg);
	else
		print_message(PL_SPAN_FMT " is %s, process %" PRId64 " on " PL_SPAN_FMT,
		              PL_SPAN_ARG(evict->id),
		              membership_state_name(member->state), member->pid,
		              PL_SPAN_ARG(member->host));
}

static void print_consequence(void)
{
	print_message(
		"Its process is not stopped: when it learns that its lease is gone it gives up");
	print_message(
		"what it had and joins anew. What it still sends under old epochs is refused.");
	print_message("To keep it out, stop the process, or drain the shard.");
}

/* What became of a revocation that nobody answered. */
static enum pl_code settle_unknown(struct shard_evict *evict, struct pl_err *err)
{
	struct kv_req req = {.op = KV_LEASE_TTL, .lease = {.id = evict->shard.lease}};
	struct pl_err seen = {0};
	enum pl_code code = store_session_call(evict->session, &req, NULL, &seen);

	if (code == PL_NOLEASE)
		return PL_OK;
	if (code == PL_OK)
		return pl_err_wrap(err, "its lease is still there");
	return pl_err_wrap(err, "whether its lease is gone could not be read");
}

static enum pl_code revoke_lease(struct shard_evict *evict, struct pl_err *err)
{
	struct kv_req req = {.op = KV_LEASE_REVOKE, .lease = {.id = evict->shard.lease}};
	enum pl_code code = store_session_call(evict->session, &req, NULL, err);

	if (code == PL_NOLEASE)
		code = PL_OK; /* it went while we asked */
	if (code == PL_UNKNOWN)
		code = settle_unknown(evict, err);
	return code;
}

/* Nobody's process wrote this; only the record itself can go. */
static enum pl_code remove_unleased(struct shard_evict *evict, struct pl_err *err)
{
	struct keys_id id = {.kind = KEYS_SHARD, .name = evict->id};
	struct kv_compare fresh;
	struct kv_result result;
	struct keys_text key;
	struct kv_req del, req;
	enum pl_code code = keys_build(&id, &key, err);

	if (code != PL_OK)
		return code;
	fresh = kv_if_mod_rev(keys_span(&key), KV_EQ, evict->shard.mod_revision);
	del = kv_op_delete(kv_key(keys_span(&key)));
	req = (struct kv_req){.op = KV_TXN,
	                      .txn = {.compares = &fresh,
	                              .compare_count = 1,
	                              .then = &del,
	                              .then_count = 1}};
	code = store_session_call(evict->session, &req, &result, err);
	if (code == PL_OK && !result.txn.succeeded)
		return pl_err_set(err, PL_CONFLICT, "its record changed meanwhile");
	return code;
}

static enum pl_code evict_run(void *ctx, const struct cli_session *cli,
                              struct pl_err *err)
{
	struct shard_evict *evict = ctx;
	char question[320];
	enum pl_code code;

	evict->session = cli->session;
	code = shard_find(cli->session, evict->id, &evict->shard, err);
	if (code != PL_OK)
		return code;
	print_shard(evict);
	if (evict->shard.lease == 0)
		print_message(
			"its record has no lease: no shard wrote it, and only it is removed");
	else
		code = read_lease(evict, err);
	if (code == PL_OK && evict->shard.lease != 0)
		print_consequence();
	(void)snprintf(question, sizeof question, "Evict " PL_SPAN_FMT "?",
	               PL_SPAN_ARG(evict->id));
	if (code == PL_OK)
		code = ask(cli->options, question, err);
	if (code == PL_OK)
		code = evict->shard.lease == 0 ? remove_unleased(evict, err)
		                               : revoke_lease(evict, err);
	if (code != PL_OK)
		return code;
	(void)printf(PL_SPAN_FMT " evicted: %u partition%s and %u role%s are free\n",
	             PL_SPAN_ARG(evict->id), evict->partitions,
	             evict->partitions == 1 ? "" : "s", evict->roles,
	             evict->roles == 1 ? "" : "s");
	return PL_OK;
}

static const struct options_spec spec = {
	.words = "shard evict",
	.usage = "<id> [options]",
	.about =
		"Takes its lease from a shard that hangs and yet keeps it alive: its record,\n"
		"its partitions and its roles are free at once, without a hand-over. Shows\n"
		"first what goes. A shard that is well is drained instead.\n",
	.example = "  placet shard evict east-0 --yes\n",
	.common = OPTIONS_YES,
	.args_min = 1,
	.args_max = 1,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct shard_evict evict = {0};

	return cli_session_run(&spec, argc, argv, evict_run, &evict);
}

const struct command shard_evict_command = {
	.words = "shard evict",
	.summary = "take its lease from a shard that hangs",
	.run = run_command};
