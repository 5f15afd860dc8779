/*
 * Inside the core: its tables, which all parts work on. Who knows what:
 *
 *	tables/    facts, what stands at the keys of nodes and pods, and what follows: who
 *	           is in the queue, what is in the snapshot
 *	commit/    pods from the queue to nodes, nodes into calls, what became of these;
 *	           bundles, which are committed whole
 *	abroad/    others' nodes: digests, visits, the whole view, errands
 *	groups/    rules about pods on other nodes
 *	budgets/   how many pods may be disturbed at once
 *	gangs/     pods that run together or not at all
 *	room/      room that is kept, or made by preemption
 *	ends/      pods that leave their nodes
 *	settings/  live configuration
 *
 * Facts are set first; then pod_settle and node_settle work out what follows, and do
 * nothing when it is so already.
 */
#ifndef SHARDSCHED_SHARD_INNER_H
#define SHARDSCHED_SHARD_INNER_H

#include "shardsched/classes/pool.h"
#include "shardsched/ledger/alloc.h"
#include "shardsched/ledger/book.h"
#include "shardsched/ledger/state.h"
#include "shardsched/model/node.h"
#include "shardsched/model/pod.h"
#include "shardsched/model/uuid.h"
#include "shardsched/shard/abroad/abroad.h"
#include "shardsched/shard/budgets/shields.h"
#include "shardsched/shard/gangs/gangs.h"
#include "shardsched/shard/gangs/records.h"
#include "shardsched/shard/groups/groups.h"
#include "shardsched/shard/sched.h"
#include "shardsched/shard/tables/likeness.h"
#include "store/keys/keys.h"

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

/* Lanes of the queue. */
enum {
	LANE_PLAIN,
	LANE_GROUPED, /* looked at by rules of others: in bundles only */
	LANE_WIDE, /* decided under rules about other pods: likewise, by the whole view */
	LANE_HELD, /* its rules are not registered yet */
	LANE_LARGE, /* a gang that has turned out to be large: shut while too many are */
	LANE_GANG,  /* a gang, by its one entry: a bundle of its own */
};

/* Which list or part of the store a fact belongs to. */
enum fact { FACT_NODE, FACT_ALLOC, FACT_SPEC = 0, FACT_STATE };

struct sched_partition {
	bool owned, quiet, open;
	bool ended[SCHED_PARTS];
	bool anew[SCHED_PARTS];          /* to be listed again, as is to be told */
	bool missed[SCHED_PARTS];        /* some of it was not kept, and is to come */
	bool misses[SCHED_PARTS];        /* likewise, since the last list began */
	uint8_t generation[SCHED_PARTS]; /* of the list */
	int64_t epoch;
	int64_t upto[SCHED_PARTS]; /* its list and its watch have come so far */
	uint32_t work;             /* pods in the queue or on their way */
	struct visit visit;
	struct offer offer;
	struct own_digest own;
	struct pl_list nodes; /* that are known, whoever owns it */
	uint32_t first_pod;   /* likewise; 0: none */
	uint32_t last_pod;
};

/* All that are known, each by a number of its own. */
struct pod_table {
	struct pages pages;
	struct buckets buckets; /* by key */
	uint32_t count;
};

struct sched_sums {
	uint64_t cpu_milli, memory, storage, pods;
	uint64_t nonzero_cpu_milli, nonzero_memory;
	uint64_t scalars; /* sum of amount times hash of the name: to compare with */
};

struct listed {
	struct sched_pod *pod;
	uint32_t placed;  /* in the snapshot; or SNAPSHOT_NONE */
	bool sent : 1;    /* not in the store's alloc yet */
	bool leaving : 1; /* the alloc says that it terminates */
	bool other : 1;   /* what is known of its spec is another's, or may be: lives.c */
	bool doubted : 1; /* it may be another by now */
	uint8_t end;      /* enum state_end: what a call that is under way makes of it */
};

struct sched_node {
	struct pl_map_node by_name;
	uint32_t key[2]; /* cluster, name; held */
	uint32_t partition;
	uint32_t slot; /* in the snapshot; or SNAPSHOT_NONE */
	struct pl_list of_partition;
	struct pl_list ready;   /* has pods that can be committed */
	struct pl_list waiting; /* pods, by link */
	struct pl_list odd;     /* does not add up */
	struct pl_list lacking; /* lists pods whose spec is not known */
	struct pl_list sharing; /* lists pods whose node is another */
	struct pl_list holding; /* has holds */
	struct pl_list bundle;  /* pods that wait there are in the bundle */
	struct pl_list ending;  /* pods that are to leave, by link */
	struct pl_list turn;    /* ... when those of others have left: ends_turn.c */
	uint64_t turn_ms;       /* until then; 0: to be worked out */
	int64_t turn_rev;       /* by that alloc */
	struct pl_list tainted; /* it has NoExecute among its taints */
	/* Since when it has each of its taints, by steady_ms of ends_taint.c; 0: to be
	 * looked at; NULL: so are all. */
	int64_t *tainted_ms;
	uint32_t waiting_count;
	uint32_t bundled; /* of these */
	uint8_t call;     /* its number and one; 0: in none */
	uint8_t seen[2];
	uint8_t viewed[2]; /* by the whole view: its generation */
	uint8_t scope;     /* enum node_scope, in the snapshot */
	uint8_t refusals;  /* conflicts in a row, abroad */
	bool moving;       /* to another scope */
	bool reset;        /* lost since its call was made */
	bool sure;  /* its alloc is as we wrote it, so its Node is the one we know */
	bool bad;   /* its alloc makes no sense */
	bool told;  /* that it does not add up */
	bool asked; /* whether specs of others have changed since they were read */
	bool full;  /* its alloc has no place for more */
	int64_t rev[2];
	uint64_t generation, left;
	uint64_t apart_ms;     /* until then it travels alone */
	uint64_t aside_ms;     /* until then nothing is put there; 0: it is not */
	struct node node;      /* name 0: not there, or makes no sense */
	struct listed *listed; /* in the order of alloc.h */
	uint32_t count, cap;
	struct sched_hold *hold; /* in the order of alloc.h */
	uint32_t holds, hold_cap;
	struct sched_plan *plan;
	uint32_t unknown; /* of these, pods whose spec is not known */
	uint32_t doubted; /* and pods that may be others */
	uint32_t shared;  /* likewise, whose node is another, or none */
	uint32_t leaves;  /* how many go with what was printed last */
	int32_t least;    /* priority of those that are known */
	bool least_old;   /* to be found out again */
	uint32_t with_scalars, with_ports;
	struct sched_sums used; /* of those that are listed and known, and of the holds */
	struct sched_sums said; /* by the alloc */
	/* It is in the snapshot without its amounts, and so aside. */
	struct pl_list uncounted;
};

enum pod_place {
	POD_IDLE,   /* not ours to place, or not now */
	POD_QUEUED, /* in the queue, or just popped */
	POD_WAITS,  /* assumed, at its node */
	POD_SENT,   /* assumed, in a call */
};

enum pod_linked {
	LINKED_NOT,
	LINKED_WAITING, /* at its node */
	LINKED_WANTED,  /* its spec is to be read */
	LINKED_DOUBT,   /* state and alloc do not agree */
	LINKED_ENDING,  /* at its node, or where those without are */
	LINKED_ASTRAY,  /* its node is not known here */
	LINKED_VISIT, /* in the queue, until a visit ends, or there is room in errands */
	LINKED_FOLLOWS, /* in the queue, behind one of its class that is so */
};

enum {
	POD_NAMED = 1 << 0,    /* spec.nodeName: not ours to place */
	POD_OVER = 1 << 1,     /* being deleted, or run */
	POD_BAD_SPEC = 1 << 2, /* makes no sense */
	POD_BAD_STATE = 1 << 3,
	POD_MISSING = 1 << 4, /* its spec was read by key, and is not there */
	POD_DOUBTED = 1 << 5, /* it was told that state and alloc do not agree */
	POD_RESET = 1 << 6,   /* lost since its call was made */
	POD_REFUSED = 1 << 7, /* no class: no profile, or no room */
	POD_SAID = 1 << 8,    /* its state tells why it is pending, as far as known */
	POD_BUNDLED = 1 << 9, /* it waits as a part of the bundle */
	POD_MUTE = 1 << 12, /* listed, and there is no state by which it could be told to
	                     * go: preempts.c */
	POD_FOREIGN = 1 << 14, /* POD_REFUSED since there is no profile for it */
	POD_TAINTED = 1 << 13, /* its node's taints are not tolerated any more */
	POD_REMOVED = 1 << 10, /* by us; the store's word of it is to come */
	POD_CROWDED = 1 << 11, /* something else stands below its name */
};

/* A pod of a gang. */
struct sched_member {
	struct sched_pod *pod;
	struct sched_gang *gang;
	struct pl_list of_gang;
};

/* Without a phase: no state is there. */
enum { PHASE_NONE = STATE_PHASES };

/* A million of them wait: 272 bytes. */
struct sched_pod {
	struct bucket_link by_key;
	uint32_t number;     /* of the table */
	uint32_t next, prev; /* of the partition's, by number; 0: none */
	uint32_t key[3];     /* partition, namespace, name; held */
	/* As pod_uid and pod_uid_text give it. */
	union {
		uint8_t packed[UUID_SIZE];
		uint32_t text; /* held; 0: not said */
	} uid;
	const struct spec *spec; /* held; NULL: not known */
	struct queue_pod queue;
	struct sched_node *node; /* WAITS, SENT: where to; listed: one that lists it */
	struct sched_node *nominated; /* one that holds room for it */
	struct sched_plan *doomed_by; /* it has to go by that; its own: pod_plan */
	struct sched_member *member;  /* of a gang; NULL: of none */
	struct pl_list link;
	int64_t rev[2];
	int64_t unknown_rev; /* since then it may be somewhere, and its spec is not known
	                      */
	int64_t created_ms;
	int64_t since_ms; /* of the phase */
	/* Cluster and node of the state: where it is; of one that waits, where the state
	 * says that room is held for it. */
	uint32_t at[2];
	uint32_t placed;    /* WAITS: in the snapshot */
	uint32_t attempts;  /* before it came here */
	uint32_t told_s;    /* when its state last told why it is pending; 0: long ago */
	uint32_t gang_said; /* what its gang said then */
	uint32_t index;     /* of labels beside the class */
	uint32_t why;    /* the state's reason, where it has a place or is asked to go */
	uint16_t listed; /* by so many nodes */
	uint16_t held;   /* for by so many */
	uint16_t flags;
	unsigned char place : 3;  /* enum pod_place */
	unsigned char linked : 5; /* enum pod_linked */
	uint8_t phase;            /* enum state_phase, or PHASE_NONE */
	uint8_t call;
	uint8_t seen[2];
	uint8_t conflicts;  /* in a row */
	uint8_t beside;     /* which labels stand beside the class: identity.h */
	uint8_t ask, ended; /* enum state_ask, enum state_ended */
	bool next_pending : 1;
	bool asks_state : 1; /* its state is to be read with its spec */
	bool relisted : 1;   /* it may be another by now than what was read */
	bool edited : 1;     /* its spec is not as it was made */
	bool gated : 1;      /* of a gang */
	bool tried : 1;      /* likewise: it waited when that was refused */
	bool pinned : 1;     /* an alloc that lists it is being taken */
	bool packed : 1;     /* its uid is */
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
	uint32_t echoed; /* item after the last one that came back before the answer */
	uint32_t extras, extras_room; /* of the items; there is always room for others */
	struct held *held, **held_end;
	int64_t failed_rev; /* it was not applied, as of then; 0: it has not failed */
	int64_t doubted;    /* since then a pod in it may be another; INT64_MAX: none */
};

/* What the profiles and the queue were made from. */
struct regime {
	struct pl_buf profiles; /* text */
	enum queue_sort sort;
	bool fair;
	uint64_t backoff_first_ms, backoff_max_ms;
	struct regime_weight {
		uint32_t space; /* string, held */
		uint32_t weight;
	} * weight;
	uint32_t weights;
};

/* What settings make: all pods in the queue are there by one of these. */
struct reign {
	struct pl_list link; /* of those before */
	struct sched *sched;
	struct regime regime;
	struct profiles profiles;
	struct queue *queue;
	struct pool pool; /* of classes, by these profiles */
};

/* bundle.c */
enum bundle_state { BUNDLE_NONE, BUNDLE_GATHERS, BUNDLE_WAITS, BUNDLE_SENT };
enum bundle_how { BUNDLE_EXPECT, BUNDLE_PUT, BUNDLE_BUMP };

/* A key that is neither a pod's nor a node's: compared, compared and put, or put. */
struct bundle_extra {
	enum bundle_how how;
	int64_t rev;
	struct pl_span key, value;
};

struct bundle {
	enum bundle_state state;
	bool broken;          /* what was decided may not stand: all of it again */
	bool shaped;          /* what nodes there are is compared */
	struct pl_list nodes; /* until it is sent */
	uint32_t node_count, pods;
	uint32_t most;        /* pods; as adapted */
	uint64_t number;      /* of bundles before */
	struct pl_list gangs; /* that are in it; no other pods, then */
	struct bundle_extra *extra;
	uint32_t extras, extra_cap;
	struct pl_arena arena; /* theirs */
};

struct note {
	enum sched_what what;
	uint32_t partition;
	struct keys_text key;
	struct pl_err err;
};

/*
 * By which taints are counted, whoever's clock is wrong: it advances as the wall clock
 * does, and never more than the monotonic one, from look to look (ends_taint.c). So it is
 * behind the wall by what that was set forward, and goes back with it.
 */
struct steady {
	int64_t ms; /* 0: not looked at yet */
	int64_t wall_ms;
	uint64_t now_ms;
};

struct sched {
	struct model model;
	struct snapshot snapshot;
	struct classes *classes;
	struct cycle *cycle;
	struct preempt *preempt;
	struct pl_map plans; /* by the pod that makes room for itself */
	struct reign *reign; /* by which everything is decided */
	struct queue *queue; /* its own, as the pool */
	struct pool *pool;
	struct pl_list past;           /* reigns that pods are still there by */
	struct sched_pod *moving;      /* the next to be looked at whether it is */
	uint32_t moves;                /* that are looked at in one turn */
	uint32_t preempted;            /* string, held */
	const struct queue_turn *turn; /* of the one that comes into the queue; or NULL */
	struct queue_plugin plugin[PLUGINS_MAX];
	struct sched_opts opts;  /* batch, inflight and cache_bytes as configured */
	struct sched_opts first; /* and as they were given */
	struct kv_limits limits;
	char *shard;
	struct pl_arena arena; /* of one value while it is read */
	struct pl_buf buf;     /* of one value while it is written */
	struct pl_map nodes;
	struct pod_table pods;
	struct sched_node **by_slot;
	uint32_t by_slot_cap;
	struct sched_partition *partition;
	uint64_t load_ms;     /* so long own ones that are not open yet are waited for; 0:
	                       * nobody has since the last one opened, or came */
	struct pl_list ready; /* nodes */
	struct pl_list wanted;
	struct pl_list lacking, holding; /* nodes */
	struct pl_list sharing;          /* likewise: few */
	uint64_t holds_ms;               /* when their deadlines are looked at */
	struct pl_list turns;            /* nodes that pods are to leave in turn */
	uint64_t turns_ms;               /* when the first of these is over */
	uint64_t specs_ms; /* when what they lack is looked for again; 0: nothing does */
	/* What does not agree, pods and nodes: what came up lately, what did before. */
	struct pl_list doubts[2], odd[2];
	uint64_t doubts_ms;              /* when the first become the second */
	struct pl_list ends, ends_later; /* pods: without a node; when ends_ms has come */
	struct pl_list astray;           /* pods that no node here lists */
	struct pl_list tainted;          /* nodes */
	uint64_t taints_ms;              /* when they are looked at again */
	uint64_t ends_ms;                /* until then nobody ends */
	uint64_t repair_ms;              /* 0: nothing failed */
	uint32_t waiting;
	uint32_t ending;  /* pods that are to end, and are in no call */
	uint32_t smooth;  /* commits that stood, since the last that failed */
	uint32_t commits; /* calls that are not free */
	uint32_t batch;
	struct bundle bundle;
	struct gangs gangs;
	struct groups groups;
	struct records records;
	struct shields shields;
	uint64_t calls; /* ever */
	struct call call[SCHED_CALLS];
	struct note note[SCHED_NOTES_MAX];
	uint32_t notes, notes_told;
	bool anew[SCHED_VIEWS];      /* as of partitions */
	uint32_t relists;            /* parts of partitions that are to be told */
	struct alloc_pod *alloc_pod; /* room to print from */
	uint32_t alloc_pod_cap;
	struct unsched *unsched;
	struct likeness likeness; /* of specs */
	struct whole whole;
	struct visits visits;
	struct digests digests;
	struct abroad abroad;
	int64_t taken_rev; /* of the alloc that is being taken */
	bool taken_anew;   /* it is another than the one before */
	struct {
		const struct sched_node *node;
		int64_t alloc, revision;
	} seen; /* by an answer that is being taken: its alloc was as is known then */
	const struct call *answered; /* that is being taken; NULL: none */
	uint64_t named;              /* up to where labels beside classes were seen to */
	uint32_t beside;             /* pods with such */
	bool unjoined;    /* that failed: nothing is decided until the repair */
	bool shrunk;      /* likewise a node in the snapshot: nothing under rules */
	bool viewing;     /* what is taken comes from the whole view */
	bool catching_up; /* likewise, and has waited for an answer */
	bool astray_due;  /* the nodes of those astray may be known to be gone now */
	/* Nodes, and when they are tried again; 0: there are none. */
	struct pl_list uncounted;
	uint64_t uncounted_ms;
	uint64_t now_ms;
	int64_t wall_ms;
	struct steady steady;
	struct sched_figures figures;
	struct conflicts conflicts;
};

static inline struct pl_span sched_text(const struct sched *sched, uint32_t id)
{
	return model_text(&sched->model, id);
}

static inline bool node_is_counted(const struct sched_node *node)
{
	return pl_list_empty(&node->uncounted);
}

/* NULL: it is in none. */
static inline struct sched_gang *pod_gang(const struct sched_pod *pod)
{
	return pod->member == NULL ? NULL : pod->member->gang;
}

static inline struct sched_pod *member_of(struct pl_list *of_gang)
{
	return PL_LIST_ITEM(of_gang, struct sched_member, of_gang)->pod;
}

static inline struct sched_pod *pod_of_queue(struct queue_pod *pod)
{
	return PL_CONTAINER_OF(pod, struct sched_pod, queue);
}

static inline struct queue_class *queue_class_of(struct pool_class *open)
{
	return (struct queue_class *)(void *)open->extra;
}

/* What few classes have. */
struct class_rare {
	struct bond_rows rows;
	struct travel *travel; /* NULL: none yet */
	struct pl_list own;    /* classes of single pods of it, in the queue */
};

/* What is kept with a class. A pod may have one to itself, so it is small. */
struct class_more {
	struct queue_class queue; /* the first: queue_class_of */
	struct class_rare *rare;  /* NULL: nothing of it */
	struct bonds bonds;
};

/* classes.c: of a pod whose claims are named after it (SPEC_BY_NAME). What it asks for it
 * shares with others, and so the class that is open; what becomes of it it does not, and
 * so it has a class of its own in the queue. */
struct own_class {
	struct queue_class queue; /* CLASS_OWN */
	struct sched_pod *pod;
	struct pool_class *open;
	struct pl_list of_open;
	struct travel *travel; /* NULL: none yet */
};

/* Kinds of classes in the queue; gangs have theirs in a lane of their own. */
enum { CLASS_SHARED, CLASS_OWN };

static inline struct own_class *own_class_of(struct queue_class *class)
{
	PL_ASSERT(class != NULL);
	return class->kind == CLASS_OWN ? PL_CONTAINER_OF(class, struct own_class, queue)
	                                : NULL;
}

static inline const struct own_class *own_class_of_const(const struct queue_class *class)
{
	PL_ASSERT(class != NULL);
	return class->kind == CLASS_OWN
	               ? PL_CONTAINER_OF_CONST(class, struct own_class, queue)
	               : NULL;
}

static inline struct pool_class *pool_class_of(struct queue_class *class)
{
	struct own_class *own = own_class_of(class);

	return own != NULL ? own->open : PL_CONTAINER_OF(class, struct pool_class, extra);
}

static inline const struct pool_class *
pool_class_of_const(const struct queue_class *class)
{
	const struct own_class *own = own_class_of_const(class);

	return own != NULL ? own->open
	                   : PL_CONTAINER_OF_CONST(class, struct pool_class, extra);
}

static inline struct class_more *class_more_of(struct pool_class *open)
{
	return (struct class_more *)(void *)open->extra;
}

static inline struct reign *reign_of(struct pool_class *open)
{
	return queue_class_owner(queue_class_of(open));
}

/* In which pods of that class are. Gangs are by the last one always. */
static inline struct queue *queue_of_class(const struct sched *sched,
                                           struct queue_class *class)
{
	return gang_is_class(class) ? sched->queue
	                            : reign_of(pool_class_of(class))->queue;
}

/* NULL: there is none. */
static inline struct travel *travel_of_class(const struct queue_class *class)
{
	const struct own_class *own = own_class_of_const(class);
	const struct class_rare *rare;

	if (own != NULL)
		return own->travel;
	rare = PL_CONTAINER_OF_CONST(class, struct class_more, queue)->rare;
	return rare == NULL ? NULL : rare->travel;
}

/* The terms that pods of the class have to do with. */
static inline const struct bond_rows *bond_rows_of(const struct bonds *bonds)
{
	static const struct bond_rows none;
	const struct class_rare *rare =
		PL_CONTAINER_OF_CONST(bonds, struct class_more, bonds)->rare;

	return rare == NULL ? &none : &rare->rows;
}

/* On nodes, own ones or not. */
static inline bool call_commits(const struct call *call)
{
	return call->kind == CALL_COMMIT || call->kind == CALL_ABROAD ||
	       call->kind == CALL_GANG;
}

static inline struct bonds *bonds_of(struct pool_class *open)
{
	return &class_more_of(open)->bonds;
}

/* In a call, and in the queue no more: its class was of other settings (sched_configure),
 * or its partition is lost. If it is not committed it starts anew. */
static inline bool pod_is_loose(const struct sched_pod *pod)
{
	return pod->place == POD_SENT && pod->queue.class == NULL;
}

/* -- tell.c -------------------------------------------------------------- */

void tell_garbled(struct sched *sched, const struct keys_id *id,
                  const struct pl_err *err);
void tell_trouble(struct sched *sched, const struct pl_err *err);
void tell_relist(struct sched *sched, uint32_t partition, enum sched_part part);
void tell_anew(struct sched *sched, enum sched_view view);
/* Something failed that is tried again after a while, wherever it was. */
void tell_repair(struct sched *sched, const struct pl_err *err);
bool tell_next(struct sched *sched, struct sched_action *out);
void tell_event(struct sched *sched, enum queue_event_kind kind, uint32_t slot);

/* -- unsched.c --------------------------------------------------------- */

PL_NODISCARD enum pl_code unsched_new(struct sched *sched, struct pl_err *err);
void unsched_free(struct sched *sched);
/* False: it is to be tried again later, when it can be told why it waits. */
bool unsched_may_note(const struct sched *sched, const struct sched_pod *pod);
/* Its state is to say that. False: not now. */
bool unsched_say(struct sched *sched, struct sched_pod *pod, uint32_t reason,
                 const char *message);
/* In words, what the last cycle said. Its reason. */
uint32_t unsched_why(struct sched *sched, const struct outcome *outcome, char *out,
                     size_t size);
/* The cycle has found nothing for it: its reason, and, if it is time, its state. */
uint32_t unsched_note(struct sched *sched, struct sched_pod *pod,
                      const struct outcome *outcome);
void unsched_forget(struct sched *sched, struct sched_pod *pod);
/* No room is held for it where its state says so: if that is ours to say, it is to say it
 * no more. */
void unsched_owe(struct sched *sched, struct sched_pod *pod);
/* What a node holds, or that it is not there, is known that was not before: somebody may
 * be owed a word for whom that could not be said. */
void unsched_learn(struct sched *sched);
/* What was to be told of it, if anything was: it is by whoever asks. Borrowed until
 * anything else is noted. */
void unsched_lend(struct sched *sched, struct sched_pod *pod, struct pod_state *out);
void unsched_run(struct sched *sched);
uint64_t unsched_deadline_ms(const struct sched *sched);

/* -- classes.c ------------------------------------------------------------ */

/* May it help pods of that class? */
bool sched_hint(struct sched *sched, unsigned plugin, const struct queue_class *class,
                const struct queue_event *event);
/* A pool's; ctx is its reign. */
enum pl_code class_opened(void *ctx, struct pool_class *open, struct pl_err *err);
void class_closing(void *ctx, struct pool_class *open);
/* The class by which a pod, of which open is the class, goes into the queue. PL_NOMEM. */
PL_NODISCARD enum pl_code class_enter(struct sched_pod *pod, struct pool_class *open,
                                      struct queue_class **out, struct pl_err *err);
/* It is out of the queue. */
void class_leave(struct queue_class *class);
/* Made when there is none. NULL: no memory. */
struct class_rare *class_rare_get(struct class_more *more);

/* -- configure.c, sched.c ------------------------------------------------ */

/* With nothing of its own but an empty pool. NULL: no memory. */
struct reign *reign_new(struct sched *sched);
/* No pod is there by it. NULL does nothing. */
void reign_free(struct reign *reign);
/* The rest of it, by its regime. */
PL_NODISCARD enum pl_code reign_fill(struct reign *reign, struct pl_err *err);
uint32_t regime_weight(const struct regime *regime, uint32_t space);
/* The queue for that regime. */
PL_NODISCARD enum pl_code sched_queue_make(struct sched *sched, struct reign *reign,
                                           struct queue **out, struct pl_err *err);

/* Pods go over to the last settings; nothing is decided before all have. */
static inline bool is_moving(const struct sched *sched)
{
	return !pl_list_empty(&sched->past);
}
void configure_run(struct sched *sched);
/* The pod is going to be freed. */
void configure_forget(struct sched *sched, const struct sched_pod *pod);

/* -- join.c -------------------------------------------------------------- */

/* Labels that stood beside classes and are asked for by now go into them: to be called
 * before anything is judged. False: it is not to be judged. */
bool join_run(struct sched *sched);

#endif
