/*
 * Internals of the shard. Its parts are opened when the parts that they need are
 * there, stopped in reverse, and opened again after a failure; the table in
 * shard_parts.c does all three. Notes of parts only record what they bring and kick
 * the timer. What follows is done from the timer (shard_review.c), so no part is
 * called from inside its own note, and many notes at one moment cost one review.
 */
#ifndef COORD_SHARD_SHARD_INT_H
#define COORD_SHARD_SHARD_INT_H

#include "coord/balance/balance.h"
#include "coord/budgets/budgets.h"
#include "coord/config/config_watch.h"
#include "coord/elect/elect.h"
#include "coord/janitor/janitor.h"
#include "coord/meta/meta.h"
#include "coord/session/session.h"
#include "coord/shard/shard.h"
#include "store/base/map.h"
#include "store/base/rng.h"

enum { SHARD_TTL_DEFAULT_S = 10, SHARD_REASON_SIZE = PL_ERR_MSG_SIZE };

/* In the order of opening. */
enum shard_part {
	PART_META,
	PART_SESSION,
	PART_ROSTER,
	PART_CONFIG,
	PART_CLAIMS,
	PART_BALANCER, /* the three elections */
	PART_SWEEPER,
	PART_COUNTER,
	PART_BALANCE, /* the work of their leaders */
	PART_JANITOR,
	PART_BUDGETS,
	PART_GUARD, /* the guarded kv for the shard's own work */
	PART_COUNT,
};

enum part_state { PART_OFF, PART_ON, PART_STOPPING };

enum shard_phase {
	SHARD_PHASE_RUN,
	SHARD_PHASE_LEAVE, /* hands its partitions over */
	SHARD_PHASE_STOP,  /* all parts are being closed */
};

enum shard_role { ROLE_BALANCER, ROLE_JANITOR, ROLE_BUDGETS, ROLE_COUNT };

/* One election of the shard. */
struct shard_elect {
	struct shard *shard;
	enum shard_role role;
	struct elect *elect;
	uint64_t hash; /* hash of this shard for the role */
	bool leading;
	bool campaign; /* as passed to elect last */
	uint32_t rank;
	bool reported;
};

/* An entry of the roster, with the weight that it has in the assignment. */
struct shard_peer {
	struct pl_map_node node; /* keyed by id */
	char *id;
	uint32_t weight; /* 0: not in the assignment */
	uint32_t salt;
	int64_t malformed_revision; /* revision of the record that was reported as
	                             * malformed */
	bool seen;
	uint64_t hash[ROLE_COUNT];
};

/* NONE --the store went back--> BEGUN --the leaders' parts are told--> SPREAD
 * SPREAD --every epoch from before is lost, and that is reported--> NONE */
enum shard_rewind { REWIND_NONE, REWIND_BEGUN, REWIND_SPREAD };

/* Whether the record has to be passed to the session; LATER: within LATER_MS. */
enum shard_publish { PUBLISH_NOTHING, PUBLISH_LATER, PUBLISH_NOW };

struct shard {
	struct kv *kv;
	struct kv *guarded;
	struct pl_timer timer;
	struct pl_rng rng;
	shard_fn *fn;
	struct shard_opts opts; /* the strings are copies */
	int64_t started_ms;

	/* The parts, and the state of each: */
	struct meta_watch *meta;
	struct session *session;
	struct roster *roster;
	struct config_watch *config;
	struct claims *claims;
	struct shard_elect elect[ROLE_COUNT];
	struct balance *balance;
	struct janitor *janitor;
	struct budgets *budgets;
	uint64_t part_retry_ms[PART_COUNT];
	enum part_state part[PART_COUNT];
	bool again[PART_COUNT]; /* to be stopped and opened again */

	/* The members: */
	struct assign *assign;
	struct pl_map peers;
	uint64_t peers_retry_ms;
	uint64_t together_ms; /* until when the other shards of our process are waited
		              * for; 0: not set yet */

	/* One element a partition: */
	int64_t *epoch;        /* 0: not owned */
	int64_t *fenced_epoch; /* epoch of a FENCED to be reported; 0: none */
	uint32_t *load;
	uint16_t *published_partitions; /* the arrays that the record is printed from */
	uint32_t *published_loads;
	uint64_t
		config_reported[CONFIG_NAME_COUNT]; /* applied versions as reported to the
	                                          * user */
	uint32_t partitions;                        /* 0: not known yet */
	uint32_t owned;

	/* For the record: */
	double busy, writes_per_s;
	uint64_t fenced;
	uint64_t published_ms;
	uint64_t refresh_ms; /* as passed to the session */
	char instance[MEMBERSHIP_INSTANCE_SIZE];
	char refused_text[CONFIG_NAME_COUNT][SHARD_REASON_SIZE];
	struct {
		bool reported; /* false: the work uses the applied version */
		uint64_t version;
		char why_not[SHARD_REASON_SIZE];
	} runs[CONFIG_NAME_COUNT];
	struct pl_arena work_arena; /* memory of work */
	struct membership_work work;

	enum shard_phase phase;
	enum membership_state state;
	uint32_t salt;
	uint32_t rewound_left;  /* partitions whose epoch is from before the rewind */
	uint64_t rewound_ms;    /* time of the last rewind; 0: never */
	uint64_t leave_wait_ms; /* until when others get to see that this shard drains */
	uint64_t leave_end_ms;

	struct pl_err left; /* CLOSED: why the lease was not revoked */
	bool abandoned;
	bool kicked;
	bool refused; /* the shard never acts again */
	bool up, joined;
	bool view_synced, config_synced;
	enum shard_rewind rewind;
	bool drain_ordered; /* ordered by the configuration */
	bool drained;
	bool peers_known; /* roster and configuration have been complete once */
	bool peers_stale; /* all peers have to be gone through again */
	bool assign_due;  /* the claims have to be told of the assignment */
	bool gathered;    /* the other shards of our process are not waited for any
	                   * more */
	bool rank_due;
	bool leaving; /* as passed to the claims */
	bool fenced_due;
	enum shard_publish publish;
};

/* shard.c */
void shard_kick(struct shard *shard); /* a review follows soon */
void shard_report(struct shard *shard, const struct shard_note *note);
void shard_trouble(struct shard *shard, const char *part, const struct pl_err *err);
void shard_refuse(struct shard *shard, const struct pl_err *err);
int64_t shard_wall_ms(const struct shard *shard);
static inline struct pl_span shard_id(const struct shard *shard)
{
	return pl_span_str(shard->opts.id);
}

/* shard_parts.c */
void parts_step(struct shard *shard); /* opens and stops what is due */
bool parts_gone(const struct shard *shard);
uint64_t parts_deadline_ms(const struct shard *shard);
void part_off(struct shard *shard, enum shard_part part); /* the part has ended */
void part_again(struct shard *shard, enum shard_part part);

/* shard_open.c: opens a part; begins the end of a part. */
PL_NODISCARD enum pl_code part_open(struct shard *shard, enum shard_part part,
                                    struct pl_err *err);
void part_stop(struct shard *shard, enum shard_part part);
void parts_abandon(struct shard *shard);
const char *part_name(enum shard_part part);
const char *role_name(enum shard_role role);

/* shard_notes.c */
void shard_on_meta(void *ctx, const struct meta_note *note);
void shard_on_session(void *ctx, const struct session_note *note);
void shard_on_roster(void *ctx, const struct roster_note *note);
void shard_on_claims(void *ctx, const struct claims_note *note);
void shard_spread(struct shard *shard); /* passes the lease on to all parts that need
                                         * it */
void shard_rewind(struct shard *shard);

/* shard_leader.c */
void shard_on_config(void *ctx, const struct config_note *note);
void shard_on_elect(void *ctx, const struct elect_note *note);
void shard_on_balance(void *ctx, const struct balance_note *note);
void shard_on_janitor(void *ctx, const struct janitor_note *note);
void shard_on_budgets(void *ctx, const struct budgets_note *note);
void leaders_configure(struct shard *shard);

/* shard_peers.c */
void peers_change(struct shard *shard, struct pl_span id,
                  const struct roster_entry *entry);
void peers_review(struct shard *shard);
uint64_t peers_deadline_ms(const struct shard *shard);
uint32_t peers_rank(const struct shard *shard, enum shard_role role);
/* The effective weight of a shard; 0: it is to be drained. */
uint32_t peers_weight(const struct shard *shard, struct pl_span id, uint32_t own);
void peers_done(struct shard *shard);

/* shard_join.c */
bool join_ready(const struct shard *shard);
uint32_t join_salt(const struct shard *shard);

/* shard_review.c */
void shard_review(struct shard *shard);
uint64_t shard_review_ms(const struct shard *shard);
uint64_t shard_handover_ms(const struct shard *shard);

/* shard_publish.c */
PL_NODISCARD enum pl_code publish_init(struct shard *shard, uint32_t partitions);
void publish_done(struct shard *shard);
void publish_self(struct shard *shard, struct membership *out);
void publish_soon(struct shard *shard); /* something of the record has changed */
void publish_review(struct shard *shard);
void publish_pace(struct shard *shard); /* sets how often the session may refresh the
                                         * record */
uint64_t publish_deadline_ms(const struct shard *shard);

/* shard_guard.c */
PL_NODISCARD enum pl_code shard_guard_open(struct shard *shard, struct pl_err *err);
void shard_guard_close(struct shard *shard);
void guard_review(struct shard *shard);
void guard_report(struct shard *shard, uint32_t partition);

#endif
