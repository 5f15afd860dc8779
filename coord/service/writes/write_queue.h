/*
 * A write queue: writes of many clients, each with an outcome of its own, committed
 * together while earlier transactions are in flight.
 *
 *	write --> waiting --batch--> transaction --answer--> done for each write
 *	             ^------ the others' fault: again -----'
 *
 * A write is some entries of the txn builder. Writes whose entries do not meet travel in
 * one transaction; if its compares fail, only the writes whose own compares failed are
 * refused, with the records that stand there, and the others go again at once. When the
 * store refuses the transaction as such (a lease is gone, a key is not this user's), its
 * writes go again one by one, and only those fail that are refused alone.
 *
 * Invariants
 *  - done is called exactly once for each write that was added, never inside
 *    write_queue_add; the write is the caller's again then.
 *  - A transaction with an unknown outcome is sent again as it is until it is known
 *    (txn_builder.h); only when patience_ms are over its writes end with PL_UNKNOWN.
 *  - Two writes with the same key are never in one transaction.
 */
#ifndef COORD_SERVICE_WRITES_WRITE_QUEUE_H
#define COORD_SERVICE_WRITES_WRITE_QUEUE_H

#include "shardsched/records/txn_builder.h"
#include "store/base/list.h"
#include "store/kv/kv.h"

enum {
	WRITE_BATCH_MAX = 64, /* writes in a transaction */
	WRITE_SLOTS = 4,      /* transactions in flight */
	WRITE_KEYS_MAX = 4,
	WRITE_ENTRIES_MAX = 12,
};

enum write_result {
	WRITE_DONE,
	WRITE_REFUSED, /* a compare failed: found tells what stands there */
	WRITE_FAILED,  /* err */
};

struct write_outcome {
	enum write_result result;
	int64_t revision;                  /* WRITE_DONE: at which it was written */
	const struct builder_found *found; /* by entry, in the order of adding */
	uint32_t found_count;
	const struct pl_err *err;
};

struct write;
typedef void write_done_fn(struct write *write, const struct write_outcome *outcome);

/* Lies in the caller's memory. */
struct write {
	/* Set by the caller. Adds the entries, the main one first. False: they do not fit
	 * into the transaction any more, or builder->code says what failed. Called again
	 * for each attempt. */
	bool (*add)(struct write *write, struct txn_builder *builder);
	write_done_fn *done;
	void *ctx;
	/* Keys that the entries write, hashed, so that two of them do not meet. */
	uint64_t key[WRITE_KEYS_MAX];
	uint32_t keys;
	/* A key that many writes compare and none of them writes (a namespace): compared
	 * once in a transaction. len 0: none. */
	struct pl_span expect_key;
	int64_t expect_revision;

	/* The queue's own. */
	struct pl_list link;
	uint64_t since_ms;
	uint32_t entry, entries; /* in the builder */
	uint32_t expect;         /* the entry of expect_key; UINT32_MAX: none */
	uint32_t attempts;
	bool unsure; /* an attempt in another transaction may have been applied */
};

struct write_queue;

struct write_queue_opts {
	struct kv *kv;
	uint64_t timeout_ms;  /* of a call; 0: 5,000 */
	uint64_t patience_ms; /* of a write with all its attempts; 0: 30,000 */
	uint32_t waiting_max; /* 0: 100,000 */
};

PL_NODISCARD enum pl_code write_queue_open(const struct write_queue_opts *opts,
                                           struct write_queue **out, struct pl_err *err);
/* Writes that wait end with PL_CANCELED; those in flight end as they end. closed is called
 * later, once, after the last done. */
void write_queue_close(struct write_queue *queue, void (*closed)(void *ctx), void *ctx);

/* PL_BUSY: too many are waiting; PL_CANCELED: the queue closes. */
PL_NODISCARD enum pl_code write_queue_add(struct write_queue *queue, struct write *write,
                                          struct pl_err *err);
/* Adds the key to those that the write writes. */
void write_adds_key(struct write *write, struct pl_span key);

struct write_queue_counts {
	uint64_t writes, transactions, conflicts;
};
void write_queue_counts(const struct write_queue *queue, struct write_queue_counts *out);

#endif
