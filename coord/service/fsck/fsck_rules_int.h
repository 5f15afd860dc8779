/*
 * Internals of the core of fsck: what pods want of each other and of nodes.
 *
 *	fsck_rules.c       pods that have a place, as rules see them; and their carriers
 *	fsck_node_rules.c  as Nodes come: labels, taints, and values of topology keys
 *	fsck_finder.c      at the end: which pods a selector matches, in which domains
 *	fsck_affinity.c    at the end: anti-affinity, affinity, host ports
 *	fsck_spread.c      at the end: spreading
 *
 * **Violation or condition.** A pod is on its node since the revision `lo` or later:
 * the state's own revision if it has not been written since, else the state's create
 * revision. (An edit of a placed pod puts its state again, together with its spec: so a
 * state that is not newer than the spec may have been written since.) If everything that
 * a rule reads (specs and Nodes) is older than the later
 * one of two binds, then the rule was broken when the later pod was bound, and its
 * shard broke it. Otherwise it may have become so since.
 */
#ifndef COORD_SERVICE_FSCK_FSCK_RULES_INT_H
#define COORD_SERVICE_FSCK_FSCK_RULES_INT_H

#include "coord/service/fsck/name_table.h"
#include "shardsched/model/parse.h"
#include "store/keys/keys.h"

struct fsck_core;
struct fsck_node;

enum {
	RULES_KEYS_MAX = 64,   /* topology keys */
	RULES_SCOPES_MAX = 64, /* sets of nodes that count for spreading; each is a bit
	                        * of a word */
};

/* A pod that has a place. */
struct fsck_bound {
	int64_t lo; /* the pod was placed at this revision or later */
	int64_t spec_rev;
	uint32_t entry, node;
	uint32_t next; /* next pod on the node */
	uint32_t labelset, constraint;
	uint32_t index; /* of the replica's own labels: identity.h */
	uint16_t partition;
	uint8_t identity_keys;
	bool leaving;
	bool healthy; /* by the rules of disruption budgets */
	/* The pod is of a gang, whose room may have been reserved before the pod was
	 * bound. Changes of the Node in between count as later ones. */
	bool of_gang;
};

/* A disruption budget that allows some disruption. */
struct fsck_budget {
	uint32_t namespace; /* holds a reference */
	uint32_t allowed, desired;
	const struct selector *selector; /* holds a reference */
	struct pl_span key;
};

/* A look: what selectors see of a pod, its namespace and labels. */
struct fsck_labelset {
	uint32_t namespace;          /* holds a reference */
	const struct labels *labels; /* holds a reference */
	uint32_t first, pods;        /* range in by_labelset */
	uint32_t stamp;              /* one more than the last rule that matched it */
};

/* The constraints of a pod on nodes. Number 0 has none. The pointers hold references,
 * or are NULL. */
struct fsck_constraint {
	const struct labels *labels;
	const struct node_selector *required;
	const struct tolerations *tolerations;
	bool plain; /* nothing but tolerations is set */
};

enum fsck_rule_kind { RULE_ANTI_AFFINITY, RULE_AFFINITY, RULE_SPREAD };

/* A rule that pods of a namespace share. at is its number in the spec; affinity is one
 * rule with all of its terms. */
struct fsck_rule {
	enum fsck_rule_kind kind;
	uint32_t at;
	const struct spec *spec; /* holds a reference */
	uint32_t scope;          /* SPREAD: index in scope */
	uint8_t carried;         /* bits: carried by pods that have a place, by others */
	bool skipped;            /* some table was full, so it is not judged */
	uint32_t first, pods;    /* range in by_rule */
};

/* A scope: the nodes that a spread constraint counts. */
struct fsck_scope {
	uint32_t constraint; /* the labels, affinity (if set) and tolerations (if set)
	                      * of this constraint select the nodes */
	bool affinity, taints;
	uint64_t keys; /* topology keys that the nodes must have, as bits */
};

struct fsck_carry {
	uint32_t rule, bound;
};

struct fsck_host_port {
	uint32_t node, bound, ip; /* ip holds a reference */
	uint16_t port;
	uint8_t protocol;
};

/* The pods of a domain. Two of each kind are kept, so that one is left beside any
 * given pod. */
struct fsck_domain {
	uint32_t number; /* result of fsck_domain_of; 0: the row is free */
	uint32_t pods;
	uint32_t last[2];  /* the pods with the greatest lo among those with nothing
	                    * newer */
	uint32_t least[2]; /* the pods with the oldest inputs */
};

struct fsck_namespace {
	uint32_t namespace;
	const struct labels *labels; /* labels of the namespace itself; holds a
	                              * reference */
};

/* A label of a look; key 0 is an entry for the namespace alone. */
struct fsck_tag {
	uint32_t namespace, key, value, labelset;
};

/* The finder, made at the end. */
struct fsck_finder {
	struct fsck_namespace *in_namespace;
	struct fsck_tag *tag;
	uint32_t *found; /* array for all looks */
	struct fsck_domain *domain;
	uint32_t namespaces, tags, founds;
	uint32_t domain_cap, domains; /* size of the table, a power of two; rows in use */
};

struct fsck_rules {
	struct fsck_bound *bound;
	struct fsck_labelset *labelset;
	struct fsck_constraint *constraint;
	struct fsck_rule *rule;
	struct fsck_carry *carry;
	uint32_t bounds, bound_cap, labelsets, labelset_cap, constraints, constraint_cap;
	uint32_t rules, rule_cap, carries, carry_cap;
	struct name_table labelset_at, constraint_at, rule_at; /* numbers by bytes */
	uint32_t key[RULES_KEYS_MAX];                          /* holds references */
	uint32_t keys;
	struct fsck_scope scope[RULES_SCOPES_MAX];
	uint32_t scopes, skipped;
	uint32_t *value;   /* one row a node with a value for each key; 0: the node has
	                  * no such label. Holds references */
	uint64_t *counted; /* by node, one bit for each scope */
	uint32_t value_cap, valued, counted_cap;
	uint32_t *by_labelset, *by_rule; /* made at the end */
	struct fsck_host_port *port;
	uint32_t ports, port_cap;
	struct fsck_budget *budget;
	uint32_t budgets, budget_cap;
	struct fsck_finder finder;
	struct pl_buf key_text;
	/* Number of domains of a key among the nodes of a scope, plus one; 0: not
	 * counted yet. */
	uint32_t domains[RULES_SCOPES_MAX][RULES_KEYS_MAX];
};

/* fsck_rules.c. Adds the current pod, which is on that node; FSCK_NONE: it waits. */
void fsck_rules_pod(struct fsck_core *core, uint32_t node);
void fsck_rules_done(struct fsck_core *core);
void fsck_end_rules(struct fsck_core *core);
/* RULES_KEYS_MAX: no rule asks for the key, or there are too many. */
uint32_t fsck_key_number(const struct fsck_rules *rules, uint32_t key);

/* fsck_node_rules.c */
void fsck_rules_node(struct fsck_core *core, uint32_t number, const struct node *node);
/* The node's domain of a topology key that a rule asks for, as a number; 0: none. And
 * the label's text. */
uint32_t fsck_domain_of(const struct fsck_core *core, uint32_t node, uint32_t key);
struct pl_span fsck_domain_text(const struct fsck_core *core, uint32_t node,
                                uint32_t key);

/* fsck_finder.c. False: no memory. The looks that match are in finder.found, each with
 * the stamp. */
bool fsck_finder_open(struct fsck_core *core);
void fsck_finder_done(struct fsck_core *core);
void fsck_find_terms(struct fsck_core *core, const struct spec_term *row, uint32_t count,
                     uint32_t stamp);
void fsck_find_spread(struct fsck_core *core, uint32_t namespace,
                      const struct selector *selector, uint32_t stamp);
/* The number of pods of the looks in finder.found. */
uint32_t fsck_found_pods(const struct fsck_core *core);
/* Empties the table of domains and makes room for so many. */
bool fsck_domains_clear(struct fsck_core *core, uint32_t most);
/* The row of this number (not 0), or the free row for it. */
struct fsck_domain *fsck_domain(struct fsck_core *core, uint32_t number);

/* fsck_affinity.c, fsck_spread.c, fsck_budgets.c */
void fsck_judge_rule(struct fsck_core *core, uint32_t number);
void fsck_judge_spread(struct fsck_core *core, uint32_t number);
void fsck_judge_ports(struct fsck_core *core);
void fsck_judge_budget(struct fsck_core *core, uint32_t number);

#endif
