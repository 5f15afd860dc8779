/*
 * Inside the core of fsck: what pods want of each other and of nodes.
 *
 *	fsck_rules.c   pods that have a place, with what rules see of them; who carries
 *what fsck_wants.c   as Nodes come: labels, taints, and values of topology keys
 *	fsck_finder.c  in the end: who is found by a selector, and in which domains
 *	fsck_apart.c   in the end: anti-affinity, affinity, host ports
 *	fsck_spread.c  in the end: spreading
 *
 * **What was so when.** A pod is *here* since some revision: at least `lo` (its state's
 * own while nobody has written it since; else when the state was made). If everything
 * that a rule reads, specs and Nodes, is older than the later of two pods' binds, then
 * it was so when the later one was bound, and whoever bound it broke the rule. Else it
 * may have become so since.
 */
#ifndef COORD_FSCK_FSCK_RULES_INT_H
#define COORD_FSCK_FSCK_RULES_INT_H

#include "coord/fsck/name_table.h"
#include "shardsched/model/parse.h"
#include "store/keys/keys.h"

struct fsck_core;
struct fsck_node;

enum {
	RULES_KEYS_MAX = 64,   /* topology keys */
	RULES_SCOPES_MAX = 64, /* which nodes count for spreading; bits of a word */
};

/* A pod that has a place. */
struct fsck_bound {
	int64_t lo; /* it was placed at this revision or later */
	int64_t spec_rev;
	uint32_t entry, node;
	uint32_t next; /* on the node */
	uint32_t look, want;
	uint32_t index; /* of the labels that stand beside its class: identity.h */
	uint16_t partition;
	uint8_t beside;
	bool leaving;
	bool healthy; /* as disruption budgets have it */
	/* It is one of a gang, which may have held the room before it was bound: what
	 * happened to the Node in between is as if it had happened after. */
	bool of_gang;
};

/* A disruption budget that allows something. */
struct fsck_budget {
	uint32_t namespace; /* held */
	uint32_t allowed, desired;
	const struct selector *selector; /* held */
	struct pl_span key;
};

/* What selectors see of pods: their namespace and labels. */
struct fsck_look {
	uint32_t namespace;          /* held */
	const struct labels *labels; /* held */
	uint32_t first, pods;        /* in by_look */
	uint32_t stamp;              /* of the rule that has found it last, and one */
};

/* What pods want of nodes; number 0: nothing. Held, or NULL. */
struct fsck_want {
	const struct labels *labels;
	const struct node_selector *required;
	const struct tolerations *tolerations;
	bool plain; /* but for tolerations it wants nothing */
};

enum fsck_rule_kind { RULE_ANTI_AFFINITY, RULE_AFFINITY, RULE_SPREAD };

/* A rule that pods of a namespace share. Of a spec that has it, at number at: the whole
 * list of affinity. */
struct fsck_rule {
	enum fsck_rule_kind kind;
	uint32_t at;
	const struct spec *spec; /* held */
	uint32_t scope;          /* SPREAD: in scope */
	uint8_t carried;         /* by pods that have a place, by others: bits */
	bool skipped;            /* there are too many of something */
	uint32_t first, pods;    /* in by_rule */
};

/* The nodes that a rule of spreading counts. */
struct fsck_scope {
	uint32_t want; /* asked for labels, affinity (if it says so), taints (likewise) */
	bool affinity, taints;
	uint64_t keys; /* that they must have, as bits */
};

struct fsck_carry {
	uint32_t rule, bound;
};

struct fsck_host_port {
	uint32_t node, bound, ip; /* held */
	uint16_t port;
	uint8_t protocol;
};

/* Pods in a domain: two at most are remembered, so that one is left beside any. */
struct fsck_domain {
	uint32_t number; /* fsck_domain_of; 0: the row is free */
	uint32_t pods;
	uint32_t last[2];  /* those with the greatest lo that nothing is newer than */
	uint32_t least[2]; /* those with the oldest inputs */
};

struct fsck_namespace {
	uint32_t namespace;
	const struct labels *labels; /* held; of the namespace itself */
};

/* A label of a look; key 0: just that it is of that namespace. */
struct fsck_tag {
	uint32_t namespace, key, value, look;
};

/* Who is found by a selector; made in the end. */
struct fsck_finder {
	struct fsck_namespace *in_namespace;
	struct fsck_tag *tag;
	uint32_t *found; /* room for all looks */
	struct fsck_domain *domain;
	uint32_t namespaces, tags, founds;
	uint32_t domain_cap, domains; /* powers of two; so many are in use */
};

struct fsck_rules {
	struct fsck_bound *bound;
	struct fsck_look *look;
	struct fsck_want *want;
	struct fsck_rule *rule;
	struct fsck_carry *carry;
	uint32_t bounds, bound_cap, looks, look_cap, wants, want_cap;
	uint32_t rules, rule_cap, carries, carry_cap;
	struct name_table look_at, want_at, rule_at; /* by what they are, as bytes */
	uint32_t key[RULES_KEYS_MAX];                /* held */
	uint32_t keys;
	struct fsck_scope scope[RULES_SCOPES_MAX];
	uint32_t scopes, skipped;
	uint32_t *value; /* by node, keys of each: of its labels; 0: it has none. Held */
	uint64_t *counted; /* by node: a bit for each scope */
	uint32_t value_cap, valued, counted_cap;
	uint32_t *by_look, *by_rule; /* in the end */
	struct fsck_host_port *port;
	uint32_t ports, port_cap;
	struct fsck_budget *budget;
	uint32_t budgets, budget_cap;
	struct fsck_finder finder;
	struct pl_buf key_text;
	/* How many domains of a key its nodes have, and one; 0: not counted yet. */
	uint32_t domains[RULES_SCOPES_MAX][RULES_KEYS_MAX];
};

/* fsck_rules.c. The current pod, which has that place; FSCK_NONE: it waits. */
void fsck_rules_pod(struct fsck_core *core, uint32_t node);
void fsck_rules_done(struct fsck_core *core);
void fsck_end_rules(struct fsck_core *core);
/* RULES_KEYS_MAX: nobody asks for it, or there are too many. */
uint32_t fsck_key_number(const struct fsck_rules *rules, uint32_t key);

/* fsck_wants.c */
void fsck_rules_node(struct fsck_core *core, uint32_t number, const struct node *node);
/* The domain, by a number, of a topology key that is asked for; 0: the node is in none.
 * And what the label says. */
uint32_t fsck_domain_of(const struct fsck_core *core, uint32_t node, uint32_t key);
struct pl_span fsck_domain_text(const struct fsck_core *core, uint32_t node,
                                uint32_t key);

/* fsck_finder.c. False: no memory. The looks that are found are in finder.found, each
 * with the stamp. */
bool fsck_finder_open(struct fsck_core *core);
void fsck_finder_done(struct fsck_core *core);
void fsck_find_terms(struct fsck_core *core, const struct spec_term *row, uint32_t count,
                     uint32_t stamp);
void fsck_find_spread(struct fsck_core *core, uint32_t namespace,
                      const struct selector *selector, uint32_t stamp);
/* Pods of the looks that were found. */
uint32_t fsck_found_pods(const struct fsck_core *core);
/* Empties the table of domains, with room for so many. */
bool fsck_domains_clear(struct fsck_core *core, uint32_t most);
/* The row of that one (not 0), or the free one where it would be. */
struct fsck_domain *fsck_domain(struct fsck_core *core, uint32_t number);

/* fsck_apart.c, fsck_spread.c, fsck_budgets.c */
void fsck_judge_rule(struct fsck_core *core, uint32_t number);
void fsck_judge_spread(struct fsck_core *core, uint32_t number);
void fsck_judge_ports(struct fsck_core *core);
void fsck_judge_budget(struct fsck_core *core, uint32_t number);

#endif
