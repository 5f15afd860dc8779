/*
 * A spec view: a class of pods, seen from the snapshot. There is one for each spec that
 * is on a node or that is asked about. It has the matchers that find the pods of the
 * class and, for a class that is asked about, the rules carried by pods on nodes that
 * concern the class: so a pod that comes or goes, and a cycle, cost what they touch and
 * no search.
 */
#ifndef SHARDSCHED_SNAPSHOT_VIEW_H
#define SHARDSCHED_SNAPSHOT_VIEW_H

#include "shardsched/snapshot/matcher.h"

enum carrier_kind {
	CARRIER_ANTI,      /* required anti-affinity: keeps other pods away */
	CARRIER_AFFINITY,  /* required affinity: scores by hardPodAffinityWeight */
	CARRIER_SOFT,      /* preferred affinity, by its weight */
	CARRIER_SOFT_ANTI, /* preferred anti-affinity */
};

/* A carrier: one rule, as carried by pods on nodes, with the number of these pods in each
 * domain. Pods that carry the same rule with the same weight share it. */
struct carrier {
	const struct pod_term *term;
	enum carrier_kind kind;
	int64_t weight;
	uint32_t pods; /* pods that carry the rule */
	struct label_column *column;
	uint32_t *in_domain; /* by domain number; pods on nodes without the label are left
			      * out */
	uint32_t inside;     /* pods in all domains */
	struct carrier_inner *inner;
};

struct spec_view {
	const struct spec *spec; /* has a reference */
	uint32_t users;          /* pods on nodes, nominations and classes */
	uint32_t asked;          /* how many of the users are classes */
	uint32_t first_pod;      /* first of the pods on nodes */
	uint32_t pods;
	/* While asked: the carriers whose term finds this class. They change as pods come
	 * and go, so they are not to be kept beyond a cycle. */
	struct carrier **concerns;
	uint32_t concerns_count;
	struct spec_view_inner *inner;
};

/* Opens the view for a class that is scheduled. PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code view_open(struct snapshot *snapshot, const struct spec *spec,
                                    struct spec_view **out, struct pl_err *err);
void view_close(struct snapshot *snapshot, struct spec_view *view);

/* Updates views, matchers and carriers after labels of namespaces have changed in the
 * catalog. Opening a view and adding a pod do it, too; a cycle has to call it. PL_NOMEM:
 * it is to be called again. */
PL_NODISCARD enum pl_code view_reconcile(struct snapshot *snapshot, struct pl_err *err);
bool view_is_reconciled(const struct snapshot *snapshot);

/* As tally_nodes and tally_refresh. */
const uint64_t *carrier_nodes(const struct carrier *carrier);
void carrier_refresh(const struct snapshot *snapshot, const struct carrier *carrier);

#endif
