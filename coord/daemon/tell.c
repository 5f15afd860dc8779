#include "coord/daemon/tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/connect/version.h"
#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/base/timestamp.h"

enum { STUCK_MS = 30000 /* a loop that has not turned for so long does not live */ };

static bool holds_lease(void *ctx, char why[HEALTH_WHY_SIZE])
{
	const struct worker *worker = ctx;
	uint64_t safe_ms = atomic_load(&worker->safe_until_ms);
	enum worker_state state = atomic_load(&worker->state);

	if (state == WORKER_RUNS && safe_ms > pl_clock_ms() &&
	    atomic_load(&worker->active))
		return true;
	(void)snprintf(why, HEALTH_WHY_SIZE, "%s",
	               state != WORKER_RUNS ? "the shard has failed or ended"
	               : safe_ms == 0       ? "the shard has no lease"
	                              : "the shard's lease was not renewed in time");
	return false;
}

static bool loop_turns(void *ctx, char why[HEALTH_WHY_SIZE])
{
	const struct worker *worker = ctx;
	uint64_t turned_ms = atomic_load(&worker->turned_ms), now_ms = pl_clock_ms();

	if (atomic_load(&worker->state) == WORKER_ENDED || turned_ms == 0 ||
	    now_ms < turned_ms + STUCK_MS)
		return true;
	(void)snprintf(why, HEALTH_WHY_SIZE, "the loop has not turned for %" PRIu64 " s",
	               (now_ms - turned_ms) / 1000);
	return false;
}

static void add_checks(struct tell *tell, unsigned number)
{
	struct worker *worker = &tell->worker[number];
	struct health_check *check = &tell->check[2 * (size_t)number];

	check[0] = (struct health_check){
		.paths = HEALTH_READYZ, .good = holds_lease, .ctx = worker};
	check[1] = (struct health_check){
		.paths = HEALTH_LIVEZ, .good = loop_turns, .ctx = worker};
	(void)snprintf(check[0].name, sizeof check[0].name, "shard/%s", worker->id);
	(void)snprintf(check[1].name, sizeof check[1].name, "loop/%s", worker->id);
}

enum pl_code tell_init(struct tell *tell, const struct daemon_opts *opts,
                       struct worker *workers, unsigned count, struct pl_err *err)
{
	*tell = (struct tell){.opts = opts,
	                      .worker = workers,
	                      .count = count,
	                      .since_ms = pl_clock_wall_ms()};
	tell->check = pl_calloc(2 * (size_t)count + 1, sizeof *tell->check);
	if (tell->check == NULL)
		return pl_err_set(err, PL_NOMEM, "health checks");
	for (unsigned i = 0; i < count; i++)
		add_checks(tell, i);
	return PL_OK;
}

void tell_done(struct tell *tell)
{
	free(tell->check);
	tell->check = NULL;
}

static void write_config(void *ctx, struct pl_json_out *out)
{
	const struct tell *tell = ctx;

	daemon_opts_json(tell->opts, out);
}

static enum pl_code write_shard(const struct worker *worker, struct pl_buf *out)
{
	uint64_t safe_ms = atomic_load(&worker->safe_until_ms), now_ms = pl_clock_ms();

	return pl_buf_printf(out,
	                     "shard.%s: partitions=%" PRIu32 " lease_safe_ms=%" PRIu64
	                     " turned_ms_ago=%" PRIu64 "\n",
	                     worker->id, atomic_load(&worker->owned),
	                     safe_ms > now_ms ? safe_ms - now_ms : 0,
	                     now_ms - atomic_load(&worker->turned_ms));
}

static enum pl_code write_status(void *ctx, struct pl_buf *out)
{
	const struct tell *tell = ctx;
	char since[PL_TIMESTAMP_SIZE];
	enum pl_code code;

	pl_timestamp_print(tell->since_ms, since);
	code = pl_buf_printf(out,
	                     "version: %s\nname: %s\nstarted: %s\nup_s: %" PRId64 "\n",
	                     PLACET_VERSION, tell->opts->name, since,
	                     (pl_clock_wall_ms() - tell->since_ms) / 1000);
	for (unsigned i = 0; i < tell->count && code == PL_OK; i++)
		code = write_shard(&tell->worker[i], out);
	return code;
}

struct api_server_process tell_process(struct tell *tell)
{
	return (struct api_server_process){
		.checks = {tell->check, 2 * (size_t)tell->count},
		.name = "placetd",
		.config = write_config,
		.status = write_status,
		.ctx = tell};
}
