/*
 * The records of large gangs as they are known (records/gang_record.h): from the view of
 * /gangs/, from the fleet view, which brings them in one order with allocs, and from this
 * shard's own txns. The newest value of each record is kept.
 *
 * An entry without a record is kept for a while after its deletion, so that a list or
 * watch that lags cannot bring the record back.
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
	struct pl_list link; /* in standing or in gone */
	uint32_t key[2];     /* namespace, gang; held */
	uint32_t partition;  /* of the gang */
	int64_t rev;         /* mod_revision; 0: there is no record */
	int64_t heard;       /* an event that is not newer than this is known */
	uint8_t generation;  /* generation of the list that had it last */
	bool malformed;
	enum gang_phase phase;
	int64_t epoch; /* under which the record was written */
	char *value;   /* owned; NULL: there is no record */
	size_t len;
	uint64_t gone_ms; /* since when there is none */
	struct gang_work *work;
};

struct gang_records {
	struct pl_map by_name;
	struct pl_list standing;
	struct pl_list gone; /* entries without a record, the oldest first */
	uint32_t count;      /* entries with a record */
	uint8_t generation;
	bool listed;    /* all records were listed once */
	uint32_t bound; /* records in the phase bound */
	size_t bytes;   /* of all values */
	bool missed;    /* a record was not kept: they are to be listed anew */
	bool misses;    /* a record was not kept since the last list began */
};

void gang_records_init(struct sched *sched);
void gang_records_done(struct sched *sched);

/* NULL: nothing is known of the gang's record. */
struct gang_record_entry *gang_records_find(const struct sched *sched,
                                            const uint32_t key[2]);
/* Finds or makes the entry. NULL: no memory, or no gang can have that name. */
struct gang_record_entry *gang_records_get(struct sched *sched, const uint32_t key[2]);
/* The record has that value since that revision. False: no memory to keep it. */
bool gang_records_apply(struct sched *sched, const struct keys_id *id,
                        const struct kv_record *record, bool gone);
/* The gang has a record, or may have one: it is not to be decided. */
bool gang_records_has(const struct sched *sched, const uint32_t key[2]);
struct pl_span gang_records_key(const struct sched *sched, const uint32_t key[2],
                                struct keys_text *text);
/* Frees entries without a record that were kept long enough. */
void gang_records_tidy(struct sched *sched);

/* The view of /gangs/, as the notes of relist.h. */
void gang_records_begin(struct sched *sched);
void gang_records_list(struct sched *sched, const struct kv_record *records,
                       size_t count);
void gang_records_end(struct sched *sched, int64_t revision);
void gang_records_events(struct sched *sched, const struct kv_event *events,
                         size_t count);
void gang_records_lost(struct sched *sched);
void gang_records_forget(struct sched *sched);

#endif
