/*
 * Of nodes that were visited, whose pods are read: a node can be chosen once the specs of
 * all pods on it are known, and these are many times as much as the node itself. So some
 * nodes are read, twice as many when these will not do, and so on to all; those first on
 * which the pod seems to fit by what their allocs say is used. Each shard begins at a
 * place of its own: who is in the same need at once takes other nodes.
 */
#include "shardsched/plugins/node_match.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/tables/tables.h"

enum { PARTITIONS_MOST = 2 }; /* at once */

static bool is_room(int64_t has, uint64_t used, int64_t asked)
{
	return asked == 0 || (has >= asked && used <= (uint64_t)(has - asked));
}

/* What is used of other amounts only the specs tell. */
static bool has_room(const struct sched_node *node, const struct resources *asked)
{
	const struct resources *has = node->node.allocatable;

	if (!is_room(has->cpu_milli, node->said.cpu_milli, asked->cpu_milli) ||
	    !is_room(has->memory, node->said.memory, asked->memory) ||
	    !is_room(has->storage, node->said.storage, asked->storage) ||
	    !is_room(has->pods, node->said.pods, 1))
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

	return !node->node.unschedulable && has_room(node, spec->requests) &&
	       taints_first_untolerated(node->node.taints, spec->form->tolerations,
	                                effects) == NULL &&
	       node_match_slot(spec->form->node_selector, spec->form->required,
	                       &sched->snapshot, node->slot);
}

static bool is_unread(const struct sched_node *node)
{
	return node->slot != SNAPSHOT_NONE && !node->read && node->unknown > 0;
}

/* So many from there on, in the order in which they were listed first; spec NULL:
 * whatever they are. How many there were. */
static uint32_t read_from(struct sched *sched, struct pl_list *nodes, uint32_t first,
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
			node_read(sched, node);
		}
	return read;
}

static uint32_t count_of(const struct pl_list *nodes)
{
	uint32_t count = 0;

	PL_LIST_EACH (link, nodes)
		count++;
	return count;
}

static bool read_of(struct sched *sched, uint32_t partition, const struct spec *spec)
{
	struct sched_partition *part = &sched->partition[partition];
	struct visit *visit = &part->visit;
	uint32_t first =
		(uint32_t)((abroad_draw(sched, 0) >> 32) * count_of(&part->nodes) >> 32);
	uint32_t most = visit->read < sched->opts.reads ? sched->opts.reads : visit->read;
	uint32_t read = read_from(sched, &part->nodes, first, most, spec);

	if (read == 0)
		read = read_from(sched, &part->nodes, first, most, NULL);
	visit->all_read = read == 0;
	visit->read += read;
	visit->used_ms = sched->now_ms;
	return read > 0;
}

static bool is_to_be_read(const struct sched *sched, uint32_t partition,
                          const struct spec *spec)
{
	const struct sched_partition *part = &sched->partition[partition];

	return !part->owned && part->visit.known && !part->visit.all_read &&
	       (part->offer.is == NULL || offer_admits(sched, partition, spec));
}

bool abroad_read(struct sched *sched, const struct spec *spec, uint64_t draw)
{
	uint32_t count = sched->opts.partitions, first = (uint32_t)(draw % count);
	uint32_t left = sched->visits.known;
	unsigned read = 0;

	for (uint32_t i = 0; i < count && left > 0 && read < PARTITIONS_MOST; i++) {
		uint32_t partition = (first + i) % count;

		left -= sched->partition[partition].visit.known;
		if (is_to_be_read(sched, partition, spec))
			read += read_of(sched, partition, spec);
	}
	return read > 0;
}
