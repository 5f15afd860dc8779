#include "shardsched/plugins/volume_index.h"
#include "store/base/rng.h"
#include "tests/support/shardsched/plugins/volume_rig.h"

static struct volume_index of_index;
static struct volume_walk walk;

/* A selector, taken from the node affinity of a volume. */
static const struct selector *asks(const char *name)
{
	const struct volume *volume = catalog_find_volume(
		&snapshot.catalog, (struct catalog_key){0, id(name), 0});

	return volume->reachable->term[0].labels;
}

static void put_asking(const char *name, const char *rows)
{
	char text[1024];

	(void)snprintf(text, sizeof text,
	               "{'metadata':{'name':'%s'},'spec':{'nodeAffinity':{'required':{"
	               "'nodeSelectorTerms':[{'matchExpressions':[%s]}]}}}}",
	               name, rows);
	PUT_OBJECT(volume, text);
}

#define IN(key, values) "{'key':'" key "','operator':'In','values':[" values "]}"

T_CASE(walk_finds_the_pins_of_a_node)
{
	const struct labels *labels;

	begin_volumes();
	labels = snapshot
	                 .row[put_node(
				 "{'metadata':{'name':'a','labels':{'h':'2','z':'x'}}}")]
	                 .node.labels;
	put_asking("p", IN("h", "'1'"));
	put_asking("q", IN("h", "'2','3'"));
	put_asking("r", IN("z", "'x','y','w'") "," IN("h", "'2'"));
	put_asking("s", "{'key':'z','operator':'Exists'}");
	T_EQ(volume_index_pins(asks("q")), 2);
	T_EQ(volume_index_pins(asks("r")), 1);
	T_EQ(volume_index_pins(asks("s")), 0);
	T_EQ(volume_index_pins(NULL), 0);
	T_TRUE(volume_index_init(&of_index, &cycle_arena, 4));
	T_TRUE(!volume_index_add(&of_index, 0, NULL));
	T_TRUE(volume_index_add(&of_index, 1, asks("p")));
	T_TRUE(volume_index_add(&of_index, 2, asks("q")));
	T_TRUE(!volume_index_add(&of_index, 3, asks("s")));
	T_TRUE(volume_index_add(&of_index, 4, asks("r")));
	walk = (struct volume_walk){0};
	T_EQ(volume_walk_next(&walk, &of_index, labels), 4);
	T_EQ(volume_walk_next(&walk, &of_index, labels), 2);
	T_EQ(volume_walk_next(&walk, &of_index, labels), UINT32_MAX);
	end_volumes();
}

static int compare_numbers(const void *a, const void *b, const void *ctx)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	(void)ctx;
	return (x > y) - (x < y);
}

T_CASE(volume_sort_sorts)
{
	struct pl_rng rng;
	uint32_t number[200];

	pl_rng_init(&rng, t_seed());
	for (unsigned count = 0; count < 200; count++) {
		uint64_t sum = 0;

		for (unsigned i = 0; i < count; i++)
			sum += number[i] = (uint32_t)pl_rng_below(&rng, 50);
		volume_sort(number, count, sizeof number[0], compare_numbers, NULL);
		for (unsigned i = 0; i < count; i++) {
			T_TRUE(i == 0 || number[i - 1] <= number[i]);
			sum -= number[i];
		}
		T_EQ(sum, 0);
	}
}
