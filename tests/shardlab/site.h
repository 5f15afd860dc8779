/*
 * A site is where a round takes place: an etcd of its own, processes of placetd, each
 * behind a proxy that can be cut and with a clock that can be wrong, and the members that
 * run pods.
 */
#ifndef TESTS_SHARDLAB_SITE_H
#define TESTS_SHARDLAB_SITE_H

#include "store/base/rng.h"
#include "store/etcd/etcd.h"
#include "store/etcd/launch.h"
#include "tests/shardlab/job.h"
#include "tests/shardlab/observer.h"
#include "tests/shardlab/proxy.h"

enum {
	SITE_DAEMONS = 3,
	SITE_SHARDS_EACH = 2,
	SITE_PARTITIONS = 24,
	SITE_CLUSTERS = 2,
	SITE_TTL_S = 3,
	SITE_TTL_MS = 3000,
	SITE_WORD = 24,
	SITE_NAME = 48, /* size of a node's name with its cluster */
	SITE_CALL_MS = 5000,
};

struct site_skew {
	int64_t wall_ns, drift_ppm;
};

struct site_daemon {
	struct job job;
	struct proxy *wire;
	struct site_skew *skew; /* memory shared with the process */
	char name[SITE_WORD];
	uint64_t since_ms; /* start of the process */
	bool down;         /* the process was stopped on purpose */
	bool asked;        /* the process was asked to end */
};

struct site_opts {
	uint64_t seed;
	unsigned daemons;
	unsigned txn_ops; /* most operations of a transaction in the store */
	bool secure; /* the store requires TLS with client certificates, and passwords */
	const char *placet, *placetd, *skew; /* paths; skew NULL: all clocks are right */
	/* Reports a failure; does not return. */
	void (*failed)(void *ctx, const char *check, const char *text);
	void *ctx;
};

struct site {
	struct site_opts opts;
	uv_loop_t loop;
	struct etcd_launch *launch;
	struct kv *kv; /* a connection that no proxy can cut */
	struct site_daemon daemon[SITE_DAEMONS];
	struct job member[SITE_CLUSTERS];
	bool living;   /* members let pods end by themselves */
	unsigned runs; /* programs started so far, for the names of logs */
	unsigned restarts;
	bool ending;
};

/* Starts the site; runs the loop. */
void site_open(struct site *site, const struct site_opts *opts);
/* Stops everything gracefully; a process that does not exit cleanly is a failure. */
void site_close(struct site *site);

const char *site_dir(const struct site *site);
const char *site_url(const struct site *site);
void site_log_path(struct site *site, const char *what, char path[JOB_PATH_SIZE]);

void site_daemon_start(struct site *site, unsigned i);
/* Looks after all processes: reports the ones that ended by themselves, starts members
 * again. */
void site_look(struct site *site);
/* Starts members, which run bound pods; lifetime: each pod ends after a while. */
void site_members(struct site *site, bool lifetime);
void site_member_kill(struct site *site, unsigned i);

/* Runs the loop for that time. */
void site_run_ms(struct site *site, uint64_t ms);
/* Sends a request to the store, bypassing the proxies, run to its end. result may be NULL;
 * otherwise only its numbers are valid. */
enum pl_code site_call(struct site *site, const struct kv_req *req,
                       struct kv_header *header, bool *succeeded);
/* Starts placet with these arguments, which end with NULL. --endpoints is appended. */
bool site_command(struct site *site, struct job *job, const char *const args[],
                  uint64_t timeout_ms);
/* Starts another program. */
bool site_program(struct site *site, struct job *job, const char *const argv[],
                  uint64_t timeout_ms);
/* Waits for the job's end while the loop runs, and returns its status. */
int site_wait(struct site *site, struct job *job);
/* Fails unless the job, which has ended, ended as a program may. */
void site_check(struct site *site, const struct job *job);

#endif
