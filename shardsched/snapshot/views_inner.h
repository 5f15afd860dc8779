/*
 * Views, matchers, tallies and carriers, and the links between them.
 *
 *	view -----> matchers that find its pods ---> tallies of each
 *	    \-----> carriers that it carries
 *	    \-----> while asked: carriers that find it
 *
 * A pod that comes to a node or leaves it follows the first two, nothing else. The lists
 * change when a view, a matcher or a carrier comes or goes, or when a namespace gets
 * other labels.
 */
#ifndef SHARDSCHED_SNAPSHOT_VIEWS_INNER_H
#define SHARDSCHED_SNAPSHOT_VIEWS_INNER_H

#include "shardsched/snapshot/domain_counts.h"
#include "shardsched/snapshot/rule.h"
#include "shardsched/snapshot/snapshot_inner.h"

/* The views of one namespace. Its labels are those by which the lists of its views were
 * made; NULL: they were not known. */
struct view_namespace {
	struct pl_map_node by_name;
	uint32_t name;
	const struct labels *labels; /* has a reference */
	struct pl_list views;
};

/* The views of one namespace with one label: searched by rules that want the label. */
struct view_label_index {
	struct pl_map_node by_key;
	uint32_t key[3]; /* namespace, the label's key and value */
	struct pl_list views;
};

struct view_label {
	struct pl_list in_index;
	struct view_label_index *label_index;
	struct spec_view_inner *view;
};

struct spec_view_inner {
	struct spec_view view;
	struct view_namespace *namespace;
	struct pl_list in_namespace;
	struct view_label *label; /* the labels of the spec that are in an index, as many
				   * as labels says */
	uint32_t labels;
	struct matcher **found_by;
	uint32_t found_count, found_cap;
	uint32_t concerns_cap;
	uint32_t carries_count;
	struct carrier *carries[];
};

struct matcher_inner {
	struct matcher matcher;
	struct rule rule; /* has references to its parts; owns the array of terms */
	struct pl_map_node by_key;
	struct pl_list
		reads_namespaces; /* in views.matchers_of_namespaces, or in no list */
	struct pl_list idle;      /* in views.idle_matchers while the matcher has
					  * no user */
	struct pl_list tallies;
	uint32_t *key;
	bool spread;
};

struct tally_inner {
	struct tally tally;
	struct domain_counts counts;
	struct pl_list of_matcher;
	struct pl_list idle;
};

struct carrier_inner {
	struct carrier carrier;
	struct rule rule;
	struct domain_counts counts;
	struct pl_map_node by_key;
	struct pl_list reads_namespaces;
	uint32_t users; /* views that carry it, each counted as often as it does */
	uint64_t key[3];
};

/* The counts by one column. */
struct view_column {
	struct pl_map_node by_column;
	struct label_column *column;
	struct pl_list tallies;  /* domain_counts.of_column */
	struct pl_list carriers; /* domain_counts.of_column */
};

struct views {
	struct spec_view_inner **by_spec; /* by the spec's number */
	uint32_t by_spec_cap;
	uint32_t count;
	struct pl_map namespaces;
	struct pl_map by_label;
	uint64_t namespaces_epoch; /* the catalog's, at the last reconcile */
	struct pl_map matchers;
	struct pl_map carriers;
	struct pl_map columns;
	struct rule_index matcher_index;
	struct rule_index carrier_index;
	struct pl_list matchers_of_namespaces;
	struct pl_list carriers_of_namespaces;
	struct pl_list idle_matchers; /* oldest first */
	struct pl_list idle_tallies;
	uint32_t idle_matchers_count, idle_tallies_count;
};

/* How many of each kind may be idle. */
enum { VIEWS_IDLE_BYTES = 64 << 20, VIEWS_IDLE_LEAST = 16, VIEWS_IDLE_MOST = 1024 };

uint32_t views_idle_max(const struct snapshot *snapshot);

static inline struct spec_view_inner *view_inner(struct spec_view *view)
{
	return view->inner;
}

/* Adds a node whose key is not in the map. */
static inline void views_map_add(struct pl_map *map, struct pl_map_node *node,
                                 struct pl_span key)
{
	struct pl_map_node *twin = pl_map_add(map, node, key);

	PL_ASSERT(twin == NULL);
}

/* Makes room in an array of pointers for one more. */
PL_NODISCARD enum pl_code views_reserve(void *array, uint32_t count, uint32_t *cap,
                                        struct pl_err *err);

/* -- spaces ------------------------------------------------------------------------- */

/* Calls fn for each view that the rule might find; ends early when fn does not return
 * PL_OK. */
typedef enum pl_code views_fn(void *ctx, struct spec_view_inner *view);
enum pl_code views_each(const struct views *views, const struct rule *rule, views_fn *fn,
                        void *ctx);
static inline const struct labels *
view_namespace_labels(const struct spec_view_inner *view)
{
	return view->namespace->labels;
}

/* Adds the view to its namespace, which is made when it is missing. After a failure the
 * view is to leave, too. */
PL_NODISCARD enum pl_code view_namespace_join(struct snapshot *snapshot,
                                              struct spec_view_inner *view,
                                              struct pl_err *err);
void view_namespace_leave(struct snapshot *snapshot, struct spec_view_inner *view);

/* -- columns ------------------------------------------------------------------------ */

/* Opens the column for these counts, and begins to count at zero. */
PL_NODISCARD enum pl_code view_column_join(struct snapshot *snapshot,
                                           struct domain_counts *counts, uint32_t key,
                                           bool carrier, struct pl_err *err);
void view_column_leave(struct snapshot *snapshot, struct domain_counts *counts);

/* -- matchers: matcher.c, matcher_key.c, tally.c
 * ------------------------------------------------------
 */

static inline struct matcher_inner *matcher_inner(struct matcher *matcher)
{
	return matcher->inner;
}

/* matcher_key.c: sorts terms, drops terms that differ only in their topology key, and
 * returns how many are left. */
uint32_t matcher_sort_terms(const struct pod_term **term, uint32_t count);
/* The key of a rule with sorted terms, in words. */
uint32_t matcher_key_words(const struct rule *rule);
void matcher_key_write(const struct rule *rule, uint32_t *key);

/* Whether the matcher counts pods with those flags. */
static inline bool matcher_counts(const struct matcher_inner *matcher, uint32_t flags)
{
	return !matcher->spread || (flags & PLACED_TERMINATING) == 0;
}

bool matcher_has_view(const struct matcher_inner *matcher,
                      const struct spec_view_inner *view);

/* Pods came to a node, or left it. */
void matcher_add(struct matcher *matcher, uint32_t slot, uint32_t pods);
void matcher_sub(struct matcher *matcher, uint32_t slot, uint32_t pods);
/* Finds the matchers for the pods of a view that has none yet. */
PL_NODISCARD enum pl_code matchers_find(struct snapshot *snapshot,
                                        struct spec_view_inner *view, struct pl_err *err);
/* The labels of the view's namespace have changed: finds out whether the matcher finds
 * the view now. */
PL_NODISCARD enum pl_code matcher_rematch(struct snapshot *snapshot,
                                          struct matcher_inner *matcher,
                                          struct spec_view_inner *view,
                                          const struct labels *namespace,
                                          struct pl_err *err);
PL_NODISCARD enum pl_code matcher_grow(struct matcher_inner *matcher, uint32_t from,
                                       uint32_t capacity, struct pl_err *err);
void matcher_publish(struct matcher_inner *matcher);
void matcher_free(struct snapshot *snapshot, struct matcher_inner *matcher);
void tallies_add(struct matcher_inner *matcher, uint32_t slot, uint32_t pods);
void tallies_sub(struct matcher_inner *matcher, uint32_t slot, uint32_t pods);
void tally_publish(struct tally_inner *tally);
void tally_free(struct snapshot *snapshot, struct tally_inner *tally);

/* -- carriers: carrier.c ---------------------------------------- */

PL_NODISCARD enum pl_code carrier_ref(struct snapshot *snapshot,
                                      const struct spec_term *term,
                                      enum carrier_kind kind, struct carrier **out,
                                      struct pl_err *err);
void carrier_unref(struct snapshot *snapshot, struct carrier *carrier);
void carrier_publish(struct carrier_inner *carrier);
void carrier_add(struct carrier *carrier, uint32_t slot);
void carrier_sub(struct carrier *carrier, uint32_t slot);
/* Finds the carriers that concern a view which is about to be asked. */
PL_NODISCARD enum pl_code carriers_find(struct snapshot *snapshot,
                                        struct spec_view_inner *view, struct pl_err *err);
PL_NODISCARD enum pl_code carrier_rematch(struct snapshot *snapshot,
                                          struct carrier_inner *carrier,
                                          struct spec_view_inner *view,
                                          const struct labels *namespace,
                                          struct pl_err *err);

#endif
