/*
 * placet shard evict: revokes the lease of a shard that hangs and yet keeps it alive.
 * All keys under the lease go at once; the store refuses what the shard still sends
 * under its old epochs.
 */
#include "coord/service/shards/shard_evict.h"

#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/output/message.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/cli/session/confirm.h"
#include "store/keys/keys.h"

enum { LINE_SIZE = 600 };

struct shard_evict_cmd {
	struct pl_span id;
	const struct cli_session *cli;
	struct cli_wait wait;
	int64_t lease, mod_revision; /* of the record, as it was found */
	unsigned partitions;
	unsigned roles;
	bool owned[KEYS_PARTITIONS_MAX];
};

static enum pl_code wait_for(struct shard_evict_cmd *evict, struct pl_err *err)
{
	enum pl_code code = cli_wait_for(evict->cli->session, &evict->wait, err);

	evict->wait = (struct cli_wait){0};
	return code;
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	struct shard_evict_cmd *evict = ctx;

	evict->id = pl_span_str(options->args[0]);
	return shard_id_check(evict->id, err);
}

/* Partitions are counted, and other keys are printed. */
static void keep_key(struct shard_evict_cmd *evict, struct pl_span key)
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

static uint32_t run_end(const struct shard_evict_cmd *evict, uint32_t at)
{
	while (at + 1 < KEYS_PARTITIONS_MAX && evict->owned[at + 1])
		at++;
	return at;
}

/* "  7 partitions: 0-3 9 12 40": as many as go into a line. */
static void print_partitions(const struct shard_evict_cmd *evict)
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

static void on_lease(void *ctx, const struct shard_lease *lease, const struct pl_err *err)
{
	struct shard_evict_cmd *evict = ctx;

	cli_wait_end(&evict->wait, err);
	if (err != NULL)
		return;
	print_message("its lease %016" PRIx64 " runs for %" PRId64
	              " s more unless it is renewed; with it go:",
	              (uint64_t)evict->lease, lease->ttl_s);
	for (size_t i = 0; i < lease->count; i++)
		keep_key(evict, lease->keys[i]);
	print_partitions(evict);
}

static enum pl_code print_lease(struct shard_evict_cmd *evict, struct pl_err *err)
{
	struct shard_evict *running;
	enum pl_code code = shard_lease_start(&evict->cli->service, evict->lease,
	                                      on_lease, evict, &running, err);

	return code == PL_OK ? wait_for(evict, err) : code;
}

static void print_shard(const struct shard_info *shard)
{
	const struct membership *member = &shard->member;

	if (shard->malformed)
		print_message(PL_SPAN_FMT ": its record is malformed: %s",
		              PL_SPAN_ARG(member->id), shard->why.msg);
	else
		print_message(PL_SPAN_FMT " is %s, process %" PRId64 " on " PL_SPAN_FMT,
		              PL_SPAN_ARG(member->id),
		              membership_state_name(member->state), member->pid,
		              PL_SPAN_ARG(member->host));
}

static void on_found(void *ctx, const struct shard_info *shard, const struct pl_err *err)
{
	struct shard_evict_cmd *evict = ctx;

	cli_wait_end(&evict->wait, err);
	if (err != NULL)
		return;
	evict->lease = shard->lease;
	evict->mod_revision = shard->mod_revision;
	print_shard(shard);
}

static enum pl_code find_shard(struct shard_evict_cmd *evict, struct pl_err *err)
{
	struct shard_find *find;
	enum pl_code code = shard_find_start(&evict->cli->service, evict->id, on_found,
	                                     evict, &find, err);

	return code == PL_OK ? wait_for(evict, err) : code;
}

static void print_consequence(void)
{
	print_message(
		"Its process is not stopped: when it learns that its lease is gone it gives up");
	print_message(
		"what it had and joins anew. What it still sends under old epochs is refused.");
	print_message("To keep it out, stop the process, or drain the shard.");
}

static void on_evicted(void *ctx, const struct pl_err *err)
{
	struct shard_evict_cmd *evict = ctx;

	cli_wait_end(&evict->wait, err);
}

static enum pl_code evict_shard(struct shard_evict_cmd *evict, struct pl_err *err)
{
	const struct shard_info shard = {.member = {.id = evict->id},
	                                 .lease = evict->lease,
	                                 .mod_revision = evict->mod_revision};
	struct shard_evict *running;
	enum pl_code code = shard_evict_start(&evict->cli->service, &shard, on_evicted,
	                                      evict, &running, err);

	return code == PL_OK ? wait_for(evict, err) : code;
}

static enum pl_code evict_run(void *ctx, const struct cli_session *cli,
                              struct pl_err *err)
{
	struct shard_evict_cmd *evict = ctx;
	char question[320];
	enum pl_code code;

	evict->cli = cli;
	code = find_shard(evict, err);
	if (code != PL_OK)
		return code;
	if (evict->lease == 0)
		print_message(
			"its record has no lease: no shard wrote it, and only it is "
			"removed");
	else
		code = print_lease(evict, err);
	if (code == PL_OK && evict->lease != 0)
		print_consequence();
	(void)snprintf(question, sizeof question, "Evict " PL_SPAN_FMT "?",
	               PL_SPAN_ARG(evict->id));
	if (code == PL_OK)
		code = ask(cli->options, question, err);
	if (code == PL_OK)
		code = evict_shard(evict, err);
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
	.of_store = "kubectl delete shard does it there",
	.usage = "<id> [options]",
	.about =
		"Revokes the lease of a shard that hangs and still keeps its lease alive: its\n"
		"record, its partitions and its roles are free at once, without a hand-over.\n"
		"Shows first what goes with the lease. Drain a healthy shard instead.\n",
	.example = "  placet shard evict east-0 --yes\n",
	.common = OPTIONS_YES,
	.args_min = 1,
	.args_max = 1,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct shard_evict_cmd evict = {0};

	return cli_session_run(&spec, argc, argv, evict_run, &evict);
}

const struct command shard_evict_command = {
	.words = "shard evict",
	.summary = "revoke the lease of a shard that hangs",
	.run = run_command,
	.spec = &spec};
