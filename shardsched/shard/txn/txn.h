/*
 * struct shard_txn: a transaction on the store, or a read of it, from when it is filled
 * until the shard has applied its answer. Txns live in a fixed array of struct sched;
 * each kind has its own range of slots, so no kind can starve another.
 *
 * State: who has the txn (txn_set_state asserts the arrows).
 *
 *	      txn_begin          txn_post         sched_next
 *	FREE ----------> FILLING ---------> NEW ------------> SENT
 *	 ^                  |              ^ | ^                |
 *	 |<-----------------+  conflict is | | | at_ms         | no answer yet:
 *	 |   nothing to send    to be read | v |                v the same again
 *	 |                                 |  RETRY <-----------+
 *	 |                                 +--------------------|
 *	 +<------- the answer is applied, or the txn is given up+
 *
 * Outcome: what is known of the attempts so far (txn_set_outcome asserts the arrows).
 *
 *	PENDING --the answer says no, and brought no reads--> READS_CONFLICT --+
 *	   |    \                                                               |
 *	   |     +-- an attempt ended without an answer --> UNKNOWN             |
 *	   |                                              /    |                |
 *	   |   fenced, stale, or refused by the store:   /     |                |
 *	   |   it can not be applied any more           v      |                |
 *	   |                              READS_OUTCOME |      |                |
 *	   v                                            |      |                |
 *	APPLIED or NOT_APPLIED <------------------------+------+----------------+
 *
 * NOT_APPLIED means that the txn did not succeed as far as the shard knows; after
 * READS_OUTCOME each entry is judged by what stands under its keys.
 *
 * Invariants: while a txn is posted, its entries, its request and the keys in its arena
 * do not change, so it can be sent again byte for byte; the pods and nodes of its entries
 * carry its number; events about them are deferred until the answer.
 */
#ifndef SHARDSCHED_SHARD_TXN_TXN_H
#define SHARDSCHED_SHARD_TXN_TXN_H

#include "shardsched/records/txn_builder.h"
#include "shardsched/shard/sched.h"
#include "store/base/arena.h"
#include "store/keys/keys.h"

struct sched_node;
struct sched_pod;

enum {
	SCHED_STATUS_TXNS = 1, /* at once, for the states of pods that fit nowhere */
	SCHED_READ_TXNS = 4,   /* at once, that read specs */
	SCHED_REMOTE_MAX = 8,  /* at once, on remote nodes */
	SCHED_REGISTER_AT = SCHED_INFLIGHT_MAX + SCHED_STATUS_TXNS + SCHED_READ_TXNS,
	SCHED_GANGS_MAX = 4, /* at once, for large gangs */
	SCHED_GANGS_AT = SCHED_REGISTER_AT + 1,
	SCHED_TXNS = SCHED_GANGS_AT + SCHED_GANGS_MAX + SCHED_REMOTE_MAX + 1,
	SCHED_NOTES_MAX =
		64, /* reports that wait for the driver; more are counted only */
	SCHED_READY_CLASSES = 4096,
	SCHED_REPAIR_MS = 10000, /* until what failed in the shard is tried again */
};

/* An event about a pod or a node of a posted txn. The record lies in the txn's arena. */
struct deferred_event {
	struct deferred_event *next;
	struct kv_record record;
	int64_t since; /* the key may have changed from this revision on: a list tells
	                  only the last change */
	bool gone;
	bool viewed;        /* the fleet view told it, */
	uint8_t generation; /* in this generation of the view */
};

enum txn_kind {
	TXN_COMMIT,   /* on local nodes */
	TXN_STATUS,   /* states of pods that wait */
	TXN_READ,     /* reads specs, puts nothing */
	TXN_REGISTER, /* terms of rules */
	TXN_REMOTE,   /* on remote nodes */
	TXN_DIGEST,   /* the shard's own digest */
	TXN_GANG,     /* one step of a large gang */
};

enum txn_state {
	TXN_FREE,
	TXN_FILLING, /* entries are added; nothing outside the filling code sees it */
	TXN_NEW,     /* waits for the driver to start it */
	TXN_SENT,    /* the driver started it and has not answered */
	TXN_RETRY,   /* waits for at_ms to be started again */
	TXN_STATES
};

enum txn_outcome {
	TXN_PENDING,        /* no attempt was or can have been applied */
	TXN_UNKNOWN,        /* an attempt may have been applied */
	TXN_READS_CONFLICT, /* the txn failed; a read tells with what it conflicted */
	TXN_READS_OUTCOME,  /* a read tells whether an attempt was applied */
	TXN_APPLIED,
	TXN_NOT_APPLIED,
	TXN_OUTCOMES
};

/* The purpose of an entry. Kinds decide which members of struct txn_entry are set. */
enum txn_entry_kind {
	/* Compares or puts a key that is no pod's and no known node's: a lock, a
	 * registry, a budget, a gang's record, or an alloc that must not exist. No pod,
	 * no node. */
	ENTRY_CONDITION,
	ENTRY_READ,        /* reads a pod's keys (TXN_READ): pod */
	ENTRY_PLACEMENT,   /* puts the Bound state of a pod: pod, node */
	ENTRY_TERMINATION, /* puts a pod's state after `end`, or deletes its keys: pod;
	                    * node, if a node lists the pod */
	ENTRY_STATUS,      /* puts why a pod waits: pod */
	ENTRY_ALLOC,       /* puts a node's alloc: node */
	ENTRY_NODE,        /* compares a node's Node: node */
};

/* One entry of the txn's builder, in the builder's order. */
struct txn_entry {
	struct keys_id id; /* of the key that it puts or compares; in the arena */
	struct sched_pod *pod;
	struct sched_node *node;
	struct pl_span value; /* as put; empty: none */
	int64_t since_ms;     /* of the state that it puts */
	int64_t epoch; /* of the key's partition when the txn was posted; 0: remote */
	enum txn_entry_kind kind;
	bool compared; /* a read tells whether this entry was the cause of a failure */
	bool batched;  /* the pod is part of the batch */
	bool deletes;  /* the gang's record (KEYS_GANG) is deleted */
	uint8_t end;   /* enum state_transition; not NONE for ENTRY_TERMINATION only */
	uint8_t ask;   /* enum state_ask that stays in the state of an ENTRY_STATUS */
	uint8_t cause; /* enum conflict_cause, once the txn has failed */
};

struct shard_txn {
	enum txn_state state;
	enum txn_outcome outcome;
	enum txn_kind kind;
	bool without_reads; /* the request reads nothing when it fails (txn_post) */
	bool rewound;       /* the revisions are void: the store went back */
	bool batch;         /* the txn commits the batch */
	bool full;          /* the alloc that was put last has no room for its pods */
	unsigned attempts;
	uint64_t at_ms;                   /* TXN_RETRY: when it is started again */
	uint64_t serial;                  /* number among all txns ever */
	uint64_t rules_epoch, view_epoch; /* of the rules when it was posted */
	struct pl_arena arena;
	struct txn_builder builder;
	struct kv_req req;
	struct txn_entry *entry;
	uint32_t entries, entry_cap;
	uint32_t placements;  /* placements and terminations */
	uint32_t nodes;       /* nodes whose allocs it puts */
	uint32_t spare_bytes; /* that stay free in the allocs; TXN_GANG */
	/* Entry after the last one whose event came before the answer. */
	uint32_t echo_at;
	/* Entries that txn_reserve did not count (txn_add_key, _id). */
	uint32_t extra_entries, extra_entry_cap;
	struct deferred_event *deferred, **deferred_end;
	int64_t failed_rev;  /* revision of the answer that it failed with; 0: none */
	int64_t unconfirmed; /* since this revision a pod in it may be another of the same
	                        name; INT64_MAX: none may */
};

/* Both assert that the move is in the pictures above. */
void txn_set_state(struct shard_txn *txn, enum txn_state state);
void txn_set_outcome(struct shard_txn *txn, enum txn_outcome outcome);

/* From txn_post until txn_end. */
static inline bool txn_is_posted(const struct shard_txn *txn)
{
	return txn->state > TXN_FILLING;
}

/* The request only reads: it can not change anything any more. */
static inline bool txn_is_reading(const struct shard_txn *txn)
{
	return txn->outcome == TXN_READS_CONFLICT || txn->outcome == TXN_READS_OUTCOME;
}

/* An attempt may have been applied. */
static inline bool txn_is_unknown(const struct shard_txn *txn)
{
	return txn->outcome == TXN_UNKNOWN || txn->outcome == TXN_READS_OUTCOME;
}

/* The txn changes allocs, of local or remote nodes. */
static inline bool txn_commits(const struct shard_txn *txn)
{
	return txn->kind == TXN_COMMIT || txn->kind == TXN_REMOTE ||
	       txn->kind == TXN_GANG;
}

#endif
