/*
 * The rules of a pod about nodes and other pods, one by one with the path of each in the
 * Pod: for warnings of rules that are valid and yet mean nothing.
 *
 *	spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]
 *
 * A rule is *impossible* when its selector matches nothing, whatever pods, nodes and
 * namespaces there are: it is missing, or contradicts itself. Whether any node carries
 * the rule's topology key is for the caller to find out.
 */
#ifndef SHARDSCHED_MODEL_SPEC_RULES_H
#define SHARDSCHED_MODEL_SPEC_RULES_H

#include "shardsched/model/spec.h"

enum { SPEC_RULE_PATH_SIZE = 128, SPEC_RULE_TEXT_SIZE = 512 };

enum spec_rule_kind {
	SPEC_RULE_PODS,  /* selects pods, in domains of topology_key */
	SPEC_RULE_NODES, /* selects nodes; topology_key is 0 */
};

struct spec_rule {
	enum spec_rule_kind kind;
	bool impossible;
	bool missing; /* impossible, since it has no selector */
	uint32_t topology_key;
	char path[SPEC_RULE_PATH_SIZE];
};

/* Borrows the rule for the call. */
typedef void spec_rule_fn(void *ctx, const struct spec_rule *rule);

/* Calls fn for each rule, in the order of the Pod's fields: node affinity, pod affinity,
 * pod anti-affinity, topology spread constraints. */
void spec_rules_each(const struct model *model, const struct spec *spec, spec_rule_fn *fn,
                     void *ctx);

/* "spec....labelSelector: it can match no pod". The rule is impossible. */
void spec_rule_impossible_text(const struct spec_rule *rule,
                               char out[SPEC_RULE_TEXT_SIZE]);
/* "spec....topologyKey: no node has the label zone". */
void spec_rule_topology_text(const char *path, struct pl_span topology_key,
                             char out[SPEC_RULE_TEXT_SIZE]);

#endif
