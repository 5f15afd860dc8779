/*
 * The parts of the snapshot, and what they ask of each other.
 *
 *  snapshot.c  nodes.c  pods.c  label_column.c ...     rows, columns, chains
 *       | hooks below                                  what is counted by rules
 *       v
 *  view.c  matcher.c  tally.c  carrier.c
 *
 * Invariant: everything that can fail is done before anything changes, so a hook without
 * a return value can not fail and allocates nothing.
 */
#ifndef SHARDSCHED_SNAPSHOT_SNAPSHOT_INNER_H
#define SHARDSCHED_SNAPSHOT_SNAPSHOT_INNER_H

#include "shardsched/model/number_map.h"
#include "shardsched/snapshot/view.h"

/* Numbers of elements in an array that grows; free numbers are chained. */
struct number_pool {
	uint32_t end; /* numbers ever used are below */
	uint32_t cap;
	uint32_t free; /* the first of the chain */
};

struct label_column_inner {
	struct buckets by_text;
	struct bucket_link
		*link;  /* by number; next of a free number is the next free one */
	uint32_t room;  /* numbers from 0 that the arrays have room for */
	uint32_t free;  /* 0: none */
	uint64_t stamp; /* when the last user left */
};

struct label_columns {
	struct label_column *at[LABEL_COLUMNS_MAX];
	uint32_t count;
	uint32_t idle;  /* columns without users */
	uint64_t stamp; /* grows when a column becomes idle */
};

struct snapshot_inner {
	struct buckets by_name;    /* rows, by slot + 1 */
	uint32_t free_slot;        /* chained by by_name.next */
	struct number_pool placed; /* chained by next_on_node */
	struct number_pool nominations;
	struct number_pool reservations;
	struct number_pool ports;
	uint32_t ports_used;
	uint32_t ports_lifted; /* of lifted pods: not to be given to other pods */
	uint32_t scalars_end;  /* columns ever in use are below */
	uint32_t lifted;       /* number of lifted pods */
	bool probing;
	int64_t probe_balance; /* pods, nominations and reservations added by the probe */
	uint32_t *log;         /* changed slots, by number of change */
	struct number_map images; /* how many nodes have an image, by its string */
	struct label_columns columns;
	struct views *views; /* defined in views_inner.h */
};

/* -- memory ----------------------------------------------------------------------- */

/* A zeroed column of bytes, aligned to 64; NULL: no memory. To be freed by column_free
 * only. */
void *column_alloc(size_t bytes);
/* NULL does nothing. */
void column_free(void *column);
/* Makes the column longer, with zeros behind; false: no memory, and the column is
 * unchanged. *column may be NULL. */
bool column_grow(void *column_pointer, size_t bytes, size_t bytes_new);

/* Whether a number is free or can be made. */
static inline bool number_pool_has(const struct number_pool *pool)
{
	return pool->free != SNAPSHOT_NONE || pool->end < pool->cap;
}

/* Whether the node has resources, so that its pods are in its sums. */
static inline bool row_is_counted(const struct node_row *row)
{
	return row->node.allocatable != NULL;
}

/* A hash of a string's or another dense number. */
static inline uint32_t number_hash(uint32_t number)
{
	uint32_t hash = number * UINT32_C(0x9e3779b1);

	return hash ^ hash >> 16;
}

/* -- changes ---------------------------------------------------------------------- */

/* Logs that the node, or what is on it, changed. */
void snapshot_touch(struct snapshot *snapshot, uint32_t slot);

/* -- slots, amounts --------------------------------------------------------------- */

/* Doubles the capacity. PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code snapshot_grow(struct snapshot *snapshot, struct pl_err *err);
void nodes_init(struct snapshot *snapshot);

/* Updates the columns after the row's amounts have changed. */
void hot_update_alloc(struct snapshot *snapshot, uint32_t slot);
void hot_update_used(struct snapshot *snapshot, uint32_t slot);

/* -- scalars.c -------------------------------------------------------------------- */

/* Makes columns for all of these names, where they are missing. PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code scalars_ready(struct snapshot *snapshot,
                                        const struct resources *resources,
                                        struct pl_err *err);
void scalars_node_add(struct snapshot *snapshot, uint32_t slot,
                      const struct resources *resources);
/* now: the resources that the node keeps; NULL: none. */
void scalars_node_remove(struct snapshot *snapshot, uint32_t slot,
                         const struct resources *resources, const struct resources *now);
/* The scalars of a pod or a reservation: whether they can be counted; a reference to
 * their columns, and back; their amounts added to the used ones. */
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
/* After a lift, and after a restore. */
void ports_hide(struct snapshot *snapshot, uint32_t slot, const struct spec *spec);
void ports_show(struct snapshot *snapshot, uint32_t slot, const struct spec *spec);

PL_NODISCARD enum pl_code images_ready(struct number_map *counts, uint64_t more,
                                       struct pl_err *err);
void images_add(struct number_map *counts, const struct images *images);
void images_remove(struct number_map *counts, const struct images *images);

/* -- views: view.c ---------------------------------------------------------------- */

PL_NODISCARD enum pl_code views_init(struct snapshot *snapshot, struct pl_err *err);
void views_done(struct snapshot *snapshot);

/* The view of a spec, with one use more; it is made when it is missing. PL_LIMIT,
 * PL_NOMEM. */
PL_NODISCARD enum pl_code view_ref(struct snapshot *snapshot, const struct spec *spec,
                                   struct spec_view **out, struct pl_err *err);
void view_unref(struct snapshot *snapshot, struct spec_view *view);

/* A pod of that class came to the node: chains and amounts have it already. flags: as of
 * struct placed_pod. */
void views_pod_added(struct snapshot *snapshot, struct spec_view *view, uint32_t slot,
                     uint32_t flags);
/* The pod left the node, or was lifted; flags as they were. */
void views_pod_removed(struct snapshot *snapshot, struct spec_view *view, uint32_t slot,
                       uint32_t flags);
/* The pod gets PLACED_TERMINATING, which it did not have. */
void views_pod_terminating(struct snapshot *snapshot, struct spec_view *view,
                           uint32_t slot);

/* The capacity is about to change: arrays indexed by slots grow with it, with zeros
 * behind. After a failure everything is right for the old capacity (some arrays may be
 * longer). */
PL_NODISCARD enum pl_code views_grow(struct snapshot *snapshot, uint32_t capacity,
                                     struct pl_err *err);
/* The column is about to have room for that many numbers, and arrays indexed by them grow
 * with it. label_column_room gives the current room. */
PL_NODISCARD enum pl_code views_domains_grow(struct snapshot *snapshot,
                                             struct label_column *column, uint32_t room,
                                             struct pl_err *err);

/* The node is about to go from one value of the column to another; 0: none. Its pods stay
 * on it, and column->value is changed afterwards. A node that comes or goes has no pods,
 * but joins or leaves a domain that may have some. */
void views_node_moving(struct snapshot *snapshot, uint32_t slot,
                       struct label_column *column, uint32_t from, uint32_t to);

/* The labels of the namespace changed in the catalog, or the namespace came or went.
 * After a failure a second call completes the change. */
PL_NODISCARD enum pl_code views_namespace_changed(struct snapshot *snapshot,
                                                  uint32_t namespace, struct pl_err *err);

size_t views_memory(const struct snapshot *snapshot);
/* Asserts everything against a count from scratch. */
void views_check(const struct snapshot *snapshot);

/* -- claims: claims.h ------------------------------------------------------------- */

/* snapshot_pod_add calls claims_pod_add, before anything that can not fail, and
 * snapshot_pod_remove calls claims_pod_remove. Lifting and restoring call neither:
 * plugins follow a probe by themselves, and a restore can not fail. */

/* -- label columns ---------------------------------------------------------------- */

void label_columns_done(struct snapshot *snapshot);
PL_NODISCARD enum pl_code label_columns_grow(struct snapshot *snapshot, uint32_t capacity,
                                             struct pl_err *err);
/* Numbers from 0 that there is room for: the length of arrays indexed by them. */
uint32_t label_column_room(const struct label_column *column);
/* Before a node gets other labels: makes room for one number more in each column. */
PL_NODISCARD enum pl_code label_columns_ready(struct snapshot *snapshot,
                                              struct pl_err *err);
/* NULL: the node is gone. */
void label_columns_move(struct snapshot *snapshot, uint32_t slot,
                        const struct labels *to);
size_t label_columns_memory(const struct snapshot *snapshot);
void label_columns_check(const struct snapshot *snapshot);

#endif
