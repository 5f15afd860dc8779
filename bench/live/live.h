/*
 * An etcd of the bench's own, with fsync, on free ports and in a fresh directory that
 * goes with it; and a client of it.
 */
#ifndef BENCH_LIVE_LIVE_H
#define BENCH_LIVE_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "store/base/arena.h"
#include "store/etcd/etcd.h"
#include "store/etcd/launch.h"
#include "store/kv/calls.h"

enum { LIVE_TIMEOUT_MS = 60000 };

struct live_opts {
	const char *dir; /* parent of etcd's directory; NULL: TMPDIR or /tmp */
	bool tls;
};

struct live {
	uv_loop_t loop;
	struct etcd_launch *launch;
	struct kv *kv;
	struct pl_arena
		arena; /* memory of the request being built; the builder resets it */
};

void live_open(struct live *live, const struct live_opts *opts);
void live_close(struct live *live);

/* Opens another client of the same etcd on the caller's loop. */
struct kv *live_client(const struct live *live, uv_loop_t *loop);
void live_client_close(uv_loop_t *loop, struct kv *kv);

/* Runs one call to its end. result, copied into the arena, may be NULL. */
void live_call(struct live *live, const struct kv_req *req, struct kv_result *result);
int64_t live_revision(struct live *live);
double live_db_bytes(struct live *live);

/* Calls fn for every key of a prefix at one revision, page by page; fn borrows. */
typedef void live_each_fn(void *ctx, const struct kv_record *record);
void live_each(struct live *live, const char *prefix, bool keys_only, live_each_fn *fn,
               void *ctx);

/* Emits the machine, versions and the time of an fsync; more: further fields, or NULL. */
void live_environment(struct live *live, const char *more);

/* -- resource use ----------------------------------------------------------- */

struct meter {
	uint64_t start_ns, client_ns;
	double server_at_s;
	double wall_s, client_s, server_s;
};

void meter_start(struct meter *m, const struct live *live);
void meter_end(struct meter *m, const struct live *live);
void meter_emit(const struct meter *m, const char *fields);

#endif
