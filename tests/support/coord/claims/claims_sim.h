/*
 * For the random test of claims_core: a store in a few lines, the messages between the store
 * and three shards, and the judge of what the shards do.
 *
 * A key that is deleted by hand frees its partition while its lease is alive, so another
 * shard can claim it before the owner hears of the deletion. Until then the owner acts
 * under the deleted epoch, or reports it only now, if it hears of its claim just as
 * late. That is the one case in which two shards act, or a shard reports an older epoch
 * than another has reported, until the store goes back in time: then epochs start again.
 * Whatever happens, only the shard that the store names passes the guard.
 */
#ifndef TESTS_SUPPORT_COORD_CLAIMS_CLAIMS_SIM_H
#define TESTS_SUPPORT_COORD_CLAIMS_CLAIMS_SIM_H

#include "coord/claims/claims_core.h"
#include "tests/harness/t.h"

enum {
	SHARDS = 3,
	PARTITIONS = 5,
	REVISIONS_MAX = 4096,
	MESSAGES_MAX = 4096,
	TTL_MS = 6000,
	MARGIN_MS = 600,
	FAULTS_MS = 60000,
	CALM_MS = 30000,
};

enum kind {
	MSG_APPLY,   /* a request reaches the store */
	MSG_EVENT,   /* an answer or a watch event reaches the core */
	MSG_LIST,    /* a list is made and fed as a whole */
	MSG_RENEW,   /* the session renews its lease */
	MSG_TARGETS, /* the present assignment */
	MSG_WRITE,   /* a write under each epoch that is acted on */
	MSG_CHAOS,
};

struct key {
	int64_t epoch;
	int64_t lease;
};

struct store {
	int64_t revision;
	struct key key[PARTITIONS];
	int64_t record[SHARDS]; /* lease of /shards/<id> */
	uint64_t ends_ms[SHARDS];
};

struct msg {
	uint64_t at_ms;
	uint64_t order;
	enum kind kind;
	unsigned shard;
	uint32_t world; /* watch events of an older list, or of an older store, are
	                 * void */
	bool watch;
	bool unheard; /* the outcome was given up as unknown */
	struct claims_action req;
	struct claims_event event;
};

/* An owner key as it was at a revision. epoch 0: there was no key. */
struct fact {
	int64_t revision, epoch, lease;
};

struct random_shard {
	struct claims_core core;
	struct claims_slot slot[PARTITIONS];
	struct fact told[PARTITIONS]; /* newest fact that the core was told */
	uint32_t asked[PARTITIONS];   /* seq of the last request; 0: none counts */
	int64_t reported[PARTITIONS];
	int64_t newest[PARTITIONS]; /* newest epoch that this shard reported */
	bool quiescing[PARTITIONS];
	uint64_t paused_until, watch_until;
	uint32_t world;
	int64_t lease;
};

struct sim {
	struct pl_rng rng;
	uint64_t now;
	struct store store, snapshot;
	struct random_shard shard[SHARDS];
	struct msg msg[MESSAGES_MAX];
	size_t count;
	uint64_t order;
	int64_t leases;
	unsigned target[PARTITIONS]; /* SHARDS: no shard */
	int64_t newest[PARTITIONS];  /* newest epoch that any shard reported */
	/* By epoch: the revision at which its key was deleted by hand; 0: it was not. */
	int64_t removed_at[REVISIONS_MAX];
	bool by_hand, rewinds; /* which events may happen */
	bool calm;
	unsigned owned, unknown, late, fenced, expired, rewound, overtaken;
};

extern struct sim sim;

/* -- chance and messages --------------------------------------------------------------- */

/* False in calm times. */
bool sim_chance(unsigned percent);
/* A time within so many milliseconds; in calm times within 5. */
uint64_t sim_soon(uint64_t most);
struct msg *sim_post(enum kind kind, unsigned shard, uint64_t at_ms);

/* -- the store ------------------------------------------------------------------------- */

/* Changes a key and tells all watches. epoch 0: the key goes. */
void sim_put(uint32_t partition, int64_t epoch, int64_t lease);
void sim_revoke(int64_t lease);
void sim_expire(void);
/* Performs a request of the core; gives the answer. */
struct claims_event sim_apply(const struct claims_action *req);
/* A request goes its way: it is refused, its outcome is unknown, or it is applied. */
void sim_send(unsigned shard, const struct claims_action *req);

/* -- the judge ------------------------------------------------------------------------- */

/* The revision at which the epoch's key was deleted by hand; 0: it was not. */
int64_t sim_removed_at(int64_t epoch);
/* No other shard acts on the partition at this moment; or the older epoch's key was
 * deleted by hand. */
void sim_check_alone(unsigned shard, uint32_t partition);
/* The shard acts under the newest fact that it was told: a key with its lease. */
void sim_check_told(const struct random_shard *s, uint32_t partition);
/* The shard reports that it acts under the epoch. */
void sim_owned(struct random_shard *s, uint32_t partition, int64_t epoch);
/* The shard is told the event. */
void sim_note_told(struct random_shard *s, const struct claims_event *event);

#endif
