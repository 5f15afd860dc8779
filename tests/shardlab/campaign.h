/*
 * A round: a site, the pods and nodes that are wanted there, what befalls them, and who
 * judges. First things happen (deck.h) for a while; then calm comes, and everything has
 * to be well within a bound (calm.h).
 */
#ifndef TESTS_SHARDLAB_CAMPAIGN_H
#define TESTS_SHARDLAB_CAMPAIGN_H

#include "tests/shardlab/act.h"
#include "tests/shardlab/site.h"

enum { CAMPAIGN_SLOTS = 4 };

struct campaign_pod {
	struct scene_pod what;
	bool submitted; /* somebody was told to */
};

struct campaign {
	struct site site;
	struct witness witness;
	struct scene scene;
	struct pl_rng rng;
	struct campaign_pod *pod;
	struct scene_node *node;        /* as it is wanted */
	uint32_t next_pod;              /* the first that was never submitted */
	struct act act[CAMPAIGN_SLOTS]; /* half of them are people's */
	struct act_deck deck[2];        /* what befalls, what people do */
	unsigned count[ACT_COUNT], done[ACT_COUNT]; /* begun; by a command that said 0 */
	enum act_what only;                         /* ACT_COUNT: all */
	unsigned files;
	bool spoilt, junk, rewound;
	uint64_t start_ms;
};

/* -- wants.c: what people want ---------------------------------------------------- */

/* A file with these pods, or nodes of one cluster, as placet reads them. */
void wants_pods_file(struct campaign *c, const uint32_t *pods, unsigned count,
                     char path[JOB_PATH_SIZE]);
void wants_nodes_file(struct campaign *c, const uint32_t *nodes, unsigned count,
                      char path[JOB_PATH_SIZE]);
/* All nodes of the scene, in each cluster; extra: these too. To its end; false: not all
 * could be applied. */
bool wants_all_nodes(struct campaign *c, bool extra);
bool wants_first(struct campaign *c);
/* Starts the command; false: there is nothing to be done. */
bool wants_submit(struct campaign *c, struct job *job);
bool wants_remove(struct campaign *c, struct job *job, bool force);
/* past: whatever budgets allow. */
bool wants_evict(struct campaign *c, struct job *job, bool force, bool past);
/* Disruption budgets: some at most that are new, or get another rule; one goes. */
bool wants_budgets(struct campaign *c, struct job *job, unsigned most);
bool wants_no_budget(struct campaign *c, struct job *job);
/* One that makes no sense goes. False: there is none. */
bool wants_no_bad_budget(struct campaign *c, struct job *job);
/* Who is on the node, or comes there, may be evicted past all budgets. */
void wants_past_on(struct campaign *c, uint32_t node);
/* Some pods are covered from the beginning. */
bool wants_first_budgets(struct campaign *c);
/* The node is made smaller, tainted, or closed for maintenance; or as it was. */
bool wants_change(struct campaign *c, struct job *job, uint32_t node);
bool wants_node_back(struct campaign *c, struct job *job, uint32_t node);
/* As it is wanted now, whatever became of it. */
bool wants_node_again(struct campaign *c, struct job *job, uint32_t node);
/* "c0/n-4" */
void wants_node_name(const struct campaign *c, uint32_t node, char out[SITE_NAME]);

/* -- hands.c: what they break ----------------------------------------------------- */

void hands_spoil_node(struct campaign *c);
void hands_spoil_pod(struct campaign *c);
void hands_spoil_rules(struct campaign *c);
void hands_spoil_gang(struct campaign *c);
void hands_spoil_budget(struct campaign *c);
/* What only they know: specs, Nodes. */
void hands_put_right(struct campaign *c);
void hands_fill(struct campaign *c);
void hands_empty(struct campaign *c);
void hands_compact(struct campaign *c);

static inline uint64_t campaign_below(struct campaign *c, uint64_t bound)
{
	return pl_rng_below(&c->rng, bound);
}

/* On stdout, with the time. */
PL_PRINTF(2, 3) void campaign_say(const struct campaign *c, const char *fmt, ...);

/* Waits until the store answers. */
void campaign_store_up(struct campaign *c);

#endif
