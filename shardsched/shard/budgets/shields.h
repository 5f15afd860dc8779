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

#include "shardsched/ledger/budget.h"
#include "store/base/list.h"
#include "store/base/map.h"
#include "store/keys/keys.h"
#include "store/kv/types.h"

struct sched;
struct sched_plan;
struct call;
struct call_item;
struct book_found;

/* A value, as it stands or as it is heard of. */
struct shield_value {
	uint8_t *at; /* NULL: gone */
	size_t len;
	int64_t rev;
};

struct shield {
	struct pl_map_node by_name;
	uint32_t key[2]; /* namespace and name; held */
	struct shield_value value;
	struct shield_value late; /* rev 0: nothing was heard while it was in a call */
	bool late_other;          /* that is of another budget, or there is none */
	struct budget object;     /* as it stands */
	uint32_t planned;         /* pods that plans will take */
	uint32_t plans;           /* that refer to it */
	uint16_t seen;            /* generation of the list */
	uint8_t call;             /* that puts it; 0: none */
	bool good;                /* it is there and makes sense */
	bool spares;              /* it had no room to note who goes, who so was spared */
};

struct shields {
	struct pl_map by_name;
	struct pl_list plans; /* that do not stand yet */
	int64_t rev;          /* up to which all are known; 0: they are not */
	int64_t need_rev;     /* so far they have to be known first */
	int64_t lock_rev;     /* of /budgets/lock; 0: it is not there */
	uint16_t lock_seen;   /* generation of the list */
	uint64_t made;        /* how many have come into being */
	uint32_t late_others; /* of these it is not known yet whom they cover */
	uint16_t seen;
	bool review;  /* plans are to be looked at */
	bool unspare; /* some may go again who were spared */
	bool missed;  /* something was not kept since the list began */
};

/* What a plan takes of a budget. */
struct plan_shield {
	struct shield *shield;
	uint32_t left; /* victims that are not told yet */
	uint32_t sent; /* of these, in the call that is made or under way */
};

struct plan_shields {
	struct pl_list of_all; /* zeroed: it has never been planned for */
	struct plan_shield *at;
	uint32_t count;
	uint64_t made; /* budgets there were */
	bool clean;    /* it was to overdraw none */
};

/* -- shields.c ------------------------------------------------------------------------
 */

void shields_init(struct sched *sched);
void shields_done(struct sched *sched);

bool shields_wanted(const struct sched *sched);
/* As the notes of relist.h. */
void shields_begin(struct sched *sched);
void shields_records(struct sched *sched, const struct kv_record *records, size_t count);
void shields_end(struct sched *sched, int64_t revision);
void shields_events(struct sched *sched, const struct kv_event *events, size_t count,
                    int64_t revision);
void shields_lost(struct sched *sched);
/* They are not followed any more, or revisions mean nothing. */
void shields_forget(struct sched *sched);

/* Else no victims are looked for until it is so. */
bool shields_known(const struct sched *sched);
/* Plans are given up that budgets do not allow any more, or go on that had to wait. */
void shields_run(struct sched *sched);

/* The plan has all of its victims. False: no memory. */
PL_NODISCARD bool shields_plan(struct sched *sched, struct sched_plan *plan);
/* A budget of it has no room to note who goes: whom such a one covers is to be spared
 * until it has, once they are marked (plans_mark_all). */
bool shields_spare(const struct sched *sched, const struct sched_plan *plan);
/* It is no more; what is left of it is not taken. */
void shields_unplan(struct sched *sched, struct sched_plan *plan);
void shields_check(const struct sched *sched);

/* It has that value since that revision; takes it over. */
void shield_set(struct sched *sched, struct shield *shield, struct shield_value *value);
struct shield *shield_find(const struct sched *sched, const struct keys_id *id);
/* What was heard of it while it was in a call. */
void shield_free_again(struct sched *sched, struct shield *shield);
/* In the snapshot it is as it stands, less what is planned. */
void shield_publish(struct sched *sched, struct shield *shield);

/* -- shields_commit.c -----------------------------------------------------------------
 */

static inline bool shields_concern(enum keys_kind kind)
{
	return kind == KEYS_BUDGET || kind == KEYS_BUDGETS_LOCK;
}

/* None of its budgets is in another call, and of all it is known whom they cover. */
bool shields_go(const struct sched *sched, const struct sched_plan *plan);
/* The call's items from there on are its victims. PL_BUSY: it does not fit. */
PL_NODISCARD enum pl_code shields_put(struct sched *sched, struct call *call,
                                      struct sched_plan *plan, uint32_t from,
                                      struct pl_err *err);
void shields_seal(struct sched_plan *plan, uint8_t call);
/* An entry of theirs: it stands; it does not; what was read of it then. */
void shields_stand(struct sched *sched, const struct call_item *item, int64_t revision);
void shields_unsend(struct sched *sched, const struct call_item *item);
void shields_failed(struct sched *sched, const struct call_item *item,
                    const struct book_found *found, int64_t revision);

#endif
