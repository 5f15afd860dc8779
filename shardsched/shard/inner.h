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
 * What a pod, a node, a partition, a call is, stands in a header of its own there.
 *
 * Facts are set first; then pod_reconcile and node_reconcile work out what follows, and do
 * nothing when it is so already.
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
#include "shardsched/shard/remote/remote.h"
#include "shardsched/shard/rules/rules.h"
#include "shardsched/shard/sched.h"
#include "shardsched/shard/settings/config_gen.h"
#include "shardsched/shard/txn/batch.h"
#include "shardsched/shard/txn/cooldown.h"
#include "shardsched/shard/txn/txn.h"
#include "store/keys/keys.h"

/* All that are known, each by a number of its own. */
struct pod_table {
	struct slab slab;
	struct buckets buckets; /* by key */
	uint32_t count;
};

struct sched_note {
	enum sched_action_kind what;
	uint32_t partition;
	struct keys_text key;
	struct pl_err err;
};

/*
 * By which taints are counted, whoever's clock is wrong: it advances as the wall clock
 * does, and never more than the monotonic one, from look to look (termination_taint.c). So it is
 * behind the wall by what that was set forward, and goes back with it.
 */
struct steady_clock {
	int64_t ms; /* 0: not looked at yet */
	int64_t wall_ms;
	uint64_t now_ms;
};

struct sched {
	struct model model;
	struct snapshot snapshot;
	struct class_cache *classes;
	struct cycle *cycle;
	struct preempt *preempt;
	struct pl_map plans;           /* by the pod that makes room for itself */
	struct config_gen *config_gen; /* by which everything is decided */
	struct queue *queue;           /* its own, as the pool */
	struct class_registry *class_registry;
	struct pl_list old_gens;     /* reigns that pods are still there by */
	struct sched_pod *migrating; /* the next to be looked at whether it is */
	uint32_t migrate_max;        /* that are looked at in one turn */
	uint32_t preempted;          /* string, held */
	const struct queue_order
		*turn; /* of the one that comes into the queue; or NULL */
	struct queue_plugin plugin[PLUGINS_MAX];
	struct sched_opts opts;       /* batch, inflight and cache_bytes as configured */
	struct sched_opts first_opts; /* and as they were given */
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
	struct pl_list incomplete, reserving; /* nodes */
	struct pl_list unread;     /* likewise, as lacking: nobody asks for specs */
	struct pl_list sharing;    /* likewise: few */
	uint64_t reservations_ms;  /* when their deadlines are looked at */
	struct pl_list departures; /* nodes that pods are to leave in turn */
	uint64_t departures_ms;    /* when the first of these is over */
	uint64_t specs_ms; /* when what they lack is looked for again; 0: nothing does */
	/* What does not agree, pods and nodes: what came up lately, what did before. */
	struct pl_list mismatched_pods[2], mismatched[2];
	uint64_t mismatch_ms; /* when the first become the second */
	struct pl_list ending_unplaced,
		ending_later;   /* pods: without a node; when ending_ms has come */
	struct pl_list orphans; /* pods that no node here lists */
	struct pl_list tainted; /* nodes */
	uint64_t taints_ms;     /* when they are looked at again */
	uint64_t ending_ms;     /* until then nobody ends */
	uint64_t repair_ms;     /* 0: nothing failed */
	struct cooldown cooldown;
	uint32_t waiting;
	uint32_t ending;       /* pods that are to end, and are in no call */
	uint32_t clean_streak; /* commits that stood, since the last that failed */
	uint32_t commits;      /* calls that are not free */
	uint32_t batch_size;
	struct batch batch;
	struct gangs gangs;
	struct sched_rules rules;
	struct gang_records gang_records;
	struct disruption disruption;
	uint64_t txn_serial; /* ever */
	struct shard_txn txn[SCHED_TXNS];
	struct sched_note note[SCHED_NOTES_MAX];
	uint32_t notes, notes_reported;
	bool relist_due[SCHED_VIEWS]; /* as of partitions */
	uint32_t relists;             /* parts of partitions that are to be told */
	struct alloc_pod *alloc_pod;  /* room to print from */
	uint32_t alloc_pod_cap;
	struct pending_status *pending_status;
	struct spec_cache spec_cache; /* of specs */
	struct fleet_view fleet_view;
	struct remote_lists remote_lists;
	struct digests digests;
	struct remote_state remote;
	int64_t applied_rev; /* of the alloc that is being taken */
	bool applied_new;    /* it is another than the one before */
	struct {
		const struct sched_node *node;
		int64_t alloc, revision;
	} seen; /* by an answer that is being taken: its alloc was as is known then */
	const struct shard_txn *answered; /* that is being taken; NULL: none */
	uint64_t named;        /* up to where labels beside classes were seen to */
	uint32_t beside;       /* pods with such */
	uint8_t read_halvings; /* how often what is read at once was halved */
	bool promotion_failed; /* that failed: nothing is decided until the repair */
	bool shrunk;           /* likewise a node in the snapshot: nothing under rules */
	bool applying_view;    /* what is taken comes from the whole view */
	bool catching_up;      /* likewise, and has waited for an answer */
	bool orphans_due;      /* the nodes of those astray may be known to be gone now */
	/* Nodes, and when they are tried again; 0: there are none. */
	struct pl_list uncounted;
	uint64_t uncounted_ms;
	uint64_t now_ms;
	int64_t wall_ms;
	struct steady_clock steady_clock;
	struct sched_figures figures;
	struct conflicts conflicts;
};

static inline struct pl_span sched_text(const struct sched *sched, uint32_t id)
{
	return model_text(&sched->model, id);
}

/* In which pods of that class are. Gangs are by the last one always. */
static inline struct queue *queue_of_class(const struct sched *sched,
                                           struct queue_class *class)
{
	return gang_is_class(class) ? sched->queue
	                            : config_gen_of(pool_class_of(class))->queue;
}

/* Pods go over to the last settings; nothing is decided before all have. */
static inline bool is_migrating(const struct sched *sched)
{
	return !pl_list_empty(&sched->old_gens);
}

#endif
