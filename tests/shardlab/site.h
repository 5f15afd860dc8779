/*
 * What a round takes place in: an etcd of its own, processes of placetd, each behind a
 * wire that can be cut and with a clock that can be wrong, and the members that run pods.
 */
#ifndef TESTS_SHARDLAB_SITE_H
#define TESTS_SHARDLAB_SITE_H

#include "store/base/rng.h"
#include "store/etcd/etcd.h"
#include "store/etcd/launch.h"
#include "tests/shardlab/cutter.h"
#include "tests/shardlab/job.h"
#include "tests/shardlab/witness.h"

enum {
	SITE_DAEMONS = 3,
	SITE_SHARDS_EACH = 2,
	SITE_PARTITIONS = 24,
	SITE_CLUSTERS = 2,
	SITE_TTL_S = 3,
	SITE_TTL_MS = 3000,
	SITE_WORD = 24,
	SITE_NAME = 48, /* of a node, with its cluster */
	SITE_CALL_MS = 5000,
};

struct site_skew {
	int64_t wall_ns, drift_ppm;
};

struct site_daemon {
	struct job job;
	struct cutter *wire;
	struct site_skew *skew; /* shared with the process */
	char name[SITE_WORD];
	uint64_t since_ms; /* it runs */
	bool down;         /* on purpose */
	bool asked;        /* to end */
};

struct site_opts {
	uint64_t seed;
	unsigned daemons;
	unsigned txn_ops; /* that the store takes */
	bool secure; /* the store wants TLS with client certificates, and passwords */
	const char *placet, *placetd, *skew; /* paths; skew NULL: clocks agree */
	/* Something is as it may not be; does not come back. */
	void (*failed)(void *ctx, const char *check, const char *text);
	void *ctx;
};

struct site {
	struct site_opts opts;
	uv_loop_t loop;
	struct etcd_launch *launch;
	struct kv *kv; /* past all wires */
	struct site_daemon daemon[SITE_DAEMONS];
	struct job member[SITE_CLUSTERS];
	bool living;   /* members let pods end by themselves */
	unsigned runs; /* of anything: for the names of logs */
	unsigned restarts;
	bool ending;
};

/* Runs the loop. */
void site_open(struct site *site, const struct site_opts *opts);
/* Gracefully: whoever does not end in order has failed. */
void site_close(struct site *site);

const char *site_dir(const struct site *site);
const char *site_url(const struct site *site);
void site_log_path(struct site *site, const char *what, char path[JOB_PATH_SIZE]);

void site_daemon_start(struct site *site, unsigned i);
/* Looks after everybody: who has ended by himself, members that are to be run again. */
void site_look(struct site *site);
/* Members run what is bound; lifetime: and let it end after a while. */
void site_members(struct site *site, bool lifetime);
void site_member_kill(struct site *site, unsigned i);

/* Runs the loop for so long. */
void site_run_ms(struct site *site, uint64_t ms);
/* One call, past all wires, to its end. result may be NULL; else only numbers of it may
 * be looked at. */
enum pl_code site_call(struct site *site, const struct kv_req *req,
                       struct kv_header *header, bool *succeeded);
/* placet with these arguments; ends with NULL. --endpoints is put behind them. */
bool site_command(struct site *site, struct job *job, const char *const args[],
                  uint64_t timeout_ms);
/* Another program. */
bool site_program(struct site *site, struct job *job, const char *const argv[],
                  uint64_t timeout_ms);
/* To its end, the loop running. */
int site_wait(struct site *site, struct job *job);
/* After its end: whether it ended as a program may. */
void site_check(struct site *site, const struct job *job);

#endif
