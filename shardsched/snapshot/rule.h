/*
 * A rule: finds pods by namespace and labels. And an index of rules, to look up the rules
 * that might find a given pod: each rule is in buckets, one for each namespace that it
 * looks at (0: any) with one label that it wants (or none). So of thousands of rules only
 * the few that can match are asked.
 */
#ifndef SHARDSCHED_SNAPSHOT_RULE_H
#define SHARDSCHED_SNAPSHOT_RULE_H

#include "shardsched/model/spec.h"
#include "store/base/list.h"
#include "store/base/map.h"

struct rule_index_link;

/* All terms have to match; without terms, a selector in one namespace. Borrows all of
 * it. */
struct rule {
	const struct pod_term **term;
	uint32_t count;
	uint32_t namespace;
	const struct selector *selector;
	/* A namespace that is not known has no labels, and a namespace selector never
	 * matches it; else it counts as a namespace with an empty set of labels. */
	bool strict;
	struct rule_index_link *link;
	uint32_t links;
};

/* namespace_labels: of the pod's namespace; NULL: not known. */
bool rule_finds(const struct strings *strings, const struct rule *rule,
                const struct spec *spec, const struct labels *namespace_labels);

/* Whether the result depends on the labels of namespaces. */
bool rule_reads_namespaces(const struct rule *rule);

/* The only namespaces in which the rule may find pods; false: it may in any. */
bool rule_namespaces(const struct rule *rule, const uint32_t **first, uint32_t *count);

/* A label that every found pod has; false: there is none. */
bool rule_label(const struct rule *rule, uint32_t *key, uint32_t *value);

struct rule_index {
	struct pl_map by_key;
};

void rule_index_init(struct rule_index *index);
/* All rules were removed. */
void rule_index_done(struct rule_index *index);

PL_NODISCARD enum pl_code rule_index_add(struct rule_index *index, struct rule *rule,
                                         struct pl_err *err);
/* Removes the rule, which may be in no bucket. */
void rule_index_del(struct rule_index *index, struct rule *rule);

/* Calls fn once for each rule that might find pods of that spec; ends early when fn does
 * not return PL_OK. */
typedef enum pl_code rule_index_fn(void *ctx, struct rule *rule);
enum pl_code rule_index_each(const struct rule_index *index, const struct spec *spec,
                             rule_index_fn *fn, void *ctx);

#endif
