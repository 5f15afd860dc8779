/*
 * Rules between pods that reach past a node (required spreading, affinity and
 * anti-affinity): which terms are registered, which classes of pods they concern, and
 * what the transactions on these pods compare and put.
 *
 *	rule_namespaces.c  namespaces
 *	rules.c            terms, and their links with classes
 *	registry_apply.c   registries that change
 *	lock_state.c       revisions of locks, and what may be decided by them
 *	lock_conditions.c  what a transaction compares and puts
 *	coarse_lock.c      more locks than a transaction has room for
 *	registration.c     registers new terms, and makes missing locks again
 *	lock_backoff.c     other shards that decide under the same locks
 *
 * A term is registered, in the registry of its namespace or in the global one, before the
 * first pod that carries it is decided. Each term has a lock, a key under /groups/. Three
 * things make a rule hold whichever shard places:
 *
 *	- A txn that binds, ends or moves a pod compares the registries by which it
 *	  was decided, so that no term was missed, and puts the locks of all terms
 *	  that select the pod.
 *	- A txn that was decided under a term compares the term's lock, as the fleet
 *	  view has brought it, so nothing that the term looks at has changed between
 *	  the view and the commit.
 *	- It compares /groups/nodes as well, which changes with the set of nodes.
 *	- While labels of namespaces decide about pods, each of these txns compares the
 *	  lock of the labels, /objects/core/namespaces (objects/objects.h).
 *
 * No decision relies on the absence of a lock or of /groups/nodes: one that was put and
 * then deleted by hand would go unnoticed. A missing one is made again, and the fleet
 * view has to reach that revision; a revision that was compared once never comes back.
 *
 * Lanes of the queue (classes.h) keep pods that are concerned by rules apart: they are
 * decided in the atomic batch only, and those decided under rules only while the fleet
 * view has come far enough.
 */
#ifndef SHARDSCHED_SHARD_RULES_RULES_H
#define SHARDSCHED_SHARD_RULES_RULES_H

#include "shardsched/queue/entry.h"
#include "shardsched/records/rule_registry.h"
#include "shardsched/shard/rules/lock_backoff.h"
#include "store/base/list.h"
#include "store/base/map.h"
#include "store/keys/keys.h"
#include "store/kv/types.h"

struct sched;
struct sched_pod;
struct shard_txn;
struct txn_entry;
struct registered_class;
struct builder_found;

/* A namespace of pods. Name 0 is for global terms, which look beyond the namespace of
 * their carriers. */
struct rule_namespace {
	struct pl_map_node by_name;
	uint32_t name; /* held */
	int64_t rev;   /* revision of its registry, to be compared; 0: there is none */
	int64_t heard; /* an event that is not newer than this is known */
	size_t bytes;  /* size of the registry at that revision */
	struct pl_list rules;   /* terms that are registered there, by of_namespace */
	struct pl_list classes; /* classes of its pods */
	struct pl_list wanting; /* in rules.wanting: terms are to be registered there */
	uint64_t stamp; /* serial of the txn that has compared the registry last */
	uint64_t put;   /* serial of the txn that has put the registry last */
	uint64_t batch; /* number of the batch that puts the registry, plus one */
	bool full;
	bool stale; /* not all classes have been matched with its terms */
	bool seen;  /* the snapshot's catalog knows the namespace */
};

/* A term, or a lock of which no term is known. */
struct sched_rule {
	struct pl_map_node by_key;
	uint32_t key[2]; /* namespace of the carriers, id of the term; held */
	struct rule_namespace *namespace; /* NULL: the term is not registered */
	struct pl_list of_namespace;
	enum rule_kind kind;
	const struct spec *carrier; /* a spec with this rule and no other; held */
	bool kept;                  /* the registry that is being read has the term */
	bool gone;                  /* the lock was deleted */
	int64_t seen;  /* revision of the lock that the fleet view brought last */
	int64_t own;   /* revision of this shard's last put that compared the lock */
	int64_t blind; /* revision of this shard's last put that did not compare it */
	struct pl_list lost; /* in rules.lost: the lock is needed and missing */
	uint64_t stamp;      /* serial of the txn that has put the lock last */
	/* the lock_backoff round that was lost by it last, plus one */
	uint64_t lost_round;
	/* number of the batch that has a condition on the lock, plus one */
	uint64_t batch;
	uint32_t condition;      /* index of that condition */
	struct pl_list gathered; /* in rules.gathered, for a gang's record */
	bool compares, puts;
	bool by_labels; /* the carrier selects namespaces by labels */
};

/* The link between a class and a term that concerns its pods. */
struct rule_link {
	struct sched_rule *rule;
	bool puts; /* the term selects the class's pods, so their txns put the lock */
	/* the class's pods carry the term, so their txns compare the lock */
	bool compares;
};

struct own_term {
	uint32_t id; /* held */
	bool global;
};

/* The links of a class; most classes have none. */
struct class_rule_links {
	struct rule_link *rule_link;
	struct own_term *own; /* terms that the class's pods carry */
	uint16_t count, cap;  /* of links: at most as many as two registries hold */
	uint16_t owns;
	uint16_t missing; /* own terms that are not registered */
};

struct class_rules {
	struct pl_list of_namespace;
	struct rule_namespace *namespace; /* NULL: not opened */
	uint8_t lane;
	bool wide;    /* the class's pods are decided with the fleet view only */
	bool refused; /* the registry has no room for the class's terms */
	bool coarse;  /* a transaction has no room for what one pod of it compares */
	bool wants;   /* holds a reference to the fleet view */
};

struct sched_rules {
	struct pl_map namespaces, rules;
	struct rule_namespace *global;
	size_t tidy_at; /* with so many namespaces rules_tidy looks for unneeded ones */
	struct pl_list wanting;
	uint64_t epoch; /* counts changes of registries, and of labels that matter */
	uint64_t labels_epoch; /* the epoch of the last change of labels */
	bool relabel_due; /* not all namespaces have the labels that they are to have */
	uint32_t label_terms; /* registered terms that select namespaces by labels */
	uint64_t view_epoch;  /* counts beginnings of the fleet view */
	/* revision that the view has to reach before anything is decided under rules */
	int64_t wait_rev;
	int64_t node_set; /* revision of /groups/nodes that the view brought last */
	/* serial of the txn that has put it last as a coarse lock */
	uint64_t node_set_put;
	bool node_set_gone, node_set_lost;
	struct pl_list lost; /* locks that are to be made again */
	/* Worked out once a turn, in which pods are decided and no events come in. */
	struct {
		bool known, steady;
		int64_t clear;
	} turn;
	uint64_t retry_ms; /* of registration */
	struct lock_backoff lock_backoff;
	struct pl_list gathered;
	uint32_t gathers;
	bool gathers_node_set;
	struct pl_arena arena;
	struct pl_arena of_term; /* of the term that is being read */
};

/* -- rule_namespaces.c ------------------------------------------------------- */

/* The namespace is found or made, and kept until rules_tidy finds it unneeded. NULL: no
 * memory. */
struct rule_namespace *rules_namespace(struct sched *sched, uint32_t name);
/* Frees unneeded namespaces. No txn is being made and no pod is being decided. */
void rules_tidy(struct sched *sched);
/* A pod of the namespace became known: the snapshot's catalog learns of the namespace,
 * without which the pod would be in none that rules select. */
enum pl_code rules_see_namespace(struct sched *sched, uint32_t name);
/* No object describes the namespace: the catalog has its default labels if pods of it are
 * known, else nothing. */
PL_NODISCARD enum pl_code rules_default_namespace(struct sched *sched, uint32_t name);
/* NULL: the namespace is not known. */
struct rule_namespace *rules_namespace_find(const struct sched *sched, uint32_t name);

/* -- rules.c ----------------------------------------------------------------- */

PL_NODISCARD enum pl_code rules_init(struct sched *sched);
void rules_done(struct sched *sched);

PL_NODISCARD enum pl_code rules_class_opened(struct sched *sched,
                                             struct registered_class *open,
                                             struct pl_err *err);
void rules_class_closing(struct sched *sched, struct registered_class *open);
/* Pods of the class came or went. */
void rules_class_pods_changed(struct sched *sched, struct registered_class *open);
/* Moves the class into the lane that its links ask for. False: it could not be moved, and
 * none of its pods is to be decided. */
bool rules_class_ready(struct sched *sched, struct queue_class *class);

/* The registry is full: pods that carry terms which it does not have cannot be placed. */
void rules_refuse(struct sched *sched, struct rule_namespace *namespace);

/* Matches all classes of a namespace with the first fresh terms of another one, or with
 * all anew. *noticed: pods that no rule concerned before are concerned now. False: no
 * memory. */
PL_NODISCARD bool rules_match_classes(struct sched *sched, struct rule_namespace *of,
                                      struct rule_namespace *namespace, uint32_t fresh,
                                      bool relist_due, bool *noticed);
/* The term is registered no more; its lock may still be there. */
void rules_unregister(struct sched *sched, struct sched_rule *rule);
/* Frees a term that is not registered and whose lock is gone. */
void rules_forget(struct sched *sched, struct sched_rule *rule);
struct sched_rule *rules_find(const struct sched *sched, uint32_t namespace, uint32_t id);
/* Finds or makes the term. NULL: no memory. */
struct sched_rule *rules_get(struct sched *sched, struct pl_span namespace,
                             struct pl_span id);

struct rules_each_link {
	enum pl_code (*fn)(void *ctx, const struct rule_link *rule_link);
	void *ctx;
};

/* Calls fn with each link of pods of that spec, whether a class of it is open or not,
 * until fn gives something other than PL_OK. */
PL_NODISCARD enum pl_code rules_each_link(struct sched *sched, const struct spec *spec,
                                          const struct rules_each_link *each);

/* -- registry_apply.c -------------------------------------------------------- */

/* A registry has that value since that revision. False: no memory to keep it. */
bool rules_apply_registry(struct sched *sched, struct rule_namespace *namespace,
                          struct pl_span value, bool gone, int64_t revision);
/* Labels of namespaces decide about pods: by a registered term, or by a rule that is
 * local to nodes or only preferred. */
bool rules_read_labels(const struct sched *sched);
/* The labels of the namespace changed: what was decided by others is decided again.
 * PL_NOMEM: rules_relabel is to follow. */
PL_NODISCARD enum pl_code rules_labels_changed(struct sched *sched, uint32_t name);
/* If it is due, all namespaces get the labels that they are to have. False: no memory. */
PL_NODISCARD bool rules_relabel(struct sched *sched);
/* Decisions for the txn go back into the queue, and other rules may concern them by
 * then. */
void rules_txn_unsent(struct sched *sched, const struct shard_txn *txn);

/* -- lock_state.c ------------------------------------------------------------ */

/* A record of the fleet view about rules. False: no memory to keep it. rules_view_begun:
 * the view begins anew. */
bool rules_apply(struct sched *sched, const struct keys_id *id,
                 const struct kv_record *record, bool gone);
void rules_view_begun(struct sched *sched);
/* The store was rewound: known revisions mean nothing any more. */
void rules_rewound(struct sched *sched);

/* Between begin and end pods are decided one after the other and no events come in. A
 * turn also ends when something comes up for which the view has to wait. */
void rules_turn_begin(struct sched *sched);
void rules_turn_end(struct sched *sched);
/* Nothing may be decided under rules, by what is known now. */
bool rules_are_shut(const struct sched *sched);
/* The mask of the lanes that have to wait. */
unsigned rules_lanes_shut(const struct sched *sched);
/* A pod of that class may be decided now. False: the fleet view has to come further. */
bool rules_may_decide(struct sched *sched, struct registered_class *open);

/* Nothing is decided under rules before the fleet view has reached that revision. */
void rules_wait_for(struct sched *sched, int64_t revision);

/* Called for each entry of a txn that was applied, or that has failed. */
void rules_txn_applied(struct sched *sched, const struct shard_txn *txn,
                       const struct txn_entry *entry, int64_t revision);
void rules_txn_failed(struct sched *sched, const struct txn_entry *entry,
                      const struct builder_found *found, int64_t revision);

/* The rule or the namespace of a key; NULL: none. */
bool rules_is_registry(const struct keys_id *id);
struct sched_rule *rules_of_lock(const struct sched *sched, const struct keys_id *id);
struct rule_namespace *rules_of_registry(struct sched *sched, const struct keys_id *id);
/* The revision to compare of a lock, and of /groups/nodes; 0: it is not there. */
int64_t rules_lock_rev(const struct sched_rule *rule);
int64_t rules_node_set_rev(const struct sched_rules *rules);

/* -- lock_conditions.c ------------------------------------------------------- */

/* A pod of the class was decided: the conditions of its txn go into the batch. */
void rules_batch_class(struct sched *sched, struct registered_class *open);

/* A condition on /groups/nodes goes into the batch: compared, or put as a coarse lock. */
void rules_batch_node_set(struct sched *sched, bool compares, bool puts);
bool rules_batch_puts_node_set(const struct sched *sched);
bool rules_batch_has_node_set(const struct sched *sched);
struct pl_span rules_node_set_key(struct keys_text *text);
#define RULES_NODE_SET_VALUE PL_SPAN_LIT("{\"v\":1}")

/* The same for the members of a gang that is bound by its record. The conditions of all
 * their classes are gathered, once each, and put into the txn that puts the record, with
 * the registries compared. They are put in the turn in which they were gathered. PL_BUSY:
 * they do not fit. */
void rules_gather_begin(struct sched *sched);
void rules_gather(struct sched *sched, struct registered_class *open);
uint32_t rules_gathered(const struct sched *sched);
PL_NODISCARD enum pl_code rules_gathered_put(struct sched *sched, struct shard_txn *txn);

/* For each pod that a txn binds, ends or moves: compares its registries. PL_BUSY: they do
 * not fit. */
PL_NODISCARD enum pl_code rules_expect_registries(struct sched *sched,
                                                  struct shard_txn *txn,
                                                  uint32_t namespace);
/* For each pod that a txn ends or moves: also puts the locks of the terms that select it.
 * A pod that only goes is in no other pod's way, so the locks of anti-affinity terms need
 * not be put for it. */
PL_NODISCARD enum pl_code rules_put_locks(struct sched *sched, struct shard_txn *txn,
                                          const struct spec *spec, bool goes);
/* Takes an entry back out of a txn that is being made. */
void rules_undo(struct sched *sched, struct shard_txn *txn,
                const struct txn_entry *entry);

/* -- coarse_lock.c ----------------------------------------------------------- */

/* The most that a coarse lock takes: the registry of the pod's namespace and the global
 * one. */
enum { COARSE_LOCK_KEYS = 2 };

/* The limits of a transaction have changed: more locks may fit. */
void coarse_lock_reset(struct sched *sched);
/* So many locks are not put one by one. */
bool coarse_lock_is_needed(const struct sched *sched, uint32_t locks);
/* How many keys the locks take in a txn on pods of that class. */
uint32_t coarse_lock_keys_of(const struct sched *sched,
                             const struct class_rules *class_rules);
/* Puts the registry in which the rule stands, unchanged, in place of its locks, or
 * /groups/nodes if the registry is large. The caller compares the registry, too
 * (rules_expect_registries). Once a txn, or a batch. PL_BUSY: it does not fit. */
PL_NODISCARD enum pl_code coarse_lock_put(struct sched *sched, struct shard_txn *txn,
                                          const struct sched_rule *rule);
void coarse_lock_batch(struct sched *sched, const struct sched_rule *rule);
/* The txn puts the namespace's registry, or /groups/nodes, as a coarse lock. */
bool coarse_lock_is_put(const struct sched *sched, const struct shard_txn *txn,
                        const struct rule_namespace *namespace);

/* -- registration.c ---------------------------------------------------------- */

/* The value of the namespace's registry as it is known; in sched->buf. */
PL_NODISCARD enum pl_code registration_print(struct sched *sched,
                                             const struct rule_namespace *namespace,
                                             struct pl_err *err);

void registration_run(struct sched *sched);
uint64_t registration_deadline_ms(const struct sched *sched);
/* The txn of registration was not applied, and its answer brought nothing. */
void registration_failed(struct sched *sched);

#endif
