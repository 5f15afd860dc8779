/* A call of the shard, which is one transaction or one read, from when it is made until
 * what became of it has been taken. */
#ifndef SHARDSCHED_SHARD_TXN_TXN_H
#define SHARDSCHED_SHARD_TXN_TXN_H

#include "shardsched/records/txn_builder.h"
#include "shardsched/shard/sched.h"
#include "store/base/arena.h"
#include "store/keys/keys.h"

struct sched_node;
struct sched_pod;

enum {
	SCHED_STATUS_TXNS = 1, /* calls for states of pods that fit nowhere */
	SCHED_READ_TXNS = 4,   /* calls that read specs */
	SCHED_REMOTE_MAX = 8,  /* calls on others' nodes */
	SCHED_REGISTER_AT = SCHED_INFLIGHT_MAX + SCHED_STATUS_TXNS + SCHED_READ_TXNS,
	SCHED_GANGS_MAX = 4, /* calls for large gangs */
	SCHED_GANGS_AT = SCHED_REGISTER_AT + 1,
	SCHED_TXNS = SCHED_GANGS_AT + SCHED_GANGS_MAX + SCHED_REMOTE_MAX + 1,
	SCHED_NOTES_MAX = 64, /* told at once; more are only counted */
	SCHED_READY_CLASSES = 4096,
	SCHED_REPAIR_MS = 10000, /* until what failed here is tried again */
};

/* News about something that is in a call: key and value lie in its arena. */
struct deferred_event {
	struct deferred_event *next;
	struct kv_record record;
	int64_t since; /* it may have changed since then: a list tells of the last time */
	bool gone;
	bool viewed;        /* the whole view told it, */
	uint8_t generation; /* that one */
};

enum txn_kind {
	TXN_COMMIT,
	TXN_STATUS,
	TXN_READ,
	TXN_REGISTER, /* terms of rules */
	TXN_REMOTE,
	TXN_DIGEST,
	TXN_GANG, /* a step of a large one */
};
enum txn_state {
	TXN_FREE,
	TXN_NEW,   /* to be started */
	TXN_SENT,  /* started */
	TXN_RETRY, /* to be started at at_ms */
};

/* An entry of the book. */
struct txn_entry {
	struct keys_id id;     /* of what it writes, or expects; in the arena */
	struct sched_pod *pod; /* KEYS_STATE */
	struct sched_node *node;
	struct pl_span value; /* as written */
	int64_t since_ms;
	int64_t epoch; /* of its partition, when it was made; 0: not ours */
	bool compared; /* what was read tells whether it was the cause */
	bool batched;
	uint8_t end; /* enum state_transition of the pod; NONE: it is placed, or told of */
	bool status_only; /* told of, with what else the call does */
	uint8_t ask;      /* enum state_ask that still stands in what it is told */
	bool deletes;     /* KEYS_GANG: it is no more */
	/* Why it was in the way, once the call failed (commit/conflicts.h). */
	uint8_t cause;
};

struct shard_txn {
	enum txn_state state;
	enum txn_kind kind;
	bool outcome_unknown; /* an attempt ended without anybody knowing how */
	bool without_reads;   /* without reads for the case that it fails: see txn_post */
	bool reading;         /* it is only asked how things stand */
	bool rewound;         /* made for revisions that mean nothing any more */
	bool batch;           /* it is the bundle's */
	bool stood;           /* it was applied, as the answer said */
	bool full;            /* what was put last has no place in its node's alloc */
	unsigned attempts;
	uint64_t at_ms;
	uint64_t serial;                  /* of all calls */
	uint64_t rules_epoch, view_epoch; /* when it was made */
	struct pl_arena arena;
	struct txn_builder builder;
	struct kv_req req;
	struct txn_entry *entry;
	uint32_t entries, entry_cap, placements;
	uint32_t nodes;       /* whose allocs it puts */
	uint32_t spare_bytes; /* bytes that the allocs have to have left; TXN_GANG */
	uint32_t echo_at; /* item after the last one that came back before the answer */
	uint32_t extra_entries,
		extra_entry_cap; /* of the items; there is always room for others */
	struct deferred_event *deferred, **deferred_end;
	int64_t failed_rev;  /* it was not applied, as of then; 0: it has not failed */
	int64_t unconfirmed; /* since then a pod in it may be another; INT64_MAX: none */
};

/* On nodes, own ones or not. */
static inline bool txn_commits(const struct shard_txn *txn)
{
	return txn->kind == TXN_COMMIT || txn->kind == TXN_REMOTE ||
	       txn->kind == TXN_GANG;
}

#endif
