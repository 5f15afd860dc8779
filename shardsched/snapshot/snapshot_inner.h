/*
 * What the parts of the snapshot share, and what they ask of each other.
 *
 * snapshot.c  nodes.c  pods.c  label_column.c ...     rows, columns, chains
 *      | hooks below                                  what is counted by rules
 *      v
 * view.c  matcher.c  tally.c  carrier.c
 *
 * Everything that can fail is asked before anything changes: a hook that returns nothing
 * can not fail and allocates nothing.
 */
#ifndef SHARDSCHED_SNAPSHOT_SNAPSHOT_INNER_H
#define SHARDSCHED_SNAPSHOT_SNAPSHOT_INNER_H

#include "shardsched/model/number_map.h"
#include "shardsched/snapshot/view.h"

/* Numbers of elements in a row that grows; free ones are chained. */
struct number_pool {
	uint32_t end; /* numbers ever used are below */
	uint32_t cap;
	uint32_t free; /* the first of the chain */
};

struct label_column_inner {
	struct buckets by_text;
	struct bucket_link *link; /* by number; of free ones next is the chain's */
	uint32_t room;            /* numbers from 0 */
	uint32_t free;            /* 0: none */
	uint64_t stamp;           /* when the last user left */
};

struct label_columns {
	struct label_column *at[LABEL_COLUMNS_MAX];
	uint32_t count;
	uint32_t idle;  /* of these, without users */
	uint64_t stamp; /* grows when one becomes idle */
};

struct snapshot_inner {
	struct buckets by_name;    /* of rows, by slot + 1 */
	uint32_t free_slot;        /* chained by by_name.next */
	struct number_pool placed; /* chained by next_on_node */
	struct number_pool nominations;
	struct number_pool reservations;
	struct number_pool ports;
	uint32_t ports_used;
	uint32_t ports_lifted; /* of pods that come back: not to be given to others */
	uint32_t scalars_end;  /* columns ever in use are below */
	uint32_t lifted;       /* pods, now */
	bool probing;
	int64_t probe_balance;    /* pods, nominations and holds that a probe added */
	uint32_t *log;            /* slots that changed, by number of change */
	struct number_map images; /* how many nodes have an image, by its string */
	struct label_columns columns;
	struct views *views; /* of view.c */
};

/* -- memory ----------------------------------------------------------------------- */

/* A zeroed column of bytes, aligned to 64; NULL. Freed by column_free only. */
void *column_alloc(size_t bytes);
/* NULL does nothing. */
void column_free(void *column);
/* Makes it longer, with zeros behind; false: as it was. *column may be NULL. */
bool column_grow(void *column_pointer, size_t bytes, size_t bytes_new);

/* Whether a number can be taken. */
static inline bool number_pool_has(const struct number_pool *pool)
{
	return pool->free != SNAPSHOT_NONE || pool->end < pool->cap;
}

/* Strings' and other dense numbers as hashes. */
static inline bool row_is_counted(const struct node_row *row)
{
	return row->node.allocatable != NULL;
}

static inline uint32_t number_hash(uint32_t number)
{
	uint32_t hash = number * UINT32_C(0x9e3779b1);

	return hash ^ hash >> 16;
}

/* -- changes ---------------------------------------------------------------------- */

/* A node, or what is on it, is not what it was. */
void snapshot_touch(struct snapshot *snapshot, uint32_t slot);

/* -- slots, amounts --------------------------------------------------------------- */

/* Twice the capacity. PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code snapshot_grow(struct snapshot *snapshot, struct pl_err *err);
void nodes_init(struct snapshot *snapshot);

/* The columns after the row's amounts have changed. */
void hot_show_alloc(struct snapshot *snapshot, uint32_t slot);
void hot_show_used(struct snapshot *snapshot, uint32_t slot);

/* -- scalars.c -------------------------------------------------------------------- */

/* Columns for all of these names, of which some may be there. PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code scalars_ready(struct snapshot *snapshot,
                                        const struct resources *resources,
                                        struct pl_err *err);
void scalars_node_add(struct snapshot *snapshot, uint32_t slot,
                      const struct resources *resources);
/* now: what the node has from now on; NULL: nothing. */
void scalars_node_remove(struct snapshot *snapshot, uint32_t slot,
                         const struct resources *resources, const struct resources *now);
/* A pod's or a hold's: whether they can be counted, are there and hold the columns, are
 * used. */
bool scalars_countable(const struct snapshot *snapshot, uint32_t slot,
                       const struct resources *resources);
void scalars_ref(struct snapshot *snapshot, const struct resources *resources);
void scalars_unref(struct snapshot *snapshot, const struct resources *resources);
void scalars_add_used(struct snapshot *snapshot, uint32_t slot,
                      const struct resources *resources, int sign);
bool scalars_grow(struct snapshot *snapshot, uint32_t capacity);
void scalars_done(struct snapshot *snapshot);
size_t scalars_memory(const struct snapshot *snapshot);

/* -- ports.c, images.c ------------------------------------------------------------ */

PL_NODISCARD enum pl_code ports_ready(struct snapshot *snapshot, uint32_t count,
                                      struct pl_err *err);
void ports_add(struct snapshot *snapshot, uint32_t slot, const struct spec *spec);
void ports_remove(struct snapshot *snapshot, uint32_t slot, const struct spec *spec);
/* After a lift, and after lowering. */
void ports_hide(struct snapshot *snapshot, uint32_t slot, const struct spec *spec);
void ports_show(struct snapshot *snapshot, uint32_t slot, const struct spec *spec);

PL_NODISCARD enum pl_code images_ready(struct number_map *counts, uint64_t more,
                                       struct pl_err *err);
void images_add(struct number_map *counts, const struct images *images);
void images_remove(struct number_map *counts, const struct images *images);

/* -- views: view.c ---------------------------------------------------------------- */

PL_NODISCARD enum pl_code views_init(struct snapshot *snapshot, struct pl_err *err);
void views_done(struct snapshot *snapshot);

/* The view of a spec, with a use more; made when there is none. PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code view_ref(struct snapshot *snapshot, const struct spec *spec,
                                   struct spec_view **out, struct pl_err *err);
void view_unref(struct snapshot *snapshot, struct spec_view *view);

/* A pod of that class is on the node from now on: in the chains and amounts already.
 * flags: as of struct placed. */
void views_pod_added(struct snapshot *snapshot, struct spec_view *view, uint32_t slot,
                     uint32_t flags);
/* It is not there any more: flags as they were. Also when it is lifted. */
void views_pod_removed(struct snapshot *snapshot, struct spec_view *view, uint32_t slot,
                       uint32_t flags);
/* It had no PLACED_TERMINATING and has it now. */
void views_pod_terminating(struct snapshot *snapshot, struct spec_view *view,
                           uint32_t slot);

/* The capacity is about to become that: all that is indexed by slots gets as long, with
 * zeros behind. On failure everything is still right for the old one (some of it may be
 * longer already). */
PL_NODISCARD enum pl_code views_grow(struct snapshot *snapshot, uint32_t capacity,
                                     struct pl_err *err);
/* That column is about to have room for that many numbers: likewise what is indexed by
 * them. label_column_room gives how many the room is for. */
PL_NODISCARD enum pl_code views_domains_grow(struct snapshot *snapshot,
                                             struct label_column *column, uint32_t room,
                                             struct pl_err *err);

/* The node is about to go from one value of the column to another; 0: none. Its pods
 * are on it all the time, column->value is changed afterwards. A node that comes
 * or goes has no pods, but joins or leaves a domain that may have some. */
void views_node_moving(struct snapshot *snapshot, uint32_t slot,
                       struct label_column *column, uint32_t from, uint32_t to);

/* The catalog has other labels for that namespace, or it came or went. Repeatable: when
 * it fails, a second call does all that the first should have done. */
PL_NODISCARD enum pl_code views_namespace_changed(struct snapshot *snapshot,
                                                  uint32_t namespace, struct pl_err *err);

size_t views_memory(const struct snapshot *snapshot);
/* Asserts everything against a count from scratch. */
void views_check(const struct snapshot *snapshot);

/* -- claims: claims.h ------------------------------------------------------------- */

/* snapshot_pod_add calls claims_pod_add (it can fail: with what else can), and
 * snapshot_pod_remove claims_pod_remove. Lifting and lowering call neither: plugins
 * follow a probe by themselves, and what is lowered can not fail. */

/* -- label columns ---------------------------------------------------------------- */

void label_columns_done(struct snapshot *snapshot);
PL_NODISCARD enum pl_code label_columns_grow(struct snapshot *snapshot, uint32_t capacity,
                                             struct pl_err *err);
/* Numbers from 0 that there is room for: what is indexed by them is as long. */
uint32_t label_column_room(const struct label_column *column);
/* Before a node gets other labels: room for a number more in each. */
PL_NODISCARD enum pl_code label_columns_ready(struct snapshot *snapshot,
                                              struct pl_err *err);
/* NULL: there is no node any more. */
void label_columns_move(struct snapshot *snapshot, uint32_t slot,
                        const struct labels *to);
size_t label_columns_memory(const struct snapshot *snapshot);
void label_columns_check(const struct snapshot *snapshot);

#endif
