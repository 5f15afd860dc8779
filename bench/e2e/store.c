#include <stdio.h>

#include "bench/e2e/e2e.h"
#include "store/kv/calls.h"

enum { CALL_TIMEOUT_MS = 60000 };

/* As the one that Placet starts itself: room for batches, and for the history that a
 * flood leaves until it is compacted. */
static const char *const extra_args[] = {"--max-txn-ops=1024",
                                         "--quota-backend-bytes=8589934592", NULL};

void store_up(struct e2e_store *store, const struct e2e_opts *opts)
{
	struct etcd_launch_opts launch = {
		.members = 1, .dir = opts->dir, .extra_args = extra_args};
	struct etcd_opts client = {.inflight_bytes_max = 256 << 20};
	struct pl_err err = {0};

	*store = (struct e2e_store){.kv = NULL};
	(void)uv_loop_init(&store->loop);
	e2e_check(etcd_launch_start_wait(&store->loop, &launch, &store->launch, &err),
	          &err, "start etcd");
	client.endpoints = etcd_launch_endpoints(store->launch);
	e2e_check(etcd_open(&store->loop, &client, &store->kv, &err), &err,
	          "open the client");
}

static void on_closed(void *ctx)
{
	*(bool *)ctx = true;
}

void store_down(struct e2e_store *store)
{
	bool closed = false;

	kv_close(store->kv, on_closed, &closed);
	while (!closed)
		(void)uv_run(&store->loop, UV_RUN_ONCE);
	etcd_launch_stop_wait(store->launch);
	(void)uv_run(&store->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&store->loop);
}

struct one_call {
	void (*fn)(void *ctx, const struct kv_result *result);
	void *ctx;
	bool done;
};

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct one_call *call = ctx;

	e2e_check(err == NULL ? PL_OK : err->code, err, "call");
	if (call->fn != NULL)
		call->fn(call->ctx, result);
	call->done = true;
}

void store_call(struct e2e_store *store, const struct kv_req *req,
                void (*fn)(void *ctx, const struct kv_result *result), void *ctx)
{
	struct one_call call = {.fn = fn, .ctx = ctx};
	struct pl_err err = {0};

	e2e_check(kv_start(store->kv, req, CALL_TIMEOUT_MS, on_done, &call, NULL, &err),
	          &err, "start a call");
	while (!call.done)
		(void)uv_run(&store->loop, UV_RUN_ONCE);
}

static void take_revision(void *ctx, const struct kv_result *result)
{
	*(int64_t *)ctx = result->header.revision;
}

int64_t store_revision(struct e2e_store *store)
{
	struct kv_req req = kv_op_get(kv_key(PL_SPAN_LIT("/")));
	int64_t revision = 0;

	store_call(store, &req, take_revision, &revision);
	return revision;
}

static void on_written(void *ctx, const struct pl_err *err)
{
	e2e_check(err == NULL ? PL_OK : err->code, err, "write");
	*(bool *)ctx = true;
}

void store_write(struct e2e_store *store, const struct crowd *crowd, enum crowd_part part)
{
	struct crowd_range range = {.part = part,
	                            .count = part == CROWD_PART_NODES ? crowd->nodes
	                                                              : crowd->pods};
	struct pl_err err = {0};
	bool done = false;

	e2e_check(crowd_write(store->kv, crowd, &range, on_written, &done, &err), &err,
	          "write");
	while (!done)
		(void)uv_run(&store->loop, UV_RUN_ONCE);
}

struct checking {
	struct crowd_found *found;
	bool done;
};

static void on_found(void *ctx, const struct crowd_found *found, const struct pl_err *err)
{
	struct checking *checking = ctx;

	e2e_check(err == NULL ? PL_OK : err->code, err, "check");
	*checking->found = *found;
	checking->done = true;
}

void store_check(struct e2e_store *store, const struct crowd *crowd,
                 struct crowd_found *found)
{
	struct checking checking = {.found = found};
	struct pl_err err = {0};

	e2e_check(crowd_check(store->kv, crowd, on_found, &checking, &err), &err,
	          "check");
	while (!checking.done)
		(void)uv_run(&store->loop, UV_RUN_ONCE);
	if (found->wrong[0] != 0)
		e2e_check(PL_CORRUPT, NULL, found->wrong);
}
