/*
 * Reading the specs of pods on listed nodes. A node can be chosen once the specs of all
 * its pods are known, and these are many times as large as the node itself. So some nodes
 * are read first, twice as many when these do not suffice, and so on to all; first those
 * on which the pod seems to fit by what their allocs say is used. Each shard begins at a
 * place of its own, so that shards in the same need take different nodes.
 */
#include "shardsched/plugins/node_match.h"
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"

enum { PARTITIONS_MOST = 2 }; /* at once */

static bool amount_fits(int64_t has, uint64_t used, int64_t asked)
{
	return asked == 0 || (has >= asked && used <= (uint64_t)(has - asked));
}

/* How much of other resources is used only the specs tell. */
static bool node_has_room(const struct sched_node *node, const struct resources *asked)
{
	const struct resources *has = node->node.allocatable;

	if (!amount_fits(has->cpu_milli, node->alloc_used.cpu_milli, asked->cpu_milli) ||
	    !amount_fits(has->memory, node->alloc_used.memory, asked->memory) ||
	    !amount_fits(has->storage, node->alloc_used.storage, asked->storage) ||
	    !amount_fits(has->pods, node->alloc_used.pods, 1))
		return false;
	for (uint64_t i = 0; i < asked->count; i++)
		if (resources_get(has, asked->row[i].name) < asked->row[i].amount)
			return false;
	return true;
}

static bool seems_to_fit(const struct sched *sched, const struct sched_node *node,
                         const struct spec *spec)
{
	const uint32_t effects = 1u << TAINT_NO_SCHEDULE | 1u << TAINT_NO_EXECUTE;

	return !node->node.unschedulable && node_has_room(node, spec->requests) &&
	       taints_first_untolerated(node->node.taints, spec->template->tolerations,
	                                effects) == NULL &&
	       node_match_slot(spec->template->node_selector, spec->template->required,
	                       &sched->snapshot, node->slot);
}

static bool is_unread(const struct sched_node *node)
{
	return node->slot != SNAPSHOT_NONE && !node->read && node->unknown > 0;
}

/* Reads at most `most` nodes, in their order from `first` on; spec NULL: any nodes. Gives
 * how many were read. */
static uint32_t read_nodes(struct sched *sched, struct pl_list *nodes, uint32_t first,
                           uint32_t most, const struct spec *spec)
{
	uint32_t at = 0, read = 0;

	for (unsigned turn = 0; turn < 2; turn++, at = 0)
		PL_LIST_EACH (link, nodes) {
			struct sched_node *node =
				PL_LIST_ITEM(link, struct sched_node, of_partition);

			if ((at++ < first) != (turn == 1) || !is_unread(node))
				continue;
			if (spec != NULL && !seems_to_fit(sched, node, spec))
				continue;
			if (read == most)
				return read;
			read++;
			node_want_specs(sched, node);
		}
	return read;
}

static uint32_t count_nodes(const struct pl_list *nodes)
{
	uint32_t count = 0;

	PL_LIST_EACH (link, nodes)
		count++;
	return count;
}

static bool read_partition(struct sched *sched, uint32_t partition,
                           const struct spec *spec)
{
	struct sched_partition *part = &sched->partition[partition];
	struct remote_list *remote_list = &part->remote_list;
	uint32_t first =
		(uint32_t)((remote_draw(sched, 0) >> 32) * count_nodes(&part->nodes) >>
	                   32);
	uint32_t most = remote_list->read < sched->opts.reads ? sched->opts.reads
	                                                      : remote_list->read;
	uint32_t read = read_nodes(sched, &part->nodes, first, most, spec);

	if (read == 0)
		read = read_nodes(sched, &part->nodes, first, most, NULL);
	remote_list->all_read = read == 0;
	remote_list->read += read;
	remote_list->used_ms = sched->now_ms;
	return read > 0;
}

static bool is_read_due(const struct sched *sched, uint32_t partition,
                        const struct spec *spec)
{
	const struct sched_partition *part = &sched->partition[partition];

	return !part->owned && remote_list_is_known(&part->remote_list) &&
	       !part->remote_list.all_read &&
	       (part->digest_entry.is == NULL || digest_admits(sched, partition, spec));
}

bool remote_read_nodes(struct sched *sched, const struct spec *spec, uint64_t draw)
{
	uint32_t count = sched->opts.partitions, first = (uint32_t)(draw % count);
	uint32_t left = sched->remote_lists.known;
	unsigned read = 0;

	for (uint32_t i = 0; i < count && left > 0 && read < PARTITIONS_MOST; i++) {
		uint32_t partition = (first + i) % count;

		left -= remote_list_is_known(&sched->partition[partition].remote_list);
		if (is_read_due(sched, partition, spec))
			read += read_partition(sched, partition, spec);
	}
	return read > 0;
}
