/*
 * Cluster objects of the store: Namespaces, what spreads pods by default, volumes and what
 * is about them. They stand in the snapshot's catalog as their keys say, so verdicts are
 * those of the engine for the same objects.
 *
 * Invariants: nothing is decided before all of them have been listed once, nor after one
 * could not be kept, until it is listed again. A malformed object is reported and counts
 * as absent. The catalog has a namespace of each known pod: as its object says, or, when
 * there is none, with the label of its name.
 *
 * The labels of namespaces are part of rules that select namespaces, so they have a lock,
 * /objects/core/namespaces, which every writer that changes labels puts in the same
 * transaction, and /groups/nodes with it. The lock comes with the same watch as the
 * namespaces. While labels can matter, each transaction on pods compares it (rules.h).
 */
#ifndef SHARDSCHED_SHARD_OBJECTS_OBJECTS_H
#define SHARDSCHED_SHARD_OBJECTS_OBJECTS_H

#include "shardsched/shard/sched.h"
#include "store/base/map.h"

struct sched;

/* A key that is there, or was there when its view was listed last. */
struct stored_object {
	struct pl_map_node by_name;
	uint32_t key[2]; /* namespace or 0, and name; held */
	int64_t rev;     /* 0: the value is to be read again */
	uint16_t seen;   /* generation of the list that had it last */
	bool good;       /* the catalog has it */
};

struct object_view {
	struct pl_map by_name; /* struct stored_object */
	uint16_t seen;
	bool known;  /* all of it was listed and kept */
	bool missed; /* something was not kept since the list began */
};

struct sched_objects {
	struct object_view view[SCHED_OBJECT_VIEWS];
	struct {
		int64_t rev;    /* of the lock; 0: there is none */
		int64_t upto;   /* the namespaces are known up to that revision */
		int64_t need;   /* revision that upto has to reach */
		uint16_t seen;  /* generation of the list that had the lock last */
		uint64_t stamp; /* serial of the txn that compares the lock */
	} labels;
};

static inline bool sched_view_is_of_objects(enum sched_view view)
{
	return view >= SCHED_OBJECT_FIRST;
}

void objects_init(struct sched *sched);
void objects_done(struct sched *sched);

/* Called like the notes of relist.h, for the views of objects. */
void objects_begin(struct sched *sched, enum sched_view view);
void objects_records(struct sched *sched, enum sched_view view,
                     const struct kv_record *records, size_t count);
void objects_end(struct sched *sched, enum sched_view view, int64_t revision);
void objects_events(struct sched *sched, enum sched_view view,
                    const struct kv_event *events, size_t count, int64_t revision);
/* The objects are not followed any more, or the store was rewound. */
void objects_forget(struct sched *sched, enum sched_view view);

/* All objects are known as far as any decision needs them. */
bool objects_are_known(const struct sched *sched);
/* Other labels of namespaces are known to be there, and have not been read yet: a
 * transaction that compares their lock would fail. */
bool objects_labels_are_behind(const struct sched *sched);
/* The store has an object of that namespace, and it is well formed. */
bool objects_have_namespace(const struct sched *sched, uint32_t name);

/* The lock of labels was not as it was compared: it has that revision now; 0: it is gone. */
void objects_labels_changed(struct sched *sched, int64_t revision);

#endif
