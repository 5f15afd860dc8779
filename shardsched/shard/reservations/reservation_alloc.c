/* Reservations from allocs, and into them. An alloc that is put leaves out reservations
 * that go, and nominations for which there is no room any more (reservation_fit.c). */
#include <stdlib.h>

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/reservations/reservation.h"
#include "store/base/alloc.h"

/* -- amounts ----------------------------------------------------------------- */

static void add_to_sums(struct resource_sums *sums, struct pl_span name, int64_t amount,
                        int64_t nano)
{
	if (amount > 0) /* room was made for all that the alloc names */
		(void)resource_sums_add(sums, name, (pl_int128)amount * nano);
}

/* Interned, with a reference; NULL: no memory. */
const struct resources *reservation_resources(struct sched *sched,
                                              const struct alloc_amounts *used)
{
	struct resource_sums sums = {.at = pl_arena_zalloc(&sched->arena,
	                                                   RESOURCE_NAMES_MAX,
	                                                   sizeof *sums.at)};
	struct maker maker;
	const struct resources *made;

	if (sums.at == NULL)
		return NULL;
	add_to_sums(&sums, PL_SPAN_LIT("cpu"), used->cpu_milli, 1000000);
	add_to_sums(&sums, PL_SPAN_LIT("memory"), used->memory, 1000000000);
	add_to_sums(&sums, PL_SPAN_LIT("ephemeral-storage"), used->storage, 1000000000);
	add_to_sums(&sums, PL_SPAN_LIT("pods"), used->pods, 1000000000);
	for (uint32_t i = 0; i < used->scalars; i++)
		add_to_sums(&sums, used->scalar[i].name, used->scalar[i].amount,
		            1000000000);
	maker_init(&maker, &sched->model, &sched->arena);
	made = resources_make(&maker, &sums, false);
	if (maker.code == PL_OK)
		return made;
	model_unref(&sched->model, MODEL_RESOURCES, made);
	return NULL;
}

void reservation_sum(const struct sched *sched, struct sched_node *node,
                     const struct sched_reservation *reservation, bool add)
{
	const struct resources *amounts = reservation->is.amounts;
	struct sched_sums *used = &node->used;
	uint64_t sign = add ? 1 : UINT64_MAX;

	used->cpu_milli += sign * (uint64_t)amounts->cpu_milli;
	used->memory += sign * (uint64_t)amounts->memory;
	used->storage += sign * (uint64_t)amounts->storage;
	used->pods += sign * (uint64_t)amounts->pods;
	used->nonzero_cpu_milli += sign * (uint64_t)reservation->is.nonzero_cpu_milli;
	used->nonzero_memory += sign * (uint64_t)reservation->is.nonzero_memory;
	for (uint64_t i = 0; i < amounts->count; i++)
		used->scalars += sign * (uint64_t)amounts->row[i].amount *
		                 pl_hash(sched_text(sched, amounts->row[i].name));
	node->with_scalars += (uint32_t)sign * (amounts->count > 0);
}

/* -- from the alloc ---------------------------------------------------------- */

void reservations_free(struct sched *sched, struct sched_reservations *reservations)
{
	for (uint32_t i = 0; i < reservations->count; i++) {
		struct sched_pod *pod = reservations->at[i].pod;

		reservation_free(sched, &reservations->at[i]);
		if (pod == NULL)
			continue;
		pod->reserved_by--;
		pod_tidy(sched, pod);
	}
	free(reservations->at);
	*reservations = (struct sched_reservations){0};
}

static enum pl_code read_reservation(struct sched *sched,
                                     const struct alloc_reservation *from,
                                     struct sched_reservation *out)
{
	struct strings *strings = &sched->model.strings;

	*out = (struct sched_reservation){
		.kind = from->kind, .until_ms = from->until_ms, .number = SNAPSHOT_NONE};
	if (from->kind == ALLOC_RESERVATION_NOMINATED) {
		if (from->partition >= sched->opts.partitions)
			return PL_INVALID;
		out->pod = pod_get(sched, from->partition, from->namespace, from->name);
		if (out->pod == NULL)
			return PL_NOMEM;
		out->pod->reserved_by++;
	}
	out->is = (struct node_reservation){
		.amounts = reservation_resources(sched, &from->used),
		.nonzero_cpu_milli = from->used.nonzero_cpu_milli,
		.nonzero_memory = from->used.nonzero_memory};
	if (out->is.amounts == NULL ||
	    strings_add(strings, from->namespace, &out->key[0]) != PL_OK ||
	    strings_add(strings, from->name, &out->key[1]) != PL_OK)
		return PL_NOMEM;
	return PL_OK;
}

enum pl_code reservations_read(struct sched *sched, const struct alloc *alloc,
                               struct sched_reservations *out)
{
	enum pl_code code = PL_OK;

	*out = (struct sched_reservations){0};
	if (alloc->holds == 0)
		return PL_OK;
	out->at = pl_calloc(alloc->holds, sizeof *out->at);
	if (out->at == NULL)
		return PL_NOMEM;
	for (uint32_t i = 0; i < alloc->holds && code == PL_OK; i++) {
		code = read_reservation(sched, &alloc->hold[i], &out->at[i]);
		out->count++;
	}
	if (code != PL_OK)
		reservations_free(sched, out);
	return code;
}

static bool is_same_reservation(const struct sched_reservation *a,
                                const struct sched_reservation *b)
{
	return a->kind == b->kind && a->key[0] == b->key[0] && a->key[1] == b->key[1] &&
	       a->pod == b->pod && a->is.amounts == b->is.amounts &&
	       a->is.nonzero_cpu_milli == b->is.nonzero_cpu_milli &&
	       a->is.nonzero_memory == b->is.nonzero_memory;
}

bool reservations_equal(const struct sched_node *node,
                        const struct sched_reservations *reservations)
{
	bool same = node->reservations == reservations->count;

	for (uint32_t i = 0; same && i < reservations->count; i++)
		same = is_same_reservation(&node->reservation[i], &reservations->at[i]);
	return same;
}

/* A reservation that stands in both allocs keeps its place in the snapshot. A new
 * deadline shows that its owner is alive. */
static void carry_state(struct sched_node *node, const struct sched_reservation *old,
                        uint32_t olds, struct sched_reservation *new)
{
	for (uint32_t i = 0; i < olds; i++) {
		if (!is_same_reservation(&old[i], new))
			continue;
		new->number = old[i].number;
		new->nominates = old[i].nominates;
		new->taken = old[i].taken;
		new->unwanted = old[i].unwanted;
		new->orphan_ms = old[i].orphan_ms;
		if (new->until_ms != old[i].until_ms)
			continue;
		new->over_ms = old[i].over_ms;
		new->due = old[i].due;
		new->overdue = old[i].overdue;
	}
	if (new->pod != NULL &&new->pod->nominated == NULL)
		new->pod->nominated = node;
}

static bool is_kept_planned(const struct sched_node *node,
                            const struct sched_reservation *old)
{
	for (uint32_t i = 0; i < node->reservations; i++)
		if (is_same_reservation(&node->reservation[i], old))
			return true;
	return false;
}

void reservations_set(struct sched *sched, struct sched_node *node,
                      struct sched_reservations *reservations)
{
	struct sched_reservation *old = node->reservation;
	uint32_t olds = node->reservations;

	if (olds == 0 && reservations->count == 0)
		return;
	for (uint32_t i = 0; i < olds; i++) {
		PL_ASSERT(old[i].state == RESERVATION_STANDS &&
		          old[i].rest.amounts == NULL && old[i].until_next == 0);
		sched->gangs.reservations -= old[i].kind == ALLOC_RESERVATION_GANG;
		reservation_sum(sched, node, &old[i], false);
	}
	node->reservation = reservations->at;
	node->reservations = node->reservation_cap = reservations->count;
	*reservations = (struct sched_reservations){0};
	pl_list_del(&node->reserving);
	if (node->reservations > 0)
		pl_list_add_tail(&sched->reserving, &node->reserving);
	for (uint32_t i = 0; i < node->reservations; i++) {
		reservation_sum(sched, node, &node->reservation[i], true);
		sched->gangs.reservations +=
			node->reservation[i].kind == ALLOC_RESERVATION_GANG;
		carry_state(node, old, olds, &node->reservation[i]);
	}
	for (uint32_t i = 0; i < olds; i++) {
		if (is_kept_planned(node, &old[i]))
			old[i].number = SNAPSHOT_NONE;
		reservation_end(sched, node, &old[i]);
	}
	free(old);
	for (uint32_t i = 0; i < node->reservations; i++) {
		reservation_show(sched, node, &node->reservation[i]);
		reservation_watch(sched, node, &node->reservation[i]);
	}
}

/* -- and out of the row ------------------------------------------------------ */

void reservation_drop_at(struct sched *sched, struct sched_node *node, uint32_t i)
{
	struct sched_reservation reservation = node->reservation[i];

	if (reservation_counts(&reservation))
		reservation_sum(sched, node, &reservation, false);
	sched->gangs.reservations -= reservation.kind == ALLOC_RESERVATION_GANG;
	node->reservations--;
	memmove(&node->reservation[i], &node->reservation[i + 1],
	        (node->reservations - i) * sizeof *node->reservation);
	if (node->reservations == 0)
		pl_list_del(&node->reserving);
	reservation_end(sched, node, &reservation);
}

void reservations_clear(struct sched *sched, struct sched_node *node)
{
	while (node->reservations > 0)
		reservation_drop_at(sched, node, node->reservations - 1);
}

/* -- nominations that are made here ------------------------------------------ */

/* The amounts that a pod of that spec takes. */
static enum pl_code amounts_of_spec(struct sched *sched, const struct spec *spec,
                                    struct node_reservation *out)
{
	const struct resources *asks = spec->requests;
	struct alloc_amounts used = {.cpu_milli = asks->cpu_milli,
	                             .memory = asks->memory,
	                             .storage = asks->storage,
	                             .pods = 1};
	struct alloc_scalar *scalar;

	pl_arena_reset(&sched->arena);
	scalar = pl_arena_zalloc(&sched->arena, asks->count + 1, sizeof *scalar);
	if (scalar == NULL)
		return PL_NOMEM;
	for (uint64_t i = 0; i < asks->count; i++)
		scalar[used.scalars++] = (struct alloc_scalar){
			.name = sched_text(sched, asks->row[i].name),
			.amount = asks->row[i].amount};
	used.scalar = scalar;
	*out = (struct node_reservation){.amounts = reservation_resources(sched, &used),
	                                 .nonzero_cpu_milli =
	                                         spec_nonzero_cpu_milli(spec),
	                                 .nonzero_memory = spec_nonzero_memory(spec)};
	return out->amounts == NULL ? PL_NOMEM : PL_OK;
}

enum pl_code reservation_room(struct sched_node *node)
{
	uint32_t cap = node->reservation_cap < 2 ? 4 : node->reservation_cap * 2;
	struct sched_reservation *grown;

	if (node->reservations < node->reservation_cap)
		return PL_OK;
	if (node->reservations >= ALLOC_RESERVATIONS_MAX)
		return PL_LIMIT;
	grown = pl_realloc(node->reservation, cap * sizeof *grown);
	if (grown == NULL)
		return PL_NOMEM;
	node->reservation = grown;
	node->reservation_cap = cap;
	return PL_OK;
}

static struct alloc_reservation alloc_name(const struct sched *sched,
                                           const struct sched_reservation *reservation)
{
	return (struct alloc_reservation){.kind = reservation->kind,
	                                  .namespace =
	                                          sched_text(sched, reservation->key[0]),
	                                  .name = sched_text(sched, reservation->key[1])};
}

/* At its place in the order; NULL: one of that name is there, for another pod. */
struct sched_reservation *reservation_insert(struct sched *sched, struct sched_node *node,
                                             const struct sched_reservation *new)
{
	struct alloc_reservation name = alloc_name(sched, new), other;
	uint32_t i = node->reservations;

	for (; i > 0; i--) {
		other = alloc_name(sched, &node->reservation[i - 1]);
		if (alloc_reservation_cmp(&other, &name) <= 0)
			break;
	}
	if (i > 0 && alloc_reservation_cmp(&other, &name) == 0)
		return NULL;
	memmove(&node->reservation[i + 1], &node->reservation[i],
	        (node->reservations - i) * sizeof *node->reservation);
	node->reservation[i] = *new;
	sched->gangs.reservations += new->kind == ALLOC_RESERVATION_GANG;
	if (node->reservations++ == 0)
		pl_list_add_tail(&sched->reserving, &node->reserving);
	return &node->reservation[i];
}

enum pl_code reservation_plan(struct sched *sched, struct sched_node *node,
                              struct sched_pod *pod, int64_t until_ms, struct pl_err *err)
{
	struct sched_reservation new = {.kind = ALLOC_RESERVATION_NOMINATED,
	                                .key = {pod->key[1], pod->key[2]},
	                                .pod = pod,
	                                .until_ms = until_ms,
	                                .number = SNAPSHOT_NONE,
	                                .state = RESERVATION_PLANNED};
	struct sched_reservation *reservation = reservation_of_pod(node, pod);
	enum pl_code code;

	if (reservation != NULL && !reservation_goes(reservation))
		return PL_OK;
	code = reservation != NULL ? PL_BUSY : reservation_room(node);
	if (code == PL_OK)
		code = amounts_of_spec(sched, pod->spec, &new.is);
	if (code != PL_OK)
		return pl_err_set(err, code, "nominate a pod");
	strings_ref(&sched->model.strings, new.key[0]);
	strings_ref(&sched->model.strings, new.key[1]);
	reservation = reservation_insert(sched, node, &new);
	if (reservation == NULL) {
		reservation_free(sched, &new);
		return pl_err_set(err, PL_EXISTS,
		                  "a pod of that name is nominated there");
	}
	pod->reserved_by++;
	pod->nominated = node;
	reservation_show(sched, node, reservation);
	if (node->slot == SNAPSHOT_NONE) {
		reservation_unplan(sched, node, pod);
		return pl_err_set(err, PL_NOMEM, "nominate a pod");
	}
	/* nominations elsewhere are not wanted any more */
	reservations_reconcile_pod(sched, pod);
	return PL_OK;
}

static struct sched_reservation *planned_reservation(const struct sched_node *node,
                                                     const struct sched_pod *pod)
{
	struct sched_reservation *reservation = reservation_of_pod(node, pod);

	return reservation != NULL && reservation_is_planned(reservation) ? reservation
	                                                                  : NULL;
}

void reservation_send_planned(struct sched *sched, struct sched_node *node,
                              const struct sched_pod *pod)
{
	struct sched_reservation *reservation = planned_reservation(node, pod);

	if (reservation == NULL)
		return;
	reservation_set_state(reservation, RESERVATION_ADDING);
	reservation->until_ms =
		/* the plan may have waited for its turn */
		sched->wall_ms + RESERVATION_MS;
	reservation_sum(sched, node, reservation, true);
}

void reservation_unsend_planned(struct sched *sched, struct sched_node *node,
                                const struct sched_pod *pod)
{
	struct sched_reservation *reservation = planned_reservation(node, pod);

	if (reservation == NULL || reservation->state == RESERVATION_PLANNED)
		return;
	reservation_sum(sched, node, reservation, false);
	reservation_set_state(reservation, RESERVATION_PLANNED);
}

void reservation_planned_applied(struct sched *sched, struct sched_node *node,
                                 const struct sched_pod *pod)
{
	struct sched_reservation *reservation = planned_reservation(node, pod);

	if (reservation == NULL)
		return;
	reservation_set_state(reservation, reservation->state == RESERVATION_OMITTED
	                                           ? RESERVATION_REMOVING
	                                           : RESERVATION_STANDS);
	reservation_reconcile(sched, node, reservation);
}

void reservation_unplan(struct sched *sched, struct sched_node *node,
                        const struct sched_pod *pod)
{
	struct sched_reservation *reservation = planned_reservation(node, pod);

	if (reservation != NULL)
		reservation_drop_at(sched, node,
		                    (uint32_t)(reservation - node->reservation));
}

/* -- into the alloc ---------------------------------------------------------- */

/* The pod waits at this node, but is not in the txn. */
static bool is_left_out(const struct sched_node *node,
                        const struct sched_reservation *reservation)
{
	const struct sched_pod *pod = reservation->pod;

	return pod != NULL && pod->stage == POD_ASSUMED && pod->node == node &&
	       alloc_entry_find(node, pod) == UINT32_MAX;
}

bool reservations_go(const struct sched *sched, const struct sched_node *node)
{
	if (node->slot == SNAPSHOT_NONE || node->scope == NODE_EXCLUDED)
		return false;
	for (uint32_t i = 0; i < node->reservations; i++)
		if ((reservation_goes(&node->reservation[i]) ||
		     reservation_renews(sched, &node->reservation[i])) &&
		    reservation_counts(&node->reservation[i]) &&
		    !is_left_out(node, &node->reservation[i]))
			return true;
	return false;
}

/* -- and those that go ------------------------------------------------------- */

/* Exchanges what is reserved and what is left of it. */
static void swap_amounts(struct sched *sched, struct sched_node *node,
                         struct sched_reservation *reservation)
{
	struct node_reservation was = reservation->is;
	bool back = reservation->state == RESERVATION_SHRINKING;

	reservation_sum(sched, node, reservation, false);
	reservation->is = reservation->rest;
	reservation->rest = was;
	reservation_set_state(reservation,
	                      back ? RESERVATION_STANDS : RESERVATION_SHRINKING);
	reservation_sum(sched, node, reservation, true);
}

static void reservation_leave_out(struct sched *sched, struct sched_node *node,
                                  struct sched_reservation *reservation)
{
	reservation_set_state(reservation, reservation->state == RESERVATION_ADDING
	                                           ? RESERVATION_OMITTED
	                                           : RESERVATION_REMOVING);
	reservation_sum(sched, node, reservation, false);
}

void reservations_send(struct sched *sched, struct sched_node *node)
{
	struct sched_reservation *last;

	if (node->reservations == 0)
		return;
	while (node->slot != SNAPSHOT_NONE &&
	       (last = reservations_crowded_out(sched, node)) != NULL) {
		reservation_leave_out(sched, node, last);
	}
	for (uint32_t i = 0; i < node->reservations; i++) {
		struct sched_reservation *reservation = &node->reservation[i];

		if (reservation->rest.amounts != NULL &&
		    reservation->state == RESERVATION_STANDS)
			swap_amounts(sched, node, reservation);
		if (reservation_renews(sched, reservation) &&
		    reservation_counts(reservation))
			reservation_renew(sched, reservation);
		if (!reservation_goes(reservation) || !reservation_counts(reservation) ||
		    is_left_out(node, reservation))
			continue;
		reservation_leave_out(sched, node, reservation);
	}
}

void reservations_unsend(struct sched *sched, struct sched_node *node)
{
	for (uint32_t i = 0; i < node->reservations; i++) {
		struct sched_reservation *reservation = &node->reservation[i];

		if (reservation->state == RESERVATION_SHRINKING)
			swap_amounts(sched, node, reservation);
		reservation->until_next = 0;
		if (reservation->kind == ALLOC_RESERVATION_GANG &&
		    reservation->state == RESERVATION_ADDING) {
			reservation_sum(sched, node, reservation, false);
			reservation_set_state(reservation, RESERVATION_PLANNED);
		}
		reservation_untake_gang(sched, node, reservation);
		if (!reservation_is_out(reservation))
			continue;
		reservation_set_state(reservation,
		                      reservation->state == RESERVATION_OMITTED
		                              ? RESERVATION_ADDING
		                              : RESERVATION_STANDS);
		reservation_sum(sched, node, reservation, true);
		reservation_reconcile(sched, node, reservation);
	}
}

/* The smaller reservation stands. */
static void apply_shrink(struct sched *sched, struct sched_node *node,
                         struct sched_reservation *reservation)
{
	model_unref(&sched->model, MODEL_RESOURCES, reservation->rest.amounts);
	reservation->rest = (struct node_reservation){0};
	reservation_set_state(reservation, RESERVATION_STANDS);
	reservation_hide(sched, reservation);
	reservation_show(sched, node, reservation);
}

void reservations_sent(struct sched *sched, struct sched_node *node)
{
	for (uint32_t i = node->reservations; i > 0; i--) {
		struct sched_reservation *reservation = &node->reservation[i - 1];

		if (reservation->kind == ALLOC_RESERVATION_GANG &&
		    reservation->state == RESERVATION_ADDING)
			reservation_set_state(reservation, RESERVATION_STANDS);
		if (reservation->state == RESERVATION_SHRINKING)
			apply_shrink(sched, node, reservation);
		if (reservation->until_next != 0)
			reservation_renewed(sched, reservation);
		if (reservation_is_out(reservation))
			reservation_drop_at(sched, node, i - 1);
	}
}

/* Inserts new into count scalars that are in order. */
static void scalar_insert(struct alloc_scalar *scalar, uint32_t count,
                          struct alloc_scalar new)
{
	for (; count > 0 && pl_span_cmp(scalar[count - 1].name, new.name) > 0; count--)
		scalar[count] = scalar[count - 1];
	scalar[count] = new;
}

static enum pl_code print_reservation(struct sched *sched,
                                      const struct sched_reservation *reservation,
                                      struct alloc_reservation *out)
{
	const struct resources *amounts = reservation->is.amounts;
	struct alloc_scalar *scalar =
		pl_arena_zalloc(&sched->arena, amounts->count + 1, sizeof *scalar);

	if (scalar == NULL)
		return PL_NOMEM;
	for (uint32_t i = 0; i < amounts->count; i++)
		scalar_insert(scalar, i,
		              (struct alloc_scalar){
				      .name = sched_text(sched, amounts->row[i].name),
				      .amount = amounts->row[i].amount});
	*out = (struct alloc_reservation){
		.kind = reservation->kind,
		.namespace = sched_text(sched, reservation->key[0]),
		.name = sched_text(sched, reservation->key[1]),
		.partition = reservation->pod == NULL ? 0 : reservation->pod->key[0],
		.used = {.cpu_milli = amounts->cpu_milli,
	                 .memory = amounts->memory,
	                 .storage = amounts->storage,
	                 .pods = amounts->pods,
	                 .nonzero_cpu_milli = reservation->is.nonzero_cpu_milli,
	                 .nonzero_memory = reservation->is.nonzero_memory,
	                 .scalar = scalar,
	                 .scalars = (uint32_t)amounts->count},
		.until_ms = reservation->until_next != 0 ? reservation->until_next
	                                                 : reservation->until_ms,
	};
	return PL_OK;
}

enum pl_code reservations_print(struct sched *sched, const struct sched_node *node,
                                struct alloc *out)
{
	struct alloc_reservation *reservation;

	if (node->reservations == 0)
		return PL_OK;
	reservation =
		pl_arena_zalloc(&sched->arena, node->reservations, sizeof *reservation);
	if (reservation == NULL)
		return PL_NOMEM;
	out->hold = reservation;
	for (uint32_t i = 0; i < node->reservations; i++) {
		if (!reservation_counts(&node->reservation[i]))
			continue;
		if (print_reservation(sched, &node->reservation[i],
		                      &reservation[out->holds++]) != PL_OK)
			return PL_NOMEM;
	}
	return PL_OK;
}
