/*
 * The scheduling work of one shard, as a pure state machine: what it owns and what
 * happens there goes in, transactions come out.
 *
 *	own(p) --> LOADING --lists of nodes, allocs, schedules are complete--> OPEN
 *	OPEN: pods are popped, decided, assumed, and committed with their node's alloc
 *	quiesce(p): nothing new is begun for p; quiet once nothing of it is in flight
 *	lost(p): forgotten at once, whatever is in flight; its answers find nobody
 *
 * **A node is committed as a whole.** A decided pod waits at its node; a node whose alloc
 * is in no transaction goes into the next one, with all that wait there, so several pods
 * on a node are one put, and a key is in one transaction at a time. While transactions
 * are in flight further pods are decided, against what is assumed.
 *
 * **Answers.** Yes: what was assumed is so. No: the values that came back are taken as
 * news; what really conflicted is decided again, the rest goes into the next transaction
 * at once. Unknown: the same transaction is sent again (book.h) until it is known.
 *
 * **News** is applied per key by mod_revision. For a key that is in a transaction it
 * waits for the answer, so the echo of our own commits is known by its revision and never
 * decoded.
 *
 * Nothing here reads a clock: now_ms is monotonic, wall_ms is for what people read.
 */
#ifndef SHARDSCHED_SHARD_SCHED_H
#define SHARDSCHED_SHARD_SCHED_H

#include "shardsched/framework/cycle.h"
#include "shardsched/queue/queue.h"
#include "shardsched/shard/settings/settings.h"
#include "shardsched/shard/txn/conflicts.h"
#include "store/kv/types.h"

enum {
	SCHED_INFLIGHT_MAX = SETTINGS_INFLIGHT_MAX,
	SCHED_STATUSES_MAX = 64,
	SCHED_BATCH_MAX = SETTINGS_BATCH_MAX, /* placements in a transaction */
};

struct sched_opts {
	const char *shard;   /* its id; copied */
	uint32_t partitions; /* of the store */
	uint64_t seed;
	struct pl_span config; /* profiles; empty: the default */
	enum queue_sort sort;
	uint32_t batch_size;    /* placements a transaction at most; 0: 256 */
	uint32_t inflight;      /* transactions at most; 0: 4 */
	size_t cache_bytes;     /* of the classes; 0: 256 MiB */
	uint32_t ready_classes; /* of pods, prepared at once; 0: 4,096 */
	uint32_t statuses; /* pods that are told at once why they wait; 0: 64, at most so
	                   many */
	uint32_t reads; /* nodes of a visited partition that are read at first; 0: 16 */
	uint64_t txn_timeout_ms; /* 0: 5,000 */
	/* Nanoseconds by which plugins are timed, for plugin_budget_ms and for metrics only;
	 * NULL: plugins are not timed and may take as long as they need. */
	cycle_clock_fn *clock;
	void *clock_ctx;
	uint32_t plugin_budget_ms; /* of one plugin in one decision; 0: 2,000 */
};

struct sched;

PL_NODISCARD enum pl_code sched_new(const struct sched_opts *opts, struct sched **out,
                                    struct pl_err *err);
void sched_free(struct sched *sched);

/*
 * Live configuration: from here on everything is decided by these settings. What was
 * decided by others and is in no transaction yet is given back; what is in one stands if
 * it is committed, and is decided anew if not. All that wait are tried again, in the
 * order in which they waited. So many pods go over in each sched_run, and nothing is
 * decided before all have. What is 0 in settings is as in sched_opts. Nothing has
 * changed when it fails (PL_NOMEM, PL_LIMIT, PL_INVALID).
 */
PL_NODISCARD enum pl_code sched_configure(struct sched *sched,
                                          const struct sched_settings *settings,
                                          struct pl_err *err);

/* What the kv takes, as it becomes known. */
void sched_set_limits(struct sched *sched, struct kv_limits limits);

/* -- what is owned ----------------------------------------------- */

PL_NODISCARD enum pl_code sched_own(struct sched *sched, uint32_t partition,
                                    int64_t epoch, struct pl_err *err);
void sched_lost(struct sched *sched, uint32_t partition);
void sched_quiesce(struct sched *sched, uint32_t partition);
/* Nothing of it is decided and not yet settled. */
bool sched_is_quiet(const struct sched *sched, uint32_t partition);
bool sched_is_open(const struct sched *sched, uint32_t partition);

/* -- what the store says ----------------------------------------- */

/* What is listed and watched of a partition. */
enum sched_part { SCHED_NODES, SCHED_ALLOCS, SCHED_SCHEDULES, SCHED_PARTS };

/* As the notes of relist.h, of one part: begin, records, end with the list's revision,
 * then events; lost starts anew. Keys that are not of that part are told as garbled. */
void sched_list_begin(struct sched *sched, uint32_t partition, enum sched_part part);
void sched_list_records(struct sched *sched, uint32_t partition, enum sched_part part,
                        const struct kv_record *records, size_t count);
void sched_list_end(struct sched *sched, uint32_t partition, enum sched_part part,
                    int64_t revision);
void sched_events(struct sched *sched, uint32_t partition, enum sched_part part,
                  const struct kv_event *events, size_t count);
/* Everything up to that revision was told. */
void sched_progress(struct sched *sched, uint32_t partition, enum sched_part part,
                    int64_t revision);

/* -- beyond what is owned ---------------------------------------- */

/* What is listed and watched whatever is owned, while it is wanted. WHOLE is the range
 * ["/alloc/", "/nodes0"): nodes, allocs, and the locks of rules between pods, whose
 * changes come in one order; keys in it that do not matter are skipped. DIGESTS is what
 * others say that they have, "/digests/"; GANGS the records of gangs that are too large
 * for one transaction, "/gangs/"; BUDGETS how many pods may be disturbed at once,
 * "/budgets/". */
enum sched_view { SCHED_FLEET, SCHED_DIGESTS, SCHED_GANGS, SCHED_BUDGETS, SCHED_VIEWS };

bool sched_view_wanted(const struct sched *sched, enum sched_view view);
/* As the notes of relist.h; revision: of the list, of the last event. */
void sched_view_begin(struct sched *sched, enum sched_view view);
void sched_view_records(struct sched *sched, enum sched_view view,
                        const struct kv_record *records, size_t count);
void sched_view_end(struct sched *sched, enum sched_view view, int64_t revision);
void sched_view_events(struct sched *sched, enum sched_view view,
                       const struct kv_event *events, size_t count, int64_t revision);
/* It will begin anew; or it is not watched any more. */
void sched_view_lost(struct sched *sched, enum sched_view view);
void sched_view_closed(struct sched *sched, enum sched_view view);

/* How many shards there are: the more, the less often each says what it has. */
void sched_set_shards(struct sched *sched, uint32_t shards);

/* After SCHED_REMOTE_LIST: the partition's nodes and allocs as they stand at one revision. */
void sched_remote_list_records(struct sched *sched, uint32_t partition,
                               const struct kv_record *records, size_t count);
void sched_remote_list_end(struct sched *sched, uint32_t partition, int64_t revision);
/* Or it failed, after whatever was told of it. */
void sched_remote_list_failed(struct sched *sched, uint32_t partition,
                              const struct pl_err *why);

/* Revisions mean nothing any more (PL_REWOUND): everything will be listed again. */
void sched_rewound(struct sched *sched);

/* -- work -------------------------------------------------------- */

/* Decides what is ready, at most work pods, and makes transactions. How many it tried. */
unsigned sched_run(struct sched *sched, uint64_t now_ms, int64_t wall_ms, unsigned work);
/* When to run again at the latest; 0: now. UINT64_MAX: when something comes in. */
uint64_t sched_deadline_ms(const struct sched *sched);

enum sched_action_kind {
	SCHED_TXN,       /* call: start req, and tell how it ended */
	SCHED_MALFORMED, /* key, err: what stands there makes no sense, and is set aside */
	SCHED_TROUBLE,   /* err: something failed here, and is tried again */
	SCHED_RELIST,    /* partition, part: news could not be kept; list it anew */
	SCHED_RELIST_VIEW, /* view: likewise */
	SCHED_REMOTE_LIST, /* partition: to be listed once */
};

struct sched_action {
	enum sched_action_kind what;
	uint32_t txn;
	struct kv_req req; /* borrowed until the call is answered */
	uint64_t timeout_ms;
	uint32_t partition;
	enum sched_part part;
	enum sched_view view;
	struct pl_span key;
	const struct pl_err *err;
};

/* The next thing to be done; false: nothing at the moment. Borrowed until the next call
 * of any function. */
bool sched_next(struct sched *sched, struct sched_action *out);
/* How a call ended: result, or err. PL_BUSY and the like of the start count as well. */
void sched_answer(struct sched *sched, uint32_t txn, const struct kv_result *result,
                  const struct pl_err *err);

/* -- questions --------------------------------------------------- */

struct sched_figures {
	uint64_t decided, placed; /* decisions that found a node; commits that stand */
	uint64_t txns, txns_failed, txns_unknown, txns_fenced;
	uint64_t conflicts;  /* placements decided again: somebody changed pod or node */
	uint64_t taken_back; /* likewise, since the node was handed over or lost */
	uint64_t
		decided_again; /* likewise, since what they were decided with did not come true
	                  */
	uint64_t batches, batches_failed; /* transactions of what is decided together */
	uint64_t terminated;              /* pods that were told to leave their nodes */
	uint64_t ended;     /* pods that gave their places back, or went without one */
	uint64_t echoes;    /* news of our own, not decoded */
	uint64_t preempted; /* transactions that make room */
	uint64_t renewed, lapsed; /* deadlines of room that is kept for a pod */
	uint64_t malformed;
	uint64_t plugin_overruns; /* decisions that failed since a plugin took too long */
	uint32_t nodes, pods, waiting; /* known now; decided and not yet in flight */
	uint32_t remote;     /* of the nodes, those of others on which pods can be put */
	uint32_t inflight;   /* transactions */
	uint32_t batch_size; /* as adapted */
};

void sched_figures(const struct sched *sched, struct sched_figures *out);
void sched_conflicts(const struct sched *sched, struct conflict_summary *out);
void sched_queue_stats(const struct sched *sched, struct queue_stats *out);
/* How much work there is in a partition, for the balancer. */
uint32_t sched_load(const struct sched *sched, uint32_t partition);
/* Asserts what must hold between tables, snapshot and queue; for tests. */
void sched_check(const struct sched *sched);

#endif
