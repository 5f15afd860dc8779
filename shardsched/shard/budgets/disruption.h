/*
 * Disruption budgets, as a shard that makes room goes by them (ledger/budget.h).
 *
 *	shields.c         what stands at /budgets/, and what of it is planned for
 *	shields_commit.c  what a transaction that disturbs pods compares and puts
 *
 * Each budget is in the snapshot's catalog, with what it allows less what plans that do
 * not stand yet will take: so the next search for victims knows. A plan that was to
 * overdraw no budget, and would by now, is given up and its pod decided again; one that
 * was to overdraw, as the last resort, goes all the same, and lowers the budget like any
 * other.
 *
 * A budget is in one transaction at a time. What is heard of it meanwhile waits; and
 * everybody does, if that is of another budget with its name, which may cover others.
 */
#ifndef SHARDSCHED_SHARD_SHIELDS_H
#define SHARDSCHED_SHARD_SHIELDS_H

#include "shardsched/records/budget_record.h"
#include "store/base/list.h"
#include "store/base/map.h"
#include "store/keys/keys.h"
#include "store/kv/types.h"

struct sched;
struct preemption_plan;
struct shard_txn;
struct txn_entry;
struct builder_found;

/* A value, as it stands or as it is heard of. */
struct sched_budget_value {
	uint8_t *at; /* NULL: gone */
	size_t len;
	int64_t rev;
};

struct sched_budget {
	struct pl_map_node by_name;
	uint32_t key[2]; /* namespace and name; held */
	struct sched_budget_value value;
	struct sched_budget_value
		late;         /* rev 0: nothing was heard while it was in a call */
	bool late_other;      /* that is of another budget, or there is none */
	struct budget object; /* as it stands */
	uint32_t planned;     /* pods that plans will take */
	uint32_t plans;       /* that refer to it */
	uint16_t seen;        /* generation of the list */
	uint8_t txn;          /* that puts it; 0: none */
	bool good;            /* it is there and makes sense */
	bool exempts;         /* it had no room to note who goes, who so was spared */
};

struct disruption {
	struct pl_map by_name;
	struct pl_list plans; /* that do not stand yet */
	int64_t rev;          /* up to which all are known; 0: they are not */
	int64_t need_rev;     /* so far they have to be known first */
	int64_t lock_rev;     /* of /budgets/lock; 0: it is not there */
	uint16_t lock_seen;   /* generation of the list */
	uint64_t made;        /* how many have come into being */
	uint32_t late_others; /* of these it is not known yet whom they cover */
	uint16_t seen;
	bool review;       /* plans are to be looked at */
	bool clear_exempt; /* some may go again who were spared */
	bool missed;       /* something was not kept since the list began */
};

/* What a plan takes of a budget. */
struct plan_budget {
	struct sched_budget *budget_entry;
	uint32_t left; /* victims that are not told yet */
	uint32_t sent; /* of these, in the call that is made or under way */
};

struct plan_disruption {
	struct pl_list of_all; /* zeroed: it has never been planned for */
	struct plan_budget *at;
	uint32_t count;
	uint64_t made; /* budgets there were */
	bool clean;    /* it was to overdraw none */
};

/* -- shields.c ------------------------------------------------------------------------
 */

void disruption_init(struct sched *sched);
void disruption_done(struct sched *sched);

bool disruption_wanted(const struct sched *sched);
/* As the notes of relist.h. */
void disruption_begin(struct sched *sched);
void disruption_records(struct sched *sched, const struct kv_record *records,
                        size_t count);
void disruption_end(struct sched *sched, int64_t revision);
void disruption_events(struct sched *sched, const struct kv_event *events, size_t count,
                       int64_t revision);
void disruption_lost(struct sched *sched);
/* They are not followed any more, or revisions mean nothing. */
void disruption_forget(struct sched *sched);

/* Else no victims are looked for until it is so. */
bool disruption_known(const struct sched *sched);
/* Plans are given up that budgets do not allow any more, or go on that had to wait. */
void disruption_run(struct sched *sched);

/* The plan has all of its victims. False: no memory. */
PL_NODISCARD bool disruption_plan(struct sched *sched, struct preemption_plan *plan);
/* A budget of it has no room to note who goes: whom such a one covers is to be spared
 * until it has, once they are marked (plans_mark_all). */
bool disruption_exempt_victims(const struct sched *sched,
                               const struct preemption_plan *plan);
/* It is no more; what is left of it is not taken. */
void disruption_unplan(struct sched *sched, struct preemption_plan *plan);
void disruption_check(const struct sched *sched);

/* It has that value since that revision; takes it over. */
void sched_budget_set(struct sched *sched, struct sched_budget *budget_entry,
                      struct sched_budget_value *value);
struct sched_budget *sched_budget_find(const struct sched *sched,
                                       const struct keys_id *id);
/* What was heard of it while it was in a call. */
void sched_budget_apply_deferred(struct sched *sched, struct sched_budget *budget_entry);
/* In the snapshot it is as it stands, less what is planned. */
void sched_budget_publish(struct sched *sched, struct sched_budget *budget_entry);

/* -- shields_commit.c -----------------------------------------------------------------
 */

static inline bool disruption_concerns(enum keys_kind kind)
{
	return kind == KEYS_BUDGET || kind == KEYS_BUDGETS_LOCK;
}

/* None of its budgets is in another call, and of all it is known whom they cover. */
bool disruption_may_go(const struct sched *sched, const struct preemption_plan *plan);
/* The call's items from there on are its victims. PL_BUSY: it does not fit. */
PL_NODISCARD enum pl_code disruption_put(struct sched *sched, struct shard_txn *txn,
                                         struct preemption_plan *plan, uint32_t from,
                                         struct pl_err *err);
void disruption_seal(struct preemption_plan *plan, uint8_t txn);
/* An entry of theirs: it stands; it does not; what was read of it then. */
void disruption_txn_applied(struct sched *sched, const struct txn_entry *entry,
                            int64_t revision);
void disruption_unsend(struct sched *sched, const struct txn_entry *entry);
void disruption_txn_failed(struct sched *sched, const struct txn_entry *entry,
                           const struct builder_found *found, int64_t revision);

#endif
