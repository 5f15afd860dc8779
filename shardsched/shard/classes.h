/* Classes of pods as the queue and the rules have them, beside what a pool keeps. */
#ifndef SHARDSCHED_SHARD_CLASSES_H
#define SHARDSCHED_SHARD_CLASSES_H

#include "shardsched/classes/class_registry.h"
#include "shardsched/queue/queue.h"
#include "shardsched/shard/rules/rules.h"

struct config_gen;
struct sched;
struct sched_pod;
struct remote_search;

/* Lanes of the queue. */
enum {
	LANE_PLAIN,
	LANE_SELECTED, /* looked at by rules of others: in bundles only */
	LANE_RULED, /* decided under rules about other pods: likewise, by the whole view */
	LANE_UNREGISTERED, /* its rules are not registered yet */
	LANE_LARGE, /* a gang that has turned out to be large: shut while too many are */
	LANE_GANG,  /* a gang, by its one entry: a bundle of its own */
};

static inline struct queue_class *queue_class_of(struct registered_class *open)
{
	return (struct queue_class *)(void *)open->extra;
}

/* What few classes have. */
struct class_rare {
	struct class_rule_links links;
	struct remote_search *remote_search; /* NULL: none yet */
	struct pl_list own; /* classes of single pods of it, in the queue */
};

/* What is kept with a class. A pod may have one to itself, so it is small. */
struct class_more {
	struct queue_class queue; /* the first: queue_class_of */
	struct class_rare *rare;  /* NULL: nothing of it */
	struct class_rules class_rules;
};

/* classes.c: of a pod whose claims are named after it (SPEC_BY_NAME). What it asks for it
 * shares with others, and so the class that is open; what becomes of it it does not, and
 * so it has a class of its own in the queue. */
struct own_class {
	struct queue_class queue; /* CLASS_OWN */
	struct sched_pod *pod;
	struct registered_class *open;
	struct pl_list of_open;
	struct remote_search *remote_search; /* NULL: none yet */
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

/* NULL: there is none. */
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

/* The terms that pods of the class have to do with. */
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

/* May it help pods of that class? */
bool sched_hint(struct sched *sched, unsigned plugin, const struct queue_class *class,
                const struct queue_event *event);
/* A pool's; ctx is its reign. */
enum pl_code class_opened(void *ctx, struct registered_class *open, struct pl_err *err);
void class_closing(void *ctx, struct registered_class *open);
/* The class by which a pod, of which open is the class, goes into the queue. PL_NOMEM. */
PL_NODISCARD enum pl_code class_enter(struct sched_pod *pod,
                                      struct registered_class *open,
                                      struct queue_class **out, struct pl_err *err);
/* It is out of the queue. */
void class_leave(struct queue_class *class);
/* Made when there is none. NULL: no memory. */
struct class_rare *class_rare_get(struct class_more *more);

#endif
