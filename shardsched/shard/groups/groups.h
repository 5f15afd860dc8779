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

#include "shardsched/ledger/registry.h"
#include "shardsched/queue/entry.h"
#include "shardsched/shard/groups/rivals.h"
#include "store/base/list.h"
#include "store/base/map.h"
#include "store/keys/keys.h"
#include "store/kv/types.h"

struct sched;
struct sched_pod;
struct call;
struct call_item;
struct pool_class;
struct book_found;

/* A namespace; name 0 is for the terms that look beyond that of their carriers. */
struct group_space {
	struct pl_map_node by_name;
	uint32_t name;          /* held */
	int64_t rev;            /* of its registry, to compare with; 0: there is none */
	int64_t heard;          /* what is older is no news */
	size_t bytes;           /* of its registry, then */
	struct pl_list groups;  /* that are registered there */
	struct pl_list classes; /* of its pods */
	struct pl_list wanting; /* terms are to be registered there */
	uint64_t stamp;         /* of the call that has compared it last */
	uint64_t put;           /* of the call that has put its registry last */
	uint64_t bundle;        /* that does, its number and one */
	bool full;
	bool stale; /* not all classes know of what is registered */
	bool seen;  /* it is in the snapshot's catalog */
};

/* A term, or a lock of which no term is known. */
struct group {
	struct pl_map_node by_key;
	uint32_t key[2];           /* the carriers' namespace, the term; held */
	struct group_space *space; /* NULL: it is not registered */
	struct pl_list of_space;
	enum group_kind kind;
	const struct spec *carrier; /* held; has this rule and no other */
	bool kept;                  /* by the registry that is being read */
	bool gone;                  /* the lock was deleted */
	int64_t seen;               /* last change of the lock that the view brought */
	int64_t own;                /* our last put of it that compared it */
	int64_t blind;              /* likewise, that did not */
	struct pl_list lost;        /* somebody is to be decided, and there is no lock */
	uint64_t stamp;             /* of the call that has put it last */
	uint64_t contest;           /* that was lost by it last: its number and one */
	uint64_t bundle;            /* that it is in: likewise */
	uint32_t extra;             /* in that bundle */
	struct pl_list gathered;    /* for a gang's record: */
	bool compares, puts;
};

/* Between a class and a term. */
struct bond {
	struct group *group;
	bool puts;     /* its pods are seen by others who decide under the term */
	bool compares; /* they are decided under it */
};

struct own_term {
	uint32_t id; /* held */
	bool global;
};

/* Most classes have none. */
struct bond_rows {
	struct bond *bond;
	struct own_term *own; /* that its pods carry */
	uint16_t count, cap;  /* of bonds: at most what two registries hold */
	uint16_t owns;
	uint16_t missing; /* of these, that are not registered */
};

struct bonds {
	struct pl_list of_space;
	struct group_space *space; /* NULL: not opened */
	uint8_t lane;
	bool wide;    /* its pods are decided with the whole view only */
	bool refused; /* there is no room for its terms */
	bool many;    /* nor in a transaction for what is compared for one of its pods */
	bool wants;   /* it holds the view */
};

struct groups {
	struct pl_map spaces, groups;
	struct group_space *global;
	size_t tidy_at; /* with so many spaces, those that nobody needs go */
	struct pl_list wanting;
	uint64_t epoch;      /* grows when a registry changes */
	uint64_t view_epoch; /* grows when the whole view begins anew */
	int64_t wait_rev;    /* what the view has to reach first */
	int64_t shape;       /* last change of /groups/nodes that the view brought */
	uint64_t shape_put;  /* of the call that has put it last for many locks */
	bool shape_gone, shape_lost;
	struct pl_list lost; /* locks that are to be made */
	/* What stays so while pods are decided, as no news comes in: worked out once. */
	struct {
		bool known, steady;
		int64_t clear;
	} turn;
	uint64_t retry_ms; /* of registering */
	struct rivals rivals;
	struct pl_list gathered;
	uint32_t gathers;
	bool gathers_shape;
	struct pl_arena arena;
	struct pl_arena of_term; /* of one that is read */
};

/* -- spaces.c ------------------------------------------------------------ */

/* The namespace is known, until groups_tidy if nothing comes of it. NULL: no memory. */
struct group_space *groups_space(struct sched *sched, uint32_t name);
/* Namespaces that nobody needs any more go. No call is being made, no pod decided. */
void groups_tidy(struct sched *sched);
/* Pods of it turned up: rules that select namespaces are to find it. Else its pods seem
 * to be in none of those that rules select. */
enum pl_code groups_see_space(struct sched *sched, uint32_t name);
/* NULL: it is not known. */
struct group_space *groups_space_find(const struct sched *sched, uint32_t name);

/* -- groups.c ------------------------------------------------------------ */

PL_NODISCARD enum pl_code groups_init(struct sched *sched);
void groups_done(struct sched *sched);

PL_NODISCARD enum pl_code groups_class_opened(struct sched *sched,
                                              struct pool_class *open,
                                              struct pl_err *err);
void groups_class_closing(struct sched *sched, struct pool_class *open);
/* Pods of it came or went. */
void groups_class_pods(struct sched *sched, struct pool_class *open);
/* It is in its lane; else it could not be moved there, and nothing of it is decided. */
bool groups_class_ready(struct sched *sched, struct queue_class *class);

/* Its registry takes no more: pods that carry what is not in it can not be placed. */
void groups_refuse(struct sched *sched, struct group_space *space);

/* All classes of a namespace and the terms of a space get to know each other: the first
 * so many, or all anew. Noticed: whom nobody looked at is looked at now. False: no
 * memory. */
PL_NODISCARD bool groups_meet(struct sched *sched, struct group_space *of,
                              struct group_space *space, uint32_t fresh, bool anew,
                              bool *noticed);
/* The term is not registered any more; its lock may still be there. */
void groups_unregister(struct sched *sched, struct group *group);
/* A lock that is gone, of a term that is not registered. */
void groups_forget(struct sched *sched, struct group *group);
struct group *groups_find(const struct sched *sched, uint32_t space, uint32_t id);
/* Looked for, or made. NULL: no memory. */
struct group *groups_get(struct sched *sched, struct pl_span space, struct pl_span id);

struct groups_each {
	enum pl_code (*fn)(void *ctx, const struct bond *bond);
	void *ctx;
};

/* The bonds of pods of that spec, whether its class is open or not, until fn does not
 * give PL_OK. */
PL_NODISCARD enum pl_code groups_each(struct sched *sched, const struct spec *spec,
                                      const struct groups_each *each);

/* -- registries.c ---------------------------------------------------------- */

/* A registry has that value since that revision. False: it could not be kept. */
bool groups_take_registry(struct sched *sched, struct group_space *space,
                          struct pl_span value, bool gone, int64_t revision);
/* What was decided for it waits again, and may be looked at by rules meanwhile. */
void groups_unsent(struct sched *sched, const struct call *call);

/* -- known.c ------------------------------------------------------------- */

/* Keys of the whole view, and its life. False: it could not be kept. */
bool groups_take(struct sched *sched, const struct keys_id *id,
                 const struct kv_record *record, bool gone);
void groups_view_begun(struct sched *sched);
/* Revisions mean nothing any more. */
void groups_rewound(struct sched *sched);

/* From here on pods are decided one after the other, and no news comes in; not any more,
 * or something else came up that the view has to wait for. */
void groups_turn_begin(struct sched *sched);
void groups_turn_end(struct sched *sched);
/* Nobody may be decided under rules now, by what is known. */
bool groups_shut(const struct sched *sched);
/* The lanes that have to wait, as a mask. */
unsigned groups_lanes_shut(const struct sched *sched);
/* A pod of that class may be decided now; else the view has to come further first. */
bool groups_may_decide(struct sched *sched, struct pool_class *open);

/* The view has to reach that before anybody is decided under rules. */
void groups_wait_for(struct sched *sched, int64_t revision);

/* What became of a transaction, entry by entry. */
void groups_stand(struct sched *sched, const struct call *call,
                  const struct call_item *item, int64_t revision);
void groups_failed(struct sched *sched, const struct call_item *item,
                   const struct book_found *found, int64_t revision);

/* Of a key: these, or NULL. */
bool groups_is_registry(const struct keys_id *id);
struct group *groups_of_lock(const struct sched *sched, const struct keys_id *id);
struct group_space *groups_of_registry(struct sched *sched, const struct keys_id *id);
/* Its revision, and that of /groups/nodes, as far as is known; 0: it is not there. */
int64_t groups_lock(const struct group *group);
int64_t groups_shape(const struct groups *groups);

/* -- locks.c ------------------------------------------------------------- */

/* It was, and what its transaction says about it goes into the bundle. */
void groups_bundle(struct sched *sched, struct pool_class *open);

/* What nodes there are, into the bundle: compared, or put in place of many locks. */
void groups_bundle_shape(struct sched *sched, bool compares, bool puts);
bool groups_bundle_puts_shape(const struct sched *sched);
bool groups_bundle_is_shaped(const struct sched *sched);
struct pl_span groups_shape_key(struct keys_text *text);
#define GROUPS_SHAPE_VALUE PL_SPAN_LIT("{\"v\":1}")

/* The same for the members of a gang that is bound by its record: what is said about all
 * of these classes, once each, into the call that puts the record; with their registries
 * compared besides. It is put in the turn in which it was gathered. PL_BUSY: it does not
 * fit. */
void groups_gather_begin(struct sched *sched);
void groups_gather(struct sched *sched, struct pool_class *open);
uint32_t groups_gathered(const struct sched *sched);
PL_NODISCARD enum pl_code groups_gathered_put(struct sched *sched, struct call *call);

/* For each pod that a transaction binds, ends or moves: its registries are compared.
 * PL_BUSY: it does not fit. */
PL_NODISCARD enum pl_code groups_expect(struct sched *sched, struct call *call,
                                        uint32_t space);
/* For each that it ends or moves, besides: the locks of those who look at it are put. Who
 * only goes can be in nobody's way, and those who keep away from it need not know. */
PL_NODISCARD enum pl_code groups_put(struct sched *sched, struct call *call,
                                     const struct spec *spec, bool goes);
/* An entry is taken back out of a call that is being made. */
void groups_undo(struct sched *sched, struct call *call, const struct call_item *item);

/* -- many.c -------------------------------------------------------------- */

/* At most: a pod's namespace has a registry, and so have all of them. */
enum { MANY_KEYS = 2 };

/* More may fit into a transaction, as of now. */
void many_again(struct sched *sched);
/* So many locks are not put one by one. */
bool many_are(const struct sched *sched, uint32_t locks);
/* How many keys the locks take that a transaction on pods of that class is about. */
uint32_t many_keys_of(const struct sched *sched, const struct bonds *bonds);
/* The registry is put as it is, in which the term stands, and compared besides by who
 * calls (groups_expect); or /groups/nodes, if that is large. Once a call, or a bundle.
 * PL_BUSY: it does not fit. */
PL_NODISCARD enum pl_code many_put(struct sched *sched, struct call *call,
                                   const struct group *group);
void many_bundle(struct sched *sched, const struct group *group);
/* That transaction puts it so. */
bool many_is_put(const struct sched *sched, const struct call *call,
                 const struct group_space *space);

/* -- register.c ------------------------------------------------------------ */

/* What is registered there, as its registry says it; in sched->buf. */
PL_NODISCARD enum pl_code register_print(struct sched *sched,
                                         const struct group_space *space,
                                         struct pl_err *err);

void register_run(struct sched *sched);
uint64_t register_deadline_ms(const struct sched *sched);
/* Its call has ended without a yes, and nothing was read. */
void register_failed(struct sched *sched);

#endif
