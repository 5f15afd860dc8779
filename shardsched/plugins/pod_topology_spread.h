/*
 * What the parts of PodTopologySpread share.
 *
 *	_args.c     configuration
 *	_rules.c    a class: its rules, and where what they count stands
 *	_default.c  the selector of a pod that says no rules of its own
 *	_count.c    pods by domain, as a rule counts them
 *	.c          hard rules: filter
 *	_score.c    soft ones
 *
 * The snapshot counts the pods that a rule's selector finds, by node and by domain
 * (matcher.h). When all nodes of the key count, a rule reads the domains' counts as they
 * are; when some do not (a node selector, taints, nodes that lack another rule's key),
 * the counts of the nodes that do are added up anew.
 */
#ifndef SHARDSCHED_PLUGINS_POD_TOPOLOGY_SPREAD_H
#define SHARDSCHED_PLUGINS_POD_TOPOLOGY_SPREAD_H

#include "shardsched/plugins/node_match.h"
#include "shardsched/snapshot/matcher.h"

/* -- configuration ----------------------------------------------------------------------- */

struct spread_args {
	uint32_t hostname;        /* "kubernetes.io/hostname", held */
	bool system;              /* the rules below are the system's */
	uint32_t count;           /* rules of pods that have none */
	struct spec_spread *rule; /* without a selector; owned, keys are held */
};

PL_NODISCARD enum pl_code spread_args_parse(struct model *model, struct pl_json json,
                                            void *args, struct pl_err *err);
void spread_args_drop(struct model *model, void *args);

/* -- a class ----------------------------------------------------------------------------- */

struct spread_rule {
	struct spec_spread constraint;
	uint32_t index; /* in the pod's list, or the configuration's */
	bool self;      /* the pod itself would count */
	bool hostname;
	struct label_column *column;
	/* NULL: nothing is counted. So it is with a selector that selects everything:
	 * kube-scheduler takes it for one that is missing. */
	struct matcher *matcher;
	struct tally *tally; /* NULL also of soft rules over hostnames */
	uint32_t labelled;   /* nodes that have the key */
};

struct spread_rules {
	struct spread_rule *at;
	uint32_t count;
	bool covered; /* all nodes have all keys */
};

struct spread_class {
	struct snapshot *snapshot;
	struct spread_rules hard, soft;
	struct node_match match; /* the pod's node affinity */
	bool by_default;         /* the pod says no rules, the configuration does */
	bool all_keys;           /* nodes that lack a key are out of soft rules */
	bool made;
	const struct selector *selector; /* of defaults; held, NULL: there is none */
	uint64_t workloads, nodes;       /* epochs of what was made */
};

PL_NODISCARD enum pl_code spread_open(struct snapshot *snapshot,
                                      const struct plugin_call *call, struct pl_err *err);
void spread_close(struct snapshot *snapshot, const struct plugin_call *call);

/* Before a cycle: what follows from workloads and from nodes. */
PL_NODISCARD enum pl_code spread_refresh(const struct plugin_call *call,
                                         struct pl_err *err);

/* With a reference in *out; NULL: nothing selects the pod. */
PL_NODISCARD enum pl_code spread_default_selector(struct snapshot *snapshot,
                                                  const struct spec *spec,
                                                  const struct selector **out,
                                                  struct pl_err *err);

/* -- counting ---------------------------------------------------------------------------- */

/* A number of the column in which no node counts. */
#define SPREAD_ABSENT INT32_MAX

/* Counts by number of the rule's column, [0] for nodes without the key: from the arena.
 * NULL: out of memory. */
int32_t *spread_count(const struct plugin_call *call, const struct spread_rules *rules,
                      const struct spread_rule *rule, bool all_keys);
/* Whether the pods of that node count. */
bool spread_counts(const struct plugin_call *call, const struct spread_rules *rules,
                   const struct spread_rule *rule, uint32_t slot);
/* Nodes that have the keys of all rules. */
uint64_t spread_keys_word(const struct spread_rules *rules, uint32_t word, uint64_t bits);

/* -- a cycle ----------------------------------------------------------------------------- */

struct spread_hard {
	int32_t *count; /* by number of the column */
	uint32_t end;   /* of the numbers */
	uint32_t domains;
	int32_t least;
	/* While pods move: the number that moved last, and the least of the others. */
	uint32_t moved;
	int32_t others;
};

struct spread_soft {
	double weight;
	double *by_domain; /* what it adds to the score; NULL: by node */
};

enum { SPREAD_POLICIES = 4 };

struct spread_state {
	/* By a rule's policies, of hard and of soft rules: the nodes that count. */
	uint64_t *counted[2][SPREAD_POLICIES];
	struct spread_hard *hard;
	struct spread_soft *soft;
	struct pl_bitset ignored; /* by scores; word NULL: none */
	bool small;               /* scores can not be negative or beyond 32 bits */
};

enum verdict_code spread_pre_score(const struct plugin_call *call,
                                   struct pl_bitset feasible, struct verdict *verdict);
bool spread_score(const struct plugin_call *call, struct node_span span, int64_t *out);
void spread_normalize(const struct plugin_call *call, struct pl_bitset feasible,
                      int64_t *score);

enum verdict_code spread_fail(struct verdict *verdict);

#endif
