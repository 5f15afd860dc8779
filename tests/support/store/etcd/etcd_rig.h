/*
 * For tests: an etcd, a client of it, and blocking calls.
 *
 * Invariant: every failure that a function does not return ends the test case.
 */
#ifndef TESTS_SUPPORT_STORE_ETCD_ETCD_RIG_H
#define TESTS_SUPPORT_STORE_ETCD_ETCD_RIG_H

#include "store/base/arena.h"
#include "store/etcd/etcd.h"
#include "store/etcd/launch.h"
#include "store/kv/calls.h"

enum { ETCD_RIG_TIMEOUT_MS = 10000, ETCD_RIG_NOTES_MAX = 4096 };

struct etcd_rig {
	uv_loop_t loop;
	struct etcd_launch *launch;
	struct kv *kv;
	struct pl_arena arena; /* holds the results */
	struct pl_err err;     /* error of the last call */
};

/* Starts the servers and a client. NULL: one member, default options. */
void etcd_rig_up(struct etcd_rig *rig, const struct etcd_launch_opts *launch,
                 const struct etcd_opts *etcd);
/* Starts the servers only. */
void etcd_rig_launch(struct etcd_rig *rig, const struct etcd_launch_opts *launch);
struct kv *etcd_rig_open(struct etcd_rig *rig, const struct etcd_opts *etcd);
void etcd_rig_close(struct etcd_rig *rig, struct kv *kv);
void etcd_rig_down(struct etcd_rig *rig);

/* Runs a call to its end. The result, if wanted, is allocated in the rig's arena. */
enum pl_code etcd_rig_call(struct etcd_rig *rig, const struct kv_req *req,
                           uint64_t timeout_ms, struct kv_result *result);
int64_t etcd_rig_put(struct etcd_rig *rig, const char *key, const char *value);
/* Returns the value, or NULL. */
const char *etcd_rig_get(struct etcd_rig *rig, const char *key);

/* Runs the loop until the flag is set; the case's time limit ends it otherwise. */
void etcd_rig_until(struct etcd_rig *rig, const bool *flag);
void etcd_rig_run_ms(struct etcd_rig *rig, uint64_t ms);

/* Runs a program to its end; its failure ends the case. */
void etcd_rig_spawn(const char *const argv[]);

/* A watch that records its notes. */
struct etcd_rig_watch {
	struct kv_watch *watch;
	unsigned ready, events, progress, messages;
	int64_t revision[ETCD_RIG_NOTES_MAX]; /* revision of each event */
	int64_t ready_revision, progress_revision;
	int64_t compact_revision;
	size_t bytes;
	unsigned want; /* number of events after which enough is set */
	bool enough, is_ready, has_progress, ended;
	struct pl_err err;
};

void etcd_rig_on_note(void *ctx, const struct kv_watch_note *note);
void etcd_rig_watch(struct etcd_rig *rig, struct etcd_rig_watch *watch,
                    const char *prefix, int64_t from_revision);
void etcd_rig_wait_events(struct etcd_rig *rig, struct etcd_rig_watch *watch,
                          unsigned want);
void etcd_rig_unwatch(struct etcd_rig *rig, struct etcd_rig_watch *watch);

/* A call whose end is awaited later. */
struct etcd_rig_pending {
	struct kv_call *call;
	bool done;
	enum pl_code code;
	struct pl_err err;
};

void etcd_rig_on_pending(void *ctx, const struct kv_result *result,
                         const struct pl_err *err);
void etcd_rig_start(struct etcd_rig *rig, struct etcd_rig_pending *pending,
                    const struct kv_req *req, uint64_t timeout_ms);

#endif
