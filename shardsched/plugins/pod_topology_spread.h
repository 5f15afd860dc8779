/*
 * Shared by the files of PodTopologySpread:
 *
 *	_args.c     configuration
 *	_rules.c    class state: the rules of a class, and the counts that they use
 *	_default.c  the selector for pods without constraints of their own
 *	_count.c    pods by domain, as a rule counts them
 *	.c          hard rules: filter
 *	_score.c    soft rules: score
 *
 * The snapshot counts the pods that a rule's selector matches, by node and by domain
 * (matcher.h). When all nodes with the topology key count, a rule uses the counts of the
 * domains as they are. When some do not (node selector, taints, nodes that lack the key
 * of another rule), the counts of the other nodes are added up.
 */
#ifndef SHARDSCHED_PLUGINS_POD_TOPOLOGY_SPREAD_H
#define SHARDSCHED_PLUGINS_POD_TOPOLOGY_SPREAD_H

#include "shardsched/plugins/node_match.h"
#include "shardsched/snapshot/matcher.h"

/* -- configuration ----------------------------------------------------------------------- */

struct spread_args {
	uint32_t hostname;        /* string "kubernetes.io/hostname", with a reference */
	bool system;              /* the rules below are the system's defaults */
	uint32_t count;           /* rules for pods without any of their own */
	struct spec_spread *rule; /* without selectors; owned, keys with references */
};

PL_NODISCARD enum pl_code spread_args_parse(struct model *model, struct pl_json json,
                                            void *args, struct pl_err *err);
void spread_args_drop(struct model *model, void *args);

/* -- a class ----------------------------------------------------------------------------- */

struct spread_rule {
	struct spec_spread constraint;
	uint32_t index; /* in the pod's list, or in the configuration's */
	bool self;      /* whether the pod itself would count */
	bool hostname;
	struct label_column *column;
	/* NULL: no pod counts. That is so for a selector that selects everything, which
	 * kube-scheduler takes for a missing one. */
	struct matcher *matcher;
	struct tally *tally; /* NULL also for soft rules over hostnames */
	uint32_t labelled;   /* number of nodes that have the key */
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
	bool by_default; /* the rules are the configuration's, as the pod has none */
	bool all_keys;   /* soft rules ignore nodes that lack a key */
	bool made;
	/* selector of default rules, with a reference; NULL: there is none */
	const struct selector *selector;
	uint64_t workloads, nodes; /* epochs that the state was made for */
};

PL_NODISCARD enum pl_code spread_open(struct snapshot *snapshot,
                                      const struct plugin_call *call, struct pl_err *err);
void spread_close(struct snapshot *snapshot, const struct plugin_call *call);

/* Called before a cycle: brings the class state up to date with workloads and nodes. */
PL_NODISCARD enum pl_code spread_refresh(const struct plugin_call *call,
                                         struct pl_err *err);

/* Returns a reference in *out; NULL: no workload selects the pod. */
PL_NODISCARD enum pl_code spread_default_selector(struct snapshot *snapshot,
                                                  const struct spec *spec,
                                                  const struct selector **out,
                                                  struct pl_err *err);

/* -- counting ---------------------------------------------------------------------------- */

/* Count of a number of the column in which no node counts. */
#define SPREAD_ABSENT INT32_MAX

/* Counts by number of the rule's column, from the arena; [0] is for nodes without the
 * key. NULL: out of memory. */
int32_t *spread_count(const struct plugin_call *call, const struct spread_rules *rules,
                      const struct spread_rule *rule, bool all_keys);
/* Whether the pods of that node count. */
bool spread_counts(const struct plugin_call *call, const struct spread_rules *rules,
                   const struct spread_rule *rule, uint32_t slot);
/* The nodes that have the keys of all rules. */
uint64_t spread_keys_word(const struct spread_rules *rules, uint32_t word, uint64_t bits);

/* -- a cycle ----------------------------------------------------------------------------- */

struct spread_hard {
	int32_t *count; /* by number of the column */
	uint32_t end;   /* one more than the highest number */
	uint32_t domains;
	int32_t least;
	/* While pods move in a probe: the number that moved last, and the least count of
	 * the others. */
	uint32_t moved;
	int32_t others;
};

struct spread_soft {
	double weight;
	double *by_domain; /* score that the domain adds; NULL: counted by node */
};

enum { SPREAD_POLICIES = 4 };

struct spread_state {
	/* For hard and for soft rules, by the policies of a rule: the nodes that
	 * count. */
	uint64_t *counted[2][SPREAD_POLICIES];
	struct spread_hard *hard;
	struct spread_soft *soft;
	struct pl_bitset ignored; /* nodes that are not scored; word NULL: none */
	bool small;               /* no score is negative or beyond 32 bits */
};

enum verdict_code spread_pre_score(const struct plugin_call *call,
                                   struct pl_bitset feasible, struct verdict *verdict);
bool spread_score(const struct plugin_call *call, struct node_span span, int64_t *out);
void spread_normalize(const struct plugin_call *call, struct pl_bitset feasible,
                      int64_t *score);

enum verdict_code spread_fail(struct verdict *verdict);

#endif
