#include "coord/up/memstore.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/rng.h"
#include "store/memkv/memkv.h"
#include "store/serve/serve.h"

enum { ENDPOINT_SIZE = 64, TXN_OPS = 1024 };

struct memstore {
	uv_loop_t loop;
	uv_async_t stop;
	struct memkv *mem;
	struct memkv_loop *driver;
	struct serve *serve;
	pthread_t thread;
	char endpoint[ENDPOINT_SIZE];
};

static enum pl_code open_session(void *ctx, struct kv **out, struct pl_err *err)
{
	return memkv_session(ctx, out, err);
}

static void on_detached(void *ctx)
{
	(void)ctx;
}

static void on_served(void *ctx)
{
	struct memstore *store = ctx;

	memkv_detach(store->driver, on_detached, NULL);
	uv_close((uv_handle_t *)&store->stop, NULL);
}

static void on_stop(uv_async_t *async)
{
	struct memstore *store = PL_CONTAINER_OF(async, struct memstore, stop);

	serve_close(store->serve, on_served, store);
}

static void *loop_main(void *ctx)
{
	struct memstore *store = ctx;

	(void)uv_run(&store->loop, UV_RUN_DEFAULT);
	return NULL;
}

static enum pl_code serve_start(struct memstore *store, uint16_t port, struct pl_err *err)
{
	const struct serve_opts opts = {
		.port = port, .session = open_session, .ctx = store->mem};
	enum pl_code code = memkv_attach(store->mem, &store->loop, &store->driver, err);

	if (code != PL_OK)
		return code;
	code = serve_open(&store->loop, &opts, &store->serve, err);
	if (code != PL_OK) {
		memkv_detach(store->driver, on_detached, NULL);
		(void)uv_run(&store->loop, UV_RUN_DEFAULT);
		return code;
	}
	(void)snprintf(store->endpoint, sizeof store->endpoint, "http://127.0.0.1:%u",
	               (unsigned)serve_port(store->serve));
	return PL_OK;
}

/* The loop is open already. */
static enum pl_code memstore_open(struct memstore *store, uint16_t port,
                                  struct pl_err *err)
{
	const struct memkv_opts opts = {.txn_ops_max = TXN_OPS,
	                                .seed = pl_rng_seed_random()};
	enum pl_code code = memkv_new(&opts, &store->mem, err);

	if (code != PL_OK)
		return code;
	code = serve_start(store, port, err);
	if (code != PL_OK)
		memkv_free(store->mem);
	return code;
}

enum pl_code memstore_start(uint16_t port, struct memstore **out, struct pl_err *err)
{
	struct memstore *store = pl_calloc(1, sizeof *store);
	enum pl_code code;

	if (store == NULL || uv_loop_init(&store->loop) != 0) {
		free(store);
		return pl_err_set(err, PL_NOMEM, "a store in memory");
	}
	code = memstore_open(store, port, err);
	if (code != PL_OK) {
		(void)uv_run(&store->loop, UV_RUN_DEFAULT);
		(void)uv_loop_close(&store->loop);
		free(store);
		return code;
	}
	if (uv_async_init(&store->loop, &store->stop, on_stop) != 0 ||
	    pthread_create(&store->thread, NULL, loop_main, store) != 0)
		abort(); /* no other part of this process runs yet */
	*out = store;
	return PL_OK;
}

const char *memstore_endpoint(const struct memstore *store)
{
	return store->endpoint;
}

void memstore_stop(struct memstore *store)
{
	(void)uv_async_send(&store->stop);
	(void)pthread_join(store->thread, NULL);
	memkv_free(store->mem);
	(void)uv_loop_close(&store->loop);
	free(store);
}
