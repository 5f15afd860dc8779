/*
 * struct sched from inside the core. All parts of the core work on it; each part has a
 * folder and a header of its own:
 *
 *	cache/         facts: what stands under the keys of nodes and pods, and what
 *	               follows for the queue and the snapshot
 *	txn/           pods from the queue to nodes, nodes into txns, answers; the batch
 *	remote/        remote nodes: digests, remote lists, the fleet view, commits
 *	rules/         rules about pods on other nodes
 *	budgets/       disruption budgets
 *	objects/       cluster objects of the store
 *	gangs/         pods that run together or not at all
 *	reservations/  room that is reserved, or made by preemption
 *	termination/   pods that leave their nodes
 *	metrics/       counting, for who watches the shard
 *	settings/      live configuration
 *
 * Invariants: facts are set first; then pod_reconcile and node_reconcile derive what
 * follows from them, and change nothing when it is derived already. A pod is on at most
 * one list by its link, as pod->linked says.
 */
#ifndef SHARDSCHED_SHARD_INNER_H
#define SHARDSCHED_SHARD_INNER_H

#include "shardsched/classes/class_registry.h"
#include "shardsched/model/node.h"
#include "shardsched/model/pod.h"
#include "shardsched/model/uuid.h"
#include "shardsched/records/alloc.h"
#include "shardsched/records/pod_state.h"
#include "shardsched/records/txn_builder.h"
#include "shardsched/shard/budgets/disruption.h"
#include "shardsched/shard/cache/node.h"
#include "shardsched/shard/cache/partition.h"
#include "shardsched/shard/cache/pod.h"
#include "shardsched/shard/cache/spec_cache.h"
#include "shardsched/shard/classes.h"
#include "shardsched/shard/gangs/gang_records.h"
#include "shardsched/shard/gangs/gangs.h"
#include "shardsched/shard/metrics/sched_metrics.h"
#include "shardsched/shard/objects/objects.h"
#include "shardsched/shard/remote/remote.h"
#include "shardsched/shard/rules/rules.h"
#include "shardsched/shard/sched.h"
#include "shardsched/shard/settings/config_gen.h"
#include "shardsched/shard/txn/batch.h"
#include "shardsched/shard/txn/cooldown.h"
#include "shardsched/shard/txn/txn.h"
#include "store/keys/keys.h"

/* All known pods, each by a number of its own. */
struct pod_table {
	struct slab slab;
	struct buckets buckets; /* pods by key */
	uint32_t count;
};

struct sched_note {
	enum sched_action_kind what;
	uint32_t partition;
	struct keys_text key;
	struct pl_err err;
};

/*
 * The clock of taints, whatever the wall clocks of the writers say. From look to look it
 * advances as the wall clock does, but never more than the monotonic clock
 * (taint_eviction.c). So it stays behind a wall clock that was set forward, and goes back
 * with one that was set back.
 */
struct steady_clock {
	int64_t ms; /* 0: it was not read yet */
	int64_t wall_ms;
	uint64_t now_ms;
};

struct sched {
	struct model model;
	struct snapshot snapshot;
	struct class_cache *classes;
	struct cycle *cycle;
	struct preempt *preempt;
	struct pl_map plans;           /* preemption plans, by the pod that makes room */
	struct config_gen *config_gen; /* settings by which everything is decided */
	struct queue *queue;           /* of config_gen, as class_registry */
	struct class_registry *class_registry;
	struct pl_list old_gens; /* earlier config_gens that still have pods */
	/* Pod from which configure.c goes on; NULL: all have migrated */
	struct sched_pod *migrating;
	uint32_t migrate_max; /* pods that one turn migrates at most */
	uint32_t preempted;   /* interned string "preempted"; held */
	/* Place in the queue of the pod that is being migrated; or NULL */
	const struct queue_order *turn;
	struct queue_plugin plugin[PLUGINS_MAX];
	/* With batch_size, inflight and cache_bytes as configured */
	struct sched_opts opts;
	struct sched_opts first_opts; /* as given to sched_new */
	struct kv_limits limits;
	char *shard;
	struct pl_arena arena; /* of one value while it is read */
	struct pl_buf buf;     /* of one value while it is written */
	struct pl_map nodes;
	struct pod_table pods;
	struct sched_node **by_slot;
	uint32_t by_slot_cap;
	struct sched_partition *partition;
	/* So long the shard waits for own partitions that are not open yet; 0: no
	 * decision has waited since the last partition opened or came */
	uint64_t load_ms;
	struct pl_list ready;  /* local nodes that can go into a txn */
	struct pl_list wanted; /* pods whose specs are to be read */
	/* Nodes that list pods of unknown spec; that have reservations */
	struct pl_list incomplete, reserving;
	struct pl_list unread;  /* incomplete nodes whose specs are not read */
	struct pl_list sharing; /* nodes that list pods whose node is another; few */
	/* When the next deadline of a reservation is looked at */
	uint64_t reservations_ms;
	struct pl_list departures; /* nodes that pods leave in order */
	uint64_t departures_ms;    /* when the first of the departures is due */
	uint64_t specs_ms;         /* when missing specs are looked for again; 0: never */
	/* Pods and nodes whose facts do not agree: [0] since lately, [1] since before
	 * mismatch_ms was set last. */
	struct pl_list mismatched_pods[2], mismatched[2];
	uint64_t mismatch_ms;           /* when [0] becomes [1] */
	struct pl_list ending_unplaced; /* terminating pods that no node lists */
	struct pl_list ending_later;    /* terminating pods that wait for ending_ms */
	struct pl_list orphans;         /* pods whose node is not known here */
	struct pl_list tainted;         /* nodes with NoExecute taints */
	uint64_t taints_ms;             /* when tainted nodes are looked at again */
	uint64_t ending_ms;             /* no pod is terminated before */
	uint64_t repair_ms; /* when what failed is tried again; 0: nothing failed */
	struct cooldown cooldown;
	uint32_t waiting;      /* pods that wait at local nodes to be committed */
	uint32_t ending;       /* terminating pods that are in no txn */
	uint32_t clean_streak; /* commits that succeeded since the last one that failed */
	uint32_t commits;      /* posted TXN_COMMIT */
	uint32_t batch_size;
	struct batch batch;
	struct gangs gangs;
	struct sched_rules rules;
	struct gang_records gang_records;
	struct disruption disruption;
	struct sched_objects objects;
	uint64_t txn_serial; /* number of the last txn */
	struct shard_txn txn[SCHED_TXNS];
	struct sched_note note[SCHED_NOTES_MAX];
	uint32_t notes, notes_reported;
	bool relist_due[SCHED_VIEWS]; /* as relist_due of a partition's parts */
	uint32_t relists;             /* relist_due flags that are set in partitions */
	struct alloc_pod *alloc_pod;  /* scratch, to print allocs from */
	uint32_t alloc_pod_cap;
	struct pending_status *pending_status;
	struct spec_cache spec_cache; /* parsed specs, shared by equal pods */
	struct fleet_view fleet_view;
	struct remote_lists remote_lists;
	struct digests digests;
	struct remote_state remote;
	int64_t applied_rev; /* revision of the alloc that is being applied */
	bool applied_new;    /* that alloc was deleted and created since the last one */
	/* Shown by the answer that is being applied: the alloc of `node` was still
	 * of revision `alloc` at `revision`. */
	struct {
		const struct sched_node *node;
		int64_t alloc, revision;
	} seen;
	const struct shard_txn *answered; /* txn whose answer is being applied; or NULL */
	uint64_t named;         /* labels up to this number of identities are promoted */
	uint32_t identity_pods; /* pods with labels beside their class */
	uint8_t read_halvings;  /* how often the size of spec reads was halved */
	/* Label promotion failed: nothing is decided until the repair */
	bool promotion_failed;
	/* A node is missing in the snapshot, for want of memory: nothing is decided under
	 * rules until the repair */
	bool shrunk;
	/* The record that is being applied comes from the fleet view */
	bool applying_view;
	/* The deferred event that is being applied came from the present fleet view */
	bool catching_up;
	bool orphans_due; /* a node of an orphan may be known to be gone now */
	/* Nodes in the snapshot without amounts, and when they are tried again (0: there
	 * are none). */
	struct pl_list uncounted;
	uint64_t uncounted_ms;
	uint64_t now_ms;
	int64_t wall_ms;
	unsigned turn_work, turn_tried; /* pods that this turn may try; has tried */
	unsigned turn_timed;            /* attempts that it has timed */
	struct steady_clock steady_clock;
	struct sched_figures figures;
	struct sched_metrics metrics;
	struct conflicts conflicts;
};

static inline struct pl_span sched_text(const struct sched *sched, uint32_t id)
{
	return model_text(&sched->model, id);
}

/* The queue that pods of the class are in. Gangs are always in the one of the latest
 * settings. */
static inline struct queue *queue_of_class(const struct sched *sched,
                                           struct queue_class *class)
{
	return gang_is_class(class) ? sched->queue
	                            : config_gen_of(pool_class_of(class))->queue;
}

/* turn.c: asserts what the subsystems assert of themselves. */
void subsystems_check(const struct sched *sched);

/* Pods migrate to the latest settings; nothing is decided before all have. */
static inline bool is_migrating(const struct sched *sched)
{
	return !pl_list_empty(&sched->old_gens);
}

#endif
