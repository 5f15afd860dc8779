#include "coord/cli/pods/pods_gone_wait.h"

#include <inttypes.h>

#include "coord/cli/output/message.h"
#include "coord/cli/output/progress.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/cli/shards/idle_warning.h"

enum { SHOWN = 3 };

struct gone_wait {
	struct pods_gone *gone;
	struct kv *kv;
	struct cli_wait wait;
	struct progress progress;
	struct idle_warning idle;
	struct pl_timer tick;
};

static void on_tick(void *ctx)
{
	struct gone_wait *wait = ctx;
	const struct pods_gone *gone = wait->gone;
	uint64_t now_ms = kv_now_ms(wait->kv);

	idle_warning_look(&wait->idle, now_ms, gone->left.count);
	progress_print(&wait->progress, now_ms, "%" PRIu64 " of %" PRIu64 " pods gone",
	               gone->total - gone->left.count, gone->total);
	pl_timer_set(&wait->tick, now_ms + PROGRESS_EACH_MS);
}

static bool is_owned(void *ctx, const struct pod_watch_pod *pod)
{
	return idle_owner_is_known(ctx, pod->partition);
}

static void each_partition(void *ctx, struct idle_owners *owners)
{
	const struct gone_wait *wait = ctx;

	if (wait->gone->watch != NULL)
		pod_watch_each(wait->gone->watch, is_owned, owners);
}

static void on_trouble(void *ctx, const struct pl_err *err)
{
	struct gone_wait *wait = ctx;

	progress_end(&wait->progress);
	print_message("waiting for pods: %s; going on", err->msg);
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct gone_wait *wait = ctx;

	cli_wait_end(&wait->wait, err);
}

static enum pl_code start_wait(struct gone_wait *wait, const struct cli_session *cli,
                               uint64_t timeout_ms, struct pl_err *err)
{
	const struct idle_warning_opts idle = {.cli = cli,
	                                       .progress = &wait->progress,
	                                       .what = "pods do not leave their nodes",
	                                       .each = each_partition,
	                                       .ctx = wait};
	const struct pods_gone_opts opts = {.timeout_ms = timeout_ms,
	                                    .trouble = on_trouble,
	                                    .done = on_done,
	                                    .ctx = wait};
	uint64_t now_ms = kv_now_ms(wait->kv);
	enum pl_code code =
		pl_timer_init(&wait->tick, kv_timers(wait->kv), on_tick, wait);

	if (code != PL_OK)
		return pl_err_set(err, code, "wait");
	progress_init(&wait->progress, now_ms);
	idle_warning_init(&wait->idle, &idle, now_ms);
	pl_timer_set(&wait->tick, now_ms + PROGRESS_EACH_MS);
	return pods_gone_start(wait->gone, &cli->service, &opts, err);
}

static enum pl_code print_left(const struct pods_gone *gone, struct pl_err *err)
{
	unsigned shown = 0;

	PL_MAP_EACH (node, &gone->left) {
		if (shown++ == SHOWN)
			break;
		print_message("still there: " PL_SPAN_FMT, PL_SPAN_ARG(node->key));
	}
	return pl_err_set(err, PL_TIMEOUT,
	                  "%zu of %" PRIu64 " pods have not ended; their members have to "
	                  "say so, or --force",
	                  gone->left.count, gone->total);
}

enum pl_code pods_gone_wait(struct pods_gone *gone, const struct cli_session *cli,
                            uint64_t timeout_ms, struct pl_err *err)
{
	struct gone_wait wait = {.gone = gone, .kv = cli->session->kv};
	enum pl_code code;

	if (gone->left.count == 0)
		return PL_OK;
	code = start_wait(&wait, cli, timeout_ms, err);
	if (code == PL_OK)
		code = cli_wait_for(cli->session, &wait.wait, err);
	idle_warning_stop(&wait.idle);
	progress_end(&wait.progress);
	pl_timer_done(&wait.tick);
	return code == PL_TIMEOUT && gone->left.count > 0 ? print_left(gone, err) : code;
}
