/*
 * The counts by each label column: updated when nodes move between its domains.
 */
#include <stdlib.h>

#include "shardsched/snapshot/views_inner.h"
#include "store/base/alloc.h"

static struct view_column *column_find(const struct views *views,
                                       const struct label_column *column)
{
	struct pl_map_node *node =
		pl_map_get(&views->columns, pl_span(&column, sizeof(void *)));

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct view_column, by_column);
}

static struct view_column *column_acquire(struct views *views,
                                          struct label_column *column)
{
	struct view_column *users = column_find(views, column);

	if (users != NULL)
		return users;
	users = pl_calloc(1, sizeof *users);
	if (users == NULL)
		return NULL;
	users->column = column;
	pl_list_init(&users->tallies);
	pl_list_init(&users->carriers);
	views_map_add(&views->columns, &users->by_column,
	              pl_span((const void *)&users->column, sizeof(void *)));
	return users;
}

static void column_release(struct views *views, struct label_column *column)
{
	struct view_column *users = column_find(views, column);

	if (users == NULL || !pl_list_empty(&users->tallies) ||
	    !pl_list_empty(&users->carriers))
		return;
	pl_map_del(&views->columns, &users->by_column);
	free(users);
}

enum pl_code view_column_join(struct snapshot *snapshot, struct domain_counts *counts,
                              uint32_t key, bool carrier, struct pl_err *err)
{
	struct views *views = snapshot->inner->views;
	struct label_column *column;
	struct view_column *users;
	enum pl_code code;

	code = label_column_open_domains(snapshot, key, &column, err);
	if (code != PL_OK)
		return code;
	code = domain_counts_init(counts, snapshot, column, err);
	if (code != PL_OK) {
		label_column_close(snapshot, column);
		return code;
	}
	users = column_acquire(views, column);
	if (users == NULL) {
		domain_counts_done(counts);
		label_column_close(snapshot, column);
		return pl_err_set(err, PL_NOMEM, "count pods by a label");
	}
	pl_list_add_tail(carrier ? &users->carriers : &users->tallies,
	                 &counts->of_column);
	return PL_OK;
}

void view_column_leave(struct snapshot *snapshot, struct domain_counts *counts)
{
	struct label_column *column = counts->column;

	domain_counts_done(counts);
	column_release(snapshot->inner->views, column);
	label_column_close(snapshot, column);
}

enum pl_code views_domains_grow(struct snapshot *snapshot, struct label_column *column,
                                uint32_t room, struct pl_err *err)
{
	struct view_column *users = column_find(snapshot->inner->views, column);
	enum pl_code code = PL_OK;

	if (users == NULL)
		return PL_OK;
	PL_LIST_EACH (at, &users->tallies) {
		struct tally_inner *tally =
			PL_LIST_ITEM(at, struct tally_inner, counts.of_column);

		code = domain_counts_reserve(&tally->counts, room, snapshot->capacity,
		                             err);
		tally_publish(tally);
		if (code != PL_OK)
			return code;
	}
	PL_LIST_EACH (at, &users->carriers) {
		struct carrier_inner *carrier =
			PL_LIST_ITEM(at, struct carrier_inner, counts.of_column);

		code = domain_counts_reserve(&carrier->counts, room, snapshot->capacity,
		                             err);
		carrier_publish(carrier);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

static enum pl_code grow_column(struct view_column *users, uint32_t capacity,
                                struct pl_err *err)
{
	enum pl_code code = PL_OK;

	PL_LIST_EACH (at, &users->tallies) {
		struct tally_inner *tally =
			PL_LIST_ITEM(at, struct tally_inner, counts.of_column);

		code = domain_counts_reserve(&tally->counts, 0, capacity, err);
		if (code != PL_OK)
			return code;
	}
	PL_LIST_EACH (at, &users->carriers) {
		struct carrier_inner *carrier =
			PL_LIST_ITEM(at, struct carrier_inner, counts.of_column);

		code = domain_counts_reserve(&carrier->counts, 0, capacity, err);
		if (code != PL_OK)
			return code;
	}
	return code;
}

enum pl_code views_grow(struct snapshot *snapshot, uint32_t capacity, struct pl_err *err)
{
	struct views *views = snapshot->inner->views;
	enum pl_code code = PL_OK;

	PL_MAP_EACH (node, &views->matchers) {
		code = matcher_grow(PL_CONTAINER_OF(node, struct matcher_inner, by_key),
		                    snapshot->capacity, capacity, err);
		if (code != PL_OK)
			return code;
	}
	PL_MAP_EACH (node, &views->columns) {
		code = grow_column(PL_CONTAINER_OF(node, struct view_column, by_column),
		                   capacity, err);
		if (code != PL_OK)
			return code;
	}
	return code;
}

/* A node between two values. */
struct column_move {
	const struct label_column *column;
	uint32_t slot, from, to;
};

static void move_found(const struct spec_view_inner *view, uint32_t flags,
                       const struct column_move *move)
{
	for (uint32_t i = 0; i < view->found_count; i++) {
		struct matcher_inner *matcher = matcher_inner(view->found_by[i]);

		if (!matcher_counts(matcher, flags))
			continue;
		PL_LIST_EACH (at, &matcher->tallies) {
			struct tally_inner *tally =
				PL_LIST_ITEM(at, struct tally_inner, of_matcher);

			if (tally->counts.column != move->column)
				continue;
			domain_counts_move(&tally->counts, move->slot, move->from,
			                   move->to, 1);
			tally_publish(tally);
		}
	}
}

static void move_carried(const struct spec_view_inner *view,
                         const struct column_move *move)
{
	for (uint32_t i = 0; i < view->carries_count; i++) {
		struct carrier_inner *carrier = view->carries[i]->inner;

		if (carrier->counts.column != move->column)
			continue;
		domain_counts_move(&carrier->counts, move->slot, move->from, move->to, 1);
		carrier_publish(carrier);
	}
}

/* Moves the node in the sets of all counts by the column, also of counts that count none
 * of its pods. */
static void move_sets(const struct pl_list *counts, const struct column_move *move)
{
	PL_LIST_EACH (at, counts)
		domain_counts_move(PL_LIST_ITEM(at, struct domain_counts, of_column),
		                   move->slot, move->from, move->to, 0);
}

void views_node_moving(struct snapshot *snapshot, uint32_t slot,
                       struct label_column *column, uint32_t from, uint32_t to)
{
	struct view_column *users = column_find(snapshot->inner->views, column);
	const struct column_move move = {column, slot, from, to};
	uint32_t at = snapshot->row[slot].first_pod;

	if (users == NULL)
		return;
	for (; at != SNAPSHOT_NONE; at = snapshot->placed[at].next_on_node) {
		const struct placed_pod *pod = &snapshot->placed[at];

		move_found(view_inner(pod->view), pod->flags, &move);
		move_carried(view_inner(pod->view), &move);
	}
	move_sets(&users->tallies, &move);
	move_sets(&users->carriers, &move);
}
