/*
 * A shard: session, roster, claims, elections, configuration, balancer and janitor
 * over one kv, and the guarded kv for the work on its partitions.
 *
 * Happy path: META; then the session goes UP with the state joining; once roster,
 * claims and configuration are in sync the shard is ACTIVE, and OWN comes for the
 * partitions that fall to it. Notes come later, never from inside a call of ours,
 * except where a comment says so. A shard gives up only after REFUSED; everything else
 * is tried again.
 */
#ifndef COORD_SHARD_SHARD_H
#define COORD_SHARD_SHARD_H

#include "coord/claims/claims.h"
#include "coord/config/config.h"
#include "coord/membership/membership.h"
#include "coord/membership/roster.h"
#include "store/kv/guarded.h"
#include "store/kv/kv.h"

struct shard;

enum shard_what {
	SHARD_META,      /* meta is known: shard_partitions() */
	SHARD_UP,        /* lease: the record is registered */
	SHARD_ACTIVE,    /* takes part in the assignment */
	SHARD_DRAINING,  /* ordered by the configuration; ACTIVE again when that is
	                  * undone */
	SHARD_DRAINED,   /* draining, and no partition is owned any more */
	SHARD_DOUBT,     /* err */
	SHARD_DOWN,      /* err: the session is gone; every LOST has been reported
	                  * before */
	SHARD_OWN,       /* partition, epoch: work on it may begin */
	SHARD_QUIESCE,   /* partition, epoch, deadline_ms: answer with shard_quiet() */
	SHARD_LOST,      /* partition, epoch, why: all work has to stop before this
	                  * returns */
	SHARD_FENCED,    /* partition, epoch: a write was refused; LOST follows */
	SHARD_MALFORMED, /* key, err: a value in the store does not parse */
	SHARD_CONFIG,    /* config, version: applied; with err set: refused */
	SHARD_LEAD,      /* role, epoch; SHARD_FOLLOW: role */
	SHARD_FOLLOW,
	SHARD_BALANCED, /* version, moves */
	SHARD_SWEPT,    /* revision: compacted; or key: removed as garbage */
	SHARD_REWOUND,  /* the store is another one; LOST has been reported for every
	                 * partition */
	SHARD_TROUBLE,  /* err, part: something failed and is tried again */
	SHARD_REFUSED,  /* err: the id is in use, or the store is not one that this
	                 * shard can use */
	SHARD_CLOSED,   /* the last note; err: the lease was not revoked and has to
	                 * expire */
};

struct shard_note {
	enum shard_what what;
	uint32_t partition;
	int64_t epoch;
	int64_t lease;
	int64_t revision;
	uint64_t deadline_ms;
	uint64_t version;
	uint32_t moves;
	enum claims_why why;
	enum config_name config;
	const char *role;
	const char *part; /* "session", "roster", ... */
	struct pl_span key;
	const struct pl_err *err;
};

typedef void shard_fn(void *ctx, const struct shard_note *note);

struct shard_opts {
	const char *id; /* all strings are copied */
	const char *host;
	const char *boot;
	const char *version;
	const char *api;
	const char *zone;
	int64_t pid;
	uint32_t weight;     /* 0: MEMBERSHIP_WEIGHT_ONE */
	uint32_t partitions; /* number of partitions of a new store; 0: the default */
	/* So many shards of this process start together: none of them takes a partition
	 * before all are active, or before 300 ms are over. 0: the shard is alone. */
	uint32_t together;
	int64_t ttl_s;
	uint64_t margin_ms; /* 0: a tenth of the TTL */
	uint64_t seed;      /* 0: from the operating system */
	bool (*pid_lives)(void *ctx, int64_t pid);
	int64_t (*wall_ms)(void *ctx);
	void *ctx; /* of both functions, and of fn */
};

PL_NODISCARD enum pl_code shard_open(struct kv *kv, const struct shard_opts *opts,
                                     shard_fn *fn, struct shard **out,
                                     struct pl_err *err);

/* The kv for work on partitions: keys below /schedules/<p>/ can be written only with
 * the epoch of p. It belongs to the shard and must not be closed; NULL while the shard
 * closes. */
struct kv *shard_kv(struct shard *shard);

/* Until when the shard's lease is surely held, by the store's clock; 0: it has none. */
uint64_t shard_safe_until_ms(const struct shard *shard);

/* The epoch to act under at this moment; 0: the partition is not owned, or the lease
 * is not safe any more. */
int64_t shard_epoch(const struct shard *shard, uint32_t partition);
bool shard_may_begin(const struct shard *shard, uint32_t partition);
void shard_quiet(struct shard *shard, uint32_t partition, int64_t epoch);
/* The load of a partition, in any one unit; and the share of its time that the loop
 * was busy, 0 to 1. */
void shard_load(struct shard *shard, uint32_t partition, uint32_t load);
void shard_busy(struct shard *shard, double busy, double writes_per_s);

/* The applied value of a configuration, and its version; borrowed until the next
 * SHARD_CONFIG of that name. NULL: not known at present. */
const struct config_value *shard_config(const struct shard *shard, enum config_name name,
                                        uint64_t *version);
/* For the record, of a configuration that is applied with a delay: the version that
 * the work really uses, and with err why it does not use the applied one. */
void shard_runs(struct shard *shard, enum config_name name, uint64_t version,
                const struct pl_err *err);
/* The state of the scheduling work, for the record; copied. */
void shard_work(struct shard *shard, const struct membership_work *work);

uint32_t shard_partitions(const struct shard *shard); /* 0: not known yet */
uint32_t shard_owned(const struct shard *shard);
enum membership_state shard_state(const struct shard *shard);
const struct roster *shard_roster(const struct shard *shard);
const struct claims *shard_claims(const struct shard *shard);
uint64_t shard_fenced(const struct shard *shard);

/* Drains, releases and revokes. CLOSED follows, in about handover_ms at most. */
void shard_leave(struct shard *shard);
/* Ends at once and sends nothing, as if the process had died. CLOSED follows. May be
 * called after shard_leave(). */
void shard_abandon(struct shard *shard);

#endif
