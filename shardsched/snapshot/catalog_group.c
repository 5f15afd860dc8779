/* Objects that are asked for together, as chains in the order of joining. */
#include <stdlib.h>

#include "shardsched/snapshot/catalog_inner.h"
#include "store/base/alloc.h"

static struct pl_span key_span(const struct catalog_group_key *key)
{
	return pl_span((const char *)key, sizeof *key);
}

static struct catalog_group *group_of(struct pl_map_node *node)
{
	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct catalog_group, by_key);
}

const struct catalog_group *catalog_group_find(const struct catalog *catalog,
                                               struct catalog_group_key key)
{
	return group_of(pl_map_get(&catalog->inner->groups, key_span(&key)));
}

struct catalog_group *catalog_group_want(struct catalog *catalog,
                                         struct catalog_group_key key)
{
	struct pl_map *groups = &catalog->inner->groups;
	struct catalog_group *group = group_of(pl_map_get(groups, key_span(&key)));

	if (group != NULL)
		return group;
	group = pl_calloc(1, sizeof *group);
	if (group == NULL)
		return NULL;
	group->key = key;
	pl_list_init(&group->members);
	PL_ASSERT(pl_map_add(groups, &group->by_key, key_span(&group->key)) == NULL);
	return group;
}

void catalog_group_drop_empty(struct catalog *catalog, struct catalog_group *group)
{
	if (group == NULL || group->kept > 0 || !pl_list_empty(&group->members))
		return;
	pl_map_del(&catalog->inner->groups, &group->by_key);
	free(group);
}

void catalog_group_move(struct catalog *catalog, struct catalog_entry *entry,
                        struct catalog_group *to)
{
	struct catalog_group *from = entry->group;

	if (from == to)
		return;
	if (from != NULL)
		pl_list_del(&entry->in_group);
	if (to != NULL)
		pl_list_add_tail(&to->members, &entry->in_group);
	entry->group = to;
	catalog_group_drop_empty(catalog, from);
}

void catalog_group_keep(struct catalog *catalog, struct catalog_entry *entry,
                        struct catalog_group *return_to)
{
	struct catalog_group *was = entry->return_to;

	if (return_to != NULL)
		return_to->kept++;
	entry->return_to = return_to;
	if (was == NULL)
		return;
	PL_ASSERT(was->kept > 0);
	was->kept--;
	catalog_group_drop_empty(catalog, was);
}

struct catalog_group_key catalog_volume_group(const struct volume *volume)
{
	if (volume->claim_name != 0)
		return (struct catalog_group_key){CATALOG_BY_VOLUME_CLAIM,
		                                  volume->claim_namespace,
		                                  volume->claim_name};
	return (struct catalog_group_key){CATALOG_BY_VOLUME_CLASS, volume->class, 0};
}

/* -- walks -------------------------------------------------------------------------- */

static const struct catalog_entry *entry_of(const void *object)
{
	return (const struct catalog_entry *)object - 1;
}

static const void *object_at(const struct catalog_group *group,
                             const struct pl_list *link)
{
	if (link == &group->members)
		return NULL;
	return PL_CONTAINER_OF_CONST(link, struct catalog_entry, in_group) + 1;
}

static const void *next_in(const struct catalog *catalog, struct catalog_group_key key,
                           const void *previous)
{
	const struct catalog_group *group;

	if (previous != NULL)
		return object_at(entry_of(previous)->group,
		                 entry_of(previous)->in_group.next);
	group = catalog_group_find(catalog, key);
	return group == NULL ? NULL : object_at(group, group->members.next);
}

const struct budget *catalog_next_in_budget(const struct catalog *catalog,
                                            uint32_t namespace,
                                            const struct budget *previous)
{
	return next_in(
		catalog,
		(struct catalog_group_key){CATALOG_BY_BUDGET_NAMESPACE, namespace, 0},
		previous);
}

const struct workload *catalog_next_in_workload(const struct catalog *catalog,
                                                uint32_t namespace,
                                                const struct workload *previous)
{
	return next_in(
		catalog,
		(struct catalog_group_key){CATALOG_BY_WORKLOAD_NAMESPACE, namespace, 0},
		previous);
}

const struct claim *catalog_next_in_claim(const struct catalog *catalog,
                                          uint32_t namespace,
                                          const struct claim *previous)
{
	return next_in(
		catalog,
		(struct catalog_group_key){CATALOG_BY_CLAIM_NAMESPACE, namespace, 0},
		previous);
}

const struct volume *catalog_next_open_volume(const struct catalog *catalog,
                                              uint32_t class,
                                              const struct volume *previous)
{
	return next_in(catalog,
	               (struct catalog_group_key){CATALOG_BY_VOLUME_CLASS, class, 0},
	               previous);
}

const struct volume *catalog_next_claimed_volume(const struct catalog *catalog,
                                                 struct catalog_key claim,
                                                 const struct volume *previous)
{
	return next_in(catalog,
	               (struct catalog_group_key){CATALOG_BY_VOLUME_CLAIM,
	                                          claim.namespace, claim.name},
	               previous);
}

const struct csi_capacity *catalog_next_capacity(const struct catalog *catalog,
                                                 uint32_t class,
                                                 const struct csi_capacity *previous)
{
	return next_in(catalog,
	               (struct catalog_group_key){CATALOG_BY_CAPACITY_CLASS, class, 0},
	               previous);
}
