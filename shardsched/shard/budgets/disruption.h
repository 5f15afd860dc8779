/*
 * Disruption budgets, and how a shard that evicts pods keeps to them (records/budget.h).
 *
 *	disruption.c      the values at /budgets/, and what plans take of them
 *	disruption_txn.c  what a transaction that disturbs pods compares and puts
 *
 * Each budget stands in the snapshot's catalog with what it allows, less what plans that
 * are not applied yet will take, so the next search for victims knows. A plan that was to
 * overdraw no budget, and would by now, is given up, and its pod is decided again. One
 * that was to overdraw, as the last resort, goes all the same, and lowers the budget like
 * any other.
 *
 * A budget is in one transaction at a time. An event about it is deferred meanwhile. If
 * that event is about another budget of the same name, which may cover other pods, no
 * plan goes before it is applied.
 */
#ifndef SHARDSCHED_SHARD_BUDGETS_DISRUPTION_H
#define SHARDSCHED_SHARD_BUDGETS_DISRUPTION_H

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

/* The value of a budget's key. */
struct sched_budget_value {
	uint8_t *at; /* NULL: deleted */
	size_t len;
	int64_t rev;
};

struct sched_budget {
	struct pl_map_node by_name;
	uint32_t key[2]; /* namespace and name; held */
	struct sched_budget_value value;
	struct sched_budget_value
		late;    /* the last event while it was in a txn; rev 0: there was none */
	bool late_other; /* late is of another budget, or deletes it */
	struct budget object; /* the budget as its value says it */
	uint32_t planned;     /* pods that plans will still take */
	uint32_t plans;       /* number of plans that refer to it */
	uint16_t seen;        /* generation of the list that had it last */
	uint8_t txn;          /* number of the txn that puts it, plus one; 0: none */
	bool good;            /* the budget exists and is not malformed */
	bool exempts; /* the budget has no room for a victim, so its pods are exempt */
};

struct disruption {
	struct pl_map by_name;
	struct pl_list plans; /* plans that are not applied, by of_all */
	int64_t rev; /* revision up to which all budgets are known; 0: they are not */
	int64_t need_rev;     /* revision up to which they have to be known */
	int64_t lock_rev;     /* revision of /budgets/lock; 0: it does not exist */
	uint16_t lock_seen;   /* generation of the list that had the lock last */
	uint64_t made;        /* counts the budgets that were created */
	uint32_t late_others; /* number of budgets with late_other set */
	uint16_t seen;
	bool review;       /* plans are to be looked at */
	bool clear_exempt; /* some exempt pods may be victims again */
	bool missed;       /* a record was not kept since the list began */
};

/* The part of a budget that a plan takes. */
struct plan_budget {
	struct sched_budget *budget_entry;
	uint32_t left; /* victims that are not told yet */
	uint32_t sent; /* of these, the ones in the txn that is being made or under way */
};

struct plan_disruption {
	struct pl_list of_all; /* zeroed: the plan has not been counted yet */
	struct plan_budget *at;
	uint32_t count;
	uint64_t made; /* disruption.made when the plan was counted */
	bool clean;    /* the plan was to overdraw no budget */
};

/* -- disruption.c ------------------------------------------------------------ */

void disruption_init(struct sched *sched);
void disruption_done(struct sched *sched);

bool disruption_wanted(const struct sched *sched);
/* Called like the notes of relist.h. */
void disruption_begin(struct sched *sched);
void disruption_records(struct sched *sched, const struct kv_record *records,
                        size_t count);
void disruption_end(struct sched *sched, int64_t revision);
void disruption_events(struct sched *sched, const struct kv_event *events, size_t count,
                       int64_t revision);
void disruption_lost(struct sched *sched);
/* Budgets are not followed any more, or the store was rewound. */
void disruption_forget(struct sched *sched);

/* All budgets are known; until then no victims are looked for. */
bool disruption_known(const struct sched *sched);
/* Gives up plans that budgets do not allow any more, and lets plans go on that had to
 * wait. */
void disruption_run(struct sched *sched);

/* Called once the plan has all of its victims. False: no memory. */
PL_NODISCARD bool disruption_plan(struct sched *sched, struct preemption_plan *plan);
/* A budget of the plan has no room to note its victims: pods that such a budget covers
 * are made exempt until it has, once they are marked (plans_mark_all). */
bool disruption_exempt_victims(const struct sched *sched,
                               const struct preemption_plan *plan);
/* The plan ends, and gives back what it has not taken yet. */
void disruption_unplan(struct sched *sched, struct preemption_plan *plan);
void disruption_check(const struct sched *sched);

/* Takes over value. */
void sched_budget_set(struct sched *sched, struct sched_budget *budget_entry,
                      struct sched_budget_value *value);
struct sched_budget *sched_budget_find(const struct sched *sched,
                                       const struct keys_id *id);
/* Applies the event that was deferred while the budget was in a txn. */
void sched_budget_apply_deferred(struct sched *sched, struct sched_budget *budget_entry);
/* Writes the budget into the snapshot's catalog, less what is planned. */
void sched_budget_publish(struct sched *sched, struct sched_budget *budget_entry);

/* -- disruption_txn.c -------------------------------------------------------- */

static inline bool disruption_concerns(enum keys_kind kind)
{
	return kind == KEYS_BUDGET || kind == KEYS_BUDGETS_LOCK;
}

/* None of the plan's budgets is in a txn, and it is known which pods all budgets
 * cover. */
bool disruption_may_go(const struct sched *sched, const struct preemption_plan *plan);
/* The txn's entries from there on are the victims. PL_BUSY: it does not fit. */
PL_NODISCARD enum pl_code disruption_put(struct sched *sched, struct shard_txn *txn,
                                         struct preemption_plan *plan, uint32_t from,
                                         struct pl_err *err);
void disruption_seal(struct preemption_plan *plan, uint8_t txn);
/* For each entry of budgets: it was applied; it was not; what the failed txn read
 * there. */
void disruption_txn_applied(struct sched *sched, const struct txn_entry *entry,
                            int64_t revision);
void disruption_unsend(struct sched *sched, const struct txn_entry *entry);
void disruption_txn_failed(struct sched *sched, const struct txn_entry *entry,
                           const struct builder_found *found, int64_t revision);

#endif
