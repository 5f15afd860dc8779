/*
 * Threads that share nothing: each has a loop, a client of a server and a store in
 * memory of its own, and all do the same at once. For -Db_sanitize=thread: what two
 * of them touch without their knowing (a static buffer, a library's state) shows.
 */
#include "tests/harness/t.h"

#include <pthread.h>

#include "store/etcd/etcd.h"
#include "store/etcd/launch.h"
#include "store/kv/calls.h"
#include "store/memkv/memkv.h"
#include "tests/support/store/etcd/faulty_etcd.h"

enum { THREADS = 4, ROUNDS = 200, TIMEOUT_MS = 20000 };

struct worker {
	pthread_t thread;
	const struct etcd_opts *opts; /* NULL: a scripted server of its own */
	uv_loop_t loop;
	struct faulty_etcd faulty;
	struct kv *kv[2]; /* etcd's and memkv's */
	unsigned ends, events, closed;
	bool detached;
};

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct worker *worker = ctx;

	T_TRUE((result == NULL) == (err != NULL));
	worker->ends++;
	uv_stop(&worker->loop); /* else it would sleep before it returns */
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	((struct worker *)ctx)->events += (unsigned)note->count;
}

static void on_closed(void *ctx)
{
	struct worker *worker = ctx;

	worker->closed++;
	uv_stop(&worker->loop);
}

static void on_detached(void *ctx)
{
	struct worker *worker = ctx;

	worker->detached = true;
	uv_stop(&worker->loop);
}

static void work_on(struct worker *worker, struct kv *kv)
{
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("t/"))};
	struct pl_err err;

	T_OK(kv_watch(kv, &req, on_note, worker, NULL, &err), &err);
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned before = worker->ends;

		T_OK(kv_put(kv,
		            &(struct kv_put){.key = PL_SPAN_LIT("t/a"),
		                             .value = PL_SPAN_LIT("x")},
		            TIMEOUT_MS, on_done, worker, NULL, &err),
		     &err);
		T_OK(kv_get(kv, &(struct kv_get){.keys = kv_prefix(PL_SPAN_LIT("t/"))},
		            TIMEOUT_MS, on_done, worker, NULL, &err),
		     &err);
		T_OK(kv_lease_keep(kv, &(struct kv_lease_req){.id = 7}, TIMEOUT_MS,
		                   on_done, worker, NULL, &err),
		     &err);
		while (worker->ends < before + 3)
			(void)uv_run(&worker->loop, UV_RUN_DEFAULT);
	}
}

static void *run_worker(void *ctx)
{
	struct worker *worker = ctx;
	struct etcd_opts opts = {0};
	struct memkv_loop *attached = NULL;
	struct memkv *mem = NULL;
	struct pl_err err;

	T_EQ(uv_loop_init(&worker->loop), 0);
	if (worker->opts != NULL) {
		opts = *worker->opts;
	} else {
		faulty_etcd_start(&worker->faulty, &worker->loop);
		opts.endpoints = worker->faulty.endpoint;
	}
	T_OK(etcd_open(&worker->loop, &opts, &worker->kv[0], &err), &err);
	T_OK(memkv_new(NULL, &mem, &err), &err);
	T_OK(memkv_session(mem, &worker->kv[1], &err), &err);
	T_OK(memkv_attach(mem, &worker->loop, &attached, &err), &err);
	for (unsigned i = 0; i < 2; i++)
		work_on(worker, worker->kv[i]);
	for (unsigned i = 0; i < 2; i++)
		kv_close(worker->kv[i], on_closed, worker);
	while (worker->closed < 2)
		(void)uv_run(&worker->loop, UV_RUN_DEFAULT);
	memkv_detach(attached, on_detached, worker);
	while (!worker->detached)
		(void)uv_run(&worker->loop, UV_RUN_DEFAULT);
	memkv_free(mem);
	if (worker->opts == NULL)
		faulty_etcd_stop(&worker->faulty);
	(void)uv_run(&worker->loop, UV_RUN_DEFAULT);
	T_EQ(uv_loop_close(&worker->loop), 0);
	return NULL;
}

static void run_all(const struct etcd_opts *opts)
{
	static struct worker workers[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].opts = opts;
		T_EQ(pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]),
		     0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		T_EQ(pthread_join(workers[i].thread, NULL), 0);
		T_EQ(workers[i].ends, 2 * 3 * ROUNDS);
		T_TRUE(workers[i].events >= ROUNDS); /* memkv's, at the least */
	}
}

T_CASE_SECONDS(clients_of_scripted_servers, 120)
{
	run_all(NULL);
}

static void of_real_etcd(bool tls)
{
	struct etcd_launch_opts launch_opts = {
		.members = 1, .no_fsync = true, .tls = tls};
	struct etcd_opts opts = {0};
	struct etcd_launch *launch = NULL;
	struct pl_err err;
	uv_loop_t loop;

	T_EQ(uv_loop_init(&loop), 0);
	T_OK(etcd_launch_start_wait(&loop, &launch_opts, &launch, &err), &err);
	opts.endpoints = etcd_launch_endpoints(launch);
	if (tls)
		opts.tls = (struct tls_files){.ca_file = etcd_launch_ca_file(launch),
		                              .cert_file = etcd_launch_cert_file(launch),
		                              .key_file = etcd_launch_key_file(launch)};
	run_all(&opts);
	etcd_launch_stop_wait(launch);
	T_EQ(uv_loop_close(&loop), 0);
}

T_CASE_SECONDS(clients_of_one_etcd, 120)
{
	of_real_etcd(false);
}

T_CASE_SECONDS(clients_of_one_etcd_under_tls, 120)
{
	of_real_etcd(true);
}
