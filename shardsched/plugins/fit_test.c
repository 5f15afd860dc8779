/* NodeResourcesFit and NodeResourcesBalancedAllocation agree with simple sums. */
#include <math.h>

#include "store/base/buf.h"
#include "store/base/rng.h"
#include "tests/support/shardsched/plugins/fit_rig.h"

enum { NAMES = 6, WORDS = 4 };

static const char *const names[NAMES] = {
	"cpu",           "memory",          "ephemeral-storage",
	"hugepages-2Mi", "example.com/gpu", "example.com/disk",
};

static struct pl_rng rng;
/* -- by hand ----------------------------------------------------------------------------- */

struct share {
	const char *name;
	int64_t weight;
};

static int64_t of_row(const struct node_amounts *amounts, const char *name)
{
	if (strcmp(name, "cpu") == 0)
		return amounts->cpu_milli;
	return strcmp(name, "memory") == 0 ? amounts->memory : amounts->storage;
}

static bool is_scalar(const char *name)
{
	return strcmp(name, "cpu") != 0 && strcmp(name, "memory") != 0 &&
	       strcmp(name, "ephemeral-storage") != 0;
}

static int64_t scalar_used(uint32_t slot, uint32_t name)
{
	int64_t sum = 0;

	for (uint32_t at = snapshot.row[slot].first_pod; at != SNAPSHOT_NONE;
	     at = snapshot.placed[at].next_on_node)
		sum += resources_get(snapshot.placed[at].view->spec->requests, name);
	return sum;
}

struct hand {
	int64_t alloc, used, need;
};

static struct hand hand_of(const struct pod *pod, uint32_t slot, const char *name)
{
	const struct node_row *row = &snapshot.row[slot];
	const struct resources *need = pod->spec->requests;
	uint32_t number = id(name);

	if (is_scalar(name))
		return (struct hand){resources_get(row->node.allocatable, number),
		                     scalar_used(slot, number),
		                     resources_get(need, number)};
	return (struct hand){of_row(&row->alloc, name), of_row(&row->used, name),
	                     of_row(&(struct node_amounts){.cpu_milli = need->cpu_milli,
	                                                   .memory = need->memory,
	                                                   .storage = need->storage},
	                            name)};
}

static bool fits_by_hand(const struct pod *pod, uint32_t slot, const char *ignored)
{
	const struct node_row *row = &snapshot.row[slot];

	if (row->used.pods + 1 > row->alloc.pods)
		return false;
	for (int i = 0; i < NAMES; i++) {
		struct hand hand = hand_of(pod, slot, names[i]);

		if (ignored != NULL && strcmp(names[i], ignored) == 0)
			continue;
		if (hand.need > 0 && hand.need > hand.alloc - hand.used)
			return false;
	}
	return true;
}

/* Counts as LeastAllocated does. */
static struct hand hand_nonzero(const struct pod *pod, uint32_t slot, const char *name)
{
	struct hand hand = hand_of(pod, slot, name);

	if (strcmp(name, "cpu") == 0) {
		hand.used = snapshot.row[slot].nonzero_cpu_milli;
		hand.need = spec_nonzero_cpu_milli(pod->spec);
	} else if (strcmp(name, "memory") == 0) {
		hand.used = snapshot.row[slot].nonzero_memory;
		hand.need = spec_nonzero_memory(pod->spec);
	}
	return hand;
}

static int64_t ratio_by_hand(int64_t percent)
{
	static const int64_t at[] = {0, 10, 45, 90}, score[] = {0, 70, 30, 100};

	for (int i = 1; i < 4; i++) {
		if (percent <= at[i])
			return score[i - 1] + (score[i] - score[i - 1]) *
			                              (percent - at[i - 1]) /
			                              (at[i] - at[i - 1]);
	}
	return 100;
}

static const char ratio_shape[] =
	"'requestedToCapacityRatio': {'shape': [{'utilization': 0, 'score': 0}, "
	"{'utilization': 10, 'score': 7}, {'utilization': 45, 'score': 3}, "
	"{'utilization': 90, 'score': 10}]}";

static int64_t share_by_hand(enum fit_strategy strategy, pl_int128 requested,
                             pl_int128 alloc)
{
	switch (strategy) {
	case FIT_LEAST_ALLOCATED:
		return requested > alloc ? 0
		                         : (int64_t)((alloc - requested) * 100 / alloc);
	case FIT_MOST_ALLOCATED:
		return requested > alloc ? 100 : (int64_t)(requested * 100 / alloc);
	case FIT_RATIO:
		return ratio_by_hand(
			requested > alloc ? 100 : (int64_t)(requested * 100 / alloc));
	}
	PL_UNREACHABLE("a strategy");
}

static int64_t score_by_hand(const struct pod *pod, uint32_t slot,
                             enum fit_strategy strategy, const struct share *share)
{
	int64_t sum = 0, weights = 0;

	for (; share->name != NULL; share++) {
		struct hand hand = hand_nonzero(pod, slot, share->name);
		int64_t one;

		if (hand.alloc == 0 || (is_scalar(share->name) && hand.need == 0))
			continue;
		one = share_by_hand(strategy, (pl_int128)hand.used + hand.need,
		                    hand.alloc);
		if (strategy == FIT_RATIO && one == 0)
			continue;
		sum += one * share->weight;
		weights += share->weight;
	}
	if (weights == 0)
		return 0;
	return strategy == FIT_RATIO ? llround((double)sum / (double)weights)
	                             : sum / weights;
}

static int64_t balance_by_hand(const struct pod *pod, uint32_t slot,
                               const struct share *share)
{
	volatile double fraction[NAMES], mean = 0, sum = 0, deviation = 0;
	int count = 0;

	for (; share->name != NULL; share++) {
		struct hand hand = hand_of(pod, slot, share->name);

		if (hand.alloc == 0 || (is_scalar(share->name) && hand.need == 0))
			continue;
		fraction[count] = (double)(hand.used + hand.need) / (double)hand.alloc;
		if (fraction[count] > 1)
			fraction[count] = 1;
		mean += fraction[count++];
	}
	mean /= count;
	for (int i = 0; i < count; i++) {
		volatile double square = (fraction[i] - mean) * (fraction[i] - mean);

		sum += square;
	}
	if (count == 2)
		deviation = fabs((fraction[0] - fraction[1]) / 2);
	else if (count > 2)
		deviation = sqrt(sum / count);
	return (int64_t)((1 - deviation) * 100);
}

/* -- clusters by chance ------------------------------------------------------------------ */

/* Amounts are sometimes as large as they can get. */
static uint64_t amount(uint64_t most, bool large)
{
	if (large && pl_rng_chance(&rng, 1, 40))
		return pl_rng_below(&rng, UINT64_C(1) << pl_rng_between(&rng, 30, 60));
	return pl_rng_below(&rng, most + 1);
}

static void print_amounts(char *out, size_t size, uint64_t scale, bool large)
{
	size_t len = 0;

	out[0] = '\0';
	for (int i = 0; i < NAMES; i++) {
		uint64_t value = amount(scale, large);

		if (pl_rng_chance(&rng, 1, 5))
			continue;
		len += (size_t)snprintf(out + len, size - len, "%s'%s': '%" PRIu64 "%s'",
		                        len == 0 ? "" : ", ", names[i], value,
		                        i == 0 ? "m" : "");
	}
}

static void make_nodes(uint32_t count, bool large)
{
	for (uint32_t i = 0; i < count; i++) {
		char amounts[512], text[1024];

		print_amounts(amounts, sizeof(amounts), 400, large);
		(void)snprintf(text, sizeof(text),
		               "{'metadata': {'name': 'n%u'}, 'status': {'allocatable': "
		               "{'pods': '%" PRIu64 "'%s%s}}}",
		               i, pl_rng_below(&rng, 6), amounts[0] == '\0' ? "" : ", ",
		               amounts);
		put_node(text);
	}
}

static struct pod make_pod(uint32_t number, bool large)
{
	char one[512], two[512], text[1400];

	print_amounts(one, sizeof(one), 60, large);
	print_amounts(two, sizeof(two), 60, large);
	(void)snprintf(text, sizeof(text),
	               "{'metadata': {'name': 'p%u', 'namespace': 'a'}, 'spec': "
	               "{'containers': [{'name': 'c', 'resources': {'requests': {%s}}}, "
	               "{'name': 'd', 'resources': {'requests': {%s}}}]}}",
	               number, one, pl_rng_chance(&rng, 1, 2) ? two : "");
	return pod_from(text);
}

static void make_pods(uint32_t nodes, bool large)
{
	for (uint32_t i = 0; i < nodes * 2; i++) {
		struct pod pod = make_pod(i, large);
		struct pod_on_node there = on_node(&pod);
		uint32_t slot = (uint32_t)pl_rng_below(&rng, nodes), placed;
		enum pl_code code =
			snapshot_pod_add(&snapshot, slot, &there, &placed, &err);

		T_TRUE(code == PL_OK || code == PL_LIMIT);
		pod_drop(&model, &pod);
	}
}

/* Dense, with holes, sparse, or empty. */
static void fill(uint64_t bits[WORDS])
{
	for (int i = 0; i < WORDS; i++) {
		uint64_t random = pl_rng_next(&rng);

		switch (pl_rng_below(&rng, 4)) {
		case 0:
			bits[i] = UINT64_MAX;
			break;
		case 1:
			bits[i] = random;
			break;
		case 2:
			bits[i] = random & pl_rng_next(&rng) & pl_rng_next(&rng) &
			          pl_rng_next(&rng);
			break;
		default:
			bits[i] = 0;
		}
		bits[i] &= snapshot.live.word[i];
	}
}

static void check_filter(const struct pod *pod, const char *ignored)
{
	struct plugin_call call = call_of(pod);
	uint64_t before[WORDS], bits[WORDS];

	fill(before);
	memcpy(bits, before, sizeof(bits));
	plugin_fit.filter(&call, (struct node_span){0, WORDS, bits});
	for (uint32_t slot = 0; slot < WORDS * 64; slot++) {
		uint64_t bit = UINT64_C(1) << slot % 64;
		struct verdict verdict;

		if ((before[slot / 64] & bit) == 0) {
			T_TRUE((bits[slot / 64] & bit) == 0);
			continue;
		}
		verdict_clear(&verdict);
		plugin_fit.why(&call, slot, &verdict);
		T_EQ((bits[slot / 64] & bit) != 0, fits_by_hand(pod, slot, ignored));
		T_EQ((bits[slot / 64] & bit) != 0, verdict.code == VERDICT_SUCCESS);
		T_EQ(verdict.count == 0, verdict.code == VERDICT_SUCCESS);
		for (uint32_t i = 0; i < verdict.count; i++)
			T_TRUE(verdict.reason[i].lacks > 0);
	}
}

static void check_scores(const struct plugin *plugin, const struct pod *pod,
                         const enum fit_strategy *strategy, const struct share *share)
{
	struct plugin_call call = call_of(pod);
	uint64_t bits[WORDS];
	int64_t score[WORDS * 64];

	fill(bits);
	T_TRUE(plugin->score(&call, (struct node_span){0, WORDS, bits}, score));
	for (uint32_t slot = 0; slot < WORDS * 64; slot++) {
		if ((bits[slot / 64] >> slot % 64 & 1) != 0)
			T_EQ(score[slot],
			     strategy != NULL ? score_by_hand(pod, slot, *strategy, share)
			                      : balance_by_hand(pod, slot, share));
	}
}

/* Returns how many of the shares are in the text. */
static uint32_t print_shares(char *out, size_t size, struct share *share, bool weighed)
{
	uint32_t count = 0;
	size_t len = 0;

	out[0] = '\0';
	for (int i = 0; i < NAMES; i++) {
		uint64_t weight = weighed ? pl_rng_between(&rng, 1, 100) : 1;

		if (pl_rng_chance(&rng, 1, 2))
			continue;
		len += (size_t)snprintf(out + len, size - len,
		                        "%s{'name': '%s', 'weight': %" PRIu64 "}",
		                        count == 0 ? "" : ", ", names[i], weight);
		share[count++] = (struct share){names[i], (int64_t)weight};
	}
	if (count == 0) {
		share[count++] = (struct share){"cpu", 1};
		share[count++] = (struct share){"memory", 1};
	}
	share[count] = (struct share){NULL, 0};
	return count;
}

static void check_strategy(enum fit_strategy strategy, bool large)
{
	static const char *const types[] = {"LeastAllocated", "MostAllocated",
	                                    "RequestedToCapacityRatio"};
	struct share share[NAMES + 1];
	char list[512], text[1400];
	const char *ignored = NULL;

	(void)print_shares(list, sizeof(list), share, pl_rng_chance(&rng, 1, 2));
	if (pl_rng_chance(&rng, 1, 4))
		ignored = "example.com/gpu";
	(void)snprintf(text, sizeof(text),
	               "{'scoringStrategy': {'type': '%s', 'resources': [%s], %s}%s}",
	               types[strategy], list, ratio_shape,
	               ignored == NULL ? ""
	                               : ", 'ignoredResources': ['example.com/gpu']");
	T_OK(parse_args(&plugin_fit, text), &err);
	for (uint32_t i = 0; i < 20; i++) {
		struct pod pod = make_pod(10000 + i, large);

		check_filter(&pod, ignored);
		check_scores(&plugin_fit, &pod, &strategy, share);
		pod_drop(&model, &pod);
	}
	plugin_fit.args_drop(&model, &args);
}

static void check_balance(bool large)
{
	struct share share[NAMES + 1];
	char list[512], text[1400];

	(void)print_shares(list, sizeof(list), share, false);
	(void)snprintf(text, sizeof(text), "{'resources': [%s]}", list);
	T_OK(parse_args(&plugin_balanced_allocation, text), &err);
	for (uint32_t i = 0; i < 20; i++) {
		struct pod pod = make_pod(10000 + i, large);

		check_scores(&plugin_balanced_allocation, &pod, NULL, share);
		pod_drop(&model, &pod);
	}
	plugin_balanced_allocation.args_drop(&model, &args);
}

static void clusters(uint32_t rounds, bool large)
{
	pl_rng_init(&rng, t_seed());
	for (uint32_t round = 0; round < rounds; round++) {
		begin();
		make_nodes(WORDS * 64 - 20, large);
		make_pods(WORDS * 64 - 20, large);
		for (int i = 0; i < 3; i++) {
			check_strategy((enum fit_strategy)i, large);
			check_balance(large);
		}
		end();
	}
}

T_CASE_SECONDS(random_clusters_agree_with_a_model, 60)
{
	clusters(6, false);
}

/* Includes nodes with more cpu than a column holds, and pods with more than a double
 * holds. */
T_CASE_SECONDS(random_large_clusters_agree_with_a_model, 60)
{
	clusters(6, true);
}

/* -- single sentences -------------------------------------------------------------------- */

static void expect(const struct pod *pod, uint32_t slot, const char *want)
{
	struct plugin_call call = call_of(pod);
	struct pl_buf text;
	struct verdict verdict;

	pl_buf_init(&text, 1000);
	verdict_clear(&verdict);
	plugin_fit.why(&call, slot, &verdict);
	for (uint32_t i = 0; i < verdict.count; i++) {
		T_OK(pl_buf_add_str(&text, i == 0 ? "" : "; "), NULL);
		T_OK(reason_print(&model.strings, &verdict.reason[i], &text), NULL);
		T_OK(pl_buf_printf(&text, " %" PRId64, verdict.reason[i].lacks), NULL);
	}
	T_SPAN(pl_buf_span(&text), pl_span_str(want));
	pl_buf_done(&text);
}

T_CASE(reasons_have_the_shortfall)
{
	struct pod pod, empty;
	uint32_t full, small;

	begin();
	T_OK(parse_args(&plugin_fit, ""), &err);
	full = put_node("{'metadata': {'name': 'full'}, 'status': {'allocatable': "
	                "{'cpu': '2', 'memory': '1Gi', 'pods': '1'}}}");
	small = put_node("{'metadata': {'name': 'small'}, 'status': {'allocatable': "
	                 "{'cpu': '500m', 'memory': '1Ki', 'pods': '9', "
	                 "'example.com/gpu': '1'}}}");
	put_pod(full, "{'metadata': {'name': 'p', 'namespace': 'a'}, 'spec': "
	              "{'containers': [{'name': 'c', 'resources': {'requests': {'cpu': "
	              "'3'}}}]}}");
	empty = pod_from("{'metadata': {'name': 'q', 'namespace': 'a'}, 'spec': "
	                 "{'containers': [{'name': 'c'}]}}");
	pod = pod_from("{'metadata': {'name': 'r', 'namespace': 'a'}, 'spec': "
	               "{'containers': [{'name': 'c', 'resources': {'requests': {'cpu': "
	               "'750m', 'memory': '2Ki', 'ephemeral-storage': '5', "
	               "'example.com/gpu': '3'}}}]}}");
	expect(&empty, full, "Too many pods 1");
	expect(&empty, small, "");
	expect(&pod, full,
	       "Too many pods 1; Insufficient cpu 1750; Insufficient ephemeral-storage "
	       "5; Insufficient example.com/gpu 3");
	expect(&pod, small,
	       "Insufficient cpu 250; Insufficient memory 1024; Insufficient "
	       "ephemeral-storage 5; Insufficient example.com/gpu 2");
	pod_drop(&model, &pod);
	pod_drop(&model, &empty);
	plugin_fit.args_drop(&model, &args);
	end();
}

T_CASE(only_groups_of_extended_resources_are_ignored)
{
	struct pod pod;
	uint32_t slot;

	begin();
	T_OK(parse_args(&plugin_fit, "{'apiVersion': 'x', 'kind': 'y', "
	                             "'ignoredResourceGroups': ['example.com', "
	                             "'hugepages-2Mi']}"),
	     &err);
	slot = put_node("{'metadata': {'name': 'n'}, 'status': {'allocatable': "
	                "{'pods': '1', 'cpu': '1'}}}");
	pod = pod_from("{'metadata': {'name': 'r', 'namespace': 'a'}, 'spec': "
	               "{'containers': [{'name': 'c', 'resources': {'requests': "
	               "{'example.com/gpu': '3', 'example.org/gpu': '2', "
	               "'hugepages-2Mi': '4', 'cpu': '1'}}}]}}");
	expect(&pod, slot,
	       "Insufficient hugepages-2Mi 4; Insufficient example.org/gpu 2");
	T_TRUE(plugin_fit.counts(&model, &args, id("example.org/gpu")));
	T_TRUE(!plugin_fit.counts(&model, &args, id("example.com/gpu")));
	pod_drop(&model, &pod);
	plugin_fit.args_drop(&model, &args);
	end();
}

T_CASE(hint_helps_where_the_pod_fits)
{
	struct queue_event event = {.kind = QUEUE_EV_NODE_ADDED};
	struct plugin_call call;
	struct pod pod;

	begin();
	T_OK(parse_args(&plugin_fit, ""), &err);
	(void)put_node("{'metadata': {'name': 'a'}, 'status': {'allocatable': {'cpu': "
	               "'1', 'pods': '1'}}}");
	(void)put_node("{'metadata': {'name': 'b'}, 'status': {'allocatable': {'cpu': "
	               "'3', 'pods': '1'}}}");
	pod = pod_from("{'metadata': {'name': 'r', 'namespace': 'a'}, 'spec': "
	               "{'containers': [{'name': 'c', 'resources': {'requests': {'cpu': "
	               "'2'}}}]}}");
	call = call_of(&pod);
	event.object = 0;
	T_TRUE(!plugin_fit.hint(&call, &event));
	event.object = 1;
	T_TRUE(plugin_fit.hint(&call, &event));
	event.object = 2; /* removed again */
	T_TRUE(plugin_fit.hint(&call, &event));
	event.object = 0;
	event.kind = QUEUE_EV_POD_REMOVED;
	T_TRUE(plugin_fit.hint(&call, &event));
	pod_drop(&model, &pod);
	/* The node is full, but of pods that may be evicted. */
	event = (struct queue_event){.kind = QUEUE_EV_NODE_ALLOCATABLE, .object = 1};
	put_pod(1, "{'metadata': {'name': 'f', 'namespace': 'a'}, 'spec': "
	           "{'containers': [{'name': 'c', 'resources': {'requests': {'cpu': "
	           "'2'}}}]}}");
	for (unsigned never = 0; never < 2; never++) {
		pod = pod_from(
			never ? "{'metadata': {'name': 'r', 'namespace': 'a'}, 'spec': "
				"{'preemptionPolicy': 'Never', 'containers': [{'name': "
				"'c', 'resources': {'requests': {'cpu': '2'}}}]}}"
			      : "{'metadata': {'name': 'r', 'namespace': 'a'}, 'spec': "
				"{'containers': [{'name': 'c', 'resources': {'requests': "
				"{'cpu': '2'}}}]}}");
		call = call_of(&pod);
		T_EQ(plugin_fit.hint(&call, &event), never == 0);
		pod_drop(&model, &pod);
	}
	snapshot_pod_remove(&snapshot, snapshot.row[1].first_pod);
	plugin_fit.args_drop(&model, &args);
	end();
}
