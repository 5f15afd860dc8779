/* A call of the shard, which is one transaction or one read, from when it is made until
 * what became of it has been taken. */
#ifndef SHARDSCHED_SHARD_COMMIT_CALL_H
#define SHARDSCHED_SHARD_COMMIT_CALL_H

#include "shardsched/ledger/book.h"
#include "shardsched/shard/sched.h"
#include "store/base/arena.h"
#include "store/keys/keys.h"

struct sched_node;
struct sched_pod;

enum {
	SCHED_TELLS = 1,      /* calls for states of pods that fit nowhere */
	SCHED_READS = 4,      /* calls that read specs */
	SCHED_ABROAD_MAX = 8, /* calls on others' nodes */
	SCHED_REGISTER_AT = SCHED_INFLIGHT_MAX + SCHED_TELLS + SCHED_READS,
	SCHED_GANGS_MAX = 4, /* calls for large gangs */
	SCHED_GANGS_AT = SCHED_REGISTER_AT + 1,
	SCHED_CALLS = SCHED_GANGS_AT + SCHED_GANGS_MAX + SCHED_ABROAD_MAX + 1,
	SCHED_NOTES_MAX = 64, /* told at once; more are only counted */
	SCHED_READY_CLASSES = 4096,
	SCHED_REPAIR_MS = 10000, /* until what failed here is tried again */
};

/* News about something that is in a call: key and value lie in its arena. */
struct held {
	struct held *next;
	struct kv_record record;
	int64_t since; /* it may have changed since then: a list tells of the last time */
	bool gone;
	bool viewed;        /* the whole view told it, */
	uint8_t generation; /* that one */
};

enum call_kind {
	CALL_COMMIT,
	CALL_TELL,
	CALL_READ,
	CALL_REGISTER, /* terms of rules */
	CALL_ABROAD,
	CALL_DIGEST,
	CALL_GANG, /* a step of a large one */
};
enum call_state {
	CALL_FREE,
	CALL_NEW,   /* to be started */
	CALL_OUT,   /* started */
	CALL_AGAIN, /* to be started at at_ms */
};

/* An entry of the book. */
struct call_item {
	struct keys_id id;     /* of what it writes, or expects; in the arena */
	struct sched_pod *pod; /* KEYS_STATE */
	struct sched_node *node;
	struct pl_span value; /* as written */
	int64_t since_ms;
	int64_t epoch; /* of its partition, when it was made; 0: not ours */
	bool compared; /* what was read tells whether it was the cause */
	bool bundled;
	uint8_t end;  /* enum state_end of the pod; NONE: it is placed, or told of */
	bool tells;   /* told of, with what else the call does */
	uint8_t ask;  /* enum state_ask that still stands in what it is told */
	bool deletes; /* KEYS_GANG: it is no more */
	/* Why it was in the way, once the call failed (commit/conflicts.h). */
	uint8_t cause;
};

struct call {
	enum call_state state;
	enum call_kind kind;
	bool doubt;   /* an attempt ended without anybody knowing how */
	bool lean;    /* without reads for the case that it fails: see call_post */
	bool reading; /* it is only asked how things stand */
	bool rewound; /* made for revisions that mean nothing any more */
	bool bundle;  /* it is the bundle's */
	bool stood;   /* it was applied, as the answer said */
	bool full;    /* what was put last has no place in its node's alloc */
	unsigned attempts;
	uint64_t at_ms;
	uint64_t serial;                   /* of all calls */
	uint64_t groups_epoch, view_epoch; /* when it was made */
	struct pl_arena arena;
	struct book book;
	struct kv_req req;
	struct call_item *item;
	uint32_t items, item_cap, placements;
	uint32_t nodes;  /* whose allocs it puts */
	uint32_t beside; /* bytes that the allocs have to have left; CALL_GANG */
	uint32_t echoed; /* item after the last one that came back before the answer */
	uint32_t extras, extras_room; /* of the items; there is always room for others */
	struct held *held, **held_end;
	int64_t failed_rev; /* it was not applied, as of then; 0: it has not failed */
	int64_t doubted;    /* since then a pod in it may be another; INT64_MAX: none */
};

/* On nodes, own ones or not. */
static inline bool call_commits(const struct call *call)
{
	return call->kind == CALL_COMMIT || call->kind == CALL_ABROAD ||
	       call->kind == CALL_GANG;
}

#endif
