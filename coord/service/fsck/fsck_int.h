/* Internals of the core of fsck. */
#ifndef COORD_SERVICE_FSCK_FSCK_INT_H
#define COORD_SERVICE_FSCK_FSCK_INT_H

#include "coord/service/fsck/fsck_core.h"
#include "coord/service/fsck/fsck_rules_int.h"
#include "coord/service/fsck/name_table.h"
#include "shardsched/model/parse.h"
#include "shardsched/records/alloc.h"
#include "shardsched/records/pod_location.h"
#include "shardsched/records/pod_state.h"
#include "store/base/map.h"

#define FSCK_NONE UINT32_MAX

/* The amounts of a node. Scalars are summed as hashes of name and amount, so a
 * difference in any of them changes the sum. */
struct fsck_sums {
	int64_t cpu_milli, memory, storage, pods, nonzero_cpu_milli, nonzero_memory;
	uint64_t scalars;
};

enum {
	NODE_HAS_NODE = 1,
	NODE_HAS_ALLOC = 2,
	NODE_BAD_NODE = 4,
	NODE_BAD_ALLOC = 8,
	NODE_NO_SUM = 16, /* the requests of some pod are unknown */
	NODE_MEND = 32,
	NODE_IS_OVER = 64,
	NODE_HAS_PORTS = 128,
	NODE_HOLDS_SOME = 256, /* the alloc lists pods or has reservations */
};

struct fsck_node {
	struct fsck_sums stated, sum;
	uint64_t stated_ports, sum_ports;
	int64_t node_rev, bound_rev; /* revision of the Node; of the newest placement
	                              * by a shard */
	uint32_t first_bound;        /* index in rules.bound */
	uint32_t flags, partition;
	uint32_t first_scalar, scalars; /* range in scalar */
	uint32_t unlisted;              /* index in row; FSCK_NONE: none */
	uint32_t promise;               /* index in promise, plus one; 0: none */
};

struct fsck_scalar {
	uint64_t name; /* hash of the name */
	int64_t amount;
};

struct fsck_port {
	uint64_t hash;
	uint32_t node;
};

enum {
	POD_AWAY = 1,
	POD_POINTER = 2,
	POD_TWO = 4,
	POD_HELD = 8, /* room is reserved for it */
	POD_HELD_RIGHTLY = 16,
};

/* A pod that an alloc lists, or that does not stand in the partition of its name. */
struct fsck_entry {
	uint32_t listed; /* the pod's first row; FSCK_NONE: not listed */
	uint16_t spec_at, pointer_in, pointer_to;
	uint16_t flags;
};

/* A pod on a node, whether the alloc lists it or not. */
struct fsck_row {
	uint32_t pod, node, next;
	uint16_t partition;
	uint8_t found; /* the pod's own records came */
	bool leaving;  /* marked as leaving in the alloc */
};

/* Room reserved on a node for a gang or a pod. */
struct fsck_hold {
	uint32_t node;
	uint32_t holder;    /* index in gang or in entry */
	uint32_t next;      /* next reservation of the gang; FSCK_NONE */
	uint16_t partition; /* partition of the pod */
	bool gang;
	bool right;
};

/* A pod whose state has a nomination to be repaired. */
struct fsck_nominated {
	uint32_t pod, node; /* indexes in entry and in node */
	uint16_t partition; /* partition of the pod */
};

/* A pod whose state does not parse, or is missing although an alloc lists the pod. */
struct fsck_lost {
	uint32_t pod, node; /* indexes in entry and in node; node FSCK_NONE: no alloc
	                     * lists it */
	uint16_t partition; /* partition of the pod */
	int64_t spec_rev, state_rev;
};

enum { GANG_HAS_RECORD = 1, GANG_BAD_RECORD = 2, GANG_IS_BOUND = 4 };

struct fsck_gang {
	uint32_t bound, least; /* pods that have a place; the minimum that the pods
	                        * name */
	uint32_t first_hold;
	uint32_t flags;
	int64_t until_ms;
};

enum {
	TERM_REGISTERED = 1,
	TERM_HAS_LOCK = 2,
	TERM_BAD_LOCK = 4,
	TERM_BOUND = 8,    /* pods that have a place carry it */
	TERM_WAITING = 16, /* other pods carry it */
	TERM_GLOBAL = 32,
};

/* A term of a rule. Its name is "namespace of its carriers/id". */
struct fsck_term_state {
	uint8_t flags, kind;
	uint16_t partition; /* partition of a pod that carries it */
	uint32_t pod;       /* index in entry of that pod */
	uint32_t registry;
	int64_t lock_rev;
	struct pl_span carrier; /* where it is to be registered; in kept */
};

enum { REGISTRY_THERE = 1, REGISTRY_MEND = 2 };

struct fsck_registry {
	uint32_t flags;
};

/* The pod whose records are being fed. */
struct fsck_current {
	bool some;
	uint32_t partition;
	struct keys_text name; /* namespace/name */
	size_t namespace_len;
	bool has_spec, has_state, spec_ok, state_ok, is_pointer;
	uint32_t points_to;
	struct pod pod;
	struct pod_location location;
	struct pod_state state; /* in state_arena */
	int64_t spec_rev, state_rev;
	int64_t state_since_rev; /* create revision of the state */
	struct pl_arena state_arena;
};

/* The labels of a namespace that the store has. */
struct fsck_labels {
	struct pl_map_node by_name;
	uint32_t name;               /* held */
	const struct labels *labels; /* held */
};

struct fsck_core {
	uint32_t partitions;
	fsck_found_fn *found;
	void *ctx;
	struct fsck_counts counts;
	bool ended;
	enum pl_code code; /* PL_NOMEM stays until the end */
	struct model model;
	struct pl_arena scratch;
	struct name_table nodes, pods;
	struct fsck_node *node;
	struct fsck_entry *entry;
	struct fsck_row *row;
	struct fsck_scalar *scalar;
	struct fsck_sums *promise; /* room nominated on nodes that other pods are
	                            * leaving */
	struct fsck_port *port;
	uint32_t node_cap, entry_cap;
	uint32_t rows, row_cap, scalars, scalar_cap, ports, port_cap;
	uint32_t promises, promise_cap;
	struct name_table gangs, groups, registries; /* "" is the global registry */
	struct fsck_gang *gang;
	struct fsck_term_state *group;
	struct fsck_registry *registry;
	struct fsck_hold *hold;
	struct fsck_nominated *nominated;
	struct fsck_lost *lost;
	uint32_t gang_cap, group_cap, registry_cap, holds, reservation_cap;
	uint32_t nominations, nominated_cap, losses, lost_cap;
	struct pl_arena kept; /* lives until the end */
	int64_t shape_rev, newest_node_rev;
	struct fsck_rules rules;
	struct pl_map labels; /* struct fsck_labels of stored namespaces */
	int64_t labels_rev;   /* revision of the Namespace that was changed last */
	unsigned stage;       /* index in fsck_prefixes */
	int64_t wall_ms;
	bool pods_unreadable; /* some pod does not parse, so it may carry any term */
	bool allocs_unreadable; /* some alloc is missing or does not parse, so it may list any pod */
	struct fsck_current at;
	int64_t epoch[KEYS_PARTITIONS_MAX]; /* epoch of the partition's owner; 0: none */
};

/* Builds "scope/name". */
struct pl_span fsck_name(struct keys_text *out, struct pl_span scope,
                         struct pl_span name);
void fsck_split(struct pl_span text, struct pl_span *scope, struct pl_span *name);
/* Builds the key of that kind for "scope/name". */
struct pl_span fsck_key(struct keys_text *out, enum keys_kind kind, uint32_t partition,
                        struct pl_span scope_name);

PL_PRINTF(5, 6)
void fsck_report(struct fsck_core *core, enum fsck_code code, struct pl_span key,
                 struct pl_span other, const char *fmt, ...);
void fsck_no_memory(struct fsck_core *core);

/* fsck_objects.c */
void fsck_feed_object(struct fsck_core *core, const struct kv_record *record,
                      const struct keys_id *id);
/* With a reference: those of the stored namespace, or those that every namespace has.
 * NULL: no memory. */
const struct labels *fsck_namespace_labels(struct fsck_core *core, uint32_t name);
void fsck_objects_done(struct fsck_core *core);

uint32_t fsck_node_add(struct fsck_core *core, struct pl_span scope, struct pl_span name,
                       uint32_t partition);
uint32_t fsck_entry_add(struct fsck_core *core, struct pl_span text);
/* Adds a row and links it before *first. */
uint32_t fsck_row_add(struct fsck_core *core, uint32_t *first, struct fsck_row row);

void fsck_sums_add(struct fsck_sums *sums, const struct alloc_amounts *amounts);
void fsck_port_add(struct fsck_core *core, uint32_t node, const struct alloc_port *port);
uint64_t fsck_port_hash(const struct alloc_port *port);

/* fsck_nodes.c */
void fsck_feed_alloc(struct fsck_core *core, const struct kv_record *record,
                     const struct keys_id *id);
void fsck_feed_node(struct fsck_core *core, const struct kv_record *record,
                    const struct keys_id *id);
void fsck_end_nodes(struct fsck_core *core);

/* fsck_pods.c */
void fsck_feed_spec(struct fsck_core *core, const struct kv_record *record,
                    const struct keys_id *id);
void fsck_feed_state(struct fsck_core *core, const struct kv_record *record,
                     const struct keys_id *id);
/* Whether the state's last write was the one by which a shard bound the pod; it was not if
 * the spec is not older, since edits put the states of placed pods again. */
bool fsck_is_as_bound(const struct fsck_current *at);
/* Judges the current pod, whose records are complete. */
void fsck_flush_pod(struct fsck_core *core);
void fsck_end_pods(struct fsck_core *core);

/* fsck_lost.c: whether any key of the pod is left, and not just a pointer. */
bool fsck_is_there(const struct fsck_current *at);
/* Keeps the current pod if its state is lost. entry is its number; NAME_TABLE_NONE: no
 * alloc lists it. */
void fsck_lost_pod(struct fsck_core *core, uint32_t entry);

/* fsck_gangs.c: records of gangs, and reservations of any kind. */
void fsck_feed_gang(struct fsck_core *core, const struct kv_record *record,
                    const struct keys_id *id);
void fsck_keep_hold(struct fsck_core *core, uint32_t node,
                    const struct alloc_reservation *hold);
/* Checks the nomination in the current pod's state. */
void fsck_nominated_pod(struct fsck_core *core);
/* Counts a pod of a gang; placed: it takes room. */
void fsck_gang_pod(struct fsck_core *core, bool placed);
void fsck_end_gangs(struct fsck_core *core);

/* fsck_budgets.c */
void fsck_feed_budget(struct fsck_core *core, const struct kv_record *record,
                      const struct keys_id *id);

/* fsck_terms.c: registries, locks, and which pods carry which terms. */
void fsck_feed_rules_key(struct fsck_core *core, const struct kv_record *record,
                         const struct keys_id *id);
/* The current pod carries the terms of this spec. */
void fsck_carry(struct fsck_core *core, const struct spec *spec, bool placed);
bool fsck_term_is_orphan(const struct fsck_core *core, uint32_t number);
void fsck_end_terms(struct fsck_core *core);

#endif
