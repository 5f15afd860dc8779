/* Classes of pods as the queue and the rules know them; class_registry.h keeps the
 * classes themselves. A class_more stands in the extra room of each registered class.
 *
 * Invariants: a class has a class_rare only if it needs one of its members; an own_class
 * exists from class_enter to class_leave of its pod. */
#ifndef SHARDSCHED_SHARD_CLASSES_H
#define SHARDSCHED_SHARD_CLASSES_H

#include "shardsched/classes/class_registry.h"
#include "shardsched/queue/queue.h"
#include "shardsched/shard/rules/rules.h"

struct config_gen;
struct sched;
struct sched_pod;
struct remote_search;

/* Lanes of the queue; the rules shut some of them for a while. */
enum {
	LANE_PLAIN,
	LANE_SELECTED, /* selected by rules of other pods: decided into the batch only */
	/* Decided under rules about other pods: into the batch, by the fleet view */
	LANE_RULED,
	LANE_UNREGISTERED, /* rules of the pod are not registered yet */
	/* A gang that is too large for one txn: shut while too many are under way */
	LANE_LARGE,
	LANE_GANG, /* a gang, by its one entry: decided into the batch */
};

static inline struct queue_class *queue_class_of(struct registered_class *open)
{
	return (struct queue_class *)(void *)open->extra;
}

/* Members that few classes need. */
struct class_rare {
	struct class_rule_links links;
	struct remote_search *remote_search; /* NULL: none yet */
	struct pl_list own; /* own_class, those of this class in the queue */
};

/* Kept with each registered class. A pod may be the only one of its class, so it is
 * small. */
struct class_more {
	struct queue_class queue; /* the first member: queue_class_of relies on it */
	struct class_rare *rare;  /* NULL: none of it is needed */
	struct class_rules class_rules;
};

/* The class in the queue of one pod whose claims are named after it (SPEC_BY_NAME). The
 * pod shares its requests, and so its registered class, with others; its verdicts it does
 * not share, so it has a class of its own in the queue (classes.c). */
struct own_class {
	struct queue_class queue; /* of kind CLASS_OWN */
	struct sched_pod *pod;
	struct registered_class *open;
	struct pl_list of_open;
	struct remote_search *remote_search; /* NULL: none yet */
};

/* Kinds of classes in the queue. A gang's class is known by its lane. */
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

static inline struct registered_class *pool_class_of(struct queue_class *class)
{
	struct own_class *own = own_class_of(class);

	return own != NULL ? own->open
	                   : PL_CONTAINER_OF(class, struct registered_class, extra);
}

static inline const struct registered_class *
pool_class_of_const(const struct queue_class *class)
{
	const struct own_class *own = own_class_of_const(class);

	return own != NULL ? own->open
	                   : PL_CONTAINER_OF_CONST(class, struct registered_class, extra);
}

static inline struct class_more *class_more_of(struct registered_class *open)
{
	return (struct class_more *)(void *)open->extra;
}

static inline struct config_gen *config_gen_of(struct registered_class *open)
{
	return queue_class_owner(queue_class_of(open));
}

/* NULL: no pod of the class has searched yet. */
static inline struct remote_search *
remote_search_of_class(const struct queue_class *class)
{
	const struct own_class *own = own_class_of_const(class);
	const struct class_rare *rare;

	if (own != NULL)
		return own->remote_search;
	rare = PL_CONTAINER_OF_CONST(class, struct class_more, queue)->rare;
	return rare == NULL ? NULL : rare->remote_search;
}

/* The terms of rules that concern pods of the class. */
static inline const struct class_rule_links *
class_rule_links_of(const struct class_rules *class_rules)
{
	static const struct class_rule_links none;
	const struct class_rare *rare =
		PL_CONTAINER_OF_CONST(class_rules, struct class_more, class_rules)->rare;

	return rare == NULL ? &none : &rare->links;
}

static inline struct class_rules *class_rules_of(struct registered_class *open)
{
	return &class_more_of(open)->class_rules;
}

/* The event may help pods of the class. */
bool sched_hint(struct sched *sched, unsigned plugin, const struct queue_class *class,
                const struct queue_event *event);
/* Callbacks of a class_registry; ctx is its config_gen. */
enum pl_code class_opened(void *ctx, struct registered_class *open, struct pl_err *err);
void class_closing(void *ctx, struct registered_class *open);
/* The class by which a pod of the registered class `open` enters the queue. PL_NOMEM. */
PL_NODISCARD enum pl_code class_enter(struct sched_pod *pod,
                                      struct registered_class *open,
                                      struct queue_class **out, struct pl_err *err);
/* The pod left the queue; an own_class is freed. */
void class_leave(struct queue_class *class);
/* Made if there is none. NULL: no memory. */
struct class_rare *class_rare_get(struct class_more *more);

#endif
