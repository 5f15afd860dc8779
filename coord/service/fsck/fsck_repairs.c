/* Enumerates what can be repaired. */
#include "coord/service/fsck/fsck_int.h"

static bool repair_node(const struct fsck_core *core, uint32_t number,
                        struct fsck_repair *out)
{
	const struct fsck_node *node = &core->node[number];

	if ((node->flags & NODE_MEND) == 0 ||
	    (node->flags & (NODE_HAS_NODE | NODE_HAS_ALLOC)) == 0)
		return false;
	*out = (struct fsck_repair){.what = FSCK_REPAIR_ALLOC,
	                            .partition = node->partition,
	                            .number = number};
	fsck_split(name_table_get(&core->nodes, number), &out->scope, &out->name);
	return true;
}

static bool repair_pointer(const struct fsck_core *core, uint32_t number,
                           struct fsck_repair *out)
{
	const struct fsck_entry *entry = &core->entry[number];

	if ((entry->flags & POD_AWAY) == 0 || (entry->flags & POD_TWO) != 0 ||
	    ((entry->flags & POD_POINTER) != 0 && entry->pointer_to == entry->spec_at))
		return false;
	*out = (struct fsck_repair){
		.what = FSCK_REPAIR_POINTER, .at = entry->spec_at, .number = number};
	fsck_split(name_table_get(&core->pods, number), &out->scope, &out->name);
	return true;
}

static bool repair_registry(const struct fsck_core *core, uint32_t number,
                            struct fsck_repair *out)
{
	if ((core->registry[number].flags & REGISTRY_MEND) == 0)
		return false;
	*out = (struct fsck_repair){.what = FSCK_REPAIR_REGISTRY,
	                            .scope = name_table_get(&core->registries, number),
	                            .number = number};
	return true;
}

/* A lock goes together with its term, and comes with a term that is registered; it may
 * also exist before that. */
static bool repair_lock(const struct fsck_core *core, uint32_t number,
                        struct fsck_repair *out)
{
	unsigned flags = core->group[number].flags;
	bool registered = (flags & TERM_REGISTERED) != 0;
	bool there = (flags & TERM_HAS_LOCK) != 0;

	if (registered == there && (!there || (flags & TERM_BAD_LOCK) == 0))
		return false;
	/* A lock that does not parse is repaired in any case, because no shard would. */
	if ((flags & TERM_BAD_LOCK) == 0 &&
	    ((there && fsck_term_is_orphan(core, number)) ||
	     (!registered && (flags & (TERM_BOUND | TERM_WAITING)) != 0)))
		return false;
	*out = (struct fsck_repair){.what = FSCK_REPAIR_LOCK, .number = number};
	fsck_split(name_table_get(&core->groups, number), &out->scope, &out->name);
	return true;
}

static bool repair_shape(const struct fsck_core *core, uint32_t number,
                         struct fsck_repair *out)
{
	(void)number;
	*out = (struct fsck_repair){.what = FSCK_REPAIR_SHAPE,
	                            .revision = core->newest_node_rev};
	return core->shape_rev < core->newest_node_rev;
}

static bool repair_state(const struct fsck_core *core, uint32_t number,
                         struct fsck_repair *out)
{
	const struct fsck_nominated *is = &core->nominated[number];

	*out = (struct fsck_repair){.what = FSCK_REPAIR_STATE,
	                            .partition = is->partition,
	                            .at = core->node[is->node].partition,
	                            .number = number};
	fsck_split(name_table_get(&core->pods, is->pod), &out->scope, &out->name);
	fsck_split(name_table_get(&core->nodes, is->node), &out->cluster, &out->node);
	return true;
}

static bool repair_place(const struct fsck_core *core, uint32_t number,
                         struct fsck_repair *out)
{
	const struct fsck_lost *is = &core->lost[number];

	*out = (struct fsck_repair){.what = FSCK_REPAIR_PLACE,
	                            .partition = is->partition,
	                            .spec_rev = is->spec_rev,
	                            .state_rev = is->state_rev,
	                            .wall_ms = core->wall_ms,
	                            .allocs_unreadable = core->allocs_unreadable,
	                            .number = number};
	fsck_split(name_table_get(&core->pods, is->pod), &out->scope, &out->name);
	if (is->node == FSCK_NONE)
		return true;
	out->at = core->node[is->node].partition;
	fsck_split(name_table_get(&core->nodes, is->node), &out->cluster, &out->node);
	return true;
}

/* States come before the allocs that list their pods, and registries before locks. */
bool fsck_core_repair(const struct fsck_core *core, uint64_t *cursor,
                      struct fsck_repair *out)
{
	const struct {
		uint32_t count;
		bool (*fn)(const struct fsck_core *core, uint32_t number,
		           struct fsck_repair *out);
	} part[] = {{core->losses, repair_place},
	            {core->nodes.count, repair_node},
	            {core->pods.count, repair_pointer},
	            {core->registries.count, repair_registry},
	            {core->groups.count, repair_lock},
	            {1, repair_shape},
	            {core->nominations, repair_state}};
	uint64_t before = 0;

	PL_ASSERT(core->ended);
	for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
		for (; *cursor < before + part[i].count; ++*cursor) {
			if (!part[i].fn(core, (uint32_t)(*cursor - before), out))
				continue;
			++*cursor;
			return true;
		}
		before += part[i].count;
	}
	return false;
}

bool fsck_core_unlisted(const struct fsck_core *core, uint32_t number, uint32_t *cursor,
                        struct fsck_pod *out)
{
	uint32_t at = *cursor == 0 ? core->node[number].unlisted : *cursor - 2;

	if (at == FSCK_NONE || *cursor == 1)
		return false;
	out->partition = core->row[at].partition;
	fsck_split(name_table_get(&core->pods, core->row[at].pod), &out->namespace,
	           &out->name);
	/* The cursor is 1 at the end, else the index of the next row plus two. */
	*cursor = core->row[at].next == FSCK_NONE ? 1 : core->row[at].next + 2;
	return true;
}

bool fsck_core_term(const struct fsck_core *core, uint32_t number, uint32_t *cursor,
                    struct fsck_term *out)
{
	for (; *cursor < core->groups.count; ++*cursor) {
		const struct fsck_term_state *group = &core->group[*cursor];

		if (group->registry != number ||
		    (group->carrier.len == 0 && !fsck_term_is_orphan(core, *cursor)))
			continue;
		*out = (struct fsck_term){.kind = (enum rule_kind)group->kind,
		                          .pod = group->carrier,
		                          .lock_rev = group->lock_rev};
		fsck_split(name_table_get(&core->groups, *cursor), &out->namespace,
		           &out->id);
		++*cursor;
		return true;
	}
	return false;
}
