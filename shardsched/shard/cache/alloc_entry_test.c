/* Pods that several nodes list. */
#include "shardsched/shard/cache/cache.h"
#include "tests/support/shardsched/shard/rules_stale_rig.h"

static unsigned count_sharing(void)
{
	unsigned nodes = 0;

	PL_LIST_EACH (link, &rig.sched->sharing)
		nodes++;
	return nodes;
}

static void count_node(struct sched *sched, struct sched_node *node, uint32_t i,
                       void *ctx)
{
	unsigned *nodes = ctx;

	(void)sched;
	T_STR((const char *)sched_text(sched, node->listed[i].pod->key[2]).at, "b");
	++*nodes;
}

/* So many nodes are looked at for the pod, beside its own. */
static void b_is_listed_by(unsigned nodes, unsigned others)
{
	unsigned listed = 0;
	struct sched_pod *b =
		pod_find(rig.sched, local, PL_SPAN_LIT("web"), PL_SPAN_LIT("b"));

	sched_check(rig.sched);
	alloc_entry_each(rig.sched, b, count_node, &listed);
	T_EQ(listed, nodes);
	T_EQ(count_sharing(), others);
}

/* Two of many nodes list b, as while it moves and events come in any order; then one
 * does. */
T_CASE(nodes_that_list_a_pod_are_found_without_a_full_search)
{
	char name[16];

	begin(1);
	put_b("y");
	for (unsigned i = 0; i < 200; i++) {
		(void)snprintf(name, sizeof name, "m-%u", i);
		put_node(1, name, "z");
	}
	bind_b(0, "n-3", 2, false);
	wait_ms(1000);
	b_is_listed_by(1, 0);
	bind_b(1, "n-2", 2, false);
	wait_ms(1000);
	b_is_listed_by(2, 1);
	bind_b(1, "m-199", 2, false);
	wait_ms(1000);
	b_is_listed_by(3, 2);
	rig.store.revision++;
	put_alloc(1, "m-199", 3, false); /* the node that listed it last */
	wait_ms(1000);
	b_is_listed_by(2, 2);
	rig.store.revision++;
	put_alloc(0, "n-3", 3, false);
	wait_ms(1000);
	b_is_listed_by(1, 1);
	rig_close(&rig);
}
