/*
 * A class of pods, seen from the snapshot: one for each spec that is on a node, or that
 * somebody asks about. It remembers which matchers find the pods of the class, and, for
 * a class that is asked about, which rules carried by pods on nodes concern it: so a
 * pod that comes or goes, and a cycle, cost what they touch and no search.
 */
#ifndef SHARDSCHED_SNAPSHOT_VIEW_H
#define SHARDSCHED_SNAPSHOT_VIEW_H

#include "shardsched/snapshot/matcher.h"

enum carrier_kind {
	CARRIER_ANTI,      /* required anti-affinity: keeps others away */
	CARRIER_AFFINITY,  /* required affinity: scores, by hardPodAffinityWeight */
	CARRIER_SOFT,      /* preferred affinity, by its weight */
	CARRIER_SOFT_ANTI, /* preferred anti-affinity */
};

/* One rule, as carried by pods on nodes: how many of them are in each domain. Shared by
 * all that carry the same with the same weight. */
struct carrier {
	const struct pod_term *term;
	enum carrier_kind kind;
	int64_t weight;
	uint32_t pods; /* that carry it */
	struct label_column *column;
	uint32_t *in_domain; /* by number; pods on nodes without the label are left out */
	uint32_t inside;     /* pods in all domains */
	struct carrier_inner *inner;
};

struct spec_view {
	const struct spec *spec; /* held */
	uint32_t users;          /* pods on nodes, nominations and classes */
	uint32_t asked;          /* of these, classes */
	uint32_t first_pod;      /* of those on nodes */
	uint32_t pods;
	/* While asked: the carriers whose term finds this class. Theirs to change when
	 * pods come and go, so not to be kept beyond a cycle. */
	struct carrier **concerns;
	uint32_t concerns_count;
	struct spec_view_inner *inner;
};

/* For a class that pods are scheduled of. PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code view_open(struct snapshot *snapshot, const struct spec *spec,
                                    struct spec_view **out, struct pl_err *err);
void view_close(struct snapshot *snapshot, struct spec_view *view);

/* Labels of namespaces may have changed in the catalog since: views, matchers and
 * carriers are put right. Whoever opens something or adds a pod does so on the way; a
 * cycle has to. PL_NOMEM: it is to be called again. */
PL_NODISCARD enum pl_code view_reconcile(struct snapshot *snapshot, struct pl_err *err);
bool view_is_reconciled(const struct snapshot *snapshot);

/* As tally_nodes and tally_refresh. */
const uint64_t *carrier_nodes(const struct carrier *carrier);
void carrier_refresh(const struct snapshot *snapshot, const struct carrier *carrier);

#endif
