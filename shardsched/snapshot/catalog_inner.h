/*
 * Inside the catalog. An object and its entry are one block of memory. The entry is in
 * the map of its kind, and in at most one group: the chain of the objects that are asked
 * for together.
 */
#ifndef SHARDSCHED_SNAPSHOT_CATALOG_INNER_H
#define SHARDSCHED_SNAPSHOT_CATALOG_INNER_H

#include "shardsched/snapshot/catalog.h"
#include "store/base/map.h"

enum catalog_by {
	CATALOG_BY_NOTHING,
	CATALOG_BY_BUDGET_NAMESPACE,
	CATALOG_BY_WORKLOAD_NAMESPACE,
	CATALOG_BY_CLAIM_NAMESPACE,
	CATALOG_BY_VOLUME_CLASS,
	CATALOG_BY_VOLUME_CLAIM,
	CATALOG_BY_CAPACITY_CLASS,
};

struct catalog_group_key {
	uint32_t by; /* enum catalog_by */
	uint32_t a, b;
};

/* A group goes with its last member, unless an entry keeps it to return to it. */
struct catalog_group {
	struct pl_map_node by_key;
	struct catalog_group_key key;
	uint32_t kept; /* number of entries that keep the group */
	struct pl_list members;
};

struct catalog_entry {
	struct pl_map_node by_name;
	struct catalog_key key;
	uint32_t assumed; /* pods that decided about it; see assumed.c */
	uint64_t stamp;   /* changes with the first of the assumptions */
	struct pl_list in_group;
	struct catalog_group *group;     /* NULL: in none */
	struct catalog_group *return_to; /* the group the entry returns to; NULL: none */
					 /* The object follows. */
};

/* A claim that pods on nodes name. */
struct claim_use {
	struct pl_map_node by_claim;
	struct catalog_key claim;
	uint32_t pods;
};

struct catalog_inner {
	struct pl_map kind[CATALOG_KINDS];
	struct pl_map groups;
	struct pl_map uses;    /* claims.c */
	struct pl_map assumed; /* assumed.c */
	uint64_t stamps;
};

static inline struct pl_span catalog_key_span(const struct catalog_key *key)
{
	return pl_span((const char *)key, sizeof *key);
}

static inline void *catalog_object(struct catalog_entry *entry)
{
	return entry + 1;
}

/* NULL: there is none. */
struct catalog_entry *catalog_entry_find(const struct catalog *catalog,
                                         enum catalog_kind kind, struct catalog_key key);

/* The group of that key, made when there is none; NULL: no memory. */
struct catalog_group *catalog_group_want(struct catalog *catalog,
                                         struct catalog_group_key key);
/* NULL: there is none. */
const struct catalog_group *catalog_group_find(const struct catalog *catalog,
                                               struct catalog_group_key key);
/* Moves the entry from its group, if any, to another one; NULL: to none. */
void catalog_group_move(struct catalog *catalog, struct catalog_entry *entry,
                        struct catalog_group *to);
/* Makes the entry keep the group to return to; NULL: it keeps none. */
void catalog_group_keep(struct catalog *catalog, struct catalog_entry *entry,
                        struct catalog_group *return_to);
/* Drops the group if it has no member and no entry keeps it. NULL does nothing. */
void catalog_group_drop_empty(struct catalog *catalog, struct catalog_group *group);
struct catalog_group_key catalog_volume_group(const struct volume *volume);

void claims_done(struct catalog *catalog);

/* Before comes replaces the entry's object: makes the assumptions about the old object
 * about comes, as far as comes leaves them open. */
bool assumed_carry(struct catalog *catalog, enum catalog_kind kind,
                   struct catalog_entry *entry, void *comes);
void assumed_done(struct catalog *catalog);

#endif
