/*
 * The API server of the process, on a thread and a loop of its own with its own etcd
 * client, so that no client of the API slows a shard.
 */
#ifndef COORD_DAEMON_API_THREAD_H
#define COORD_DAEMON_API_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "coord/api/server/api_server.h"
#include "coord/daemon/api_authn.h"
#include "coord/daemon/options.h"
#include "coord/metrics/loop_lag.h"
#include "coord/metrics/metrics_exporter.h"

enum api_thread_state { API_THREAD_RUNS, API_THREAD_FAILED, API_THREAD_ENDED };

struct api_thread {
	/* Set by the process before api_thread_start. */
	const struct daemon_opts *opts;
	uv_async_t *report;                /* sent when state has changed */
	struct api_server_process process; /* as the server shows it */
	struct metrics_hub *hub;

	_Atomic enum api_thread_state state;
	_Atomic bool stop; /* ordered */
	pthread_t thread;
	uv_loop_t loop;
	uv_mutex_t lock; /* of wakeable and wake: a loop that has ended is not woken */
	bool wakeable;
	uv_async_t wake;

	/* Used by the thread only. */
	struct kv *kv;
	struct kv *etcd, *measured; /* below kv; NULL with it */
	struct metrics_source source;
	struct metrics_exporter *exporter;
	struct loop_lag lag;
	struct tls_server *tls; /* NULL: clear text */
	struct api_authn authn;
	struct audit_log *audit; /* NULL: none */
	struct api_server *server;
	bool stopping;
};

/* PL_EXISTS: the port is taken; PL_TLS, PL_IO: the files are not usable. After a failure
 * nothing runs. */
PL_NODISCARD enum pl_code api_thread_start(struct api_thread *api, struct pl_err *err);
/* May be called from any other thread, and twice. */
void api_thread_stop(struct api_thread *api);
void api_thread_join(struct api_thread *api);

#endif
