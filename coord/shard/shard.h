/*
 * One shard: session, roster, claims, elections, configuration, balancer and
 * janitor over one kv, and the guarded kv for whoever works in it.
 *
 * Happy path: META, then the session goes UP as joining; once roster, claims and
 * configuration are in sync it is active, and OWN comes for what falls to it.
 * Notes come later, never from inside a call of ours, except where said. It never
 * gives up by itself but when REFUSED: everything else is retried.
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
	SHARD_UP,        /* the session stands: lease */
	SHARD_ACTIVE,    /* takes part */
	SHARD_DRAINING,  /* an operator wants it so; ACTIVE again when undrained */
	SHARD_DRAINED,   /* and nothing is owned any more */
	SHARD_DOUBT,     /* err */
	SHARD_DOWN,      /* err: the session is gone; every LOST has been told */
	SHARD_OWN,       /* partition, epoch */
	SHARD_QUIESCE,   /* partition, epoch, deadline_ms: answer with shard_quiet() */
	SHARD_LOST,      /* partition, epoch, why: stop before this returns */
	SHARD_FENCED,    /* partition, epoch: a write was; LOST follows */
	SHARD_MALFORMED, /* key, err: something in the store makes no sense */
	SHARD_CONFIG,    /* config, version: applied; err set: refused */
	SHARD_LEAD,      /* role, epoch; SHARD_FOLLOW: role */
	SHARD_FOLLOW,
	SHARD_BALANCED, /* version, moves */
	SHARD_SWEPT,    /* revision: compacted; or key: removed as garbage */
	SHARD_REWOUND,  /* the store is another one; LOST has been told for everything */
	SHARD_TROUBLE,  /* err, part: something is retried */
	SHARD_REFUSED,  /* err: the id is in use, or the store is not ours to use */
	SHARD_CLOSED,   /* last; err: nothing was revoked, its lease has to run out */
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
	uint32_t partitions; /* wanted when the store is new; 0: the default */
	/* So many shards of this process start at once: none takes a partition before
	 * all take part, or 300 ms are over. 0: it is alone. */
	uint32_t together;
	int64_t ttl_s;
	uint64_t margin_ms; /* 0: a tenth of the TTL */
	uint64_t seed;      /* 0: from the operating system */
	bool (*pid_lives)(void *ctx, int64_t pid);
	int64_t (*wall_ms)(void *ctx);
	void *ctx; /* of these two, and of fn */
};

PL_NODISCARD enum pl_code shard_open(struct kv *kv, const struct shard_opts *opts,
                                     shard_fn *fn, struct shard **out,
                                     struct pl_err *err);

/* For work on partitions: nothing below /schedules/<p>/ is written without the
 * epoch of p. Closed by nobody: it goes with the shard, and is NULL while that closes. */
struct kv *shard_kv(struct shard *shard);

/* The epoch to act under at this moment; 0: not ours, or not safe. */
int64_t shard_epoch(const struct shard *shard, uint32_t partition);
bool shard_may_begin(const struct shard *shard, uint32_t partition);
void shard_quiet(struct shard *shard, uint32_t partition, int64_t epoch);
/* How much work a partition is, in any one unit; busy: 0 to 1, of the loop. */
void shard_load(struct shard *shard, uint32_t partition, uint32_t load);
void shard_busy(struct shard *shard, double busy, double writes_per_s);

/* What is applied of a configuration, and which version; borrowed until the next
 * SHARD_CONFIG of it. NULL: not known at the moment. */
const struct config_value *shard_config(const struct shard *shard, enum config_name name,
                                        uint64_t *version);
/* Of one that takes the work some time: which version it really runs, and, with err, why
 * not the one that is applied. For the record. */
void shard_runs(struct shard *shard, enum config_name name, uint64_t version,
                const struct pl_err *err);
/* How the work goes; copied, for the record. */
void shard_work(struct shard *shard, const struct membership_work *work);

uint32_t shard_partitions(const struct shard *shard); /* 0: not known yet */
uint32_t shard_owned(const struct shard *shard);
enum membership_state shard_state(const struct shard *shard);
const struct roster *shard_roster(const struct shard *shard);
const struct claims *shard_claims(const struct shard *shard);
uint64_t shard_fenced(const struct shard *shard);

/* Drains, releases, revokes; CLOSED follows, in about handover_ms at most. */
void shard_leave(struct shard *shard);
/* At once, and nothing is sent: as if the process had died. CLOSED follows. May be
 * called while it leaves. */
void shard_abandon(struct shard *shard);

#endif
