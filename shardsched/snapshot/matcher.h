/*
 * How many pods a rule finds, on each node and in each domain: kept up as pods come and
 * go, so that nobody ever counts pods in a cycle.
 *
 * A matcher is a rule about pods: all of some pod terms (their topology aside), or a
 * selector in one namespace. Equal rules share one. It is made when the first class
 * that asks for it is opened, which counts the pods of its namespaces once, and stays a
 * while after the last.
 *
 * Terminating pods are left out of matchers of spreading, and counted in those of terms.
 */
#ifndef SHARDSCHED_SNAPSHOT_MATCHER_H
#define SHARDSCHED_SNAPSHOT_MATCHER_H

#include "shardsched/model/pod_term.h"
#include "shardsched/snapshot/label_column.h"

enum { MATCHERS_MAX = 65536, MATCHER_TERMS_MAX = 2048 };

struct matcher {
	uint32_t users;
	uint32_t pods; /* that it finds, in all */
	/* By slot, as long as the snapshot's columns. Of spreading only; else NULL:
	 * whoever has terms asks by domains. */
	uint32_t *on_node;
	struct matcher_inner *inner;
};

/* Of a topology key: its counts by domain. */
struct tally {
	struct matcher *matcher;
	struct label_column *column;
	uint32_t users;
	uint32_t *in_domain; /* by number, up to column->domains_end */
	uint32_t others;     /* pods found on nodes without that label */
	struct tally_inner *inner;
};

/* Pods that match all of these terms; their topology keys do not matter. */
PL_NODISCARD enum pl_code matcher_open_terms(struct snapshot *snapshot,
                                             const struct pod_term *const *terms,
                                             uint32_t count, struct matcher **out,
                                             struct pl_err *err);
/* Pods of one namespace, those that terminate left out. */
PL_NODISCARD enum pl_code matcher_open_spread(struct snapshot *snapshot,
                                              uint32_t namespace,
                                              const struct selector *selector,
                                              struct matcher **out, struct pl_err *err);
void matcher_close(struct snapshot *snapshot, struct matcher *matcher);

/* Holds the matcher and the column. */
PL_NODISCARD enum pl_code tally_open(struct snapshot *snapshot, struct matcher *matcher,
                                     uint32_t topology_key, struct tally **out,
                                     struct pl_err *err);
void tally_close(struct snapshot *snapshot, struct tally *tally);

/* Pods found in domains: matcher->pods without the others. */
uint32_t tally_inside(const struct tally *tally);

/* The nodes in domains with at least one such pod, a word for 64 slots. NULL: not known
 * since a domain of several nodes got its first one or lost its last; tally_refresh finds
 * out, in O(nodes), and until pods move again it stays known. */
const uint64_t *tally_nodes(const struct tally *tally);
void tally_refresh(const struct snapshot *snapshot, const struct tally *tally);

/* Whether it finds pods of this class. */
bool matcher_finds(const struct snapshot *snapshot, const struct matcher *matcher,
                   const struct spec *spec);

#endif
