/*
 * Reservations for gangs.
 *
 * A reservation says how much room it takes, and not what will run there. So nothing else
 * may come to the node until it is clear what becomes of the gang: by anti-affinity or a
 * host port a pod that came meanwhile could be in the way of a gang that is bound
 * already.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/reservations/reservation.h"

bool reservations_close_node(const struct sched_node *node)
{
	for (uint32_t i = 0; i < node->reservations; i++)
		if (node->reservation[i].kind == ALLOC_RESERVATION_GANG)
			return true;
	return false;
}

struct sched_reservation *reservation_of_gang(const struct sched_node *node,
                                              const uint32_t key[2])
{
	for (uint32_t i = 0; i < node->reservations; i++) {
		struct sched_reservation *reservation = &node->reservation[i];

		if (reservation->kind == ALLOC_RESERVATION_GANG &&
		    reservation->key[0] == key[0] && reservation->key[1] == key[1])
			return reservation;
	}
	return NULL;
}

/* -- how much ---------------------------------------------------------------- */

static enum pl_code add_scalars(const struct sched *sched, const struct resources *asks,
                                struct alloc_scalar *scalar, uint32_t *count)
{
	for (uint64_t r = 0; r < asks->count; r++) {
		struct pl_span name = sched_text(sched, asks->row[r].name);
		uint32_t i = 0;

		while (i < *count && !pl_span_eq(scalar[i].name, name))
			i++;
		if (i == ALLOC_SCALARS_MAX)
			return PL_LIMIT;
		*count += i == *count;
		scalar[i].name = name;
		scalar[i].amount += asks->row[r].amount;
	}
	return PL_OK;
}

enum pl_code reservation_amounts(struct sched *sched, const struct spec *const *spec,
                                 uint32_t count, struct node_reservation *out)
{
	struct alloc_amounts used = {.pods = count};
	struct alloc_scalar *scalar;
	enum pl_code code = PL_OK;

	pl_arena_reset(&sched->arena);
	scalar = pl_arena_zalloc(&sched->arena, ALLOC_SCALARS_MAX, sizeof *scalar);
	if (scalar == NULL)
		return PL_NOMEM;
	*out = (struct node_reservation){0};
	for (uint32_t i = 0; i < count && code == PL_OK; i++) {
		const struct resources *asks = spec[i]->requests;

		used.cpu_milli += asks->cpu_milli;
		used.memory += asks->memory;
		used.storage += asks->storage;
		out->nonzero_cpu_milli += spec_nonzero_cpu_milli(spec[i]);
		out->nonzero_memory += spec_nonzero_memory(spec[i]);
		code = add_scalars(sched, asks, scalar, &used.scalars);
	}
	used.scalar = scalar;
	if (code == PL_OK)
		out->amounts = reservation_resources(sched, &used);
	return code == PL_OK && out->amounts == NULL ? PL_NOMEM : code;
}

/* -- planned ----------------------------------------------------------------- */

enum pl_code reservation_plan_gang(struct sched *sched, struct sched_node *node,
                                   const uint32_t key[2], struct node_reservation *is,
                                   int64_t until_ms, struct pl_err *err)
{
	struct sched_reservation new = {.kind = ALLOC_RESERVATION_GANG,
	                                .key = {key[0], key[1]},
	                                .is = *is,
	                                .until_ms = until_ms,
	                                .number = SNAPSHOT_NONE,
	                                .state = RESERVATION_PLANNED};
	struct sched_reservation *reservation;
	enum pl_code code = reservation_room(node);

	if (code != PL_OK) {
		model_unref(&sched->model, MODEL_RESOURCES, is->amounts);
		return pl_err_set(err, code, "reserve room for a gang");
	}
	strings_ref(&sched->model.strings, key[0]);
	strings_ref(&sched->model.strings, key[1]);
	reservation = reservation_insert(sched, node, &new);
	PL_ASSERT(reservation != NULL);
	reservation_show(sched, node, reservation);
	node_reconcile(sched, node);
	return PL_OK;
}

void reservation_unplan_gang(struct sched *sched, struct sched_node *node,
                             const uint32_t key[2])
{
	struct sched_reservation *reservation = reservation_of_gang(node, key);

	if (reservation != NULL && reservation->state == RESERVATION_PLANNED)
		reservation_drop_at(sched, node,
		                    (uint32_t)(reservation - node->reservation));
}

void reservations_unplan_gangs(struct sched *sched, struct sched_node *node)
{
	for (uint32_t i = node->reservations; i > 0; i--) {
		const struct sched_reservation *reservation = &node->reservation[i - 1];

		if (reservation->kind == ALLOC_RESERVATION_GANG &&
		    reservation->state == RESERVATION_PLANNED)
			reservation_drop_at(sched, node, i - 1);
	}
}

void reservation_send_gang(struct sched *sched, struct sched_node *node,
                           struct sched_reservation *reservation)
{
	PL_ASSERT(reservation->kind == ALLOC_RESERVATION_GANG);
	reservation_set_state(reservation, RESERVATION_ADDING);
	reservation_sum(sched, node, reservation, true);
}

/* -- going ------------------------------------------------------------------- */

void reservation_take_gang(struct sched *sched, struct sched_reservation *reservation)
{
	PL_ASSERT(reservation->kind == ALLOC_RESERVATION_GANG &&
	          !reservation_is_planned(reservation));
	reservation->taken = true;
	reservation_hide(sched, reservation);
}

void reservation_shrink_gang(struct sched_reservation *reservation,
                             struct node_reservation *rest)
{
	PL_ASSERT(reservation->kind == ALLOC_RESERVATION_GANG &&
	          reservation->state == RESERVATION_STANDS &&
	          reservation->rest.amounts == NULL);
	reservation->rest = *rest;
}

void reservation_untake_gang(struct sched *sched, struct sched_node *node,
                             struct sched_reservation *reservation)
{
	if (reservation->kind != ALLOC_RESERVATION_GANG)
		return;
	PL_ASSERT(reservation->state != RESERVATION_SHRINKING);
	model_unref(&sched->model, MODEL_RESOURCES, reservation->rest.amounts);
	reservation->rest = (struct node_reservation){0};
	if (!reservation->taken)
		return;
	reservation->taken = false;
	reservation_show(sched, node, reservation);
}
