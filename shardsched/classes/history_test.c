/*
 * Each decision is made twice, with the class cache and without, on random histories:
 * nodes that come, change and go, pods of many classes that come and go, nominations,
 * objects beside them, classes that are closed, and a bound of memory that evicts
 * results.
 */
#include <stdlib.h>

#include "shardsched/classes/class_cache.h"
#include "shardsched/plugins/plugins.h"
#include "store/base/alloc.h"
#include "tests/support/shardsched/classes/history_rig.h"

enum { PLACED_MAX = 4096, NOMINATIONS_MAX = 8, HOLDS_MAX = 12 };

struct history_opts {
	uint32_t nodes;
	uint32_t classes; /* number of classes from the list's start; 0: all */
	uint32_t steps;
	uint32_t calm; /* nodes and objects change so many times less often */
	bool nominations;
	bool remote; /* nodes become remote, excluded and local, and some classes consider
		      * local nodes only */
	size_t memory_max;
	const char *config; /* configuration of the profile */
	uint64_t seed;
};

struct nominated {
	uint32_t number;
	uint32_t slot;
	uint32_t pod;
};

struct held {
	uint32_t number;
	uint32_t slot;
	bool lifted;
};

static struct {
	const struct history_opts *opts;
	struct pl_rng rng;
	struct profiles profiles;
	struct class_cache *classes;
	struct cycle *cached, *plain;
	struct pod pod[HISTORY_PODS];
	struct fw_class *class[HISTORY_PODS];
	uint32_t pods;
	struct node *variant; /* HISTORY_VARIANTS of each */
	uint32_t *slot;       /* SNAPSHOT_NONE: it is not there */
	uint32_t placed[PLACED_MAX];
	uint32_t placed_count;
	struct nominated nominated[NOMINATIONS_MAX];
	uint32_t nominated_count;
	struct held held[HOLDS_MAX];
	uint32_t held_count;
	uint32_t last; /* pod that was decided about */
	uint32_t name; /* the pod that is decided, for which another pod is nominated */
	uint64_t found, none, failed;
} h;

static uint32_t below(uint64_t bound)
{
	return (uint32_t)pl_rng_below(&h.rng, bound);
}

/* -- begin and end ---------------------------------------------------------------------
 */

static void make_variants(void)
{
	uint32_t count = h.opts->nodes * HISTORY_VARIANTS;

	h.variant = pl_calloc(count, sizeof(*h.variant));
	h.slot = pl_calloc(h.opts->nodes, sizeof(*h.slot));
	T_TRUE(h.variant != NULL && h.slot != NULL);
	for (uint32_t i = 0; i < count; i++) {
		char text[2048];

		history_print_node(&h.rng, i / HISTORY_VARIANTS, text, sizeof(text));
		h.variant[i] = node_from(text);
	}
	for (uint32_t i = 0; i < h.opts->nodes; i++)
		h.slot[i] = SNAPSHOT_NONE;
}

static void open_class(uint32_t pod)
{
	T_OK(fw_class_open(&snapshot, &h.profiles.at[0], h.pod[pod].spec, &h.class[pod],
	                   &err),
	     &err);
	h.class[pod]->local = h.opts->remote && pl_rng_chance(&h.rng, 1, 2);
}

static void close_class(uint32_t pod)
{
	class_cache_forget(h.classes, h.class[pod]);
	fw_class_close(&snapshot, h.class[pod]);
	h.class[pod] = NULL;
}

static void history_begin(const struct history_opts *opts)
{
	struct cycle_opts cached = {.snapshot = &snapshot}, plain = cached;

	begin();
	memset(&h, 0, sizeof(h));
	h.opts = opts;
	pl_rng_init(&h.rng, opts->seed);
	T_OK(profiles_parse(&model, &plugins, pl_span_str(opts->config), &h.profiles,
	                    &err),
	     &err);
	T_OK(class_cache_new(&snapshot, opts->memory_max, &h.classes, &err), &err);
	cached.cache = class_cache_ops(h.classes);
	T_OK(cycle_new(&cached, &h.cached, &err), &err);
	T_OK(cycle_new(&plain, &h.plain, &err), &err);
	make_variants();
	T_OK(strings_add(&model.strings, PL_SPAN_LIT("another"), &h.name), NULL);
	h.pods = opts->classes == 0 ? HISTORY_PODS : opts->classes;
	for (uint32_t i = 0; i < h.pods; i++) {
		h.pod[i] = pod_from(history_pods[i]);
		open_class(i);
	}
}

static void history_end(void)
{
	for (uint32_t i = 0; i < h.pods; i++) {
		close_class(i);
		pod_drop(&model, &h.pod[i]);
	}
	strings_unref(&model.strings, h.name);
	cycle_free(h.cached);
	cycle_free(h.plain);
	class_cache_free(h.classes);
	profiles_drop(&h.profiles);
	for (uint32_t i = 0; i < h.opts->nodes * HISTORY_VARIANTS; i++)
		node_drop(&model, &h.variant[i]);
	free(h.variant);
	free(h.slot);
	end();
}

/* -- what happens --------------------------------------------------------- */

static struct pod_on_node pod_of(uint32_t pod)
{
	struct pod_on_node there = on_node(&h.pod[pod]);

	/* Numbers of strings, of which only equality counts. */
	there.uid = 0;
	return there;
}

static void place(uint32_t pod, uint32_t slot)
{
	struct pod_on_node there = pod_of(pod);

	if (h.placed_count == PLACED_MAX)
		return;
	T_OK(snapshot_pod_add(&snapshot, slot, &there, &h.placed[h.placed_count++], &err),
	     &err);
}

static void take_at(uint32_t index)
{
	snapshot_pod_remove(&snapshot, h.placed[index]);
	h.placed[index] = h.placed[--h.placed_count];
}

static void nominate_end(uint32_t index)
{
	snapshot_nominate_end(&snapshot, h.nominated[index].number);
	h.nominated[index] = h.nominated[--h.nominated_count];
}

static void reservation_end(uint32_t index)
{
	snapshot_unreserve(&snapshot, h.held[index].number);
	h.held[index] = h.held[--h.held_count];
}

static void remove_node(uint32_t node)
{
	uint32_t slot = h.slot[node];

	for (uint32_t i = h.placed_count; i-- > 0;) {
		if (snapshot.placed[h.placed[i]].node == slot)
			take_at(i);
	}
	for (uint32_t i = h.nominated_count; i-- > 0;) {
		if (h.nominated[i].slot == slot)
			nominate_end(i);
	}
	for (uint32_t i = h.held_count; i-- > 0;) {
		if (h.held[i].slot == slot)
			reservation_end(i);
	}
	snapshot_node_remove(&snapshot, slot);
	h.slot[node] = SNAPSHOT_NONE;
}

static void step_node(void)
{
	uint32_t node = below(h.opts->nodes);
	const struct node *as =
		&h.variant[node * HISTORY_VARIANTS + below(HISTORY_VARIANTS)];

	if (h.slot[node] == SNAPSHOT_NONE)
		T_OK(snapshot_node_add(&snapshot, 0, as, &h.slot[node], &err), &err);
	else if (pl_rng_chance(&h.rng, 1, 3))
		remove_node(node);
	else
		T_OK(snapshot_node_change(&snapshot, h.slot[node], as, &err), &err);
}

static void step_remote(void)
{
	uint32_t slot = h.slot[below(h.opts->nodes)];

	if (slot != SNAPSHOT_NONE)
		snapshot_node_set_scope(&snapshot, slot, (enum node_scope)below(3));
}

static void step_pod(void)
{
	uint32_t node = below(h.opts->nodes);

	if (h.placed_count > 0 && pl_rng_chance(&h.rng, 2, 3)) {
		uint32_t index = below(h.placed_count);

		if (pl_rng_chance(&h.rng, 1, 6))
			snapshot_pod_terminate(&snapshot, h.placed[index]);
		else
			take_at(index);
	} else if (h.slot[node] != SNAPSHOT_NONE) {
		place(below(h.pods), h.slot[node]);
	}
}

static void step_nomination(void)
{
	uint32_t node = below(h.opts->nodes), pod = below(h.pods);
	struct pod_on_node there = pod_of(pod);
	struct nominated *to = &h.nominated[h.nominated_count];

	if (h.nominated_count == NOMINATIONS_MAX || pl_rng_chance(&h.rng, 1, 2)) {
		if (h.nominated_count > 0)
			nominate_end(below(h.nominated_count));
		return;
	}
	if (h.slot[node] == SNAPSHOT_NONE)
		return;
	*to = (struct nominated){.slot = h.slot[node], .pod = pod};
	T_OK(snapshot_nominate(&snapshot, to->slot, &there, &to->number, &err), &err);
	h.nominated_count++;
}

static void lift_or_lower(struct held *held)
{
	if (held->lifted)
		snapshot_reservation_restore(&snapshot, held->number);
	else
		snapshot_reservation_lift(&snapshot, held->number);
	held->lifted = !held->lifted;
}

/* Reserves as much as some pod requests, or all that a node has. */
static void gang_step_reserve(void)
{
	uint32_t node = below(h.opts->nodes);
	const struct spec *spec = h.pod[below(h.pods)].spec;
	struct node_reservation is = {spec->requests, spec_nonzero_cpu_milli(spec),
	                              spec_nonzero_memory(spec)};
	struct held *to = &h.held[h.held_count];

	if (h.held_count == HOLDS_MAX || pl_rng_chance(&h.rng, 1, 2)) {
		if (h.held_count > 0 && pl_rng_chance(&h.rng, 1, 3))
			lift_or_lower(&h.held[below(h.held_count)]);
		else if (h.held_count > 0)
			reservation_end(below(h.held_count));
		return;
	}
	if (h.slot[node] == SNAPSHOT_NONE)
		return;
	if (pl_rng_chance(&h.rng, 1, 6))
		is.amounts = h.variant[(size_t)node * HISTORY_VARIANTS].allocatable;
	*to = (struct held){.slot = h.slot[node]};
	T_OK(snapshot_reserve(&snapshot, to->slot, &is, &to->number, &err), &err);
	h.held_count++;
}

static void step_class(void)
{
	uint32_t pod = below(h.pods);

	if (pl_rng_chance(&h.rng, 1, 2)) {
		class_cache_forget(h.classes, h.class[pod]);
		return;
	}
	close_class(pod);
	open_class(pod);
}

/* -- decisions ------------------------------------------------------------ */

static void check_same(const struct cycle_outcome *a, const struct cycle_outcome *b)
{
	T_EQ(a->result, b->result);
	T_EQ(a->node, b->node);
	T_EQ(a->total, b->total);
	T_EQ(a->feasible, b->feasible);
	T_EQ(a->best, b->best);
	T_EQ(a->refused_by, b->refused_by);
	for (unsigned i = 0; i < PLUGINS_MAX; i++)
		T_EQ(a->refused[i], b->refused[i]);
	T_EQ(a->narrowed, b->narrowed);
	T_EQ(a->nominated, b->nominated);
	T_EQ(a->pre.code, b->pre.code);
	T_EQ(a->pre.plugin, b->pre.plugin);
	T_EQ(a->pre.count, b->pre.count);
}

/* Asks everything that can be asked about the decision afterwards. */
static void check_all(const struct cycle_outcome *out)
{
	struct pl_bitset left = cycle_feasible(h.cached);
	static uint64_t a[1024], b[1024];

	T_TRUE(left.bits <= sizeof(a) * 8);
	T_TRUE(pl_bitset_eq(left, cycle_feasible(h.plain)));
	if (out->result == CYCLE_NODE) {
		const int64_t *cached = cycle_totals(h.cached);
		const int64_t *plain = cycle_totals(h.plain);

		PL_BITSET_EACH (slot, left)
			T_EQ(cached[slot], plain[slot]);
	}
	for (unsigned i = 0; i < PLUGINS_COUNT; i++) {
		if (out->refused[i] == 0)
			continue;
		cycle_refused(h.cached, i, (struct pl_bitset){a, left.bits});
		cycle_refused(h.plain, i, (struct pl_bitset){b, left.bits});
		T_TRUE(pl_bitset_eq((struct pl_bitset){a, left.bits},
		                    (struct pl_bitset){b, left.bits}));
	}
}

/* Restricts the nodes, as a gang in one domain does. */
static void keep_to_some(bool some)
{
	static uint64_t word[1024];
	struct pl_bitset only = {NULL, 0};

	if (some) {
		PL_ASSERT(snapshot.capacity <= sizeof(word) * 8);
		only = (struct pl_bitset){word, snapshot.capacity};
		for (uint32_t i = 0; i < snapshot.capacity / 64; i++)
			word[i] = snapshot.live.word[i] & pl_rng_next(&h.rng);
	}
	cycle_restrict_nodes(h.cached, only);
	cycle_restrict_nodes(h.plain, only);
}

/* Each node of the class, and no other, is feasible or refused exactly once. */
static void check_counted(uint32_t pod, const struct cycle_outcome *out)
{
	struct pl_bitset nodes = fw_class_nodes(h.class[pod], &snapshot);
	size_t count = pl_bitset_count(nodes), counted = out->feasible;

	if (out->result == CYCLE_ERROR || out->pre.code != VERDICT_SUCCESS ||
	    out->narrowed || out->nominated)
		return;
	for (unsigned i = 0; i < PLUGINS_MAX; i++)
		counted += out->refused[i];
	T_EQ(counted, count);
}

static void step_decide(void)
{
	/* Replicas come one after another. */
	uint32_t pod = pl_rng_chance(&h.rng, 1, 2) ? h.last : below(h.pods);
	uint64_t draw = pl_rng_next(&h.rng);
	struct pod_self self = {.name = h.name, .nominated = SNAPSHOT_NONE};
	struct cycle_outcome cached, plain;

	if (h.nominated_count > 0 && pl_rng_chance(&h.rng, 1, 10)) {
		const struct nominated *own = &h.nominated[below(h.nominated_count)];

		pod = own->pod;
		self.name = h.pod[pod].name;
		self.nominated = own->slot;
	}
	h.last = pod;
	keep_to_some(pl_rng_chance(&h.rng, 1, 10));
	cycle_run(h.cached, h.class[pod], &self, draw, &cached);
	cycle_run(h.plain, h.class[pod], &self, draw, &plain);
	check_same(&cached, &plain);
	if (plain.result != CYCLE_ERROR && plain.pre.code == VERDICT_SUCCESS &&
	    pl_rng_chance(&h.rng, 1, 8))
		check_all(&plain);
	if (plain.result == CYCLE_NODE)
		T_TRUE(pl_bitset_has(fw_class_nodes(h.class[pod], &snapshot),
		                     plain.node));
	check_counted(pod, &plain);
	h.found += plain.result == CYCLE_NODE;
	h.none += plain.result == CYCLE_NONE;
	h.failed += plain.result == CYCLE_ERROR;
	if (plain.result == CYCLE_NODE && pl_rng_chance(&h.rng, 2, 3))
		place(pod, plain.node);
}

/* True now and then; rarely when the history is calm. */
static bool happens(uint32_t percent)
{
	return pl_rng_chance(&h.rng, percent, (uint64_t)100 * h.opts->calm);
}

static void step(void)
{
	if (happens(15))
		step_node();
	else if (h.opts->remote && pl_rng_chance(&h.rng, 1, 20))
		step_remote();
	else if (happens(2))
		history_object(&h.rng);
	else if (happens(1))
		step_class();
	else if (h.opts->nominations && pl_rng_chance(&h.rng, 1, 50))
		step_nomination();
	else if (happens(10))
		gang_step_reserve();
	else if (pl_rng_chance(&h.rng, 2, 5))
		step_pod();
	else
		step_decide();
}

static void history(const struct history_opts *opts)
{
	struct class_cache_figures figures;

	history_begin(opts);
	for (uint32_t i = 0; i < opts->nodes * 2; i++)
		step_node();
	for (uint32_t i = 0; i < opts->steps; i++) {
		step();
		if (i % 2000 == 0)
			snapshot_check(&snapshot);
	}
	class_cache_figures(h.classes, &figures);
	printf("%u nodes: %" PRIu64 " placed, %" PRIu64 " not, %" PRIu64
	       " failed; kept %u, hits %" PRIu64 ", made %" PRIu64 ", mended %" PRIu64
	       ", forgotten %" PRIu64 "\n",
	       opts->nodes, h.found, h.none, h.failed, figures.results, figures.hits,
	       figures.made, figures.updated, figures.forgotten);
	T_REACHED(h.found > opts->steps / 20);
	T_REACHED(figures.hits > 0);
	history_end();
}

static const char weighed[] =
	"{\"profiles\": [{\"plugins\": {\"multiPoint\": {\"enabled\": [{\"name\": "
	"\"TaintToleration\", \"weight\": 50}, {\"name\": \"ImageLocality\", \"weight\": "
	"7}]}, \"score\": {\"disabled\": [{\"name\": \"InterPodAffinity\"}]}}}]}";

T_CASE_SECONDS(few_nodes, 120)
{
	struct history_opts opts = {.nodes = 8,
	                            .steps = 15000,
	                            .calm = 1,
	                            .nominations = true,
	                            .memory_max = 1 << 30,
	                            .config = "",
	                            .seed = t_seed()};

	history(&opts);
	opts.calm = 50;
	history(&opts);
	opts.nominations = false;
	history(&opts);
}

T_CASE_SECONDS(some_nodes, 120)
{
	struct history_opts opts = {.nodes = 350,
	                            .steps = 12000,
	                            .calm = 30,
	                            .nominations = true,
	                            .memory_max = 1 << 30,
	                            .config = "",
	                            .seed = t_seed()};

	history(&opts);
	opts.nominations = false;
	history(&opts);
}

T_CASE_SECONDS(local_and_remote_nodes, 120)
{
	struct history_opts opts = {.nodes = 8,
	                            .steps = 15000,
	                            .calm = 5,
	                            .nominations = true,
	                            .remote = true,
	                            .memory_max = 1 << 30,
	                            .config = "",
	                            .seed = t_seed()};

	history(&opts);
	opts.nodes = 700;
	opts.calm = 30;
	opts.steps = 12000;
	history(&opts);
	opts.nominations = false;
	opts.classes = HISTORY_LOCAL;
	history(&opts);
}

/* Room for some five classes. */
T_CASE_SECONDS(little_memory, 120)
{
	history(&(struct history_opts){.nodes = 30,
	                               .steps = 10000,
	                               .calm = 20,
	                               .memory_max = 22000,
	                               .config = "",
	                               .seed = t_seed()});
}

T_CASE_SECONDS(other_weights, 120)
{
	history(&(struct history_opts){.nodes = 40,
	                               .steps = 10000,
	                               .calm = 5,
	                               .nominations = true,
	                               .memory_max = 1 << 30,
	                               .config = weighed,
	                               .seed = t_seed()});
}

/* Only local plugins run: the cached results are the whole answer. */
T_CASE_SECONDS(nothing_global, 120)
{
	struct history_opts opts = {.nodes = 60,
	                            .classes = HISTORY_LOCAL,
	                            .steps = 10000,
	                            .calm = 30,
	                            .memory_max = 1 << 30,
	                            .config = weighed,
	                            .seed = t_seed()};

	history(&opts);
	opts.nodes = 700;
	history(&opts);
}

T_CASE_SECONDS(many_nodes, 120)
{
	history(&(struct history_opts){.nodes = 9000,
	                               .classes = HISTORY_LOCAL,
	                               .steps = 6000,
	                               .calm = 100,
	                               .memory_max = 1 << 30,
	                               .config = "",
	                               .seed = t_seed()});
}
