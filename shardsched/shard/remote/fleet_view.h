/*
 * The fleet view: all nodes and allocs of the store and the locks of rules between them,
 * in one list and one watch, so that their changes arrive in one order. A shard takes it
 * up while a decision needs every node, since it costs what the whole store changes.
 *
 *	       begin              end                lost
 *	OFF ---------> LISTING ---------> CURRENT ---------> OUTDATED
 *	 ^                |  ^               |                  |
 *	 |                |  +--- begin -----+------------------+
 *	 |                v                  v
 *	 +-- forget --  INCOMPLETE: a record was not kept; the driver is asked to list again
 *	                            (begin)
 *
 * Invariants: revision != 0 exactly while CURRENT. known stays set from the end of the
 * first list until forget: the nodes of an older list stay as they were until they are
 * listed again.
 */
#ifndef SHARDSCHED_SHARD_REMOTE_FLEET_VIEW_H
#define SHARDSCHED_SHARD_REMOTE_FLEET_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kv_event;
struct kv_record;
struct sched;

enum fleet_view_state {
	VIEW_OFF,
	VIEW_LISTING,
	VIEW_CURRENT,
	VIEW_OUTDATED,
	VIEW_INCOMPLETE,
	VIEW_STATES
};

struct fleet_view {
	enum fleet_view_state state;
	unsigned users;     /* fleet_view_acquire without fleet_view_release */
	uint64_t until_ms;  /* wanted until then although it has no users */
	bool known;         /* a list of it was complete, however long ago */
	uint8_t generation; /* of the list */
	int64_t revision;   /* all changes up to it have arrived; 0: not current */
};

/* The driver lists or watches it. */
static inline bool fleet_view_is_on(const struct fleet_view *view)
{
	return view->state != VIEW_OFF;
}

/* One user more, or less. After the last one the view is kept for a while, since a new
 * list takes long. */
void fleet_view_acquire(struct sched *sched);
void fleet_view_release(struct sched *sched);
/* Without becoming a user: the view is wanted for a while from now on. */
void fleet_view_touch(struct sched *sched);
bool fleet_view_is_wanted(const struct sched *sched);
uint64_t fleet_view_deadline_ms(const struct sched *sched);

/* All changes up to this revision, on whatever node, are in the snapshot: a lock last put
 * at or before it may be compared by what is decided now. 0: the view is not current. */
int64_t fleet_view_applied_rev(const struct sched *sched);

/* Fed by the driver, as sched_view_* of sched.h. */
void fleet_view_begin(struct sched *sched);
void fleet_view_records(struct sched *sched, const struct kv_record *records,
                        size_t count);
void fleet_view_end(struct sched *sched, int64_t revision);
void fleet_view_events(struct sched *sched, const struct kv_event *events, size_t count,
                       int64_t revision);
void fleet_view_lost(struct sched *sched);

/* Something that the view told could not be kept. Nothing is decided by the view until
 * the driver has listed it again, which is asked for. */
void fleet_view_incomplete(struct sched *sched);
/* Asks for that list again if it has not begun. */
void fleet_view_repair(struct sched *sched);
/* The view ends: nodes that only it has shown are forgotten. */
void fleet_view_forget(struct sched *sched);

#endif
