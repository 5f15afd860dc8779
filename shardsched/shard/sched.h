/*
 * struct sched: the scheduling core of one shard, a pure state machine. Lists, events,
 * answers and the time go in; transactions and other actions come out. The driver is
 * coord/work.
 *
 *	own(p) --> LOADING --nodes, allocs and schedules are listed--> OPEN
 *	OPEN: pods are popped, decided, assumed, and committed with their node's alloc
 *	quiesce(p): nothing new is begun for p; p is quiet once none of its txns is left
 *	lost(p): p is forgotten at once; answers that come later change nothing of it
 *
 * **A node is committed as a whole.** A decided pod waits at its node. A node whose alloc
 * is in no txn goes into the next one with all pods that wait there, so several pods on a
 * node are one put, and a key is in one txn at a time. While txns are in flight, further
 * pods are decided against what is assumed.
 *
 * **Answers.** Yes: what was assumed is true. No: the values that came back are applied
 * like events; pods that conflicted are decided again, and the others go into the next
 * txn at once. Unknown: the same txn is sent again (txn.h) until its outcome is known.
 *
 * **Events** are applied by key and mod_revision. An event about a key that is in a txn
 * is deferred until the answer, so the shard knows the echo of its own commit by its
 * revision and never decodes it.
 *
 * Invariants: no function reads a clock, a socket or a random number. now_ms is monotonic
 * and never goes back; wall_ms is for what people read. sched_next is called until it is
 * false after each call that changes anything.
 */
#ifndef SHARDSCHED_SHARD_SCHED_H
#define SHARDSCHED_SHARD_SCHED_H

#include "shardsched/framework/cycle.h"
#include "shardsched/queue/queue.h"
#include "shardsched/records/cluster_object.h"
#include "shardsched/shard/metrics/sched_metrics.h"
#include "shardsched/shard/settings/settings.h"
#include "shardsched/shard/txn/conflicts.h"
#include "store/kv/types.h"

enum {
	SCHED_INFLIGHT_MAX = SETTINGS_INFLIGHT_MAX,
	SCHED_STATUSES_MAX = 64,
	SCHED_BATCH_MAX = SETTINGS_BATCH_MAX, /* placements in a txn */
};

struct sched_opts {
	const char *shard;   /* id of the shard; copied */
	uint32_t partitions; /* of the store */
	uint64_t seed;
	struct pl_span config; /* profiles; empty: the default profile */
	enum queue_sort sort;
	uint32_t batch_size;    /* placements in a txn at most; 0: 256 */
	uint32_t inflight;      /* txns on local nodes at once at most; 0: 4 */
	size_t cache_bytes;     /* size of the cache of the classes; 0: 256 MiB */
	uint32_t ready_classes; /* classes of pods that are kept prepared; 0: 4,096 */
	/* Pods whose status is written at once, at most SCHED_STATUSES_MAX; 0: 64 */
	uint32_t statuses;
	uint32_t reads; /* nodes of a remote list whose specs are read at first; 0: 16 */
	uint64_t txn_timeout_ms; /* of a request; 0: 5,000 */
	/* Nanoseconds by which plugins are timed, for plugin_budget_ms and for metrics
	 * only; NULL: plugins are not timed and may take as long as they need. */
	cycle_clock_fn *clock;
	void *clock_ctx;
	uint32_t plugin_budget_ms; /* of one plugin in one decision; 0: 2,000 */
};

struct sched;

PL_NODISCARD enum pl_code sched_new(const struct sched_opts *opts, struct sched **out,
                                    struct pl_err *err);
void sched_free(struct sched *sched);

/*
 * Live configuration: from here on everything is decided by these settings. Decisions by
 * earlier settings that are in no txn yet are withdrawn; a txn in flight stands if it is
 * committed, and its pods are decided again if not. All waiting pods are tried again, in
 * the order in which they waited. A bounded number of pods migrates in each sched_run,
 * and nothing is decided before all have. A 0 in settings means what sched_opts said.
 * Nothing has changed when it fails (PL_NOMEM, PL_LIMIT, PL_INVALID).
 */
PL_NODISCARD enum pl_code sched_configure(struct sched *sched,
                                          const struct sched_settings *settings,
                                          struct pl_err *err);

/* The limits of the kv, whenever they become known. */
void sched_set_limits(struct sched *sched, struct kv_limits limits);

/* -- partitions -------------------------------------------------------------------- */

PL_NODISCARD enum pl_code sched_own(struct sched *sched, uint32_t partition,
                                    int64_t epoch, struct pl_err *err);
void sched_lost(struct sched *sched, uint32_t partition);
void sched_quiesce(struct sched *sched, uint32_t partition);
/* No decision about the partition waits, and none of its keys is in a txn. */
bool sched_is_quiet(const struct sched *sched, uint32_t partition);
bool sched_is_open(const struct sched *sched, uint32_t partition);

/* -- lists and events of own partitions -------------------------------------------- */

/* The parts of a partition that are listed and watched. */
enum sched_part { SCHED_NODES, SCHED_ALLOCS, SCHED_SCHEDULES, SCHED_PARTS };

/* The notes of relist.h, of one part: begin, records, end with the list's revision, then
 * events. A lost watch begins again. A key that is not of that part is reported as
 * malformed. */
void sched_list_begin(struct sched *sched, uint32_t partition, enum sched_part part);
void sched_list_records(struct sched *sched, uint32_t partition, enum sched_part part,
                        const struct kv_record *records, size_t count);
void sched_list_end(struct sched *sched, uint32_t partition, enum sched_part part,
                    int64_t revision);
void sched_events(struct sched *sched, uint32_t partition, enum sched_part part,
                  const struct kv_event *events, size_t count);
/* Everything up to that revision was delivered. */
void sched_progress(struct sched *sched, uint32_t partition, enum sched_part part,
                    int64_t revision);

/* -- views: beyond own partitions -------------------------------------------------- */

/* Ranges that are listed and watched while they are wanted, whatever is owned. FLEET is
 * ["/alloc/", "/nodes0"): nodes, allocs, and the locks of rules between pods, whose
 * changes come in one order; other keys in it are skipped. DIGESTS is "/digests/", what
 * other shards say they have; GANGS is "/gangs/", the records of gangs that are too large
 * for one txn; BUDGETS is "/budgets/", how many pods may be disrupted at once.
 * OF_NAMESPACE is ["/objects/core/namespaces", "/objects/core/namespaces0"), with the lock
 * of their labels; the other views OF_ are the cluster objects of one kind. Nothing is
 * decided before all of these have been listed once. The keys are in view_keys.h. */
#define SCHED_OBJECT_VIEW(kind, group, resource, in) SCHED_OF_##kind,
enum sched_view {
	SCHED_FLEET,
	SCHED_DIGESTS,
	SCHED_GANGS,
	SCHED_BUDGETS,
	CLUSTER_FOLLOWED_MAP(SCHED_OBJECT_VIEW) SCHED_VIEWS,
	SCHED_OBJECT_FIRST = SCHED_OF_NAMESPACE,
	SCHED_OBJECT_VIEWS = SCHED_VIEWS - SCHED_OBJECT_FIRST,
};

bool sched_view_wanted(const struct sched *sched, enum sched_view view);
/* The notes of relist.h. revision: of the list, of the last event. */
void sched_view_begin(struct sched *sched, enum sched_view view);
void sched_view_records(struct sched *sched, enum sched_view view,
                        const struct kv_record *records, size_t count);
void sched_view_end(struct sched *sched, enum sched_view view, int64_t revision);
void sched_view_events(struct sched *sched, enum sched_view view,
                       const struct kv_event *events, size_t count, int64_t revision);
/* The view will begin again; or it is not watched any more. */
void sched_view_lost(struct sched *sched, enum sched_view view);
void sched_view_closed(struct sched *sched, enum sched_view view);

/* How many shards there are: the more, the less often each writes its digest. */
void sched_set_shards(struct sched *sched, uint32_t shards);

/* After SCHED_REMOTE_LIST: the partition's nodes and allocs as they stand at one
 * revision. Each list ends with end or failed. */
void sched_remote_list_records(struct sched *sched, uint32_t partition,
                               const struct kv_record *records, size_t count);
void sched_remote_list_end(struct sched *sched, uint32_t partition, int64_t revision);
/* The list failed, whatever records of it were delivered. */
void sched_remote_list_failed(struct sched *sched, uint32_t partition,
                              const struct pl_err *why);

/* The store went back (PL_REWOUND): revisions mean nothing any more, and everything will
 * be listed again. */
void sched_rewound(struct sched *sched);

/* -- work -------------------------------------------------------------------------- */

/* Decides at most `work` pods that are ready, and makes txns. Gives how many it tried. */
unsigned sched_run(struct sched *sched, uint64_t now_ms, int64_t wall_ms, unsigned work);
/* When to run again at the latest; 0: now. UINT64_MAX: only when something comes in. */
uint64_t sched_deadline_ms(const struct sched *sched);

enum sched_action_kind {
	SCHED_TXN,       /* txn: start req, and give its outcome to sched_answer */
	SCHED_MALFORMED, /* key, err: the value makes no sense and is ignored */
	SCHED_TROUBLE,   /* err: something failed in the shard and is tried again */
	/* Partition, part: events could not be kept; list the part again */
	SCHED_RELIST,
	SCHED_RELIST_VIEW, /* view: events could not be kept; list the view again */
	SCHED_REMOTE_LIST, /* partition: list it once */
};

struct sched_action {
	enum sched_action_kind what;
	uint32_t txn;
	struct kv_req req; /* borrowed until the txn is answered */
	uint64_t timeout_ms;
	uint32_t partition;
	enum sched_part part;
	enum sched_view view;
	struct pl_span key;
	const struct pl_err *err;
};

/* The next action. False: there is none at the moment. The action is borrowed until the
 * next call of any function. */
bool sched_next(struct sched *sched, struct sched_action *out);
/* How a txn ended: exactly one of result and err. A start that failed (PL_BUSY and
 * others) counts as well. The txn is one that SCHED_TXN named and that is not
 * answered. */
void sched_answer(struct sched *sched, uint32_t txn, const struct kv_result *result,
                  const struct pl_err *err);

/* -- figures ----------------------------------------------------------------------- */

struct sched_figures {
	/* Decisions that found a node; placements that are committed */
	uint64_t decided, placed;
	uint64_t txns, txns_failed, txns_unknown, txns_fenced;
	/* Placements decided again because their pod or node had changed */
	uint64_t conflicts;
	/* Placements decided again because the node was handed over or lost */
	uint64_t taken_back;
	/* Placements decided again because an assumption did not come true */
	uint64_t decided_again;
	uint64_t batches, batches_failed; /* txns that commit a batch */
	uint64_t terminated;              /* pods that were asked to leave their nodes */
	uint64_t ended;     /* pods that left their nodes, or ended without a node */
	uint64_t echoes;    /* events of the shard's own commits, not decoded */
	uint64_t preempted; /* txns that make room by preemption */
	uint64_t renewed, lapsed; /* deadlines of reservations */
	uint64_t malformed;
	/* Decisions that failed because a plugin took too long */
	uint64_t plugin_overruns;
	uint32_t nodes, pods, waiting; /* known now; decided and not in flight */
	/* Remote nodes, among `nodes`, on which pods can be placed */
	uint32_t remote;
	uint32_t inflight;   /* txns that are posted */
	uint32_t batch_size; /* placements in a txn, as adapted to conflicts */
};

void sched_figures(const struct sched *sched, struct sched_figures *out);
void sched_conflicts(const struct sched *sched, struct conflict_summary *out);
void sched_queue_stats(const struct sched *sched, struct queue_stats *out);
/* Pods of the partition that wait or are on their way: its load, for the balancer. */
uint32_t sched_load(const struct sched *sched, uint32_t partition);
/* Asserts the invariants between cache, snapshot and queue; for tests. */
void sched_check(const struct sched *sched);

#endif
