/*
 * Inside the core. Who knows what:
 *
 *	news.c    facts: what stands at the keys of a node and of a pod
 *	pods.c    what follows for a pod: in the queue, placed, or left alone
 *	nodes.c   what follows for a node: in the snapshot or not, with its pods
 *	holds.c   room that is kept there
 *	decide.c  pods from the queue to nodes, where they wait
 *	commit.c  nodes into calls;  answer.c  what became of them
 *	bundle.c  what is decided together, into one call
 *	gangs.h   pods that run together or not at all
 *	ends*.c   pods that leave their nodes
 *	groups.h  rules about pods on other nodes
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
#include "shardsched/shard/abroad.h"
#include "shardsched/shard/gangs.h"
#include "shardsched/shard/groups.h"
#include "shardsched/shard/likeness.h"
#include "shardsched/shard/sched.h"
#include "store/keys/keys.h"

enum {
	SCHED_TELLS = 1,      /* calls for states of pods that fit nowhere */
	SCHED_READS = 4,      /* calls that read specs */
	SCHED_ABROAD_MAX = 8, /* calls on others' nodes */
	SCHED_REGISTER_AT = SCHED_INFLIGHT_MAX + SCHED_TELLS + SCHED_READS,
	SCHED_CALLS = SCHED_REGISTER_AT + 1 + SCHED_ABROAD_MAX + 1,
	SCHED_NOTES_MAX = 64, /* told at once; more are only counted */
	SCHED_IDLE_CLASSES = 1024,
	SCHED_REPAIR_MS = 10000, /* until what failed here is tried again */
};

/* Lanes of the queue. */
enum {
	LANE_PLAIN,
	LANE_GROUPED, /* looked at by rules of others: in bundles only */
	LANE_WIDE, /* decided under rules about other pods: likewise, by the whole view */
	LANE_HELD, /* its rules are not registered yet */
	LANE_GANG = 5, /* a gang, by its one entry: a bundle of its own */
};

/* Which list or part of the store a fact belongs to. */
enum fact { FACT_NODE, FACT_ALLOC, FACT_SPEC = 0, FACT_STATE };

struct sched_partition {
	bool owned, quiet, open;
	bool ended[SCHED_PARTS];
	uint8_t generation[SCHED_PARTS]; /* of the list */
	int64_t epoch;
	uint32_t work; /* pods in the queue or on their way */
	struct visit visit;
	struct offer offer;
	struct own_digest own;
	struct pl_list nodes; /* that are known, whoever owns it */
	struct pl_list pods;  /* likewise */
};

struct sched_sums {
	uint64_t cpu_milli, memory, storage, pods;
	uint64_t nonzero_cpu_milli, nonzero_memory;
	uint64_t scalars; /* sum of amount times hash of the name: to compare with */
};

struct listed {
	struct sched_pod *pod;
	uint32_t placed; /* in the snapshot; or SNAPSHOT_NONE */
	bool sent;       /* not in the store's alloc yet */
	bool leaving;    /* the alloc says that it terminates */
	uint8_t end;     /* enum state_end: what a call that is under way makes of it */
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
	struct pl_list holding; /* has holds */
	struct pl_list bundle;  /* pods that wait there are in the bundle */
	struct pl_list ending;  /* pods that are to leave, by link */
	struct pl_list tainted; /* it has NoExecute among its taints */
	int64_t tainted_ms;     /* since when, on the wall's clock */
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
	int64_t rev[2];
	uint64_t generation;
	uint64_t apart_ms;     /* until then it travels alone */
	uint64_t aside_ms;     /* until then nothing is put there; 0: it is not */
	struct node node;      /* name 0: not there, or makes no sense */
	struct listed *listed; /* in the order of alloc.h */
	uint32_t count, cap;
	struct sched_hold *hold; /* in the order of alloc.h */
	uint32_t holds, hold_cap;
	struct sched_plan *plan;
	uint32_t unknown; /* of these, pods whose spec is not known */
	uint32_t with_scalars, with_ports;
	struct sched_sums used; /* of those that are listed and known, and of the holds */
	struct sched_sums said; /* by the alloc */
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
	LINKED_VISIT,   /* in the queue, until a visit ends */
};

enum {
	POD_NAMED = 1 << 0,    /* spec.nodeName: not ours to place */
	POD_OVER = 1 << 1,     /* being deleted, or run */
	POD_BAD_SPEC = 1 << 2, /* makes no sense */
	POD_BAD_STATE = 1 << 3,
	POD_MISSING = 1 << 4,  /* its spec was read by key, and is not there */
	POD_DOUBTED = 1 << 5,  /* it was told that state and alloc do not agree */
	POD_RESET = 1 << 6,    /* lost since its call was made */
	POD_REFUSED = 1 << 7,  /* no class: no profile, or no room */
	POD_SAID = 1 << 8,     /* its state tells why it is pending, as far as known */
	POD_BUNDLED = 1 << 9,  /* it waits as a part of the bundle */
	POD_TAINTED = 1 << 13, /* its node's taints are not tolerated any more */
	POD_REMOVED = 1 << 10, /* by us; the store's word of it is to come */
};

/* Without a phase: no state is there. */
enum { PHASE_NONE = STATE_PHASES };

struct sched_pod {
	struct pl_map_node by_name;
	uint32_t key[3];         /* partition, namespace, name; held */
	uint32_t uid;            /* as the others: strings */
	const struct spec *spec; /* held; NULL: not known */
	struct queue_pod queue;
	struct sched_node *node; /* WAITS, SENT: where to; listed: one that lists it */
	struct sched_node *nominated; /* one that holds room for it */
	struct sched_plan *plan;      /* it is made for it, or it has to go by it */
	struct sched_gang *gang;      /* that it belongs to; of_gang is in its list */
	struct pl_list of_gang;
	struct pl_list of_partition; /* that is owned */
	struct pl_list link;
	int64_t rev[2];
	int64_t unknown_rev; /* since then it may be somewhere, and its spec is not known
	                      */
	int64_t created_ms;
	int64_t since_ms;   /* of the phase */
	uint32_t at[2];     /* cluster and node of the state */
	uint32_t placed;    /* WAITS: in the snapshot */
	uint32_t attempts;  /* before it came here */
	uint32_t told_s;    /* when its state last told why it is pending */
	uint32_t gang_said; /* what its gang said then */
	uint32_t index;     /* held: of labels beside the class */
	uint32_t why;    /* the state's reason, where it has a place or is asked to go */
	uint16_t listed; /* by so many nodes */
	uint16_t held;   /* for by so many */
	uint16_t flags;
	uint8_t place;  /* enum pod_place */
	uint8_t linked; /* enum pod_linked */
	uint8_t phase;  /* enum state_phase, or PHASE_NONE */
	uint8_t call;
	uint8_t seen[2];
	uint8_t conflicts;  /* in a row */
	uint8_t beside;     /* which labels stand beside the class: identity.h */
	uint8_t ask, ended; /* enum state_ask, enum state_ended */
	bool next_pending;
	bool asks_state; /* its state is to be read with its spec */
	bool gated;      /* of a gang */
};

/* News about something that is in a call: key and value lie in its arena. */
struct held {
	struct held *next;
	struct kv_record record;
	bool gone;
};

enum call_kind {
	CALL_COMMIT,
	CALL_TELL,
	CALL_READ,
	CALL_REGISTER, /* terms of rules */
	CALL_ABROAD,
	CALL_DIGEST,
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
	uint8_t end; /* enum state_end of the pod; NONE: it is placed, or told of */
	bool tells;  /* told of, with what else the call does */
};

struct call {
	enum call_state state;
	enum call_kind kind;
	bool doubt;   /* an attempt ended without anybody knowing how */
	bool reading; /* it is only asked how things stand */
	bool rewound; /* made for revisions that mean nothing any more */
	bool bundle;  /* it is the bundle's */
	bool stood;   /* it was applied, as the answer said */
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
	enum sched_part part;
	enum sched_view view;
	struct keys_text key;
	struct pl_err err;
};

struct sched {
	struct model model;
	struct snapshot snapshot;
	struct profiles profiles;
	struct classes *classes;
	struct cycle *cycle;
	struct preempt *preempt;
	uint32_t preempted; /* string, held */
	struct queue *queue;
	struct queue_plugin plugin[PLUGINS_MAX];
	struct pool pool;
	struct sched_opts opts;  /* batch, inflight and cache_bytes as configured */
	struct sched_opts first; /* and as they were given */
	struct regime regime;
	struct kv_limits limits;
	char *shard;
	struct pl_arena arena; /* of one value while it is read */
	struct pl_buf buf;     /* of one value while it is written */
	struct pl_map nodes, pods;
	struct sched_node **by_slot;
	uint32_t by_slot_cap;
	struct sched_partition *partition;
	struct pl_list ready; /* nodes */
	struct pl_list wanted;
	struct pl_list lacking, holding; /* nodes */
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
	uint32_t commits; /* calls that are not free */
	uint32_t batch;
	struct bundle bundle;
	struct gangs gangs;
	struct groups groups;
	uint64_t calls; /* ever */
	struct call call[SCHED_CALLS];
	struct note note[SCHED_NOTES_MAX];
	uint32_t notes, notes_told;
	struct alloc_pod *alloc_pod; /* room to print from */
	uint32_t alloc_pod_cap;
	struct unsched *unsched;
	struct likeness likeness; /* of specs */
	struct whole whole;
	struct visits visits;
	struct digests digests;
	struct abroad abroad;
	bool viewing;      /* what is taken comes from the whole view */
	int64_t taken_rev; /* of the alloc that is being taken */
	bool astray_due;   /* the nodes of those astray may be known to be gone now */
	uint32_t beside;   /* pods with labels beside their class */
	uint64_t named;    /* up to where all of them were seen to */
	bool unjoined;     /* which failed: nothing is decided until the repair */
	uint64_t now_ms;
	int64_t wall_ms;
	struct sched_figures figures;
	struct conflicts conflicts;
};

static inline struct pl_span sched_text(const struct sched *sched, uint32_t id)
{
	return model_text(&sched->model, id);
}

static inline struct sched_pod *pod_of_queue(struct queue_pod *pod)
{
	return PL_CONTAINER_OF(pod, struct sched_pod, queue);
}

static inline struct queue_class *queue_class_of(struct pool_class *open)
{
	return (struct queue_class *)(void *)open->extra;
}

static inline struct pool_class *pool_class_of(struct queue_class *class)
{
	return PL_CONTAINER_OF(class, struct pool_class, extra);
}

/* What is kept with a class. */
struct class_more {
	struct queue_class queue; /* the first: pool_class_of */
	struct travel travel;
	struct bonds bonds;
};

static inline struct class_more *class_more_of(struct queue_class *class)
{
	return PL_CONTAINER_OF(class, struct class_more, queue);
}

static inline const struct class_more *
class_more_of_const(const struct queue_class *class)
{
	return PL_CONTAINER_OF_CONST(class, struct class_more, queue);
}

/* On nodes, own ones or not. */
static inline bool call_commits(const struct call *call)
{
	return call->kind == CALL_COMMIT || call->kind == CALL_ABROAD;
}

static inline struct bonds *bonds_of(struct pool_class *open)
{
	return &class_more_of(queue_class_of(open))->bonds;
}

/* In a call, and in the queue no more: its class was of other settings (sched_configure),
 * or its partition is lost. If it is not committed it starts anew. */
static inline bool pod_is_loose(const struct sched_pod *pod)
{
	return pod->place == POD_SENT && pod->queue.class == NULL;
}

/* -- tell.c ---------------------------------------------------------- */

void tell_garbled(struct sched *sched, const struct keys_id *id,
                  const struct pl_err *err);
void tell_trouble(struct sched *sched, const struct pl_err *err);
void tell_relist(struct sched *sched, uint32_t partition, enum sched_part part);
void tell_anew(struct sched *sched, enum sched_view view);
/* Something failed that is tried again after a while, wherever it was. */
void tell_repair(struct sched *sched, const struct pl_err *err);
bool tell_next(struct sched *sched, struct sched_action *out);
void tell_event(struct sched *sched, enum queue_event_kind kind, uint32_t slot);

/* -- pods.c ---------------------------------------------------------- */

struct sched_pod *pod_find(const struct sched *sched, uint32_t partition,
                           struct pl_span space, struct pl_span name);
/* Found or made; NULL: no memory. */
struct sched_pod *pod_get(struct sched *sched, uint32_t partition, struct pl_span space,
                          struct pl_span name);
void pod_settle(struct sched *sched, struct sched_pod *pod);
/* What was assumed is taken back; the pod is QUEUED, and popped. */
void pod_unassume(struct sched *sched, struct sched_pod *pod);
/* That, and it is to be decided again, since somebody else was there. */
void pod_again(struct sched *sched, struct sched_pod *pod);
/* Likewise, since what it was decided with did not come true. */
void pod_redo(struct sched *sched, struct sched_pod *pod);
/* It was unassumed: to be tried again. */
void pod_retry(struct sched *sched, struct sched_pod *pod, enum queue_cause cause,
               bool after_backoff);
/* Not in the queue any more, wherever it was; IDLE. */
void pod_withdraw(struct sched *sched, struct sched_pod *pod);
/* Not in the queue any more, though it is SENT; it may be out of it already. */
void pod_dequeue(struct sched *sched, struct sched_pod *pod);
/* Freed when nothing is known of it and nobody refers to it. */
void pod_tidy(struct sched *sched, struct sched_pod *pod);
void pod_unlink(struct sched *sched, struct sched_pod *pod);
/* Takes the pod over. */
void pod_set_spec(struct sched *sched, struct sched_pod *pod, struct pod *from);
/* Takes the reference. */
void pod_change_spec(struct sched *sched, struct sched_pod *pod, const struct spec *spec);
void pod_set_beside(struct sched *sched, struct sched_pod *pod, uint32_t index,
                    uint32_t keys);
void pod_set_at(struct sched *sched, struct sched_pod *pod, uint32_t cluster,
                uint32_t node);
void pod_set_why(struct sched *sched, struct sched_pod *pod, uint32_t why);
void pod_forget(struct sched *sched, struct sched_pod *pod);
void pods_done(struct sched *sched);
/* -- doubts.c -------------------------------------------------------- */

/* What does not agree for long is told; when to look again, UINT64_MAX: nothing does. */
void doubts_run(struct sched *sched);
uint64_t doubts_deadline_ms(const struct sched *sched);
void doubt_pod(struct sched *sched, struct sched_pod *pod);
void doubt_node(struct sched *sched, struct sched_node *node);

/* That found no node, since it is known here. */
static inline uint32_t pod_attempts(const struct sched_pod *pod)
{
	return pod->gang == NULL ? pod->queue.attempts
	                         : pod->gang->attempts + pod->gang->queue.attempts;
}

static inline bool pod_is_owned(const struct sched *sched, const struct sched_pod *pod)
{
	return sched->partition[pod->key[0]].owned;
}

/* -- nodes.c --------------------------------------------------------- */

struct sched_node *node_find(const struct sched *sched, struct pl_span cluster,
                             struct pl_span name);
struct sched_node *node_get(struct sched *sched, uint32_t partition,
                            struct pl_span cluster, struct pl_span name);
/* Its partition is owned, listed, and not to be handed over. */
bool node_is_home(const struct sched *sched, const struct sched_node *node);
/* How many wait at nodes like that one. */
uint32_t *node_waiting(struct sched *sched, const struct sched_node *node);
/* A decided pod waits there. */
void node_wait(struct sched *sched, struct sched_node *node, struct sched_pod *pod);
/* NULL: not in the table. Of a name in two strings. */
struct sched_node *node_at(const struct sched *sched, const uint32_t key[2]);
/* Its alloc is understood and is ours to write. */
bool node_may_write(const struct sched *sched, const struct sched_node *node);
/* Into the snapshot or out of it. */
void node_settle(struct sched *sched, struct sched_node *node);
/* Out of it, whatever is so. */
void node_leave(struct sched *sched, struct sched_node *node);
/* All that wait there are decided again. */
void node_give_back(struct sched *sched, struct sched_node *node);
/* Into the list of those that can be committed, if it can be. */
void node_ready(struct sched *sched, struct sched_node *node);
void node_tidy(struct sched *sched, struct sched_node *node);
void node_forget(struct sched *sched, struct sched_node *node);
void nodes_done(struct sched *sched);

/* -- listed.c -------------------------------------------------------- */

PL_NODISCARD enum pl_code listed_room(struct sched_node *node, uint32_t count);
/* There is room. The pod is placed as said, or as the node is. */
void listed_add(struct sched *sched, struct sched_node *node, struct sched_pod *pod,
                uint32_t placed, bool sent);
/* Gives what it was placed as. */
uint32_t listed_del(struct sched *sched, struct sched_node *node, uint32_t i);
/* It terminates in the snapshot, too, if it does. */
void listed_mark(struct sched *sched, struct sched_node *node, uint32_t i);
/* UINT32_MAX: it is not. */
uint32_t listed_find(const struct sched_node *node, const struct sched_pod *pod);
/* Before and after the spec of a pod changes. */
void listed_forget_spec(struct sched *sched, struct sched_pod *pod);
void listed_learn_spec(struct sched *sched, struct sched_pod *pod);
/* Settles the nodes that list it. */
void listed_settle(struct sched *sched, struct sched_pod *pod);
/* As the alloc says. */
PL_NODISCARD enum pl_code listed_set(struct sched *sched, struct sched_node *node,
                                     const struct alloc *alloc, struct pl_err *err);
void listed_clear(struct sched *sched, struct sched_node *node);
bool listed_agrees(const struct sched_node *node);
/* As what it is, or is to be, in the snapshot. */
struct pod_on_node listed_as(const struct sched *sched, const struct listed *listed);
/* The alloc of the node with what it lists now. */
PL_NODISCARD enum pl_code listed_print(struct sched *sched, struct sched_node *node,
                                       struct pl_buf *out, struct pl_err *err);

/* -- news.c ---------------------------------------------------------- */

/* A key of the node or the pod has that value now, or is gone since that revision. False:
 * it could not be kept. */
bool news_take(struct sched *sched, const struct keys_id *id,
               const struct kv_record *record, bool gone);
/* Is what happens to that key followed here? */
bool news_concern(const struct sched *sched, const struct keys_id *id);
/* Some could not be kept: it is to be read again. */
void news_lost(struct sched *sched, const struct keys_id *id);
/* A fact that a list does not have. */
void news_sweep_node(struct sched *sched, struct sched_node *node, enum fact fact);
void news_sweep_pod(struct sched *sched, struct sched_pod *pod, enum fact fact);

/* -- decide.c, commit.c, answer.c ------------------------------------- */

void decide_run(struct sched *sched, unsigned work);
bool decide_may(const struct sched *sched);
/* A node that is ready, with at most so many that wait there. PL_BUSY: there is no room.
 */
PL_NODISCARD enum pl_code commit_add(struct sched *sched, struct call *call,
                                     struct sched_node *node, uint32_t room);
/* The attempt failed, not the pod. */
void decide_fault(struct sched *sched, struct sched_pod *pod, const struct pl_err *err);
/* The pod, popped, is to run on that node. */
void decide_assume(struct sched *sched, struct sched_pod *pod, struct sched_node *node);
void commit_run(struct sched *sched);
/* A commit could be begun. */
bool commit_may(const struct sched *sched);
/* Rather than a number: all that wait there, or those of the bundle. */
#define COMMIT_ALL UINT32_MAX
#define COMMIT_BUNDLED (UINT32_MAX - 1)
enum { COMMIT_POD_ITEMS = 1, COMMIT_NODE_ITEMS = 2 };
/* As many of those that wait there as are wanted, and the alloc. PL_BUSY: they do not fit
 * any more; some may be in it. */
PL_NODISCARD enum pl_code commit_put(struct sched *sched, struct call *call,
                                     struct sched_node *node, uint32_t count,
                                     struct pl_err *err);
/* Back to so many items; the book is the caller's. */
void commit_undo(struct sched *sched, struct call *call, uint32_t items);
/* Those from there on are in the call as a whole. */
void commit_seal(struct sched *sched, struct call *call, uint32_t from);
/* -- bundle.c ------------------------------------------------------- */

void bundle_init(struct sched *sched);
void bundle_done(struct sched *sched);
/* A gang may be decided into it; it is, and its pods follow. */
bool bundle_takes_gang(const struct sched *sched);
void bundle_add_gang(struct sched *sched, struct sched_gang *gang);
/* Would so many more fit into its transaction? */
bool bundle_holds(const struct sched *sched, uint32_t pods, uint32_t nodes);
/* One more pod may be decided into it. */
bool bundle_takes(const struct sched *sched);
/* The pod was assumed just now. */
void bundle_add(struct sched *sched, struct sched_pod *pod);
/* Copied. Its number; UINT32_MAX: there is no room, and the bundle is broken. */
uint32_t bundle_extra(struct sched *sched, const struct bundle_extra *extra);
/* The store takes no such transaction: a gang that is alone in it needs more. */
void bundle_limited(struct sched *sched);
/* Nothing more is decided into it. */
void bundle_close(struct sched *sched);
/* What was decided may not stand. */
void bundle_break(struct sched *sched);
/* A pod of it waits no more, be it lost or to be decided again. */
void bundle_left(struct sched *sched, struct sched_pod *pod);
/* Sends it, or gives it up, if it is time. */
void bundle_run(struct sched *sched);
bool bundle_may(const struct sched *sched);
/* Its call has ended, and what was in it has been unsent or stands. */
void bundle_settled(struct sched *sched, const struct call *call);
/* -- calls.c --------------------------------------------------------- */

struct call *call_begin(struct sched *sched, enum call_kind kind);
/* For an entry that was added to its book just now. */
struct call_item *call_item_add(struct call *call, const struct call_item *item);
/* Else it is a lock or the like, of everybody. */
static inline bool call_has_partition(enum keys_kind kind)
{
	return kind == KEYS_NODE || kind == KEYS_ALLOC || kind == KEYS_STATE;
}

/* 0: not ours. */
static inline int64_t call_epoch(const struct sched *sched, uint32_t partition)
{
	const struct sched_partition *part = &sched->partition[partition];

	return part->owned ? part->epoch : 0;
}
/* Likewise, where the key is not what is compared last. PL_NOMEM. */
PL_NODISCARD enum pl_code call_item_of(struct call *call, const struct call_item *item,
                                       struct pl_span key);
PL_NODISCARD enum pl_code call_room(struct call *call, uint32_t items);
/* The book is full as it is to be. */
void call_post(struct sched *sched, struct call *call);
void call_end(struct sched *sched, struct call *call);
uint8_t call_number(const struct sched *sched, const struct call *call);
/* Calls that were to be made, and were made for what is no more: a partition of theirs
 * was lost, whether it is ours again or not. */
void call_drop_stale(struct sched *sched);
/* News about something that is in that call. */
bool call_hold(struct sched *sched, uint8_t number, const struct kv_record *record,
               bool gone);
/* What was held of that partition's pods, and of its nodes if wanted, is forgotten with
 * them: it may be of a store that is no more. */
void call_unhold(struct sched *sched, const struct sched_partition *of, bool nodes);

/* -- ends.c, ends_commit.c -------------------------------------------- */

/* It is not to be placed: it goes. */
bool ends_pod(const struct sched *sched, const struct sched_pod *pod);
/* What is to become of it as things stand. */
enum state_end ends_of(const struct sched *sched, const struct sched_pod *pod);
/* Into the lists of those that are to end, or out of them. */
void ends_settle(struct sched *sched, struct sched_pod *pod);
/* Its Node is known, or is another one. */
void taints_settle(struct sched *sched, struct sched_node *node);
/* Who may not stay on a tainted node any more is to leave it. */
void taints_run(struct sched *sched);
uint64_t taints_deadline_ms(const struct sched *sched);
/* Those that could not for a while. */
void ends_again(struct sched *sched);
uint64_t ends_again_ms(const struct sched *sched);
/* Those that end without a node. */
void ends_run(struct sched *sched);
uint64_t ends_deadline_ms(const struct sched *sched);
/* Of those that wait at the node, as many as left says; takes them off it. */
PL_NODISCARD enum pl_code ends_put(struct sched *sched, struct call *call,
                                   struct sched_node *node, uint32_t *left,
                                   struct pl_err *err);
uint32_t ends_at(const struct sched_node *node);
/* An entry of theirs: it is not in the call after all; it is; it stands; it does not. */
/* That one, whatever it is linked to. */
PL_NODISCARD enum pl_code ends_put_one(struct sched *sched, struct call *call,
                                       struct sched_pod *pod, struct sched_node *node,
                                       struct pl_err *err);
void ends_undo(const struct call_item *item);
void ends_seal(struct sched *sched, struct call *call, const struct call_item *item);
void ends_stand(struct sched *sched, const struct call_item *item, int64_t revision);
void ends_unsend(const struct call_item *item);
/* Not at once again. */
void ends_pause(struct sched *sched);

/* -- specs.c, unsched.c ----------------------------------------------- */

/* It is to be read, again too, for an alloc of that revision. */
void specs_want(struct sched *sched, struct sched_pod *pod, int64_t revision);
void specs_run(struct sched *sched);
void specs_answer(struct sched *sched, struct call *call, const struct kv_result *result);

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
void unsched_run(struct sched *sched);
uint64_t unsched_deadline_ms(const struct sched *sched);

/* -- configure.c, sched.c --------------------------------------------- */

/* May it help pods of that class? */
bool sched_hint(const struct sched *sched, unsigned plugin,
                const struct queue_class *class, const struct queue_event *event);

void regime_done(struct sched *sched, struct regime *regime);
uint32_t regime_weight(const struct sched *sched, uint32_t space);
/* The queue for that regime. */
PL_NODISCARD enum pl_code sched_queue_make(struct sched *sched,
                                           const struct regime *regime,
                                           struct queue **out, struct pl_err *err);
/* Empty; its profiles are those of sched. */
void sched_pool_init(struct sched *sched);

/* -- conflicts.c, clashes.c ------------------------------------------- */

/* A call failed, and this was read: before it is taken as news. */
void clash_failed(struct sched *sched, const struct call *call,
                  const struct kv_result *result);
/* The commit failed as a whole, for a reason that is not in what was read. */
void clash_call(struct sched *sched, const struct call *call, enum conflict_cause cause);
/*
 * For whoever sets nodes aside, of this shard or others: that node (strings of the
 * model) keeps refusing for that cause, and gets no more tries until then; until_ms 0: it
 * is given tries again. Only remembered, for people to see.
 */
void clash_set_aside(struct sched *sched, uint32_t cluster, uint32_t name,
                     enum conflict_cause cause, uint64_t until_ms);

/* -- join.c ----------------------------------------------------------- */

/* Labels that stood beside classes and are asked for by now go into them: to be called
 * before anything is judged. False: it is not to be judged. */
bool join_run(struct sched *sched);

#endif
