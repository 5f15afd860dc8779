/*
 * A matcher: counts the pods that a rule finds, on each node and in each domain. The
 * counts are updated as pods come and go, so no cycle ever counts pods.
 *
 * A matcher's rule is a set of pod terms that all have to match (their topology keys
 * aside), or a selector in one namespace. Equal rules share one matcher. It is made when
 * the first class that needs it is opened, which counts the pods of its namespaces once,
 * and stays for a while after the last.
 *
 * Terminating pods are left out of matchers of spread, and counted in matchers of terms.
 */
#ifndef SHARDSCHED_SNAPSHOT_MATCHER_H
#define SHARDSCHED_SNAPSHOT_MATCHER_H

#include "shardsched/model/pod_term.h"
#include "shardsched/snapshot/label_column.h"

enum { MATCHERS_MAX = 65536, MATCHER_TERMS_MAX = 2048 };

struct matcher {
	uint32_t users;
	uint32_t pods; /* all pods that the rule finds */
	/* Pods by slot, as long as the snapshot's columns. Only for spread, else NULL:
	 * rules with terms are asked by domains. */
	uint32_t *on_node;
	struct matcher_inner *inner;
};

/* A tally: a matcher's counts by the domains of one topology key. */
struct tally {
	struct matcher *matcher;
	struct label_column *column;
	uint32_t users;
	uint32_t *in_domain; /* by domain number, up to column->domains_end */
	uint32_t others;     /* pods found on nodes without that label */
	struct tally_inner *inner;
};

/* Counts pods that match all of these terms, whose topology keys do not matter. */
PL_NODISCARD enum pl_code matcher_open_terms(struct snapshot *snapshot,
                                             const struct pod_term *const *terms,
                                             uint32_t count, struct matcher **out,
                                             struct pl_err *err);
/* Counts pods of one namespace, without terminating ones. */
PL_NODISCARD enum pl_code matcher_open_spread(struct snapshot *snapshot,
                                              uint32_t namespace,
                                              const struct selector *selector,
                                              struct matcher **out, struct pl_err *err);
void matcher_close(struct snapshot *snapshot, struct matcher *matcher);

/* The tally holds the matcher and the column. */
PL_NODISCARD enum pl_code tally_open(struct snapshot *snapshot, struct matcher *matcher,
                                     uint32_t topology_key, struct tally **out,
                                     struct pl_err *err);
void tally_close(struct snapshot *snapshot, struct tally *tally);

/* Pods found in domains: matcher->pods without the pods on nodes that lack the label. */
uint32_t tally_inside(const struct tally *tally);

/* The nodes in domains with at least one such pod, a word for 64 slots. NULL: unknown,
 * since a domain of several nodes got its first such pod or lost its last; tally_refresh
 * computes the set in O(nodes), and it stays valid until pods move again. */
const uint64_t *tally_nodes(const struct tally *tally);
void tally_refresh(const struct snapshot *snapshot, const struct tally *tally);

/* Whether the matcher finds pods of that class. */
bool matcher_finds(const struct snapshot *snapshot, const struct matcher *matcher,
                   const struct spec *spec);

#endif
