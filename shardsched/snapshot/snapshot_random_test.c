/*
 * Random histories against a naive model: what is on each node is a list, every sum is
 * added up when it is asked for.
 */
#include "tests/support/shardsched/snapshot/snapshot_world.h"

enum { STEPS = 160000, TOUCHED = 18 /* by a probe */ };

/* -- naive answers ---------------------------------------------------------------- */

struct sums {
	int64_t cpu, memory, storage, nonzero_cpu, nonzero_memory, gpus, sticks;
	int64_t held_for; /* pods */
	uint32_t pods, volumes;
	unsigned ports[4];
};

static struct sums sums_now[NODES];

static void add_up(void)
{
	memset(sums_now, 0, sizeof sums_now);
	for (unsigned i = 0; i < PODS; i++) {
		const struct one_pod *pod = &w.pod[i];
		const struct kind *kind = pod->kind;
		struct sums *sums = &sums_now[pod->node];

		if (!pod->there || pod->lifted)
			continue;
		sums->cpu += kind->cpu;
		sums->memory += kind->memory;
		sums->storage += kind->storage;
		sums->nonzero_cpu += kind->cpu == 0 ? 100 : kind->cpu;
		sums->nonzero_memory += kind->memory == 0 ? 200 << 20 : kind->memory;
		sums->gpus += kind->gpus;
		sums->sticks += kind->sticks;
		sums->pods++;
		sums->volumes += kind->volume;
		if (kind->port != 0)
			sums->ports[kind->port - 8000]++;
	}
}

static void add_reservations(void)
{
	for (unsigned i = 0; i < HOLDS; i++) {
		const struct one_reservation *reservation = &w.reservation[i];
		struct sums *sums = &sums_now[reservation->node];

		if (!reservation->there || reservation->lifted)
			continue;
		sums->cpu += reservation->look->cpu;
		sums->memory += reservation->look->memory;
		sums->storage += reservation->look->storage;
		sums->nonzero_cpu += reservation->nonzero_cpu;
		sums->nonzero_memory += reservation->nonzero_memory;
		sums->gpus += reservation->look->gpus < 0 ? 0 : reservation->look->gpus;
		sums->held_for += reservation->look->pods;
	}
}

static int32_t narrow(int64_t amount)
{
	return amount > INT32_MAX ? INT32_MAX : (int32_t)amount;
}

static int64_t scalar(uint32_t slot, uint32_t name, bool used)
{
	uint32_t at = snapshot_scalar(&snapshot, name);

	if (at == SNAPSHOT_NONE)
		return 0;
	return used ? snapshot.scalar[at].used[slot] : snapshot.scalar[at].alloc[slot];
}

static void check_amounts(const struct one_node *node, const struct sums *sums)
{
	const struct hot_columns *hot = &snapshot.hot;
	uint32_t slot = node->slot;

	T_EQ(hot->cpu_alloc[slot], narrow(node->look->cpu));
	T_EQ(hot->cpu_used[slot], narrow(sums->cpu));
	T_EQ(hot->cpu_nonzero[slot], narrow(sums->nonzero_cpu));
	T_EQ(pl_bitset_has(snapshot.vacant, slot),
	     node->look->pods > sums->pods + sums->held_for);
	T_EQ(hot->memory_alloc[slot], node->look->memory);
	T_EQ(hot->memory_used[slot], sums->memory);
	T_EQ(hot->memory_nonzero[slot], sums->nonzero_memory);
	T_EQ(snapshot.storage_free[slot], node->look->storage - sums->storage);
	T_EQ(snapshot.row[slot].used.cpu_milli, sums->cpu);
	T_EQ(scalar(slot, w.gpu, false), node->look->gpus < 0 ? 0 : node->look->gpus);
	T_EQ(scalar(slot, w.gpu, true), sums->gpus);
	T_EQ(scalar(slot, w.stick, false), 0);
	T_EQ(scalar(slot, w.stick, true), sums->sticks);
}

static void check_ports(uint32_t slot, const unsigned *ports)
{
	unsigned found[4] = {0};

	for (uint32_t i = snapshot.row[slot].first_port; i != SNAPSHOT_NONE;
	     i = snapshot.port_use[i].next)
		found[snapshot.port_use[i].port.port - 8000] +=
			snapshot.port_use[i].users;
	for (unsigned i = 0; i < 4; i++)
		T_EQ(found[i], ports[i]);
}

static void check_sets(const struct one_node *node, const struct sums *sums)
{
	uint32_t slot = node->slot;

	T_TRUE(pl_bitset_has(snapshot.live, slot));
	T_EQ(pl_bitset_has(snapshot.unschedulable, slot), node->look->unschedulable);
	T_EQ(pl_bitset_has(snapshot.hard_taints, slot), node->look->hard);
	T_EQ(pl_bitset_has(snapshot.soft_taints, slot), node->look->soft);
	T_EQ(pl_bitset_has(snapshot.with_volumes, slot), sums->volumes > 0);
	T_EQ(pl_bitset_has(snapshot.with_ports, slot),
	     snapshot.row[slot].first_port != SNAPSHOT_NONE);
	T_EQ(pl_bitset_has(snapshot.nominated, slot), node->waiting > 0);
}

static void check_labels(const struct one_node *node)
{
	for (unsigned i = 0; i < KEYS; i++) {
		uint32_t number, want = 0;
		char room[32];

		if (w.column[i] == NULL)
			continue;
		snprintf(room, sizeof room, "v%u", node->look->label[i]);
		if (node->look->label[i] != 0)
			want = id(room);
		number = w.column[i]->value[node->slot];
		T_EQ(w.column[i]->domain[number].text, want);
		T_EQ(label_column_find(w.column[i], want), number);
	}
}

static void check_images(void)
{
	for (unsigned i = 0; i < IMAGES; i++) {
		unsigned nodes = 0;

		for (unsigned j = 0; j < NODES; j++)
			nodes +=
				w.node[j].there && (w.node[j].look->images >> i & 1) != 0;
		T_EQ(snapshot_image_nodes(&snapshot, w.image[i]), nodes);
	}
}

static void check_naive(void)
{
	unsigned nodes = 0, wide = 0;

	add_up();
	add_reservations();
	for (unsigned i = 0; i < NODES; i++) {
		const struct one_node *node = &w.node[i];
		const struct sums *sums = &sums_now[i];
		uint32_t found = snapshot_node_find(&snapshot, node->cluster, node->name);

		T_EQ(found, node->there ? node->slot : SNAPSHOT_NONE);
		if (!node->there)
			continue;
		nodes++;
		check_amounts(node, sums);
		check_ports(node->slot, sums->ports);
		check_sets(node, sums);
		check_labels(node);
		wide += node->look->cpu >= INT32_MAX || sums->cpu >= INT32_MAX ||
		        sums->nonzero_cpu >= INT32_MAX;
	}
	T_EQ(snapshot.nodes, nodes);
	T_EQ(pl_bitset_count(snapshot.live), nodes);
	T_EQ(snapshot.hot.wide, wide);
	check_images();
}

/* -- what changed ----------------------------------------------------------------- */

static uint64_t mix(uint64_t print, const void *bytes, size_t len)
{
	return pl_hash_keyed(pl_span(bytes, len), (struct pl_hash_key){print, 1});
}

/* Covers everything about the slot that a reader may have seen. */
static uint64_t print_of(uint32_t slot)
{
	const struct node_row *row = &snapshot.row[slot];
	uint64_t print = mix(1, &row->used, sizeof row->used);
	uint32_t terminating = 0, waiting = 0;

	print = mix(print, &row->nonzero_cpu_milli, 2 * sizeof(int64_t));
	print = mix(print, &row->node.labels, 4 * sizeof(void *));
	print = mix(print, &row->node.name, sizeof row->node.name);
	print = mix(print, &row->node.unschedulable, sizeof row->node.unschedulable);
	for (uint32_t i = row->first_pod; i != SNAPSHOT_NONE;
	     i = snapshot.placed[i].next_on_node)
		terminating += (snapshot.placed[i].flags & PLACED_TERMINATING) != 0;
	for (uint32_t i = row->first_nomination; i != SNAPSHOT_NONE;
	     i = snapshot.nomination[i].next)
		waiting++;
	print = mix(print, &terminating, sizeof terminating);
	return mix(print, &waiting, sizeof waiting);
}

static void on_changed(void *ctx, uint32_t slot)
{
	(void)ctx;
	w.told[slot] = true;
}

static void check_changes(void)
{
	memset(w.told, 0, sizeof w.told);
	T_TRUE(snapshot.slots <= SLOTS);
	T_TRUE(snapshot_changed_since(&snapshot, w.seen, on_changed, NULL));
	for (uint32_t slot = 0; slot < snapshot.slots; slot++) {
		uint64_t print = print_of(slot);

		T_TRUE(w.told[slot] || print == w.print[slot]);
		w.print[slot] = print;
	}
	w.seen = snapshot.changes;
}

static void check_all(void)
{
	check_naive();
	check_changes();
	snapshot_check(&snapshot);
}

/* -- steps ------------------------------------------------------------------------ */

static void come(struct one_node *node)
{
	struct node object;

	node->look = &w.look[any(LOOKS)];
	object = node->look->node;
	object.name = node->name;
	T_OK(snapshot_node_add(&snapshot, node->cluster, &object, &node->slot, &err),
	     &err);
	node->there = true;
}

static void step_node(void)
{
	struct one_node *node = &w.node[any(w.nodes_most)];
	struct node object;

	if (!node->there) {
		come(node);
	} else if (chance(60)) {
		node->look = &w.look[any(LOOKS)];
		object = node->look->node;
		object.name = node->name;
		T_OK(snapshot_node_change(&snapshot, node->slot, &object, &err), &err);
	} else if (node->pods == 0 && node->waiting == 0 && node->reservations == 0) {
		snapshot_node_remove(&snapshot, node->slot);
		node->there = false;
	}
}

static void put(struct one_pod *pod, unsigned at, bool terminating)
{
	struct pod_on_node there;

	pod->kind = &w.kind[any(KINDS)];
	there = on_node(&pod->kind->pod);
	there.flags = terminating ? PLACED_TERMINATING : 0;
	T_OK(snapshot_pod_add(&snapshot, w.node[at].slot, &there, &pod->placed, &err),
	     &err);
	pod->there = true;
	pod->terminating = terminating;
	pod->node = at;
	w.node[at].pods++;
}

static void take_away(struct one_pod *pod)
{
	snapshot_pod_remove(&snapshot, pod->placed);
	pod->there = false;
	w.node[pod->node].pods--;
}

static void step_pod(void)
{
	struct one_pod *pod = &w.pod[any(w.pods_most)];
	unsigned at = any(w.nodes_most);

	if (!pod->there && w.node[at].there) {
		put(pod, at, chance(10));
	} else if (pod->there && chance(30)) {
		snapshot_pod_terminate(&snapshot, pod->placed);
		pod->terminating = true;
	} else if (pod->there) {
		take_away(pod);
	}
}

static void step_nomination(void)
{
	struct one_waiting *waiting = &w.waiting[any(WAITING)];
	struct pod_on_node there = on_node(&w.kind[any(KINDS)].pod);

	if (waiting->there) {
		snapshot_nominate_end(&snapshot, waiting->number);
		w.node[waiting->node].waiting--;
		waiting->there = false;
		return;
	}
	waiting->node = any(w.nodes_most);
	if (!w.node[waiting->node].there)
		return;
	T_OK(snapshot_nominate(&snapshot, w.node[waiting->node].slot, &there,
	                       &waiting->number, &err),
	     &err);
	w.node[waiting->node].waiting++;
	waiting->there = true;
}

static void step_reservation(void)
{
	struct one_reservation *reservation = &w.reservation[any(HOLDS)];
	struct one_node *node = &w.node[reservation->node];
	struct node_reservation is;

	if (reservation->there && chance(40)) {
		if (reservation->lifted)
			snapshot_reservation_restore(&snapshot, reservation->number);
		else
			snapshot_reservation_lift(&snapshot, reservation->number);
		reservation->lifted = !reservation->lifted;
	} else if (reservation->there) {
		snapshot_unreserve(&snapshot, reservation->number);
		node->reservations--;
		reservation->there = false;
	} else if (!reservation->there) {
		*reservation = (struct one_reservation){.node = any(w.nodes_most),
		                                        .look = &w.look[any(LOOKS)],
		                                        .nonzero_cpu = any(1 << 30),
		                                        .nonzero_memory = any(1 << 30)};
		node = &w.node[reservation->node];
		if (!node->there)
			return;
		is = (struct node_reservation){reservation->look->node.allocatable,
		                               reservation->nonzero_cpu,
		                               reservation->nonzero_memory};
		T_OK(snapshot_reserve(&snapshot, node->slot, &is, &reservation->number,
		                      &err),
		     &err);
		node->reservations++;
		reservation->there = true;
	}
}

static void step_column(void)
{
	unsigned i = any(KEYS);

	if (w.column[i] != NULL) {
		label_column_close(&snapshot, w.column[i]);
		w.column[i] = NULL;
		return;
	}
	T_OK(label_column_open(&snapshot, w.key[i], &w.column[i], &err), &err);
}

/* NULL: it is lifted already, or does not exist. */
static struct one_reservation *lift_reservation(void)
{
	struct one_reservation *reservation = &w.reservation[any(HOLDS)];

	if (!reservation->there || reservation->lifted)
		return NULL;
	snapshot_reservation_lift(&snapshot, reservation->number);
	reservation->lifted = true;
	return reservation;
}

static void restore_reservation(struct one_reservation *reservation)
{
	if (reservation == NULL)
		return;
	snapshot_reservation_restore(&snapshot, reservation->number);
	reservation->lifted = false;
}

/* Lifts some pods and adds others in their place; then undoes everything, in any
 * order. */
static void step_probe(void)
{
	struct one_pod *touched[TOUCHED];
	struct one_reservation *reservation;
	uint64_t changes = snapshot.changes;
	unsigned count = 0;

	snapshot_probe(&snapshot);
	for (unsigned i = 0; i < 200 && count < TOUCHED; i++) {
		struct one_pod *pod = &w.pod[any(w.pods_most)];
		unsigned at = any(w.nodes_most);

		if (pod->lifted || pod->of_probe || (!pod->there && !w.node[at].there))
			continue;
		if (pod->there) {
			snapshot_pod_lift(&snapshot, pod->placed);
			pod->lifted = true;
		} else {
			put(pod, at, false);
			pod->of_probe = true;
		}
		touched[count++] = pod;
	}
	reservation = lift_reservation();
	if (chance(3)) {
		check_naive();
		snapshot_check(&snapshot);
	}
	restore_reservation(reservation);
	while (count > 0) {
		unsigned i = any(count);
		struct one_pod *pod = touched[i];

		touched[i] = touched[--count];
		if (pod->lifted)
			snapshot_pod_restore(&snapshot, pod->placed);
		else
			take_away(pod);
		pod->lifted = pod->of_probe = false;
	}
	snapshot_probe_end(&snapshot);
	T_EQ(snapshot.changes, changes);
}

static void step(void)
{
	unsigned what = any(100);

	if (what < 20)
		step_node();
	else if (what < 85)
		step_pod();
	else if (what < 90)
		step_nomination();
	else if (what < 92)
		step_reservation();
	else if (what < 93)
		step_column();
	else
		step_probe();
}

/* The owner of w.seen is not informed of probes, so it has to find that nothing
 * changed. */
static void run(unsigned steps, unsigned nodes, unsigned pods)
{
	w.nodes_most = nodes;
	w.pods_most = pods;
	for (unsigned i = 0; i < steps; i++) {
		step();
		if (i % 400 == 0)
			check_all();
	}
	check_all();
}

T_CASE_SECONDS(random_histories_are_counted_right, 60)
{
	begin();
	set_up();
	run(STEPS / 2, 60, 300);
	for (unsigned i = 0; i < NODES; i++)
		if (!w.node[i].there)
			come(&w.node[i]);
	T_TRUE(snapshot.capacity >= NODES);
	run(STEPS / 2, NODES, PODS);
	tear_down();
	end();
}
