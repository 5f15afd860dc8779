/*
 * Rules that reach past a node, inside the core: what is registered, which classes have
 * to do with it, and what their transactions say about it.
 *
 *	spaces.c      namespaces
 *	groups.c      terms, and the bonds between these and classes
 *	registries.c  registries as they change
 *	known.c       what is known of locks, and who may be decided by that
 *	locks.c       what a transaction compares and puts
 *	many.c        more locks than a transaction has room for
 *	register.c    terms that are not registered yet, and locks that are not there
 *	rivals.c      whoever else decides under the same locks at once
 *
 * A term is registered before the first pod that carries it is decided. Whoever binds,
 * ends or moves a pod compares the registries that he relied on, so nobody can have
 * missed a term; and puts the locks of those terms that find the pod. Whoever decides
 * under a term compares its lock as the whole view brought it: nothing that the term
 * looks at has changed between the view and the commit.
 *
 * Nobody is decided by a lock's absence, be it of a term or /groups/nodes: whoever put it
 * and whoever deleted it then, by hand, would both be missed. It is made again, and the
 * view has to reach that; a revision that was compared once never comes back.
 */
#ifndef SHARDSCHED_SHARD_GROUPS_H
#define SHARDSCHED_SHARD_GROUPS_H

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

/* A namespace; name 0 is for the terms that look beyond that of their carriers. */
struct rule_namespace {
	struct pl_map_node by_name;
	uint32_t name;          /* held */
	int64_t rev;            /* of its registry, to compare with; 0: there is none */
	int64_t heard;          /* what is older is no news */
	size_t bytes;           /* of its registry, then */
	struct pl_list rules;   /* that are registered there */
	struct pl_list classes; /* of its pods */
	struct pl_list wanting; /* terms are to be registered there */
	uint64_t stamp;         /* of the call that has compared it last */
	uint64_t put;           /* of the call that has put its registry last */
	uint64_t batch;         /* that does, its number and one */
	bool full;
	bool stale; /* not all classes know of what is registered */
	bool seen;  /* it is in the snapshot's catalog */
};

/* A term, or a lock of which no term is known. */
struct sched_rule {
	struct pl_map_node by_key;
	uint32_t key[2];                  /* the carriers' namespace, the term; held */
	struct rule_namespace *namespace; /* NULL: it is not registered */
	struct pl_list of_namespace;
	enum rule_kind kind;
	const struct spec *carrier; /* held; has this rule and no other */
	bool kept;                  /* by the registry that is being read */
	bool gone;                  /* the lock was deleted */
	int64_t seen;               /* last change of the lock that the view brought */
	int64_t own;                /* our last put of it that compared it */
	int64_t blind;              /* likewise, that did not */
	struct pl_list lost;        /* somebody is to be decided, and there is no lock */
	uint64_t stamp;             /* of the call that has put it last */
	uint64_t lost_round;        /* that was lost by it last: its number and one */
	uint64_t batch;             /* that it is in: likewise */
	uint32_t condition;         /* in that bundle */
	struct pl_list gathered;    /* for a gang's record: */
	bool compares, puts;
};

/* Between a class and a term. */
struct rule_link {
	struct sched_rule *group;
	bool puts;     /* its pods are seen by others who decide under the term */
	bool compares; /* they are decided under it */
};

struct own_term {
	uint32_t id; /* held */
	bool global;
};

/* Most classes have none. */
struct class_rule_links {
	struct rule_link *rule_link;
	struct own_term *own; /* that its pods carry */
	uint16_t count, cap;  /* of bonds: at most what two registries hold */
	uint16_t owns;
	uint16_t missing; /* of these, that are not registered */
};

struct class_rules {
	struct pl_list of_namespace;
	struct rule_namespace *namespace; /* NULL: not opened */
	uint8_t lane;
	bool wide;    /* its pods are decided with the whole view only */
	bool refused; /* there is no room for its terms */
	bool coarse;  /* nor in a transaction for what is compared for one of its pods */
	bool wants;   /* it holds the view */
};

struct sched_rules {
	struct pl_map namespaces, rules;
	struct rule_namespace *global;
	size_t tidy_at; /* with so many spaces, those that nobody needs go */
	struct pl_list wanting;
	uint64_t epoch;        /* grows when a registry changes */
	uint64_t view_epoch;   /* grows when the whole view begins anew */
	int64_t wait_rev;      /* what the view has to reach first */
	int64_t node_set;      /* last change of /groups/nodes that the view brought */
	uint64_t node_set_put; /* of the call that has put it last for many locks */
	bool node_set_gone, node_set_lost;
	struct pl_list lost; /* locks that are to be made */
	/* What stays so while pods are decided, as no news comes in: worked out once. */
	struct {
		bool known, steady;
		int64_t clear;
	} turn;
	uint64_t retry_ms; /* of registering */
	struct lock_backoff lock_backoff;
	struct pl_list gathered;
	uint32_t gathers;
	bool gathers_node_set;
	struct pl_arena arena;
	struct pl_arena of_term; /* of one that is read */
};

/* -- spaces.c ------------------------------------------------------------ */

/* The namespace is known, until rules_tidy if nothing comes of it. NULL: no memory. */
struct rule_namespace *rules_namespace(struct sched *sched, uint32_t name);
/* Namespaces that nobody needs any more go. No call is being made, no pod decided. */
void rules_tidy(struct sched *sched);
/* Pods of it turned up: rules that select namespaces are to find it. Else its pods seem
 * to be in none of those that rules select. */
enum pl_code rules_see_namespace(struct sched *sched, uint32_t name);
/* NULL: it is not known. */
struct rule_namespace *rules_namespace_find(const struct sched *sched, uint32_t name);

/* -- groups.c ------------------------------------------------------------ */

PL_NODISCARD enum pl_code rules_init(struct sched *sched);
void rules_done(struct sched *sched);

PL_NODISCARD enum pl_code rules_class_opened(struct sched *sched,
                                             struct registered_class *open,
                                             struct pl_err *err);
void rules_class_closing(struct sched *sched, struct registered_class *open);
/* Pods of it came or went. */
void rules_class_pods_changed(struct sched *sched, struct registered_class *open);
/* It is in its lane; else it could not be moved there, and nothing of it is decided. */
bool rules_class_ready(struct sched *sched, struct queue_class *class);

/* Its registry takes no more: pods that carry what is not in it can not be placed. */
void rules_refuse(struct sched *sched, struct rule_namespace *namespace);

/* All classes of a namespace and the terms of a space get to know each other: the first
 * so many, or all anew. Noticed: whom nobody looked at is looked at now. False: no
 * memory. */
PL_NODISCARD bool rules_match_classes(struct sched *sched, struct rule_namespace *of,
                                      struct rule_namespace *namespace, uint32_t fresh,
                                      bool relist_due, bool *noticed);
/* The term is not registered any more; its lock may still be there. */
void rules_unregister(struct sched *sched, struct sched_rule *group);
/* A lock that is gone, of a term that is not registered. */
void rules_forget(struct sched *sched, struct sched_rule *group);
struct sched_rule *rules_find(const struct sched *sched, uint32_t namespace, uint32_t id);
/* Looked for, or made. NULL: no memory. */
struct sched_rule *rules_get(struct sched *sched, struct pl_span namespace,
                             struct pl_span id);

struct rules_each_link {
	enum pl_code (*fn)(void *ctx, const struct rule_link *rule_link);
	void *ctx;
};

/* The bonds of pods of that spec, whether its class is open or not, until fn does not
 * give PL_OK. */
PL_NODISCARD enum pl_code rules_each_link(struct sched *sched, const struct spec *spec,
                                          const struct rules_each_link *each);

/* -- registries.c ---------------------------------------------------------- */

/* A registry has that value since that revision. False: it could not be kept. */
bool rules_apply_registry(struct sched *sched, struct rule_namespace *namespace,
                          struct pl_span value, bool gone, int64_t revision);
/* What was decided for it waits again, and may be looked at by rules meanwhile. */
void rules_txn_unsent(struct sched *sched, const struct shard_txn *txn);

/* -- known.c ------------------------------------------------------------- */

/* Keys of the whole view, and its life. False: it could not be kept. */
bool rules_apply(struct sched *sched, const struct keys_id *id,
                 const struct kv_record *record, bool gone);
void rules_view_begun(struct sched *sched);
/* Revisions mean nothing any more. */
void rules_rewound(struct sched *sched);

/* From here on pods are decided one after the other, and no news comes in; not any more,
 * or something else came up that the view has to wait for. */
void rules_turn_begin(struct sched *sched);
void rules_turn_end(struct sched *sched);
/* Nobody may be decided under rules now, by what is known. */
bool rules_are_shut(const struct sched *sched);
/* The lanes that have to wait, as a mask. */
unsigned rules_lanes_shut(const struct sched *sched);
/* A pod of that class may be decided now; else the view has to come further first. */
bool rules_may_decide(struct sched *sched, struct registered_class *open);

/* The view has to reach that before anybody is decided under rules. */
void rules_wait_for(struct sched *sched, int64_t revision);

/* What became of a transaction, entry by entry. */
void rules_txn_applied(struct sched *sched, const struct shard_txn *txn,
                       const struct txn_entry *entry, int64_t revision);
void rules_txn_failed(struct sched *sched, const struct txn_entry *entry,
                      const struct builder_found *found, int64_t revision);

/* Of a key: these, or NULL. */
bool rules_is_registry(const struct keys_id *id);
struct sched_rule *rules_of_lock(const struct sched *sched, const struct keys_id *id);
struct rule_namespace *rules_of_registry(struct sched *sched, const struct keys_id *id);
/* Its revision, and that of /groups/nodes, as far as is known; 0: it is not there. */
int64_t rules_lock_rev(const struct sched_rule *group);
int64_t rules_node_set_rev(const struct sched_rules *rules);

/* -- locks.c ------------------------------------------------------------- */

/* It was, and what its transaction says about it goes into the bundle. */
void rules_batch_class(struct sched *sched, struct registered_class *open);

/* What nodes there are, into the bundle: compared, or put in place of many locks. */
void rules_batch_node_set(struct sched *sched, bool compares, bool puts);
bool rules_batch_puts_node_set(const struct sched *sched);
bool rules_batch_has_node_set(const struct sched *sched);
struct pl_span rules_node_set_key(struct keys_text *text);
#define RULES_NODE_SET_VALUE PL_SPAN_LIT("{\"v\":1}")

/* The same for the members of a gang that is bound by its record: what is said about all
 * of these classes, once each, into the call that puts the record; with their registries
 * compared besides. It is put in the turn in which it was gathered. PL_BUSY: it does not
 * fit. */
void rules_gather_begin(struct sched *sched);
void rules_gather(struct sched *sched, struct registered_class *open);
uint32_t rules_gathered(const struct sched *sched);
PL_NODISCARD enum pl_code rules_gathered_put(struct sched *sched, struct shard_txn *txn);

/* For each pod that a transaction binds, ends or moves: its registries are compared.
 * PL_BUSY: it does not fit. */
PL_NODISCARD enum pl_code rules_expect_registries(struct sched *sched,
                                                  struct shard_txn *txn,
                                                  uint32_t namespace);
/* For each that it ends or moves, besides: the locks of those who look at it are put. Who
 * only goes can be in nobody's way, and those who keep away from it need not know. */
PL_NODISCARD enum pl_code rules_put_locks(struct sched *sched, struct shard_txn *txn,
                                          const struct spec *spec, bool goes);
/* An entry is taken back out of a call that is being made. */
void rules_undo(struct sched *sched, struct shard_txn *txn,
                const struct txn_entry *entry);

/* -- many.c -------------------------------------------------------------- */

/* At most: a pod's namespace has a registry, and so have all of them. */
enum { COARSE_LOCK_KEYS = 2 };

/* More may fit into a transaction, as of now. */
void coarse_lock_reset(struct sched *sched);
/* So many locks are not put one by one. */
bool coarse_lock_is_needed(const struct sched *sched, uint32_t locks);
/* How many keys the locks take that a transaction on pods of that class is about. */
uint32_t coarse_lock_keys_of(const struct sched *sched,
                             const struct class_rules *class_rules);
/* The registry is put as it is, in which the term stands, and compared besides by who
 * calls (rules_expect_registries); or /groups/nodes, if that is large. Once a call, or a bundle.
 * PL_BUSY: it does not fit. */
PL_NODISCARD enum pl_code coarse_lock_put(struct sched *sched, struct shard_txn *txn,
                                          const struct sched_rule *group);
void coarse_lock_batch(struct sched *sched, const struct sched_rule *group);
/* That transaction puts it so. */
bool coarse_lock_is_put(const struct sched *sched, const struct shard_txn *txn,
                        const struct rule_namespace *namespace);

/* -- register.c ------------------------------------------------------------ */

/* What is registered there, as its registry says it; in sched->buf. */
PL_NODISCARD enum pl_code registration_print(struct sched *sched,
                                             const struct rule_namespace *namespace,
                                             struct pl_err *err);

void registration_run(struct sched *sched);
uint64_t registration_deadline_ms(const struct sched *sched);
/* Its call has ended without a yes, and nothing was read. */
void registration_failed(struct sched *sched);

#endif
