/*
 * The records of gangs that are too large for one transaction (ledger/gang_record.h), as
 * far as they are known: from the view of them, from the whole view, which has them in
 * one order with allocs, and from our own calls. What is known of each is its newest.
 */
#ifndef SHARDSCHED_SHARD_GANGS_GANG_RECORDS_H
#define SHARDSCHED_SHARD_GANGS_GANG_RECORDS_H

#include "shardsched/records/gang_record.h"
#include "store/base/list.h"
#include "store/base/map.h"
#include "store/keys/keys.h"
#include "store/kv/types.h"

struct gang_work;
struct sched;

struct gang_record_entry {
	struct pl_map_node by_name;
	struct pl_list link; /* of those that stand, or of those that are gone */
	uint32_t key[2];     /* namespace, gang; held */
	uint32_t partition;  /* of the gang */
	int64_t rev;         /* mod_revision; 0: there is none */
	int64_t heard;       /* what is older is no news */
	uint8_t generation;  /* of the list that has shown it */
	bool malformed;
	enum gang_phase phase;
	int64_t epoch; /* under which it was written */
	char *value;   /* owned; NULL: there is none */
	size_t len;
	uint64_t gone_ms; /* since when there is none */
	struct gang_work *work;
};

struct gang_records {
	struct pl_map by_name;
	struct pl_list standing;
	struct pl_list gone; /* or never there: the oldest first */
	uint32_t count;      /* that stand */
	uint8_t generation;
	bool listed;    /* all that there are have come in once */
	uint32_t bound; /* of these, gangs whose holds become pods */
	size_t bytes;   /* of their values */
	bool missed;    /* one could not be kept: they are to be listed anew */
	bool misses;    /* likewise, since the last list has begun */
};

void gang_records_init(struct sched *sched);
void gang_records_done(struct sched *sched);

/* NULL: nothing is known of it. */
struct gang_record_entry *gang_records_find(const struct sched *sched,
                                            const uint32_t key[2]);
/* Found or made, of no record then. NULL: no memory, or no gang has that name. */
struct gang_record_entry *gang_records_get(struct sched *sched, const uint32_t key[2]);
/* What stands there since that revision. False: it could not be kept. */
bool gang_records_apply(struct sched *sched, const struct keys_id *id,
                        const struct kv_record *record, bool gone);
/* There is one, or there may be: the gang is not to be decided. */
bool gang_records_has(const struct sched *sched, const uint32_t key[2]);
struct pl_span gang_records_key(const struct sched *sched, const uint32_t key[2],
                                struct keys_text *text);
/* Entries of no record are forgotten, once no list or watch that lags can bring it. */
void gang_records_tidy(struct sched *sched);

/* The view of them. */
void gang_records_begin(struct sched *sched);
void gang_records_list(struct sched *sched, const struct kv_record *records,
                       size_t count);
void gang_records_end(struct sched *sched, int64_t revision);
void gang_records_events(struct sched *sched, const struct kv_event *events,
                         size_t count);
void gang_records_lost(struct sched *sched);
void gang_records_forget(struct sched *sched);

#endif
