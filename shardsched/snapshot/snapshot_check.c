/* Everything that is kept up as nodes and pods come and go, counted from scratch. */
#include "shardsched/snapshot/snapshot_inner.h"

/* -- nodes ------------------------------------------------------------------------ */

struct checked_sums {
	struct node_amounts used;
	int64_t nonzero_cpu_milli, nonzero_memory;
	uint32_t pods, volume_pods;
	uint64_t volumes;
};

static void add_reservation(const struct snapshot *snapshot, uint32_t slot, uint32_t i,
                            struct checked_sums *sums)
{
	const struct reservation *reservation = &snapshot->reservation[i];

	PL_ASSERT(reservation->node == slot && reservation->is.amounts != NULL);
	if (reservation->lifted)
		return;
	sums->used.cpu_milli += reservation->is.amounts->cpu_milli;
	sums->used.memory += reservation->is.amounts->memory;
	sums->used.storage += reservation->is.amounts->storage;
	sums->used.pods += reservation->is.amounts->pods;
	sums->nonzero_cpu_milli += reservation->is.nonzero_cpu_milli;
	sums->nonzero_memory += reservation->is.nonzero_memory;
}

static struct checked_sums sums_of(const struct snapshot *snapshot, uint32_t slot)
{
	bool counted = row_is_counted(&snapshot->row[slot]);
	struct checked_sums sums = {0};
	uint32_t previous = SNAPSHOT_NONE;

	for (uint32_t i = snapshot->row[slot].first_pod; i != SNAPSHOT_NONE;
	     i = snapshot->placed[i].next_on_node) {
		const struct placed_pod *pod = &snapshot->placed[i];
		const struct spec *spec = pod->view->spec;

		PL_ASSERT(pod->node == slot && pod->prev_on_node == previous);
		PL_ASSERT((pod->flags & (PLACED_IN_USE | PLACED_LIFTED)) ==
		          PLACED_IN_USE);
		sums.pods++;
		sums.volume_pods += spec->volumes > 0;
		sums.volumes += spec->volumes;
		previous = i;
		if (!counted)
			continue;
		sums.used.pods++;
		sums.used.cpu_milli += spec->requests->cpu_milli;
		sums.used.memory += spec->requests->memory;
		sums.used.storage += spec->requests->storage;
		sums.nonzero_cpu_milli += spec_nonzero_cpu_milli(spec);
		sums.nonzero_memory += spec_nonzero_memory(spec);
	}
	for (uint32_t i = snapshot->row[slot].first_reservation; i != SNAPSHOT_NONE;
	     i = snapshot->reservation[i].next)
		add_reservation(snapshot, slot, i, &sums);
	return sums;
}

static void check_amounts(const struct node_row *row)
{
	static const struct resources none;
	const struct resources *has = row_is_counted(row) ? row->node.allocatable : &none;

	PL_ASSERT(row->alloc.cpu_milli == has->cpu_milli);
	PL_ASSERT(row->alloc.memory == has->memory);
	PL_ASSERT(row->alloc.storage == has->storage);
	PL_ASSERT(row->alloc.pods == has->pods);
}

static void check_row(const struct snapshot *snapshot, uint32_t slot)
{
	const struct node_row *row = &snapshot->row[slot];
	struct checked_sums sums = sums_of(snapshot, slot);

	PL_ASSERT(memcmp(&sums.used, &row->used, sizeof sums.used) == 0);
	PL_ASSERT(sums.nonzero_cpu_milli == row->nonzero_cpu_milli);
	PL_ASSERT(sums.nonzero_memory == row->nonzero_memory);
	PL_ASSERT(sums.pods == row->pods && sums.volume_pods == row->volume_pods);
	PL_ASSERT(sums.volumes == row->volumes);
	if (row->node.name == 0) {
		PL_ASSERT(sums.pods == 0 && row->first_nomination == SNAPSHOT_NONE);
		PL_ASSERT(row->first_reservation == SNAPSHOT_NONE);
		PL_ASSERT(row->alloc.cpu_milli == 0 && row->alloc.memory == 0);
		PL_ASSERT(row->alloc.storage == 0 && row->alloc.pods == 0);
		return;
	}
	check_amounts(row);
	PL_ASSERT(snapshot_node_find(snapshot, row->cluster, row->node.name) == slot);
}

static int32_t narrow_cpu(int64_t amount)
{
	return amount < INT32_MAX ? (int32_t)amount : INT32_MAX;
}

static bool is_unit(double unit, int64_t amount)
{
	double off = unit * (double)amount - 1;

	return amount == 0 ? unit == 0 : -0x1p-51 < off && off < 0x1p-51;
}

/* Gives whether it is wide. */
static bool check_hot(const struct snapshot *snapshot, uint32_t slot)
{
	const struct node_row *row = &snapshot->row[slot];
	const struct hot_columns *hot = &snapshot->hot;

	PL_ASSERT(hot->cpu_alloc[slot] == narrow_cpu(row->alloc.cpu_milli));
	PL_ASSERT(hot->cpu_used[slot] == narrow_cpu(row->used.cpu_milli));
	PL_ASSERT(hot->cpu_nonzero[slot] == narrow_cpu(row->nonzero_cpu_milli));
	PL_ASSERT(hot->memory_alloc[slot] == row->alloc.memory);
	PL_ASSERT(hot->memory_used[slot] == row->used.memory);
	PL_ASSERT(hot->memory_nonzero[slot] == row->nonzero_memory);
	PL_ASSERT(is_unit(hot->cpu_unit[slot], hot->cpu_alloc[slot]));
	PL_ASSERT(is_unit(hot->memory_unit[slot], row->alloc.memory));
	PL_ASSERT(snapshot->storage_free[slot] == row->alloc.storage - row->used.storage);
	return row->alloc.cpu_milli >= INT32_MAX || row->used.cpu_milli >= INT32_MAX ||
	       row->nonzero_cpu_milli >= INT32_MAX;
}

static void check_sets(const struct snapshot *snapshot, uint32_t slot)
{
	const struct node_row *row = &snapshot->row[slot];
	const struct taints *taints = row->node.taints;
	uint32_t effects = taints == NULL ? 0 : taints->effects;

	PL_ASSERT(snapshot->taints[slot] == (taints == NULL ? 0 : taints->item.id));
	PL_ASSERT(pl_bitset_has(snapshot->live, slot) == (row->node.name != 0));
	PL_ASSERT(!pl_bitset_has(snapshot->local, slot) ||
	          pl_bitset_has(snapshot->open, slot));
	PL_ASSERT(!pl_bitset_has(snapshot->open, slot) || row->node.name != 0);
	PL_ASSERT(pl_bitset_has(snapshot->unschedulable, slot) ==
	          row->node.unschedulable);
	PL_ASSERT(pl_bitset_has(snapshot->hard_taints, slot) ==
	          ((effects & TAINT_HARD) != 0));
	PL_ASSERT(pl_bitset_has(snapshot->soft_taints, slot) ==
	          ((effects & TAINT_BIT(TAINT_PREFER_NO_SCHEDULE)) != 0));
	PL_ASSERT(pl_bitset_has(snapshot->vacant, slot) ==
	          (row->alloc.pods > row->used.pods));
	PL_ASSERT(pl_bitset_has(snapshot->large, slot) ==
	          (row->alloc.memory >= SNAPSHOT_LARGE));
	PL_ASSERT(pl_bitset_has(snapshot->with_ports, slot) ==
	          (slot < snapshot->slots && row->first_port != SNAPSHOT_NONE));
	PL_ASSERT(pl_bitset_has(snapshot->with_volumes, slot) == (row->volume_pods > 0));
	PL_ASSERT(pl_bitset_has(snapshot->nominated, slot) ==
	          (slot < snapshot->slots && row->first_nomination != SNAPSHOT_NONE));
}

static void check_nodes(const struct snapshot *snapshot)
{
	uint32_t nodes = 0, wide = 0, idle = 0;

	PL_ASSERT(snapshot->capacity % SNAPSHOT_PAD == 0);
	PL_ASSERT(snapshot->slots <= snapshot->capacity);
	for (uint32_t slot = 0; slot < snapshot->capacity; slot++) {
		if (slot < snapshot->slots)
			check_row(snapshot, slot);
		wide += check_hot(snapshot, slot);
		check_sets(snapshot, slot);
		nodes += snapshot->row[slot].node.name != 0;
		PL_ASSERT(slot < snapshot->slots || snapshot->row[slot].node.name == 0);
	}
	for (uint32_t slot = snapshot->inner->free_slot; slot != SNAPSHOT_NONE;
	     slot = snapshot->row[slot].by_name.next)
		idle++;
	PL_ASSERT(nodes == snapshot->nodes && wide == snapshot->hot.wide);
	PL_ASSERT(nodes + idle == snapshot->slots);
	PL_ASSERT(pl_bitset_count(snapshot->nominated) == snapshot->nominated_nodes);
}

/* -- pods ------------------------------------------------------------------------- */

static void check_pods(const struct snapshot *snapshot)
{
	const struct snapshot_inner *inner = snapshot->inner;
	uint32_t placed = 0, on_nodes = 0, lifted = 0, idle = 0;

	for (uint32_t i = 0; i < inner->placed.end; i++) {
		placed += (snapshot->placed[i].flags & PLACED_IN_USE) != 0;
		lifted += (snapshot->placed[i].flags & PLACED_LIFTED) != 0;
	}
	for (uint32_t slot = 0; slot < snapshot->slots; slot++)
		on_nodes += snapshot->row[slot].pods;
	for (uint32_t i = inner->placed.free; i != SNAPSHOT_NONE;
	     i = snapshot->placed[i].next_on_node)
		idle++;
	PL_ASSERT(placed == snapshot->placed_count && on_nodes + lifted == placed);
	PL_ASSERT(placed + idle == inner->placed.end && lifted == inner->lifted);
}

static void check_nominations(const struct snapshot *snapshot)
{
	const struct snapshot_inner *inner = snapshot->inner;
	uint32_t used = 0, idle = 0;

	for (uint32_t slot = 0; slot < snapshot->slots; slot++)
		for (uint32_t i = snapshot->row[slot].first_nomination;
		     i != SNAPSHOT_NONE; i = snapshot->nomination[i].next) {
			PL_ASSERT(snapshot->nomination[i].node == slot);
			PL_ASSERT(snapshot->nomination[i].view->users > 0);
			used++;
		}
	for (uint32_t i = inner->nominations.free; i != SNAPSHOT_NONE;
	     i = snapshot->nomination[i].next)
		idle++;
	PL_ASSERT(used + idle == inner->nominations.end);
}

static void check_reservations(const struct snapshot *snapshot)
{
	const struct snapshot_inner *inner = snapshot->inner;
	uint32_t used = 0, idle = 0;

	for (uint32_t slot = 0; slot < snapshot->slots; slot++)
		for (uint32_t i = snapshot->row[slot].first_reservation;
		     i != SNAPSHOT_NONE; i = snapshot->reservation[i].next)
			used++;
	for (uint32_t i = inner->reservations.free; i != SNAPSHOT_NONE;
	     i = snapshot->reservation[i].next)
		idle++;
	PL_ASSERT(used + idle == inner->reservations.end);
}

/* -- scalars -------------------------------------------------------------- */

static int64_t scalar_used(const struct snapshot *snapshot, uint32_t slot, uint32_t name)
{
	int64_t used = 0;

	if (!row_is_counted(&snapshot->row[slot]))
		return 0;
	for (uint32_t i = snapshot->row[slot].first_pod; i != SNAPSHOT_NONE;
	     i = snapshot->placed[i].next_on_node)
		used += resources_get(snapshot->placed[i].view->spec->requests, name);
	for (uint32_t i = snapshot->row[slot].first_reservation; i != SNAPSHOT_NONE;
	     i = snapshot->reservation[i].next)
		if (!snapshot->reservation[i].lifted)
			used += resources_get(snapshot->reservation[i].is.amounts, name);
	return used;
}

static bool names_scalar(const struct resources *resources, uint32_t name)
{
	for (uint64_t i = 0; resources != NULL && i < resources->count; i++)
		if (resources->row[i].name == name)
			return true;
	return false;
}

static void check_scalar(const struct snapshot *snapshot,
                         const struct scalar_column *column)
{
	uint32_t users = 0;

	for (uint32_t slot = 0; slot < snapshot->slots; slot++) {
		const struct resources *has = snapshot->row[slot].node.allocatable;
		bool counts = column->name != 0 && names_scalar(has, column->name);
		int64_t used =
			column->name == 0 ? 0 : scalar_used(snapshot, slot, column->name);

		users += counts;
		PL_ASSERT(column->used[slot] == used);
		PL_ASSERT(column->alloc[slot] ==
		          (counts ? resources_get(has, column->name) : 0));
	}
	for (uint32_t slot = snapshot->slots; slot < snapshot->capacity; slot++)
		PL_ASSERT(column->used[slot] == 0 && column->alloc[slot] == 0);
	for (uint32_t i = 0; column->name != 0 && i < snapshot->inner->placed.end; i++)
		users += snapshot->placed[i].view != NULL &&
		         row_is_counted(&snapshot->row[snapshot->placed[i].node]) &&
		         names_scalar(snapshot->placed[i].view->spec->requests,
		                      column->name);
	for (uint32_t i = 0; column->name != 0 && i < snapshot->inner->reservations.end;
	     i++)
		users += names_scalar(snapshot->reservation[i].is.amounts, column->name);
	PL_ASSERT(users == column->users);
}

static void check_scalars(const struct snapshot *snapshot)
{
	for (uint32_t i = 0; i < SNAPSHOT_SCALARS_MAX; i++) {
		const struct scalar_column *column = &snapshot->scalar[i];

		if (column->alloc != NULL && column->used != NULL)
			check_scalar(snapshot, column);
		else
			PL_ASSERT(column->name == 0);
	}
	for (uint32_t slot = 0; slot < snapshot->slots; slot++) {
		const struct resources *has = snapshot->row[slot].node.allocatable;

		for (uint64_t i = 0; has != NULL && i < has->count; i++)
			PL_ASSERT(snapshot_scalar(snapshot, has->row[i].name) !=
			          SNAPSHOT_NONE);
	}
}

/* -- ports, images -------------------------------------------------------- */

static uint32_t port_users(const struct snapshot *snapshot, uint32_t slot,
                           const struct spec_port *port)
{
	uint32_t users = 0;

	for (uint32_t i = snapshot->row[slot].first_pod; i != SNAPSHOT_NONE;
	     i = snapshot->placed[i].next_on_node) {
		const struct spec *spec = snapshot->placed[i].view->spec;

		for (uint32_t j = 0; j < spec->template->ports.count; j++)
			users += memcmp(&spec_ports(spec)[j], port, sizeof *port) == 0;
	}
	return users;
}

static void check_ports(const struct snapshot *snapshot)
{
	const struct snapshot_inner *inner = snapshot->inner;
	uint32_t used = 0, idle = 0;

	for (uint32_t slot = 0; slot < snapshot->slots; slot++) {
		uint32_t on_node = 0, wanted = 0;

		for (uint32_t i = snapshot->row[slot].first_port; i != SNAPSHOT_NONE;
		     i = snapshot->port_use[i].next, used++) {
			const struct port_use *use = &snapshot->port_use[i];

			PL_ASSERT(use->users == port_users(snapshot, slot, &use->port));
			PL_ASSERT(use->hidden == 0 || snapshot->inner->probing);
			on_node += use->users;
		}
		for (uint32_t i = snapshot->row[slot].first_pod; i != SNAPSHOT_NONE;
		     i = snapshot->placed[i].next_on_node)
			wanted += snapshot->placed[i].view->spec->template->ports.count;
		PL_ASSERT(on_node == wanted);
	}
	for (uint32_t i = inner->ports.free; i != SNAPSHOT_NONE;
	     i = snapshot->port_use[i].next)
		idle++;
	PL_ASSERT(used == inner->ports_used && used + idle == inner->ports.end);
}

static void check_images(const struct snapshot *snapshot)
{
	const struct number_map *counts = &snapshot->inner->images;
	uint64_t nodes = 0, counted = 0;

	for (uint32_t slot = 0; slot < snapshot->slots; slot++) {
		const struct images *images = snapshot->row[slot].node.images;

		for (uint64_t i = 0; images != NULL && i < images->count; i++, nodes++)
			PL_ASSERT(snapshot_image_nodes(snapshot, images->row[i].name) >
			          0);
	}
	for (uint32_t i = 0; i < counts->cap; i++)
		counted += number_map_has(counts, i) ? counts->entry[i].value : 0;
	PL_ASSERT(nodes == counted);
}

void snapshot_check(const struct snapshot *snapshot)
{
	check_nodes(snapshot);
	check_pods(snapshot);
	check_nominations(snapshot);
	check_reservations(snapshot);
	check_scalars(snapshot);
	check_ports(snapshot);
	check_images(snapshot);
	label_columns_check(snapshot);
	views_check(snapshot);
	catalog_check(&snapshot->catalog);
}
