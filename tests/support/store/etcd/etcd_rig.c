#include "tests/support/store/etcd/etcd_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/kv/rewrite.h"
#include "store/net/unconst.h"
#include "tests/harness/t.h"

void etcd_rig_launch(struct etcd_rig *rig, const struct etcd_launch_opts *launch)
{
	struct etcd_launch_opts opts = {.members = 1};

	if (launch != NULL)
		opts = *launch;
	opts.no_fsync = true;
	memset(rig, 0, sizeof *rig);
	T_EQ(uv_loop_init(&rig->loop), 0);
	pl_arena_init(&rig->arena, 1 << 16, 0);
	T_OK(etcd_launch_start_wait(&rig->loop, &opts, &rig->launch, &rig->err),
	     &rig->err);
}

struct kv *etcd_rig_open(struct etcd_rig *rig, const struct etcd_opts *etcd)
{
	struct etcd_opts opts = {0};
	struct kv *kv = NULL;

	if (etcd != NULL)
		opts = *etcd;
	if (opts.endpoints == NULL)
		opts.endpoints = etcd_launch_endpoints(rig->launch);
	opts.seed = t_seed();
	T_OK(etcd_open(&rig->loop, &opts, &kv, &rig->err), &rig->err);
	return kv;
}

void etcd_rig_up(struct etcd_rig *rig, const struct etcd_launch_opts *launch,
                 const struct etcd_opts *etcd)
{
	etcd_rig_launch(rig, launch);
	rig->kv = etcd_rig_open(rig, etcd);
}

static void on_closed(void *ctx)
{
	*(bool *)ctx = true;
}

void etcd_rig_close(struct etcd_rig *rig, struct kv *kv)
{
	bool closed = false;

	kv_close(kv, on_closed, &closed);
	T_TRUE(!closed);
	etcd_rig_until(rig, &closed);
}

/* Runs the loop until it is empty, so that a handle left open fails the case. */
void etcd_rig_down(struct etcd_rig *rig)
{
	if (rig->kv != NULL)
		etcd_rig_close(rig, rig->kv);
	if (rig->launch != NULL)
		etcd_launch_stop_wait(rig->launch);
	T_EQ(uv_run(&rig->loop, UV_RUN_DEFAULT), 0);
	T_EQ(uv_loop_close(&rig->loop), 0);
	pl_arena_done(&rig->arena);
}

void etcd_rig_until(struct etcd_rig *rig, const bool *flag)
{
	while (!*flag)
		(void)uv_run(&rig->loop, UV_RUN_ONCE);
}

static void on_run_timer(uv_timer_t *timer)
{
	*(bool *)timer->data = true;
	uv_close((uv_handle_t *)timer, NULL);
}

void etcd_rig_run_ms(struct etcd_rig *rig, uint64_t ms)
{
	bool over = false;
	uv_timer_t timer;

	T_EQ(uv_timer_init(&rig->loop, &timer), 0);
	timer.data = &over;
	T_EQ(uv_timer_start(&timer, on_run_timer, ms, 0), 0);
	etcd_rig_until(rig, &over);
	(void)uv_run(&rig->loop, UV_RUN_NOWAIT); /* runs its close callback */
}

void etcd_rig_spawn(const char *const argv[])
{
	int status = 0;
	pid_t pid = fork();

	T_TRUE(pid >= 0);
	if (pid == 0) {
		(void)!freopen("/dev/null", "w", stdout);
		execvp(argv[0], unconst(argv));
		_exit(127);
	}
	T_EQ(waitpid(pid, &status, 0), pid);
	if (status != 0)
		t_fail(__FILE__, __LINE__, "%s %s: status %d", argv[0], argv[1], status);
}

/* -- calls ---------------------------------------------------------------- */

struct etcd_rig_result {
	struct etcd_rig *rig;
	struct kv_result *result;
	bool done;
};

static void on_result(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct etcd_rig_result *one = ctx;

	T_TRUE((result == NULL) == (err != NULL));
	T_TRUE(!one->done);
	one->done = true;
	one->rig->err = err == NULL ? (struct pl_err){0} : *err;
	if (err == NULL && one->result != NULL)
		T_EQ(kv_result_copy(&one->rig->arena, result, one->result), PL_OK);
}

enum pl_code etcd_rig_call(struct etcd_rig *rig, const struct kv_req *req,
                           uint64_t timeout_ms, struct kv_result *result)
{
	struct etcd_rig_result one = {.rig = rig, .result = result};
	enum pl_code code =
		kv_start(rig->kv, req, timeout_ms, on_result, &one, NULL, &rig->err);

	if (code != PL_OK)
		return code;
	T_TRUE(!one.done);
	etcd_rig_until(rig, &one.done);
	return rig->err.code;
}

int64_t etcd_rig_put(struct etcd_rig *rig, const char *key, const char *value)
{
	struct kv_req req = kv_op_put(pl_span_str(key), pl_span_str(value));
	struct kv_result result = {0};

	T_OK(etcd_rig_call(rig, &req, ETCD_RIG_TIMEOUT_MS, &result), &rig->err);
	return result.header.revision;
}

const char *etcd_rig_get(struct etcd_rig *rig, const char *key)
{
	struct kv_req req = kv_op_get(kv_key(pl_span_str(key)));
	struct kv_result result = {0};
	struct pl_span copy;

	T_OK(etcd_rig_call(rig, &req, ETCD_RIG_TIMEOUT_MS, &result), &rig->err);
	if (result.get.count == 0)
		return NULL;
	copy = pl_arena_dup(&rig->arena, result.get.records[0].value);
	return (const char *)copy.at;
}

void etcd_rig_on_pending(void *ctx, const struct kv_result *result,
                         const struct pl_err *err)
{
	struct etcd_rig_pending *pending = ctx;

	(void)result;
	T_TRUE(!pending->done);
	pending->done = true;
	pending->code = err == NULL ? PL_OK : err->code;
	if (err != NULL)
		pending->err = *err;
}

void etcd_rig_start(struct etcd_rig *rig, struct etcd_rig_pending *pending,
                    const struct kv_req *req, uint64_t timeout_ms)
{
	*pending = (struct etcd_rig_pending){0};
	T_OK(kv_start(rig->kv, req, timeout_ms, etcd_rig_on_pending, pending,
	              &pending->call, &rig->err),
	     &rig->err);
	T_TRUE(!pending->done);
}

/* -- watches --------------------------------------------------------------- */

static void on_events(struct etcd_rig_watch *watch, const struct kv_watch_note *note)
{
	int64_t last = watch->events == 0 ? 0 : watch->revision[watch->events - 1];

	T_TRUE(note->count > 0);
	T_TRUE(note->events[0].record.mod_revision >
	       last); /* a revision is never split over notes */
	watch->messages++;
	for (size_t i = 0; i < note->count; i++) {
		T_TRUE(note->events[i].record.mod_revision >= last);
		last = note->events[i].record.mod_revision;
		watch->bytes += note->events[i].record.value.len;
		if (watch->events < ETCD_RIG_NOTES_MAX)
			watch->revision[watch->events++] = last;
	}
	T_EQ(note->revision, last);
	watch->enough = watch->events >= watch->want;
}

void etcd_rig_on_note(void *ctx, const struct kv_watch_note *note)
{
	struct etcd_rig_watch *watch = ctx;

	T_TRUE(!watch->ended);
	switch (note->what) {
	case KV_WATCH_READY:
		watch->ready++;
		watch->is_ready = true;
		watch->ready_revision = note->revision;
		break;
	case KV_WATCH_EVENTS:
		on_events(watch, note);
		break;
	case KV_WATCH_PROGRESS:
		T_TRUE(note->revision >= watch->progress_revision);
		watch->progress++;
		watch->has_progress = true;
		watch->progress_revision = note->revision;
		break;
	case KV_WATCH_END:
		watch->ended = watch->enough = watch->is_ready = watch->has_progress =
			true;
		watch->compact_revision = note->compact_revision;
		watch->err = *note->err;
		break;
	}
}

void etcd_rig_watch(struct etcd_rig *rig, struct etcd_rig_watch *watch,
                    const char *prefix, int64_t from_revision)
{
	struct kv_watch_req req = {.keys = kv_prefix(pl_span_str(prefix)),
	                           .from_revision = from_revision};

	memset(watch, 0, sizeof *watch);
	T_OK(kv_watch(rig->kv, &req, etcd_rig_on_note, watch, &watch->watch, &rig->err),
	     &rig->err);
	T_TRUE(!watch->is_ready);
	etcd_rig_until(rig, &watch->is_ready);
}

void etcd_rig_wait_events(struct etcd_rig *rig, struct etcd_rig_watch *watch,
                          unsigned want)
{
	watch->want = want;
	watch->enough = watch->events >= want || watch->ended;
	etcd_rig_until(rig, &watch->enough);
	T_TRUE(!watch->ended);
	T_EQ(watch->events, want);
}

void etcd_rig_unwatch(struct etcd_rig *rig, struct etcd_rig_watch *watch)
{
	kv_unwatch(rig->kv, watch->watch);
	T_TRUE(!watch->ended);
	etcd_rig_until(rig, &watch->ended);
	T_EQ(watch->err.code, PL_CANCELED);
}
