/*
 * A campaign is one round: a site, the desired pods and nodes, the acts on them, and the
 * judges. Acts happen (act.h) for a while; then the recovery phase begins, and everything
 * has to be well within a bound (recovery.h).
 */
#ifndef TESTS_SHARDLAB_CAMPAIGN_H
#define TESTS_SHARDLAB_CAMPAIGN_H

#include "tests/shardlab/act.h"
#include "tests/shardlab/site.h"

enum { CAMPAIGN_SLOTS = 4 };

struct campaign_pod {
	struct scenario_pod what;
	bool submitted; /* a command submitted the pod */
};

struct campaign {
	struct site site;
	struct observer observer;
	struct scenario scenario;
	struct pl_rng rng;
	struct campaign_pod *pod;
	struct scenario_node *node;     /* nodes as they are desired */
	uint32_t next_pod;              /* first pod that was never submitted */
	struct act act[CAMPAIGN_SLOTS]; /* half of the slots are for users' acts */
	struct act_deck deck[2];        /* the decks of faults and of users' acts */
	unsigned count[ACT_COUNT], done[ACT_COUNT]; /* acts that began; acts whose command
						     * exited with 0 */
	enum act_what only;                         /* the only kind of act; ACT_COUNT:
						     * all */
	unsigned files;
	bool corrupted, junk, rewound;
	uint64_t start_ms;
};

/* -- user_ops.c: the desired state, and the commands that submit it --------------- */

/* Writes these pods, or nodes of one cluster, to a new file in the format that placet
 * reads. */
void user_pods_file(struct campaign *c, const uint32_t *pods, unsigned count,
                    char path[JOB_PATH_SIZE]);
void user_nodes_file(struct campaign *c, const uint32_t *nodes, unsigned count,
                     char path[JOB_PATH_SIZE]);
/* Applies all nodes of the scenario, cluster by cluster; extra: the extra nodes, too.
 * Waits for the commands; returns false if a node could not be applied. */
bool user_apply_all_nodes(struct campaign *c, bool extra);
bool user_submit_initial(struct campaign *c);
/* Starts the command; returns false if there is nothing to do. */
bool user_submit(struct campaign *c, struct job *job);
bool user_remove(struct campaign *c, struct job *job, bool force);
/* ignore_budgets: evicts the pods whatever the budgets allow. */
bool user_evict(struct campaign *c, struct job *job, bool force, bool ignore_budgets);
/* Submits disruption budgets, `most` at most: new ones, or another rule for one that
 * exists. The other functions delete one. */
bool user_submit_budgets(struct campaign *c, struct job *job, unsigned most);
bool user_delete_budget(struct campaign *c, struct job *job);
/* Deletes a budget whose value is malformed. Returns false if there is none. */
bool user_delete_bad_budget(struct campaign *c, struct job *job);
/* Pods on the node, or that come there, may be evicted whatever the budgets allow. */
void user_ignore_budgets_on(struct campaign *c, uint32_t node);
/* Some pods are covered by budgets from the beginning. */
bool user_submit_initial_budgets(struct campaign *c);
/* Makes the node smaller, taints it, or closes it for maintenance; user_restore_node
 * undoes that. */
bool user_change_node(struct campaign *c, struct job *job, uint32_t node);
bool user_restore_node(struct campaign *c, struct job *job, uint32_t node);
/* Applies the node as it is desired now, whatever the store holds. */
bool user_reapply_node(struct campaign *c, struct job *job, uint32_t node);
/* "c0/n-4" */
void user_node_name(const struct campaign *c, uint32_t node, char out[SITE_NAME]);

/* -- manual_edits.c: keys that are damaged by hand -------------------------------- */

void manual_corrupt_node(struct campaign *c);
void manual_corrupt_pod(struct campaign *c);
void manual_corrupt_rules(struct campaign *c);
void manual_corrupt_gang(struct campaign *c);
void manual_corrupt_budget(struct campaign *c);
/* Restores what only users know: specs and Nodes. */
void manual_repair(struct campaign *c);
void manual_fill(struct campaign *c);
void manual_free_space(struct campaign *c);
void manual_compact(struct campaign *c);

static inline uint64_t campaign_below(struct campaign *c, uint64_t bound)
{
	return pl_rng_below(&c->rng, bound);
}

/* Prints to stdout, with the time. */
PL_PRINTF(2, 3) void campaign_print(const struct campaign *c, const char *fmt, ...);

/* Waits until the store answers. */
void campaign_store_up(struct campaign *c);

#endif
